//! Batch inference: the bound and the topic probabilities of every document, written as they come, in memory that does not
//! depend on how many there are.

mod inference;
mod matrix;
mod on_ranks;
mod output;
mod parts;
mod records;
mod shard;

pub use inference::{Inference, InferredBy, Job};
pub use matrix::TopicMatrix;
pub use on_ranks::help;
#[cfg(feature = "parquet")]
pub(crate) use output::parquet;
pub use output::{OutputFormat, STDOUT, tsv_field};
pub(crate) use output::{Target, format_of};
pub use shard::Shard;

use crate::batch::SLICE_DOCS;
use crate::corpus::{Docs, Item};
use crate::error::Result;
use crate::estep::{DocResults, EStep, EStepOptions, Monitor, Params, Sink, Stats, Work};
use crate::network::Network;
use std::ops::Range;

/// What is the same for all E-steps of an inference.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// The model.
    pub network: &'a Network,
    /// What was derived of its weights.
    pub params: &'a Params,
    /// The documents.
    pub docs: Docs<'a>,
    /// How the E-step is run.
    pub options: &'a EStepOptions,
    /// Progress out, stop requests in.
    pub monitor: &'a Monitor,
}

/// Runs the E-step, without gradients, over the given documents of a corpus; `sink` gets their results in order.
///
/// ```
/// use noisyor::corpus::{Corpus, align};
/// use noisyor::estep::{DocResults, EStepOptions, cpu::CpuEStep};
/// use noisyor::{Monitor, infer, network::load_bytes};
///
/// # let model = "sport\tball\t2\nsport\tteam\t2\nmusic\tsong\t2\n\tsport\t0.5\n\tmusic\t0.5\n\tball\t0.01\n\tteam\t0.01\n\tsong\t0.01\n";
/// # let network = load_bytes("model.tsv".as_ref(), model.as_bytes())?.into_model("model.tsv".as_ref())?;
/// let corpus = Corpus::from_tokens([vec![0, 1], vec![2]]); // tokens by number: ball and team; song
/// let alignment = align(&corpus, &network.names.tokens);
/// let mut likeliest = Vec::new();
/// let mut sink = |results: &DocResults<'_>| {
///     for at in 0..results.n_docs() {
///         let (topics, q) = results.doc(at);
///         let best = topics.iter().zip(q).max_by(|a, b| a.1.total_cmp(b.1));
///         likeliest.push(best.map_or("none", |(&topic, _)| network.names.of(topic)));
///     }
///     Ok(())
/// };
/// let (options, mut estep, monitor) = (EStepOptions::default(), CpuEStep::new(), Monitor::default());
/// infer::run(&network, alignment.docs(&corpus), &[0, 1], &options, &mut estep, &monitor, Some(&mut sink))?;
/// assert_eq!(likeliest, ["sport", "music"]);
/// # Ok::<(), noisyor::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Numeric`](crate::Error::Numeric) on a weight or bound that is not finite,
/// [`Error::Interrupted`](crate::Error::Interrupted) where the monitor says stop, what the backend and the sink fail with.
pub fn run(
    network: &Network,
    docs: Docs<'_>,
    doc_ixs: &[u32],
    options: &EStepOptions,
    estep: &mut dyn EStep,
    monitor: &Monitor,
    sink: Option<&mut Sink<'_>>,
) -> Result<(Stats, Params)> {
    let params = Params::derive(&network.graph, &network.weights, options.bound)?;
    let task = Task { network, params: &params, docs, options, monitor };
    let stats = task.run_slices(doc_ixs.chunks(SLICE_DOCS).map(Item::each), estep, sink)?;
    Ok((stats, params))
}

impl Task<'_> {
    /// The same over a range of documents, without a list of them; `first_item` of the results counts from the range's start.
    ///
    /// # Errors
    ///
    /// As [`run`].
    pub fn run_range(
        &self,
        range: Range<usize>,
        estep: &mut dyn EStep,
        sink: Option<&mut Sink<'_>>,
    ) -> Result<Stats> {
        let slices = range.clone().step_by(SLICE_DOCS).map(|begin| {
            let slice = begin..range.end.min(begin + SLICE_DOCS);
            slice.map(|doc_ix| Item { doc_ix: doc_ix as u32, count: 1 }).collect()
        });
        self.run_slices(slices, estep, sink)
    }

    fn run_slices(
        &self,
        slices: impl Iterator<Item = Vec<Item>>,
        estep: &mut dyn EStep,
        mut sink: Option<&mut Sink<'_>>,
    ) -> Result<Stats> {
        let Self { network, params, docs, options, monitor } = *self;
        let (mut stats, mut before) = (Stats::default(), 0);
        for items in slices {
            let work = Work {
                graph: &network.graph,
                params,
                docs,
                items: &items,
                options,
                gradients: false,
                kept_on: None,
                monitor,
            };
            let mut forward = sink.as_mut().map(|sink| {
                move |results: &DocResults<'_>| {
                    sink(&DocResults { first_item: before + results.first_item, ..*results })
                }
            });
            let sink = forward.as_mut().map(|forward| forward as &mut Sink<'_>);
            stats.merge(&estep.run(&work, sink)?);
            docs.corpus().release();
            before += items.len();
        }
        Ok(stats)
    }
}
