//! The sequence of dispatches that a chunk goes through, and its arrays.

use super::{Args, Array, Dispatch, Kernel, Lanes};
use super::{DOC_BOUND, EDGE_SUMS, GRADIENT, NODE_BOUND, NODE_SUMS, Q_UPDATE, R_UPDATE};
use super::{FLIP_BEST, FLIP_CHAIN, FLIP_GAIN, FLIP_TERMS, INIT_Q, INIT_R, KEEP, RESTORE};
use crate::batch::{Chunk, Rows, Span, Spans};
use crate::estep::cpu::{Q_ON, Q_START};
use crate::estep::{EStepOptions, Params, Start, Work};
use crate::network::Graph;

/// What is the same for all chunks of a run.
#[derive(Debug, Clone)]
pub struct DispatchPlan {
    /// How to run.
    pub options: EStepOptions,
    /// Whether the gradient sums are wanted.
    pub gradients: bool,
    /// Whether q is read back.
    pub keep_q: bool,
    /// Whether documents are pieces, with clamped topics and weights.
    pub pieces: bool,
    /// Whether topics are marked from which a search begins.
    pub begins_on: bool,
    /// Whether what every topic is worth alone and its log-odds are read back: what topics to clamp are chosen by.
    pub keep_interest: bool,
    /// Topics of the network.
    pub n_topics: u32,
    /// Edges of the network: where the node parameters begin.
    pub n_edges: u32,
    /// Layers of topics: how long a chain of ancestors can be.
    pub n_levels: u32,
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

/// Nodes, those with several parents and the others.
fn nodes(rows: &Rows) -> [Spans; 2] {
    [rows.several_parents, rows.few_parents]
}

impl DispatchPlan {
    /// The plan of an E-step of whole documents.
    pub fn of(work: &Work<'_>, keep_q: bool) -> Self {
        Self::new(work.graph, work.params.n_levels, work.options, work.gradients, keep_q)
    }

    /// The same without the documents.
    pub fn new(graph: &Graph, n_levels: u32, options: &EStepOptions, gradients: bool, keep_q: bool) -> Self {
        Self {
            options: options.clone(),
            gradients,
            keep_q,
            pieces: false,
            begins_on: false,
            keep_interest: false,
            n_topics: graph.n_topics() as u32,
            n_edges: graph.n_edges() as u32,
            n_levels,
        }
    }

    /// One plan for each start that is tried; their order is that of [`Start::tries`].
    pub fn tries(&self) -> Vec<Self> {
        match self.options.start.tries() {
            [] => vec![self.clone()],
            tries => tries.iter().map(|&start| self.starting(start)).collect(),
        }
    }

    fn starting(&self, start: Start) -> Self {
        Self { options: EStepOptions { start, ..self.options.clone() }, ..self.clone() }
    }

    /// Whether it begins with a search.
    pub fn searches(&self) -> bool {
        self.options.start == Start::Greedy
    }

    /// Alternations above T = 1.
    pub(super) fn n_hot(&self) -> u32 {
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
            pieces: u32::from(self.pieces),
            ..Args::default()
        }
    }

    /// The dispatches of the start: q, and r unless a search comes first.
    pub fn start(&self, chunk: &Chunk) -> Vec<Dispatch> {
        let q_start = if self.searches() { 1.0 - Q_ON } else { Q_START };
        let pieces = u32::from(self.pieces || self.begins_on);
        let (args, mut list) = (Args { q_start, pieces, ..self.args(chunk) }, Vec::new());
        nodes(&chunk.rows).into_iter().for_each(|spans| dispatch(&mut list, &INIT_Q, spans, args));
        if !self.searches() {
            list.extend(self.settle(chunk));
        }
        list
    }

    /// The dispatches of one round of the search: every document's best flip.
    pub fn round(&self, chunk: &Chunk, rows: &Rows, round: u32) -> Vec<Dispatch> {
        let (args, mut list) =
            (Args { alternation: round, ..self.args(chunk) }, self.gains(chunk, rows, round));
        for _ in 1..self.n_levels {
            rows.colours.iter().rev().for_each(|&spans| dispatch(&mut list, &FLIP_CHAIN, spans, args));
        }
        dispatch(&mut list, &FLIP_BEST, rows.docs, args);
        list
    }

    /// The dispatches that find what every topic's flip gains.
    pub fn gains(&self, chunk: &Chunk, rows: &Rows, round: u32) -> Vec<Dispatch> {
        let (args, mut list) = (Args { alternation: round, ..self.args(chunk) }, Vec::new());
        nodes(rows).into_iter().for_each(|spans| dispatch(&mut list, &FLIP_TERMS, spans, args));
        rows.colours.iter().for_each(|&spans| dispatch(&mut list, &FLIP_GAIN, spans, args));
        list
    }

    /// The dispatches between start or search and the alternations: r at q.
    pub fn settle(&self, chunk: &Chunk) -> Vec<Dispatch> {
        self.every_node(chunk, &INIT_R)
    }

    fn every_node(&self, chunk: &Chunk, kernel: &'static Kernel) -> Vec<Dispatch> {
        let mut list = Vec::new();
        nodes(&chunk.rows).into_iter().for_each(|spans| dispatch(&mut list, kernel, spans, self.args(chunk)));
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
        self.bounds(chunk).into_iter().chain(self.sums(chunk)).collect()
    }

    /// The dispatches of the bounds.
    pub fn bounds(&self, chunk: &Chunk) -> Vec<Dispatch> {
        let mut list = self.every_node(chunk, &NODE_BOUND);
        dispatch(&mut list, &DOC_BOUND, chunk.rows.docs, self.args(chunk));
        list
    }

    /// The dispatches that keep q and r of documents with `doc_state` 1.
    pub fn keep(&self, chunk: &Chunk) -> Vec<Dispatch> {
        self.every_node(chunk, &KEEP)
    }

    /// The dispatches that take them back.
    pub fn restore(&self, chunk: &Chunk) -> Vec<Dispatch> {
        self.every_node(chunk, &RESTORE)
    }

    /// The dispatches of the sums, where they are wanted.
    pub fn sums(&self, chunk: &Chunk) -> Vec<Dispatch> {
        let (args, mut list) = (self.args(chunk), Vec::new());
        if self.gradients {
            list = self.every_node(chunk, &GRADIENT);
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
        let mut arrays = vec![
            (Array::Docs, 16 * chunk.docs.len()),
            (Array::Nodes, 16 * chunk.nodes.len()),
            (Array::Edges, 8 * n_edges),
            (Array::Rows, 8 * chunk.rows.list.len()), // the lists, and room for them made anew
            (Array::Touched, 8 * chunk.touched.len()),
            (Array::EdgeOwners, 4 * chunk.edge_owners.len()),
            (Array::Positions, 4 * chunk.positions.len()),
            (Array::DocState, 4 * n_docs),
            (Array::NodeState, 16 * n_nodes),
            (Array::EdgeState, 8 * n_edges),
            (Array::Slots, 8 * n_edges),
            (Array::DocBounds, 4 * n_docs),
            (Array::EdgeTotals, 4 * chunk.n_touched_edges()),
            (Array::NodeTotals, 8 * chunk.touched_ids.len()),
        ];
        if !self.options.start.tries().is_empty() {
            arrays.push((Array::Kept, 4 * (n_nodes + n_edges)));
        }
        arrays
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
