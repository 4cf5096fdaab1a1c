//! Batch inference: the bound and the topic probabilities of every document, written as they come, in memory that does not
//! depend on how many there are.

mod batch;
mod output;
mod parts;
mod records;
mod shard;

pub use batch::{Batch, Job};
pub use output::{OutputFormat, STDOUT, tsv_field};
pub use shard::Shard;

use crate::corpus::{Docs, Item};
use crate::error::Result;
use crate::estep::{DocResults, EStep, EStepOptions, Monitor, Params, Sink, Stats, Work};
use crate::network::Network;
use std::ops::Range;

/// Documents whose list of items is made at a time.
const SLICE_DOCS: usize = 1 << 17;

/// Runs the E-step, without gradients, over the given documents of a corpus; `sink` gets their results in order.
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
    let slices = doc_ixs.chunks(SLICE_DOCS).map(Item::each);
    let stats = run_slices(network, docs, slices, options, &params, estep, monitor, sink)?;
    Ok((stats, params))
}

/// The same over a range of documents, without a list of them; `first_item` of the results counts from the range's start.
#[allow(clippy::too_many_arguments)]
pub fn run_range(
    network: &Network,
    docs: Docs<'_>,
    range: Range<usize>,
    options: &EStepOptions,
    params: &Params,
    estep: &mut dyn EStep,
    monitor: &Monitor,
    sink: Option<&mut Sink<'_>>,
) -> Result<Stats> {
    let slices = range.clone().step_by(SLICE_DOCS).map(|begin| {
        let slice = begin..range.end.min(begin + SLICE_DOCS);
        slice.map(|doc_ix| Item { doc_ix: doc_ix as u32, count: 1 }).collect()
    });
    run_slices(network, docs, slices, options, params, estep, monitor, sink)
}

#[allow(clippy::too_many_arguments)]
fn run_slices(
    network: &Network,
    docs: Docs<'_>,
    slices: impl Iterator<Item = Vec<Item>>,
    options: &EStepOptions,
    params: &Params,
    estep: &mut dyn EStep,
    monitor: &Monitor,
    mut sink: Option<&mut Sink<'_>>,
) -> Result<Stats> {
    let (mut stats, mut before) = (Stats::default(), 0);
    for items in slices {
        let work = Work {
            graph: &network.graph,
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
        stats.merge(&estep.run(&work, params, sink)?);
        docs.corpus().release();
        before += items.len();
    }
    Ok(stats)
}
