//! The CPU backend: rayon over blocks of documents; each block is packed, run document by document while its
//! data is in cache, and summed; block sums are added in block order.

mod document;
mod edge_terms;
mod gradient;
mod probe;
mod q_sweep;
mod r_update;
pub mod twin;

pub use probe::Probe;
pub use r_update::GROWTH;

use super::{BlockSums, Bound, DocResults, EStep, Params, Sink, Stats, Work};
use crate::batch::{BLOCK_DOCS, Batch, Packer};
use crate::corpus::Item;
use crate::error::{Error, Result};
use crate::network::Graph;
use document::DocState;
use gradient::Accumulator;
use rayon::prelude::*;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

/// Blocks computed between two rounds of adding up: enough to keep all threads busy, few enough that
/// their sums take little memory.
const ROUND_BLOCKS_PER_THREAD: usize = 16;
/// The same where per-document results are kept until the round is done: those take more.
const ROUND_BLOCKS_KEPT: usize = 2;
/// A block is packed in parts of about this many nodes and edges, so that a part stays in cache and a block of
/// huge documents does not fill the memory.
const PART_SIZE: usize = 1 << 16;

/// The CPU backend.
#[derive(Debug, Default)]
pub struct CpuEStep {
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

impl CpuEStep {
    /// A backend on rayon's current thread pool.
    pub fn new() -> Self {
        Self::default()
    }

    fn take_worker(&self, graph: &Graph, full: bool) -> Worker {
        let rested = self.workers.lock().unwrap_or_else(|e| e.into_inner()).pop();
        rested.unwrap_or_else(|| Worker {
            packer: Packer::new(graph, full),
            batch: Batch::default(),
            state: DocState::default(),
            sums: Accumulator::new(graph),
        })
    }
}

impl EStep for CpuEStep {
    fn name(&self) -> String {
        "cpu".to_owned()
    }

    fn run(&mut self, work: &Work<'_>, params: &Params, mut sink: Option<&mut Sink<'_>>) -> Result<Stats> {
        let (graph, full) = (work.graph, work.options.bound == Bound::Full);
        let sizes = (graph.n_topics(), graph.n_nodes(), graph.n_edges(), graph.n_colours(), full);
        if self.sizes != sizes {
            self.sizes = sizes;
            self.workers.get_mut().unwrap_or_else(|e| e.into_inner()).clear();
        }
        let mut stats = Stats::new(graph, work.gradients);
        let keep = sink.is_some();
        let round_blocks = if keep { ROUND_BLOCKS_KEPT } else { ROUND_BLOCKS_PER_THREAD };
        let round = BLOCK_DOCS * round_blocks * rayon::current_num_threads();
        let mut first_item = 0;
        for items in work.items.chunks(round) {
            let run = |block: &[Item]| {
                if work.monitor.stop.load(Ordering::Relaxed) {
                    return Err(Error::Interrupted);
                }
                let mut worker = self.take_worker(graph, full);
                // A worker that failed may hold half a block's sums: it is dropped.
                let result = worker.run_block(work, block, params, keep)?;
                self.workers.lock().unwrap_or_else(|e| e.into_inner()).push(worker);
                work.monitor.docs_done.fetch_add(result.0.totals.n_docs as u64, Ordering::Relaxed);
                Ok(result)
            };
            let blocks: Vec<Result<(BlockSums, Kept)>> = items.par_chunks(BLOCK_DOCS).map(run).collect();
            for block in blocks {
                let (sums, Kept { mut topic_offsets, topics, q, elbo }) = block?;
                stats.add(graph, &sums);
                if let Some(sink) = &mut sink {
                    topic_offsets.push(topics.len());
                    let (topic_offsets, topics, q, elbo) = (&topic_offsets, &topics, &q, &elbo);
                    sink(&DocResults { first_item, topic_offsets, topics, q, elbo })?;
                    first_item += elbo.len();
                }
            }
        }
        Ok(stats)
    }
}

impl Worker {
    fn run_block(
        &mut self,
        work: &Work<'_>,
        items: &[Item],
        params: &Params,
        keep: bool,
    ) -> Result<(BlockSums, Kept)> {
        let mut totals = Stats::default();
        let (mut kept, mut done) = (Kept::default(), 0);
        while done < items.len() {
            let rest = &items[done..];
            let n_packed = self.packer.pack(work.graph, &work.docs, rest, PART_SIZE, &mut self.batch);
            let sums = work.gradients.then_some(&mut self.sums);
            document::run_batch(
                work.graph,
                &self.batch,
                params,
                work.options,
                &mut self.state,
                sums,
                &mut totals,
            );
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
        "the bound of document {} is {elbo}: a weight or q is out of range; lower --rate or --cap, or raise --floor",
        item.doc_ix
    ))
}
