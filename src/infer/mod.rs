//! Batch inference: the bound and the topic probabilities of every document, written as they come.

mod output;

pub use output::{OutputFormat, TopicWriter};

use crate::corpus::{Docs, Item};
use crate::error::Result;
use crate::estep::{EStep, EStepOptions, Monitor, Params, Sink, Stats, Work};
use crate::network::Network;

/// Runs the E-step over all documents of a corpus; `sink` gets per-document results in order.
pub fn run(
    network: &Network,
    docs: Docs<'_>,
    options: &EStepOptions,
    estep: &mut dyn EStep,
    monitor: &Monitor,
    sink: Option<&mut Sink<'_>>,
) -> Result<(Stats, Params)> {
    let params = Params::derive(&network.graph, &network.weights, options.bound)?;
    let all: Vec<u32> = (0..docs.n_docs() as u32).collect();
    let items = Item::each(&all);
    let work = Work { graph: &network.graph, docs, items: &items, options, gradients: false, monitor };
    Ok((estep.run(&work, &params, sink)?, params))
}
