//! Keeping a run within `--memory-mb`.

use super::Common;
use super::inputs::{Inputs, Start};
use noisyor::corpus::{Corpus, Item};
use noisyor::estep::Bound;
use noisyor::plan::{Backend, Shape, train_memory};
use noisyor::rng::{Stream, rng};
use noisyor::structure::graph_memory;
use noisyor::train::{CheckedOptions, SLICE_DOCS};
use noisyor::{Error, Result};
use rand::seq::SliceRandom;

/// Documents that the estimate packs some of.
const LOOK_AT: usize = 1 << 14;

/// The limit in bytes, if there is one.
#[derive(Clone, Copy)]
pub(super) struct Limit(Option<u64>);

impl Limit {
    pub(super) fn of_mb(mb: Option<u64>) -> Self {
        Self(mb.map(|mb| mb.saturating_mul(1 << 20)))
    }

    /// Packed documents that a GPU may keep, in MB: no more than half of it all.
    pub(super) fn cache_mb(self, cache_mb: usize) -> usize {
        self.0.map_or(cache_mb, |bytes| cache_mb.min((bytes >> 21) as usize))
    }

    /// The documents that a graph is learned from: all, or as many at random as there is memory for.
    pub(super) fn graph_docs(
        self,
        inputs: &Inputs,
        mut docs: Vec<u32>,
        seed: u64,
        common: &Common,
    ) -> Vec<u32> {
        let per_doc = inputs.corpus.n_occurrences() as f64 / inputs.corpus.n_docs().max(1) as f64;
        let need = graph_memory((per_doc * docs.len() as f64) as u64);
        let Some(limit) = self.0.filter(|&limit| need > limit) else { return docs };
        let n_fitting = (docs.len() as f64 * limit as f64 / need as f64) as usize;
        common.warn(format_args!(
            "the graph is learned from {n_fitting} of {} documents, as many as --memory-mb has room for",
            docs.len()
        ));
        docs.shuffle(&mut rng(seed, Stream::GraphDocs));
        docs.truncate(n_fitting.max(1));
        docs.sort_unstable();
        docs
    }

    /// Lets a mapped corpus not stay in memory.
    pub(super) fn apply_to(self, corpus: &Corpus) {
        if self.0.is_some() {
            corpus.give_back_pages();
        }
    }

    /// An error if training would need more.
    pub(super) fn fit(
        self,
        inputs: &Inputs,
        start: &Start,
        options: &CheckedOptions,
        on_cpu: bool,
    ) -> Result<()> {
        let Some(limit) = self.0 else { return Ok(()) };
        let docs = inputs.docs();
        let stride = docs.n_docs().div_ceil(LOOK_AT).max(1);
        let some: Vec<u32> = (0..docs.n_docs() as u32).step_by(stride).collect();
        let shape = Shape::of(&start.graph, &docs, &Item::each(&some), options.estep.bound == Bound::Full);
        let threads = rayon::current_num_threads();
        let need = train_memory(&start.graph, &start.names, &docs, &shape, options, threads, Backend::Cpu);
        // Of a mapped corpus, what one slice reads stays until it is done.
        let slice = inputs.corpus.n_bytes() as f64 * (SLICE_DOCS as f64 / docs.n_docs() as f64).min(1.0);
        let mapped = if inputs.corpus.is_mapped() { need.corpus - slice as u64 } else { 0 };
        let least = need.total - mapped - if on_cpu { 0 } else { need.workers };
        if least <= limit {
            return Ok(());
        }
        let mb = |bytes: u64| bytes.div_ceil(1 << 20);
        Err(Error::Usage(format!(
            "--memory-mb {} is too little: this run needs about {} MB ({} for the network, {} for the weight step, {} for {threads} \
             threads); raise it, lower --threads, or train a smaller graph",
            mb(limit),
            mb(least),
            mb(need.network),
            mb(need.optimiser),
            mb(need.workers)
        )))
    }
}
