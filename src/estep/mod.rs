//! The E-step: q and r of every document at given weights, its bound, and the sums that the step needs.

pub mod cpu;
#[doc(hidden)] // how devices run kernels; what users need of it is in `gpu`
pub mod device;
#[cfg(feature = "gpu")]
pub mod gpu;
mod on_lists;
mod options;
#[doc(hidden)] // for tests
pub mod oracle;
mod params;
mod pieces;
mod stats;
mod sums;
mod unknown;

pub use crate::monitor::Monitor;
pub use on_lists::{OnLists, OnListsReader};
pub use options::{AUTO_CLAMPED, Bound, EStepOptions, MAX_CLAMPED, MIN_BETTER, Start, Temper};
pub use params::Params;
pub use pieces::PULL;
pub use stats::{Stats, StepSums};
pub(crate) use sums::Rounding;
pub use sums::{BlockSums, Scale, Sums};

use crate::corpus::{Docs, Item};
use crate::error::Result;
use crate::mcmc::Sampling;
use crate::network::Graph;

/// What to run: documents of a corpus under a network.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// What was derived of its weights.
    pub params: &'a Params,
    /// The documents.
    pub docs: Docs<'a>,
    /// Which of them, and how often each counts.
    pub items: &'a [Item],
    /// How.
    pub options: &'a EStepOptions,
    /// Whether the gradient sums are wanted.
    pub gradients: bool,
    /// The topics that were on in each item before: a search begins there instead of with all topics off.
    pub kept_on: Option<&'a OnLists>,
    /// Progress out, stop requests in.
    pub monitor: &'a Monitor,
}

/// Per-document results of consecutive items.
#[derive(Debug)]
pub struct DocResults<'a> {
    /// Place of the first of them in the items.
    pub first_item: usize,
    /// Where each document's topics begin, and the end of the last one's.
    pub topic_offsets: &'a [usize],
    /// The topics of their local models.
    pub topics: &'a [u32],
    /// q of those topics.
    pub q: &'a [f32],
    /// The bound of every document.
    pub elbo: &'a [f64],
}

impl<'a> DocResults<'a> {
    /// Number of documents.
    pub fn n_docs(&self) -> usize {
        self.elbo.len()
    }

    /// The topics of a document's local model, and their q.
    pub fn doc(&self, doc_ix: usize) -> (&'a [u32], &'a [f32]) {
        let range = self.topic_offsets[doc_ix]..self.topic_offsets[doc_ix + 1];
        (&self.topics[range.clone()], &self.q[range])
    }
}

/// Receives per-document results, in the order of the items.
pub type Sink<'a> = dyn FnMut(&DocResults<'_>) -> Result<()> + 'a;

/// A backend.
pub trait EStep {
    /// The backend's name, for people.
    fn name(&self) -> String;

    /// Runs the E-step; `sink` gets per-document results where it is given. Unknown tokens are left out.
    ///
    /// # Errors
    ///
    /// [`Error::Numeric`](crate::Error::Numeric) on a weight or bound that is not finite,
    /// [`Error::Interrupted`](crate::Error::Interrupted) where the monitor says stop, what the backend and the sink fail with.
    fn run(&mut self, work: &Work<'_>, sink: Option<&mut Sink<'_>>) -> Result<Stats> {
        let scale = Scale::of(work.items)?;
        let run = |work: &Work<'_>| {
            let sums = self.run_packed(work, scale, sink)?;
            Ok(sums.to_stats(work.graph, work.params))
        };
        if work.docs.has_unknown() { unknown::run_with_shadows(work, run) } else { run(work) }
    }

    /// The same of documents as they are packed, of which every node is positive: sums in units that fit all documents of the sum that these
    /// are a part of.
    ///
    /// # Errors
    ///
    /// As [`EStep::run`].
    fn run_packed(&mut self, work: &Work<'_>, scale: Scale, sink: Option<&mut Sink<'_>>) -> Result<Sums>;

    /// Samples topics where training does so instead of computing q: on the CPU, but ranks share the documents.
    ///
    /// # Errors
    ///
    /// As [`Sampling::run`].
    fn sample(&mut self, sampling: &Sampling<'_>) -> Result<(Stats, OnLists)> {
        sampling.run()
    }

    /// Items may be divided into runs at multiples of so many: runs then add up to the same sums, and give the same results.
    fn run_docs(&self, options: &EStepOptions) -> usize;
}
