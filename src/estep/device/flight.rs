//! One chunk's way through the kernels: load, alternate until every document stands still, then bounds and sums.

use super::{Args, Array, Dispatch, Fault, Kernel, Lanes, Machine, Read};
use super::{DOC_BOUND, EDGE_SUMS, GRADIENT, INIT_R, NODE_BOUND, NODE_SUMS, Q_UPDATE, R_UPDATE};
use crate::batch::{Chunk, Rows, Span, Spans};
use crate::estep::{EStepOptions, Params};
use crate::network::Graph;
use std::sync::Arc;

/// Alternations between two looks at which documents are done.
const BURST: u32 = 4;
/// The lists of rows are made anew when at most this share of their nodes is still at work. (Threads of documents that are done
/// return at once, but a few documents take ten times the alternations of most: without this the sample takes four times as
/// long on software Vulkan, `dblp` a third longer.)
const COMPACT_AT: f64 = 0.75;

/// What is the same for all chunks of a run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// How to run.
    pub options: EStepOptions,
    /// Whether the gradient sums are wanted.
    pub gradients: bool,
    /// Whether q is read back.
    pub keep_q: bool,
    /// Topics of the network.
    pub n_topics: u32,
    /// Edges of the network: where the node parameters begin.
    pub n_edges: u32,
}

/// The network's parameters as kernels read them: weights, then slope, bias, tail and first edge of every node.
pub fn network_words(graph: &Graph, params: &Params) -> Vec<u32> {
    let weights = params.edge.iter().map(|w| w.to_bits());
    let nodes = (0..graph.n_nodes()).flat_map(|node| {
        let tail = params.tail.get(node).copied().unwrap_or(0.0);
        let first_edge = graph.edge_offsets()[node];
        [params.slope[node].to_bits(), params.bias[node].to_bits(), tail.to_bits(), first_edge]
    });
    weights.chain(nodes).collect()
}

impl Plan {
    /// Alternations above T = 1.
    fn n_hot(&self) -> u32 {
        let temperature =
            |&a: &u32| self.options.start.temper().is_some_and(|temper| temper.temperature(a) != 1.0);
        (0..self.options.max_alternations).take_while(temperature).count() as u32
    }

    /// How long a document took, by its state: alternations, and whether it had not converged.
    pub fn n_alternations(&self, doc_state: u32) -> (u32, bool) {
        let (most, hot) = (self.options.max_alternations, self.n_hot());
        match hot + doc_state + 1 {
            n if self.options.tolerance > 0.0 && n <= most => (n, false),
            _ => (most, self.options.tolerance > 0.0),
        }
    }

    fn args(&self, chunk: &Chunk) -> Args {
        Args {
            n_nodes: chunk.n_nodes() as u32,
            params_begin: self.n_edges,
            n_topics: self.n_topics,
            accelerate: u32::from(self.options.accelerate_r),
            tolerance: f32::INFINITY,
            inverse_temperature: 1.0,
            ..Args::default()
        }
    }

    /// The dispatches of the start.
    pub fn start(&self, chunk: &Chunk) -> Vec<Dispatch> {
        let mut list = Vec::new();
        let rows = [chunk.rows.several_parents, chunk.rows.few_parents];
        rows.into_iter().for_each(|spans| dispatch(&mut list, &INIT_R, spans, self.args(chunk)));
        list
    }

    /// The dispatches of one alternation: q sweeps colour by colour, then r iterations.
    pub fn alternation(&self, chunk: &Chunk, rows: &Rows, alternation: u32) -> Vec<Dispatch> {
        let mut args = self.args(chunk);
        let hot = self.n_hot();
        if let Some(temper) = self.options.start.temper() {
            args.inverse_temperature = 1.0 / temper.temperature(alternation);
        }
        // Above T = 1, and without a tolerance, nobody is ever done.
        if alternation >= hot && self.options.tolerance > 0.0 {
            (args.alternation, args.tolerance) = (alternation - hot, self.options.tolerance);
        }
        let mut list = Vec::new();
        for _ in 0..self.options.q_sweeps {
            rows.colours.iter().for_each(|&spans| dispatch(&mut list, &Q_UPDATE, spans, args));
        }
        for _ in 0..self.options.r_iterations {
            dispatch(&mut list, &R_UPDATE, rows.several_parents, args);
        }
        list
    }

    /// The dispatches of the end: bounds, and sums where they are wanted.
    pub fn finish(&self, chunk: &Chunk) -> Vec<Dispatch> {
        let (args, mut list) = (self.args(chunk), Vec::new());
        let nodes = [chunk.rows.several_parents, chunk.rows.few_parents];
        nodes.into_iter().for_each(|spans| dispatch(&mut list, &NODE_BOUND, spans, args));
        dispatch(&mut list, &DOC_BOUND, chunk.rows.docs, args);
        if self.gradients {
            nodes.into_iter().for_each(|spans| dispatch(&mut list, &GRADIENT, spans, args));
            let n_short = chunk.blocks.iter().map(|block| block.touched[0].len()).sum::<usize>();
            let touched = [n_short as u32, chunk.touched_ids.len() as u32];
            let edges = [chunk.touched[n_short].edge_begin, chunk.n_touched_edges() as u32];
            let spans = |[middle, end]: [u32; 2]| {
                [Span { begin: 0, len: middle }, Span { begin: middle, len: end - middle }]
            };
            dispatch(&mut list, &EDGE_SUMS, spans(edges), args);
            dispatch(&mut list, &NODE_SUMS, spans(touched), args);
        }
        list
    }

    /// The arrays of a chunk, in bytes.
    pub fn array_bytes(&self, chunk: &Chunk) -> Vec<(Array, usize)> {
        let (n_docs, n_nodes, n_edges) = (chunk.n_docs(), chunk.n_nodes(), chunk.n_edges());
        vec![
            (Array::Docs, 16 * chunk.docs.len()),
            (Array::Nodes, 16 * chunk.nodes.len()),
            (Array::Edges, 8 * n_edges),
            (Array::Rows, 8 * chunk.rows.list.len()), // the lists, and room for them made anew
            (Array::Touched, 8 * chunk.touched.len()),
            (Array::EdgeOwners, 4 * chunk.edge_owners.len()),
            (Array::Positions, 4 * chunk.positions.len()),
            (Array::DocState, 4 * n_docs),
            (Array::NodeState, 12 * n_nodes),
            (Array::EdgeState, 8 * n_edges),
            (Array::Slots, 8 * n_edges),
            (Array::DocBounds, 4 * n_docs),
            (Array::EdgeTotals, 4 * chunk.n_touched_edges()),
            (Array::NodeTotals, 8 * chunk.touched_ids.len()),
        ]
    }
}

/// Adds the dispatches for short and for long rows.
fn dispatch(list: &mut Vec<Dispatch>, kernel: &'static Kernel, spans: Spans, args: Args) {
    for (lanes, span) in Lanes::ALL.into_iter().zip(spans) {
        if span.len > 0 {
            list.push(Dispatch {
                kernel,
                lanes,
                args: Args { row_begin: span.begin, n_rows: span.len, ..args },
            });
        }
    }
}

/// Loads a chunk's arrays.
pub(super) fn load(machine: &mut dyn Machine, set: usize, plan: &Plan, chunk: &Chunk) -> Result<(), Fault> {
    for (array, n_bytes) in plan.array_bytes(chunk) {
        machine.reserve(set, array, n_bytes)?;
    }
    machine.write(set, Array::Docs, 0, bytemuck::cast_slice(&chunk.docs))?;
    machine.write(set, Array::Nodes, 0, bytemuck::cast_slice(&chunk.nodes))?;
    machine.write(set, Array::Edges, 0, bytemuck::cast_slice(&chunk.edges))?;
    machine.write(set, Array::Rows, 0, bytemuck::cast_slice(&chunk.rows.list))?;
    machine.write(set, Array::Touched, 0, bytemuck::cast_slice(&chunk.touched))?;
    machine.write(set, Array::EdgeOwners, 0, bytemuck::cast_slice(&chunk.edge_owners))?;
    machine.write(set, Array::Positions, 0, bytemuck::cast_slice(&chunk.positions))?;
    machine.write(set, Array::DocState, 0, bytemuck::cast_slice(&vec![0u32; chunk.n_docs()]))
}

/// A chunk on a device.
pub(super) struct Flight {
    pub(super) chunk: Arc<Chunk>,
    set: usize,
    rows: Rows,
    /// Nodes in `rows`.
    n_nodes: usize,
    alternation: u32,
    doc_state: Vec<u32>,
    finishing: bool,
}

/// What a chunk's flight brings home.
pub(super) struct Landed {
    pub(super) chunk: Arc<Chunk>,
    pub(super) doc_state: Vec<u32>,
    pub(super) doc_bounds: Vec<f32>,
    pub(super) edge_totals: Vec<f32>,
    pub(super) node_totals: Vec<[f32; 2]>,
    /// q of every node, where it is kept.
    pub(super) q: Vec<f32>,
}

impl Flight {
    /// Loads a chunk and starts it.
    pub(super) fn start(
        machine: &mut dyn Machine,
        set: usize,
        plan: &Plan,
        chunk: Arc<Chunk>,
    ) -> Result<Self, Fault> {
        load(machine, set, plan, &chunk)?;
        let (rows, n_nodes, doc_state) = (chunk.rows.clone(), chunk.n_nodes(), Vec::new());
        let first = plan.start(&chunk);
        let mut flight = Self { chunk, set, rows, n_nodes, alternation: 0, doc_state, finishing: false };
        flight.burst(machine, plan, first)?;
        Ok(flight)
    }

    /// Starts some alternations.
    fn burst(
        &mut self,
        machine: &mut dyn Machine,
        plan: &Plan,
        mut dispatches: Vec<Dispatch>,
    ) -> Result<(), Fault> {
        let end = (self.alternation + BURST).min(plan.options.max_alternations);
        for alternation in self.alternation..end {
            dispatches.extend(plan.alternation(&self.chunk, &self.rows, alternation));
        }
        self.alternation = end;
        let doc_state = Read { array: Array::DocState, words: 0..self.chunk.n_docs() };
        machine.submit(self.set, &dispatches, &[doc_state])
    }

    /// Waits for what was started and starts what follows; the results once nothing does.
    pub(super) fn advance(
        &mut self,
        machine: &mut dyn Machine,
        plan: &Plan,
    ) -> Result<Option<Landed>, Fault> {
        let mut read = machine.wait(self.set)?.into_iter();
        let mut next = || read.next().unwrap_or_default();
        if self.finishing {
            return Ok(Some(Landed {
                chunk: Arc::clone(&self.chunk),
                doc_state: std::mem::take(&mut self.doc_state),
                doc_bounds: bytemuck::cast_vec(next()),
                edge_totals: bytemuck::cast_vec(next()),
                node_totals: next()
                    .chunks_exact(2)
                    .map(|pair| [f32::from_bits(pair[0]), f32::from_bits(pair[1])])
                    .collect(),
                q: bytemuck::cast_vec(next()),
            }));
        }
        self.doc_state = next();
        let n_active = self.n_active_nodes(plan);
        if n_active == 0 || self.alternation == plan.options.max_alternations {
            self.finishing = true;
            let words = |array, n: usize| Read { array, words: 0..n };
            let chunk = &self.chunk;
            let reads = [
                words(Array::DocBounds, chunk.n_docs()),
                words(Array::EdgeTotals, chunk.n_touched_edges()),
                words(Array::NodeTotals, 2 * chunk.touched_ids.len()),
                words(Array::NodeState, if plan.keep_q { chunk.n_nodes() } else { 0 }),
            ];
            machine.submit(self.set, &plan.finish(chunk), &reads)?;
            return Ok(None);
        }
        if (n_active as f64) <= COMPACT_AT * self.n_nodes as f64 {
            self.compact(machine, plan, n_active)?;
        }
        self.burst(machine, plan, Vec::new())?;
        Ok(None)
    }

    /// Documents at work in the alternation to come.
    fn is_active(&self, plan: &Plan, doc_ix: usize) -> bool {
        let hot = plan.n_hot();
        self.alternation <= hot
            || plan.options.tolerance == 0.0
            || self.doc_state[doc_ix] >= self.alternation - hot
    }

    fn n_active_nodes(&self, plan: &Plan) -> usize {
        let docs = self.chunk.docs.windows(2).enumerate();
        let active = docs.filter(|(doc_ix, _)| self.is_active(plan, *doc_ix));
        active.map(|(_, doc)| (doc[1].node_begin - doc[0].node_begin) as usize).sum()
    }

    /// Leaves the rows of documents that are done out of the lists.
    fn compact(&mut self, machine: &mut dyn Machine, plan: &Plan, n_active: usize) -> Result<(), Fault> {
        let begin = self.chunk.rows.list.len();
        let active: Vec<bool> = (0..self.chunk.n_docs()).map(|doc_ix| self.is_active(plan, doc_ix)).collect();
        let keep = |row: u32| active[self.chunk.nodes[row as usize].doc_ix as usize];
        let rows = self.chunk.rows.filter(begin, keep);
        machine.write(self.set, Array::Rows, 4 * begin, bytemuck::cast_slice(&rows.list))?;
        (self.rows, self.n_nodes) = (rows, n_active);
        Ok(())
    }
}
