//! The CPU backend: rayon over blocks of documents; each block is packed, run document by document while its
//! data is in cache, and summed; block sums are added in fixed point.

mod clamp;
mod document;
mod edge_terms;
mod gradient;
mod greedy;
mod in_order;
mod instruction_set;
mod probe;
mod q_sweep;
mod r_update;
mod reduce;

pub use document::Q_START;
pub(crate) use gradient::Accumulator;
pub(super) use greedy::lifted_beyond;
pub use greedy::{HOPE, MIN_GAIN, Q_ON};
pub use instruction_set::InstructionSet;
pub use probe::{Probe, ProbePiece};
pub use r_update::GROWTH;

use super::{BlockSums, Bound, DocResults, EStep, EStepOptions, Scale, Sink, Start, Stats, Sums, Work};
use crate::batch::{BLOCK_DOCS, Batch, CPU_PART_SIZE, Packer};
use crate::corpus::{Item, RELEASE_DOCS};
use crate::error::{Error, Result};
use crate::network::Graph;
use document::{DocState, SomeDocs};
pub(crate) use in_order::in_order;
use reduce::{UpperTerms, upper_terms};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Blocks a thread may be ahead of the one that is added up next: enough to keep all threads busy, few enough that
/// their sums take little memory.
pub const BLOCKS_AHEAD: usize = 16;
/// The same where per-document results are kept: those take more.
const BLOCKS_AHEAD_KEPT: usize = 2;
/// Blocks after which pages of a mapped corpus are given back.
const RELEASE_BLOCKS: usize = RELEASE_DOCS / BLOCK_DOCS;
/// Length of vectorised loops' groups: arrays are padded to whole groups, and a loop's length is a visible multiple of it, so that it
/// leaves no scalar remainder, which would cost more than the padding.
const GROUP: usize = 8;

/// The CPU backend.
#[derive(Debug)]
pub struct CpuEStep {
    instructions: InstructionSet,
    /// Workers at rest, and the sizes they were made for.
    workers: Mutex<Vec<Worker>>,
    sizes: Sizes,
}

/// What a worker's memory depends on: topics, nodes, edges, colours, full.
type Sizes = (usize, usize, usize, usize, bool);

/// One thread's memory, reused from block to block.
#[derive(Debug)]
struct Worker {
    packer: Packer,
    batch: Batch,
    state: DocState,
    sums: Accumulator,
}

/// Per-document results of a block, kept only where a sink wants them.
#[derive(Default)]
struct Kept {
    topic_offsets: Vec<usize>,
    topics: Vec<u32>,
    q: Vec<f32>,
    elbo: Vec<f64>,
}

impl Kept {
    fn add(&mut self, batch: &Batch, state: &DocState) {
        for doc_ix in 0..batch.n_docs() {
            self.topic_offsets.push(self.topics.len());
            let topics = batch.topics(doc_ix);
            self.topics.extend(batch.nodes[topics.clone()].iter().map(|node| node.id));
            self.q.extend_from_slice(&state.q[topics]);
        }
        self.elbo.extend_from_slice(&state.elbo);
    }
}

impl Default for CpuEStep {
    fn default() -> Self {
        Self::new()
    }
}

impl CpuEStep {
    /// A backend on rayon's current thread pool.
    pub fn new() -> Self {
        Self::with_instructions(InstructionSet::widest())
    }

    /// What it computes with.
    pub fn instructions(&self) -> InstructionSet {
        self.instructions
    }

    /// The same with an instruction set that this machine has: for tests, since all give the same bytes.
    pub fn with_instructions(instructions: InstructionSet) -> Self {
        assert!(instructions.is_available(), "this machine does not have {}", instructions.name());
        Self { instructions, workers: Mutex::default(), sizes: Sizes::default() }
    }

    fn take_worker(&self, graph: &Graph, full: bool) -> Worker {
        let rested = self.workers.lock().unwrap_or_else(|e| e.into_inner()).pop();
        rested.unwrap_or_else(|| Worker {
            packer: Packer::new(graph, full),
            batch: Batch::default(),
            state: DocState::with(self.instructions),
            sums: Accumulator::new(graph),
        })
    }
}

impl EStep for CpuEStep {
    fn name(&self) -> String {
        "cpu".to_owned()
    }

    fn run_packed(&mut self, work: &Work<'_>, scale: Scale, mut sink: Option<&mut Sink<'_>>) -> Result<Sums> {
        let (graph, full) = (work.graph, work.options.bound == Bound::Full);
        let sizes = (graph.n_topics(), graph.n_nodes(), graph.n_edges(), graph.n_colours(), full);
        if self.sizes != sizes {
            self.sizes = sizes;
            self.workers.get_mut().unwrap_or_else(|e| e.into_inner()).clear();
        }
        let mut all = Sums::new(graph, work.gradients, scale);
        // Other starts go through states in which every topic is half on, and where they end depends on all of them. What is told of single
        // documents must be what is explained, to rounding, and explanations are of whole documents: only the sums take the short way.
        let EStepOptions { start, clamp, .. } = *work.options;
        let is_told = sink.is_some() || work.kept_on.is_some();
        let reduce = work.gradients && !is_told && !full && start == Start::Greedy && clamp == 0;
        let upper = reduce.then(|| upper_terms(self.instructions, graph, work.params));
        let (keep, n_blocks) = (sink.is_some(), AtomicUsize::new(0));
        let run = |(block_ix, block): (usize, &[Item])| {
            work.monitor.go_on()?;
            let mut worker = self.take_worker(graph, full);
            // A worker that failed may hold half a block's sums: it is dropped.
            let (sums, kept) = worker.run_block(work, block_ix * BLOCK_DOCS, block, upper.as_ref(), keep)?;
            let sums = scale.fixed(graph, work.params, sums)?;
            self.workers.lock().unwrap_or_else(|e| e.into_inner()).push(worker);
            if n_blocks.fetch_add(1, Ordering::Relaxed) % RELEASE_BLOCKS == RELEASE_BLOCKS - 1 {
                work.docs.corpus().release();
            }
            work.monitor.docs_done.fetch_add(sums.totals.n_docs as u64, Ordering::Relaxed);
            Ok((sums, kept))
        };
        let mut first_item = 0;
        let land = |(sums, kept): (BlockSums<i64>, Kept)| {
            all.add(graph, &sums)?;
            let Some(sink) = &mut sink else { return Ok(()) };
            let Kept { mut topic_offsets, topics, q, elbo } = kept;
            topic_offsets.push(topics.len());
            let (topic_offsets, topics, q, elbo) = (&topic_offsets, &topics, &q, &elbo);
            sink(&DocResults { first_item, topic_offsets, topics, q, elbo })?;
            first_item += elbo.len();
            Ok(())
        };
        let ahead = if keep { BLOCKS_AHEAD_KEPT } else { BLOCKS_AHEAD } * rayon::current_num_threads();
        in_order(work.items.chunks(BLOCK_DOCS).enumerate(), ahead, run, land)?;
        Ok(all)
    }

    fn run_docs(&self, _: &EStepOptions) -> usize {
        BLOCK_DOCS
    }
}

impl Worker {
    fn run_block(
        &mut self,
        work: &Work<'_>,
        first_item: usize,
        items: &[Item],
        upper: Option<&UpperTerms>,
        keep: bool,
    ) -> Result<(BlockSums, Kept)> {
        let mut totals = Stats::default();
        let (mut kept, mut done) = (Kept::default(), 0);
        while done < items.len() {
            let rest = &items[done..];
            let n_packed = self.packer.pack(work.graph, &work.docs, rest, CPU_PART_SIZE, &mut self.batch);
            let sums = work.gradients.then_some(&mut self.sums);
            let kept_on = work.kept_on.map(|lists| lists.from(first_item + done));
            let Work { graph, params, options, .. } = *work;
            let docs = SomeDocs { graph, batch: &self.batch, params, options, kept_on, upper };
            document::run_batch(self.state.instructions, docs, &mut self.state, sums, &mut totals);
            if let Some(bad) = self.state.elbo.iter().position(|elbo| !elbo.is_finite()) {
                return Err(not_finite(rest[bad], self.state.elbo[bad]));
            }
            if keep {
                kept.add(&self.batch, &self.state);
            }
            done += n_packed;
        }
        let mut sums = if work.gradients { self.sums.take(work.graph) } else { BlockSums::default() };
        sums.totals = totals;
        Ok((sums, kept))
    }
}

pub(super) fn not_finite(item: Item, elbo: f64) -> Error {
    Error::Numeric(format!(
        "the bound of document {} is {elbo}: a weight or q is out of range; lower `rate` or `cap`, or raise `floor`",
        item.doc_ix
    ))
}
