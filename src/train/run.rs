//! Training from start to end: split, initial weights, refinement where it is wanted, epochs, the best model.

use super::options::MIN_FLOOR;
use super::refine::Refinement;
use super::state::{Best, Phase, State};
use super::trainer::{Setup, Trainer};
use super::{CheckedOptions, Event, Metrics, Prior, RefineOptions, RenewOptions, Smoothing, StepRule};
use crate::corpus::{Docs, Parts, token_frequency};
use crate::error::{Error, Result};
use crate::estep::{EStep, Monitor};
use crate::mixture::{Mixture, MixtureOptions, complete_layer};
use crate::moments;
use crate::network::{Graph, Init, Weights, initial_weights};
use crate::rng::{Stream, rng};
use serde::{Deserialize, Serialize};

/// Why training ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// All epochs or steps were done.
    Finished,
    /// The bound held out stopped gaining, for `patience` evaluations.
    EarlyStop,
    /// The user asked for it.
    Interrupted,
}

impl Ended {
    /// In words.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::EarlyStop => "early stop",
            Self::Interrupted => "interrupted",
        }
    }
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
    /// Topics that refinement or renewal started anew: their names no longer say what they are.
    pub reseeded: Vec<u32>,
}

/// What training begins with.
#[derive(Debug)]
pub enum Begin<'a> {
    /// A graph, and weights that came with it.
    New(&'a Graph, Option<&'a Weights>),
    /// A training of this graph that was stopped, where it stood.
    At(&'a Graph, Box<State>),
}

/// Trains the weights of a graph on a corpus, split as the options say.
///
/// Same seed, same weights, whatever the number of threads, and however often it was stopped and went on. `on_event` may fail to
/// stop the training.
///
/// # Errors
///
/// [`Error::Usage`] where there are no documents or no weights to start from,
/// [`Error::Numeric`] on a weight or bound that is not finite, what the backend and `on_event` fail with.
/// A stop request is no error: see [`Ended`].
pub fn train(
    begin: Begin<'_>,
    docs: Docs<'_>,
    options: &CheckedOptions,
    estep: &mut dyn EStep,
    monitor: &Monitor,
    on_event: &mut dyn FnMut(&Event<'_>) -> Result<()>,
) -> Result<Outcome> {
    let parts = options.split(docs.n_docs());
    train_parts(begin, (docs, &parts), options, estep, monitor, on_event)
}

/// The same where the documents are split already.
///
/// # Errors
/// Those of [`train`].
pub fn train_parts(
    begin: Begin<'_>,
    (docs, parts): (Docs<'_>, &Parts),
    options: &CheckedOptions,
    estep: &mut dyn EStep,
    monitor: &Monitor,
    on_event: &mut dyn FnMut(&Event<'_>) -> Result<()>,
) -> Result<Outcome> {
    // These look at single tokens, and would take unknown ones for absent.
    for (is_asked, option) in [
        (options.refine.is_some(), "refine"),
        (options.renew.is_some(), "renew"),
        (options.control_variates, "`control_variates`"),
    ] {
        if is_asked {
            docs.all_known(option)?;
        }
    }
    let Parts { train: train_docs, valid, test } = parts;
    if train_docs.is_empty() {
        return Err(Error::Usage("the corpus has no documents to train on".into()));
    }
    let n_batches = options.n_batches(train_docs.len());
    let mut n_steps = u64::from(options.epochs) * n_batches as u64;
    n_steps = options.max_steps.map_or(n_steps, |most| most.min(n_steps));
    let leak_floor = options.smallest_leak(train_docs.len());
    let (given_graph, state) = match begin {
        Begin::New(graph, given) => {
            let weights = start_weights(graph, given, &docs, train_docs, options, leak_floor, monitor)?;
            let phase = match &options.refine {
                Some(refine) => Phase::Refining(Box::new(Refinement::new(refine, graph, &weights))),
                None if options.renew.is_some() => Phase::Renewing(Box::default()),
                None => Phase::Epochs { evaluation_due: n_steps == 0 },
            };
            // The weights to start from are the old model's.
            let prior = match (options.prior, options.step) {
                (Some(prior), StepRule::Em { lambda }) => Some(Prior::new(graph, &weights, &prior, lambda)),
                (_, StepRule::Mcmc(mcmc)) if mcmc.pseudo_count > 0.0 => {
                    let mut rates = weights.clone();
                    mcmc.augmentation.to_rates(&mut rates);
                    Some(Prior::pseudo(graph, rates, mcmc.pseudo_count))
                }
                _ => None,
            };
            let smoothing = match options.step {
                StepRule::Em { lambda } if options.smooth => Some(Smoothing::penalty(lambda)),
                _ => None,
            };
            (graph, State { prior, smoothing, ..State::new(graph.clone(), weights, phase) })
        }
        Begin::At(graph, mut state) => {
            options.freeze.check(&state.graph)?;
            state.reopen(n_steps, options.patience);
            (graph, *state)
        }
    };
    let before_epochs = match &state.phase {
        Phase::Refining(_) => options.refine.as_ref().map_or(0, RefineOptions::n_epochs),
        Phase::Renewing(_) => options.renew.as_ref().map_or(0, RenewOptions::n_epochs),
        Phase::Epochs { .. } | Phase::Condensing(_) | Phase::Ended(_) => 0,
    };
    let refine_epochs = before_epochs.saturating_sub(state.full_steps as u32);
    on_event(&Event::Started {
        n_train: train_docs.len(),
        n_valid: valid.len(),
        n_test: test.len(),
        n_steps,
        steps_done: state.step - state.full_steps,
        n_batches,
        refine_epochs,
        leak_floor,
    })?;
    let train_docs = train_docs.clone();
    let setup = Setup { docs, train_docs, valid_docs: valid, options, n_steps, leak_floor, monitor };
    let mut trainer = Trainer::new(state, setup, estep);
    let ended = trainer.run(on_event)?;
    let State { graph, weights, step, best, mut reseeded, .. } = trainer.state;
    let (graph, weights, metrics) = match best {
        Some(Best { graph, weights, metrics }) if metrics.valid_elbo.is_some() || metrics.step == step => {
            (graph, weights, Some(metrics))
        }
        // Nothing was held out and there were steps since the last evaluation, or there was none.
        _ => (graph, weights, None),
    };
    if options.refine.is_some() && graph == *given_graph {
        reseeded.clear();
    }
    Ok(Outcome { graph, weights, metrics, ended, reseeded })
}

/// Where training starts: within the range that steps keep weights in.
pub(crate) fn start_weights(
    graph: &Graph,
    given: Option<&Weights>,
    docs: &Docs<'_>,
    train_docs: &[u32],
    options: &CheckedOptions,
    leak_floor: f64,
    monitor: &Monitor,
) -> Result<Weights> {
    if options.init != Init::Graph {
        let frequency = token_frequency(docs, train_docs, graph.n_tokens());
        let mut rng = rng(options.seed, Stream::Init);
        let mut weights = initial_weights(graph, options.init, &frequency, leak_floor, &mut rng);
        if options.init == Init::Mixture {
            let topics = complete_layer(graph)?;
            let fitting =
                MixtureOptions { components: topics.len(), seed: options.seed, ..Default::default() };
            let mixture = Mixture::fit(*docs, train_docs, graph.n_tokens(), &fitting, monitor)?;
            let (edges, leaks) = (options.floor..=options.cap, leak_floor..=options.cap);
            mixture.write_weights(graph, topics, edges, leaks, &mut weights);
        }
        if options.init == Init::Moments {
            weights = moments::start_weights(graph, docs, train_docs, &weights, monitor)?;
            weights.edge.iter_mut().for_each(|w| *w = w.clamp(options.floor, options.cap));
            weights.leak.iter_mut().for_each(|w| *w = w.clamp(leak_floor, options.cap));
            weights.round_to_f32();
        }
        return Ok(weights);
    }
    options.freeze.check(graph)?;
    let Some(mut weights) = given.cloned() else {
        if !options.freeze.is_none() {
            return Err(Error::Usage(
                "the graph has no weights for `freeze` to keep; give one that has".into(),
            ));
        }
        return Err(Error::Usage(
            "the graph has no weights to start from; use `init` data, or mixture where the graph is complete"
                .into(),
        ));
    };
    // What is frozen may lie beyond the range of what is trained, but not beyond f32.
    let mut kept = weights.clone();
    kept.edge.iter_mut().chain(&mut kept.leak).for_each(|w| *w = w.max(MIN_FLOOR));
    weights.edge.iter_mut().for_each(|w| *w = w.clamp(options.floor, options.cap));
    weights.leak.iter_mut().for_each(|w| *w = w.clamp(leak_floor, options.cap));
    options.freeze.restore(&mut weights, &kept);
    weights.round_to_f32();
    Ok(weights)
}
