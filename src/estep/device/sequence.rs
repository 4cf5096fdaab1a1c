//! The sequence of dispatches that a chunk goes through, and its arrays.

use super::{ALTERNATE, SEARCH_BIN};
use super::{Args, Array, Dispatch, Kernel, Lanes};
use super::{DOC_BOUND, EDGE_SUMS, GRADIENT, NODE_BOUND, NODE_SUMS, Q_UPDATE, R_UPDATE};
use super::{FLIP_BEST, FLIP_CHAIN, FLIP_GAIN, FLIP_TERMS, INIT_Q, INIT_R, KEEP, RESTORE};
use crate::batch::{Chunk, Kind, RowSet, Rows, Span};
use crate::estep::cpu::{Q_ON, Q_START};
use crate::estep::{EStepOptions, Params, Start, Work};
use crate::network::Graph;
use std::ops::Range;

/// Iterations of loops in one dispatch of a bin at most: some devices end all loops of a thread after 65,535 in all, without a word.
const MAX_ITERATIONS: u32 = 60_000;

/// How documents go through the kernels. Every route does the same arithmetic in the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Route {
    /// Short rows by single threads.
    #[default]
    Flat,
    /// Short rows in batches.
    Stream,
    /// Documents in bins of 16 KB; short rows of those that don't fit in batches.
    SmallBins,
    /// Documents in bins of 32 KB; short rows of those that don't fit in batches.
    LargeBins,
}

impl Route {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Flat, Self::Stream, Self::SmallBins, Self::LargeBins];

    /// Who works on bins.
    pub fn bin_lanes(self) -> Option<Lanes> {
        match self {
            Self::Flat | Self::Stream => None,
            Self::SmallBins => Some(Lanes::SmallBin),
            Self::LargeBins => Some(Lanes::LargeBin),
        }
    }

    /// All who work on rows.
    pub fn lanes(self) -> &'static [Lanes] {
        use Lanes::{Group, LargeBin, SmallBin, Stream, Thread};
        match self {
            Self::Flat => &[Thread, Group],
            Self::Stream => &[Thread, Group, Stream],
            Self::SmallBins => &[Thread, Group, Stream, SmallBin],
            Self::LargeBins => &[Thread, Group, Stream, LargeBin],
        }
    }

    /// Words of q and m in a bin; 0 where there are none.
    pub fn bin_words(self) -> u32 {
        self.bin_lanes().map_or(0, Lanes::bin_words)
    }

    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Flat => "flat",
            Self::Stream => "stream",
            Self::SmallBins => "16 KB bins",
            Self::LargeBins => "32 KB bins",
        }
    }
}

/// What is the same for all chunks of a run.
#[derive(Debug, Clone)]
pub struct DispatchPlan {
    /// How documents go through the kernels.
    pub route: Route,
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
    /// Rounds of a search at most.
    pub max_rounds: u32,
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

impl DispatchPlan {
    /// The plan of an E-step of whole documents.
    pub fn of(work: &Work<'_>, keep_q: bool) -> Self {
        Self::new(work.graph, work.params.n_levels, work.options, work.gradients, keep_q)
    }

    /// The same without the documents.
    pub fn new(graph: &Graph, n_levels: u32, options: &EStepOptions, gradients: bool, keep_q: bool) -> Self {
        Self {
            route: Route::default(),
            options: options.clone(),
            gradients,
            keep_q,
            pieces: false,
            begins_on: false,
            keep_interest: false,
            n_topics: graph.n_topics() as u32,
            n_edges: graph.n_edges() as u32,
            n_levels,
            max_rounds: u32::MAX,
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
            n_edges: chunk.n_edges() as u32,
            n_levels: self.n_levels,
            q_sweeps: self.options.q_sweeps,
            r_iterations: self.options.r_iterations,
            ..Args::default()
        }
    }

    /// Adds the dispatches for short and for long rows.
    fn dispatch(&self, list: &mut Vec<Dispatch>, kernel: &'static Kernel, rows: RowSet, args: Args) {
        let short = match self.route {
            Route::Flat => (Lanes::Thread, rows.short),
            _ if !kernel.lanes().contains(&Lanes::Stream) => (Lanes::Thread, rows.short),
            _ => (Lanes::Stream, rows.batches),
        };
        for (lanes, span) in [short, (Lanes::Group, rows.long)] {
            add(list, kernel, lanes, span, args);
        }
    }

    /// The dispatches of the start: q, and r unless a search comes first.
    pub fn start(&self, chunk: &Chunk) -> Vec<Dispatch> {
        let q_start = if self.searches() { 1.0 - Q_ON } else { Q_START };
        let (pieces, n_steps) = (u32::from(self.pieces || self.begins_on), u32::from(self.searches()));
        let (args, mut list) = (Args { q_start, pieces, n_steps, ..self.args(chunk) }, Vec::new());
        self.dispatch(&mut list, &INIT_Q, chunk.rows.every_node(), args);
        if !self.searches() {
            list.extend(self.settle(chunk));
        }
        list
    }

    /// How many rounds of the search, or alternations, a bin can make in one dispatch; 0 where there are no bins.
    pub fn bin_steps(&self, rows: &Rows, in_search: bool) -> u32 {
        let [nodes, docs] = rows.longest_bin;
        // Colours take their turn even where a bin has no rows of them.
        let (levels, n_colours) = (self.n_levels.max(1), rows.colours.len() as u32 + 1);
        let per_step = 1 + match in_search {
            true => (nodes + n_colours) * levels + docs,
            false => (nodes + n_colours) * self.options.q_sweeps.max(self.options.r_iterations),
        };
        match self.route.bin_lanes() {
            Some(_) if rows.bins.len > 0 => MAX_ITERATIONS / per_step.max(1),
            _ => 0,
        }
    }

    /// Adds the dispatch of so many steps of all bins, and says which rows are left: those of documents in no bin.
    fn bins(
        &self,
        list: &mut Vec<Dispatch>,
        kernel: &'static Kernel,
        rows: &Rows,
        args: Args,
    ) -> impl Fn(Kind) -> RowSet + use<> {
        let lanes = self
            .route
            .bin_lanes()
            .filter(|_| args.n_steps <= self.bin_steps(rows, kernel.name == SEARCH_BIN.name));
        if let Some(lanes) = lanes {
            add(list, kernel, lanes, rows.bins, args);
        }
        move |kind: Kind| if lanes.is_some() { kind.unbinned } else { kind.all }
    }

    /// The dispatches of some rounds of the search: in each, every document's best flip. At most [`bin_steps`](Self::bin_steps) where
    /// there are bins.
    pub fn rounds(&self, chunk: &Chunk, rows: &Rows, rounds: Range<u32>) -> Vec<Dispatch> {
        let args = Args { alternation: rounds.start, n_steps: rounds.len() as u32, ..self.args(chunk) };
        let mut list = Vec::new();
        let left = self.bins(&mut list, &SEARCH_BIN, rows, args);
        for round in rounds {
            let args = Args { alternation: round, ..self.args(chunk) };
            self.gains(&mut list, rows, &left, args);
            for _ in 1..self.n_levels {
                let colours = rows.colours.iter().rev();
                colours.for_each(|&kind| self.dispatch(&mut list, &FLIP_CHAIN, left(kind), args));
            }
            self.dispatch(&mut list, &FLIP_BEST, left(rows.docs), args);
        }
        list
    }

    /// The dispatches that find what every topic is worth alone, all being off.
    pub fn alone(&self, chunk: &Chunk) -> Vec<Dispatch> {
        let mut list = Vec::new();
        self.gains(&mut list, &chunk.rows, &|kind| kind.all, self.args(chunk));
        list
    }

    /// Adds the dispatches that find what every topic's flip gains.
    fn gains(&self, list: &mut Vec<Dispatch>, rows: &Rows, left: &dyn Fn(Kind) -> RowSet, args: Args) {
        for kind in [rows.several_parents, rows.few_parents] {
            self.dispatch(list, &FLIP_TERMS, left(kind), args);
        }
        rows.colours.iter().for_each(|&kind| self.dispatch(list, &FLIP_GAIN, left(kind), args));
    }

    /// The dispatches between start or search and the alternations: r at q.
    pub fn settle(&self, chunk: &Chunk) -> Vec<Dispatch> {
        self.every_node(chunk, &INIT_R)
    }

    fn every_node(&self, chunk: &Chunk, kernel: &'static Kernel) -> Vec<Dispatch> {
        let mut list = Vec::new();
        self.dispatch(&mut list, kernel, chunk.rows.every_node(), self.args(chunk));
        list
    }

    /// The arguments of an alternation.
    fn alternation_args(&self, chunk: &Chunk, alternation: u32) -> Args {
        let mut args = self.args(chunk);
        let hot = self.n_hot();
        if let Some(temper) = self.options.start.temper() {
            args.inverse_temperature = 1.0 / temper.temperature(alternation);
        }
        // Above T = 1, and without a tolerance, nobody is ever done.
        if alternation >= hot && self.options.tolerance > 0.0 {
            (args.alternation, args.tolerance) = (alternation - hot, self.options.tolerance);
        }
        args
    }

    /// The dispatches of some alternations, each q sweeps colour by colour, then r iterations. At most
    /// [`bin_steps`](Self::bin_steps) where there are bins.
    pub fn alternations(&self, chunk: &Chunk, rows: &Rows, mut alternations: Range<u32>) -> Vec<Dispatch> {
        let (mut list, hot) = (Vec::new(), self.n_hot());
        while !alternations.is_empty() {
            let begin = alternations.start;
            // Each of those above T = 1 has its own.
            let end = if begin < hot { begin + 1 } else { alternations.end };
            let args = Args { n_steps: end - begin, ..self.alternation_args(chunk, begin) };
            let left = self.bins(&mut list, &ALTERNATE, rows, args);
            for alternation in begin..end {
                let args = self.alternation_args(chunk, alternation);
                for _ in 0..self.options.q_sweeps {
                    let colours = rows.colours.iter();
                    colours.for_each(|&kind| self.dispatch(&mut list, &Q_UPDATE, left(kind), args));
                }
                for _ in 0..self.options.r_iterations {
                    self.dispatch(&mut list, &R_UPDATE, left(rows.several_parents), args);
                }
            }
            alternations.start = end;
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
        self.dispatch(&mut list, &DOC_BOUND, chunk.rows.docs.all, self.args(chunk));
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
            let rows = |[middle, end]: [u32; 2]| RowSet {
                short: Span { begin: 0, len: middle },
                long: Span { begin: middle, len: end - middle },
                ..RowSet::default()
            };
            self.dispatch(&mut list, &EDGE_SUMS, rows(edges), args);
            self.dispatch(&mut list, &NODE_SUMS, rows(touched), args);
        }
        list
    }

    /// The arrays of a chunk, in bytes.
    pub fn array_bytes(&self, chunk: &Chunk) -> Vec<(Array, usize)> {
        let (n_docs, n_nodes, n_edges) = (chunk.n_docs(), chunk.n_nodes(), chunk.n_edges());
        let mut arrays = vec![
            (Array::Docs, 16 * chunk.docs.len()),
            (Array::Nodes, 16 * chunk.nodes.len()),
            (Array::Edges, 8 * n_edges + 4 * chunk.slot_children.len()),
            (Array::Rows, 16 * chunk.rows.list.len()), // the lists, and room for them made anew
            (Array::Touched, 8 * chunk.touched.len()),
            (Array::EdgeOwners, 4 * chunk.edge_owners.len()),
            (Array::Positions, 4 * chunk.positions.len()),
            (Array::DocState, 4 * n_docs),
            (Array::NodeState, 28 * n_nodes + 4 * n_docs),
            (Array::EdgeState, 8 * n_edges),
            (Array::Slots, 4 * n_edges),
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

/// Adds a dispatch, if it has rows.
fn add(list: &mut Vec<Dispatch>, kernel: &'static Kernel, lanes: Lanes, span: Span, args: Args) {
    if span.len > 0 {
        list.push(Dispatch { kernel, lanes, args: Args { row_begin: span.begin, n_rows: span.len, ..args } });
    }
}
