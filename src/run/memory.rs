//! Keeping a run within a given memory.

use super::inputs::Inputs;
use super::observer::{Level, Observer};
use super::start::Start;
use crate::corpus::Corpus;
use crate::error::{Error, Result};
use crate::plan::{Device, memory_need};
use crate::rng::{Stream, rng};
use crate::structure::graph_memory;
use crate::train::{CheckedOptions, SLICE_DOCS};
use rand::seq::SliceRandom;

/// The limit in bytes, if there is one.
#[derive(Clone, Copy)]
pub(super) struct MemoryLimit(Option<u64>);

impl MemoryLimit {
    pub(super) fn of_mb(mb: Option<u64>) -> Self {
        Self(mb.map(|mb| mb.saturating_mul(1 << 20)))
    }

    /// Packed documents that a GPU may keep, in MB: no more than half of it all.
    pub(super) fn cache_mb(self, cache_mb: usize) -> usize {
        self.0.map_or(cache_mb, |bytes| cache_mb.min((bytes >> 21) as usize))
    }

    /// The documents that a graph is learned from: all to train on, or as many at random as there is memory for.
    pub(super) fn graph_docs(self, inputs: &Inputs, seed: u64, observer: &mut dyn Observer) -> Vec<u32> {
        let mut docs = inputs.parts.train.clone();
        let per_doc = inputs.corpus.n_occurrences() as f64 / inputs.corpus.n_docs().max(1) as f64;
        let need = graph_memory((per_doc * docs.len() as f64) as u64);
        let Some(limit) = self.0.filter(|&limit| need > limit) else { return docs };
        let n_fitting = (docs.len() as f64 * limit as f64 / need as f64) as usize;
        let message = format!(
            "the graph is learned from {n_fitting} of {} documents, as many as `memory_mb` has room for",
            docs.len()
        );
        observer.says(Level::Warning, &message);
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
        device: Option<Device>,
    ) -> Result<()> {
        let Some(limit) = self.0 else { return Ok(()) };
        let docs = inputs.docs();
        let need = memory_need(&start.graph, &start.names, docs, options, device);
        // Of a mapped corpus there is only what a slice reads of it, of a batch or of what is held out.
        let parts = &inputs.parts;
        let of_batch = parts.train.len() / options.n_batches(parts.train.len());
        let slices = [of_batch, parts.valid.len(), parts.test.len()];
        let resident = slices.map(|n_docs| inputs.corpus.resident_bytes(n_docs.min(SLICE_DOCS)));
        let resident = resident.into_iter().max().unwrap_or(0).min(need.corpus);
        let is_mapped = inputs.corpus.is_mapped();
        let least = need.least(is_mapped) + if is_mapped { resident } else { 0 };
        if least <= limit {
            return Ok(());
        }
        let mb = |bytes: u64| bytes.div_ceil(1 << 20);
        let (working, remedy) = match device {
            Some(_) => (format!("{} for packed documents", mb(need.packed)), "`cache_mb`"),
            None => (
                format!("{} for {} threads", mb(need.workers + need.behind), rayon::current_num_threads()),
                "`threads`",
            ),
        };
        let kept = match need.kept_starts {
            0 => String::new(),
            bytes if options.keep_starts => format!(", {} for `keep_starts`", mb(bytes)),
            bytes => format!(", {} for chains", mb(bytes)),
        };
        Err(Error::Usage(format!(
            "`memory_mb` {} is too little: this run needs about {} MB ({} for the program, {} for the network, {} for the weight \
             step, {working}{kept}); raise it, lower {remedy}, or train a smaller graph",
            mb(limit),
            mb(least),
            mb(need.program),
            mb(need.network),
            mb(need.optimiser),
        )))
    }
}
