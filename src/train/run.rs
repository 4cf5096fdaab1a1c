//! Training from start to end: split, initial weights, refinement where it is wanted, epochs, the best model.

use super::trainer::{Best, Material, Trainer};
use super::{CheckedOptions, Event, Metrics};
use crate::corpus::{Docs, Item, Parts, group_identical, split, token_frequency};
use crate::error::{Error, Result};
use crate::estep::{EStep, Monitor};
use crate::network::{Graph, Init, Weights, initial_weights};
use crate::rng::{Stream, rng};
use rustc_hash::FxHashMap;

/// Why training ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All epochs or steps were done.
    Finished,
    /// No evaluation improved for `patience` evaluations.
    EarlyStop,
    /// The user asked for it.
    Interrupted,
}

/// A trained network.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The graph: the one given, or what refinement made of it.
    pub graph: Graph,
    /// The best weights seen (by the validation bound; the last ones where nothing is held out).
    pub weights: Weights,
    /// The figures of those weights, if they were evaluated.
    pub metrics: Option<Metrics>,
    /// Why it ended.
    pub ended: Ended,
    /// Topics that refinement started anew: their names no longer say what they are.
    pub reseeded: Vec<u32>,
    /// Validation documents.
    pub valid: Vec<u32>,
    /// Documents that nothing here looked at.
    pub test: Vec<u32>,
}

/// Trains the weights of a graph on a corpus; `given` are the weights that came with it, if any did.
///
/// Same seed, same weights, whatever the number of threads. `on_event` may fail to stop the training.
pub fn train(
    graph: &Graph,
    given: Option<&Weights>,
    docs: Docs<'_>,
    options: &CheckedOptions,
    estep: &mut dyn EStep,
    monitor: &Monitor,
    on_event: &mut dyn FnMut(&Event<'_>) -> Result<()>,
) -> Result<Outcome> {
    let Parts { train: train_docs, valid, test } =
        split(docs.n_docs(), options.valid, options.test, options.seed);
    if train_docs.is_empty() {
        return Err(Error::Usage("the corpus has no documents to train on".into()));
    }
    let mut group: Vec<u32> =
        if options.share_identical { group_identical(&docs) } else { (0..docs.n_docs() as u32).collect() };
    // What the test part holds must not even decide the order of sums.
    [&train_docs, &valid].into_iter().for_each(|part| stand_for_own_part(&mut group, part));
    let n_batches = options.batch.n_batches(train_docs.len());
    let mut n_steps = u64::from(options.epochs) * n_batches as u64;
    n_steps = options.max_steps.map_or(n_steps, |most| most.min(n_steps));
    let leak_floor = options.leak_floor.unwrap_or(options.floor.min(0.1 / train_docs.len() as f64));
    let refine_epochs = options.refine.as_ref().map_or(0, super::RefineOptions::n_epochs);
    let weights = start_weights(graph, given, &docs, &train_docs, options, leak_floor)?;
    on_event(&Event::Started {
        n_train: train_docs.len(),
        n_valid: valid.len(),
        n_test: test.len(),
        n_distinct: Item::shared(&train_docs, &group).len(),
        n_steps,
        n_batches,
        refine_epochs,
        leak_floor,
    })?;
    let valid_items = Item::shared(&valid, &group);
    let material = Material { train_docs, group: &group, valid_items: &valid_items };
    let mut trainer =
        Trainer::new((graph.clone(), weights), docs, material, options, leak_floor, estep, monitor);
    let mut reseeded = Vec::new();
    let mut work = || {
        if let Some(refine) = &options.refine {
            trainer.refine(refine, &mut reseeded, on_event)?;
        }
        trainer.run(n_steps, on_event)
    };
    let ended = match work() {
        Ok(ended) => ended,
        Err(Error::Interrupted) => Ended::Interrupted,
        Err(error) => return Err(error),
    };
    let step = trainer.step();
    let given_graph = graph;
    let (graph, weights, metrics) = match trainer.best {
        Some(Best { graph, weights, metrics }) if metrics.valid_elbo.is_some() || metrics.step == step => {
            (graph, weights, Some(metrics))
        }
        // Nothing was held out and there were steps since the last evaluation, or there was none.
        _ => (trainer.graph, trainer.weights, None),
    };
    if graph == *given_graph {
        reseeded.clear();
    }
    Ok(Outcome { graph, weights, metrics, ended, reseeded, valid, test })
}

/// Lets the first of identical documents of a part stand for them, not one of another part.
fn stand_for_own_part(group: &mut [u32], part: &[u32]) {
    let mut first_of = FxHashMap::default();
    for &doc_ix in part {
        let group = &mut group[doc_ix as usize];
        *group = *first_of.entry(*group).or_insert(doc_ix);
    }
}

/// Where training starts: within the range that steps keep weights in.
fn start_weights(
    graph: &Graph,
    given: Option<&Weights>,
    docs: &Docs<'_>,
    train_docs: &[u32],
    options: &CheckedOptions,
    leak_floor: f64,
) -> Result<Weights> {
    if options.init != Init::Graph {
        let frequency = token_frequency(docs, train_docs, graph.n_tokens());
        let mut rng = rng(options.seed, Stream::Init);
        return Ok(initial_weights(graph, options.init, &frequency, leak_floor, &mut rng));
    }
    let Some(mut weights) = given.cloned() else {
        return Err(Error::Usage("the graph has no weights to start from; use --init data".into()));
    };
    weights.edge.iter_mut().for_each(|w| *w = w.clamp(options.floor, options.cap));
    weights.leak.iter_mut().for_each(|w| *w = w.clamp(leak_floor, options.cap));
    weights.round_to_f32();
    Ok(weights)
}
