//! The CPU backend: rayon over blocks of documents; each block is packed, run document by document while its
//! data is in cache, and summed; block sums are added in block order.

mod document;
mod edge_terms;
mod gradient;
mod probe;
mod q_sweep;
mod r_update;

pub use probe::Probe;

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
/// A block is packed in parts of about this many edges, so that a part stays in cache and a block of huge
/// documents does not fill the memory.
const PART_EDGES: usize = 1 << 16;

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

/// One packed part of a block, kept only where a sink wants it.
struct Part {
    batch: Batch,
    q: Vec<f32>,
    elbo: Vec<f64>,
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
        format!("cpu ({} threads)", rayon::current_num_threads())
    }

    fn run(&mut self, work: &Work<'_>, params: &Params, mut sink: Option<&mut Sink<'_>>) -> Result<Stats> {
        let (graph, full) = (work.graph, work.options.bound == Bound::Full);
        let sizes = (graph.n_topics(), graph.n_nodes(), graph.n_edges(), graph.n_colours(), full);
        if self.sizes != sizes {
            self.sizes = sizes;
            self.workers.get_mut().unwrap_or_else(|e| e.into_inner()).clear();
        }
        let mut stats = Stats::new(graph, work.gradients);
        let round = BLOCK_DOCS * ROUND_BLOCKS_PER_THREAD * rayon::current_num_threads();
        let mut first_item = 0;
        for items in work.items.chunks(round) {
            let keep = sink.is_some();
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
            let blocks: Vec<Result<(BlockSums, Vec<Part>)>> = items.par_chunks(BLOCK_DOCS).map(run).collect();
            for block in blocks {
                let (sums, parts) = block?;
                stats.add(graph, &sums);
                for part in parts {
                    if let Some(sink) = &mut sink {
                        sink(&DocResults { first_item, batch: &part.batch, q: &part.q, elbo: &part.elbo })?;
                    }
                    first_item += part.batch.n_docs();
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
    ) -> Result<(BlockSums, Vec<Part>)> {
        let mut totals = Stats::default();
        let (mut parts, mut done) = (Vec::new(), 0);
        while done < items.len() {
            let rest = &items[done..];
            let n_packed = self.packer.pack(work.graph, &work.docs, rest, PART_EDGES, &mut self.batch);
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
                let (q, elbo) = (self.state.q.clone(), self.state.elbo.clone());
                parts.push(Part { batch: self.batch.clone(), q, elbo });
            }
            done += n_packed;
        }
        let mut sums = if work.gradients { self.sums.take(work.graph) } else { BlockSums::default() };
        sums.totals = totals;
        Ok((sums, parts))
    }
}

fn not_finite(item: Item, elbo: f64) -> Error {
    Error::Numeric(format!(
        "the bound of document {} is {elbo}: a weight or q is out of range; lower --rate or --cap, or raise --floor",
        item.doc_ix
    ))
}
