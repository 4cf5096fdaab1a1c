//! Batch inference: the bound and the topic probabilities of every document, written as they come.

mod output;

pub use output::{OutputFormat, Subject, TopicWriter, tsv_field};

use crate::corpus::{Docs, Item};
use crate::error::Result;
use crate::estep::{EStep, EStepOptions, Monitor, Params, Sink, Stats, Work};
use crate::network::Network;

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
    let items = Item::each(doc_ixs);
    let work = Work { graph: &network.graph, docs, items: &items, options, gradients: false, monitor };
    Ok((estep.run(&work, &params, sink)?, params))
}
