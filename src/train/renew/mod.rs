//! Topics that are worth little begin anew while the network is trained, where a candidate is worth more.
//!
//! Training from random weights ends in optima in which one topic stands for two causes, two topics for one, or a topic for
//! nothing. A round looks at a sample of the training documents. What a topic is **worth** is what their bound loses when the
//! topic is switched off and the E-step is run again, so that a twin is worth nothing. **Candidates** come from documents
//! (`candidates.rs`). The bound of the sample with a candidate in place of the topic of least worth says which candidate is best,
//! and whether it is better than the topic. After all exchanges of a round full-batch EM trains on; the validation part (the
//! training part where nothing is held out) decides whether they stay.

mod candidates;

use super::step::Memory;
use super::trainer::{GAIN, OnEvent, Q_MISSED, Trainer};
use super::{Event, RefineStage};
use crate::corpus::Item;
use crate::error::{Error, Result};
use crate::estep::DocResults;
use crate::network::Weights;
use crate::rng::{Stream, rng};
use candidates::Sample;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

/// A candidate must gain so many nats for every document of the sample: less is noise.
const LEAST_GAIN: f64 = 1e-3;

/// How topics begin anew.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RenewOptions {
    /// Rounds at most.
    pub rounds: u32,
    /// Rounds without gain, one after the other, that end it.
    pub idle: u32,
    /// Epochs before the first round.
    pub first_epochs: u32,
    /// Epochs after the exchanges of a round.
    pub epochs: u32,
    /// Documents that a round looks at.
    pub sample: usize,
    /// Candidates of a round.
    pub candidates: usize,
}

impl Default for RenewOptions {
    fn default() -> Self {
        Self { rounds: 30, idle: 8, first_epochs: 10, epochs: 5, sample: 1_000, candidates: 32 }
    }
}

impl RenewOptions {
    /// Checks that the numbers make sense.
    pub(super) fn check(&self) -> Result<()> {
        if self.rounds == 0 || self.idle == 0 || self.epochs == 0 || self.sample == 0 || self.candidates == 0
        {
            let message =
                "renewal needs at least one round, one epoch after each, one document and one candidate";
            return Err(Error::Usage(message.into()));
        }
        Ok(())
    }

    /// Epochs at most.
    pub fn n_epochs(&self) -> u32 {
        self.first_epochs.saturating_add(self.epochs.saturating_mul(self.rounds))
    }
}

/// Where renewal stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Renewal {
    todo: Todo,
    /// Rounds done.
    round: u32,
    /// Of these, the last ones without gain.
    idle: u32,
    /// What a round has to beat, and the weights that reached it.
    best: Option<(f64, Weights)>,
    /// Topics that this round's candidates took.
    taken: Vec<u32>,
}

/// What is next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Todo {
    #[default]
    Begin,
    /// So many epochs.
    Train(u32),
    Judge,
    Exchange,
}

impl Renewal {
    /// Whether what it remembers belongs to a network.
    pub(super) fn fits(&self, n_topics: usize, belongs: &dyn Fn(&Weights) -> bool) -> bool {
        self.best.as_ref().is_none_or(|(_, weights)| belongs(weights))
            && self.taken.iter().all(|&topic| (topic as usize) < n_topics)
    }

    /// One slice of documents, one judgement, or the exchanges of a round; returns whether renewal is done. What can be
    /// interrupted comes before anything is changed.
    pub(super) fn advance(&mut self, trainer: &mut Trainer<'_>, on_event: &mut OnEvent<'_>) -> Result<bool> {
        let Some(options) = trainer.options.renew.clone() else { return Ok(true) };
        match self.todo {
            Todo::Begin => self.todo = Todo::Train(options.first_epochs),
            Todo::Train(0) => self.todo = Todo::Judge,
            Todo::Train(left) => {
                if trainer.take_slice(trainer.whole())? {
                    trainer.state.full_steps += 1;
                    self.todo = Todo::Train(left - 1);
                }
            }
            Todo::Judge => self.judge(trainer, on_event)?,
            Todo::Exchange if self.round == options.rounds || self.idle >= options.idle => {
                trainer.state.memory = Memory::default();
                return Ok(true);
            }
            Todo::Exchange => self.exchange(&options, trainer, on_event)?,
        }
        Ok(false)
    }

    /// Compares what was trained with what was before; the better of the two stays.
    fn judge(&mut self, trainer: &mut Trainer<'_>, on_event: &mut OnEvent<'_>) -> Result<()> {
        let train_elbo =
            if trainer.has_valid() { None } else { Some(trainer.visit(false, None)?.0.elbo_mean()) };
        let valid_elbo = trainer.evaluate(true, on_event)?;
        let now = valid_elbo.or(train_elbo).unwrap_or(f64::NEG_INFINITY);
        let before = self.best.as_ref().map_or(f64::NEG_INFINITY, |(bound, _)| *bound);
        self.idle = if now > before + GAIN { 0 } else { self.idle + 1 };
        match &self.best {
            Some((_, weights)) if now <= before => {
                trainer.state.weights.clone_from(weights);
                tell(trainer, RefineStage::Undone, on_event)?;
            }
            _ => {
                self.best = Some((now, trainer.state.weights.clone()));
                trainer.state.reseeded.extend(&self.taken);
                trainer.state.reseeded.sort_unstable();
                trainer.state.reseeded.dedup();
            }
        }
        self.taken.clear();
        // Counts and moments are of other weights.
        trainer.state.memory = Memory::default();
        // Patience is about the epochs to come: what was gained before was another model.
        trainer.state.patience = Default::default();
        self.todo = Todo::Exchange;
        Ok(())
    }

    /// Candidates take the places of topics that are worth less, as long as the bound of a sample gains.
    fn exchange(
        &mut self,
        options: &RenewOptions,
        trainer: &mut Trainer<'_>,
        on_event: &mut OnEvent<'_>,
    ) -> Result<()> {
        let mut rng = rng(trainer.options.seed, Stream::Renew(u64::from(self.round)));
        let mut docs = trainer.train_docs().to_vec();
        let (some, _) = docs.partial_shuffle(&mut rng, options.sample);
        let least_gain = LEAST_GAIN * some.len() as f64;
        let items = trainer.items(some);
        let (sample, mut bound) = look(trainer, &items)?;
        let mut worth = worth(trainer, &items, &sample)?;
        worth.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        let mut weights = trainer.state.weights.clone();
        let mut candidates =
            candidates::draw(&trainer.state.graph, &weights, &sample, options.candidates, &mut rng);
        let mut taken = Vec::new();
        // After a round without gain, the next topic.
        for &(topic, _) in worth.iter().skip(self.idle as usize) {
            let mut best: Option<(usize, f64, Weights)> = None;
            for (at, candidate) in candidates.iter().enumerate() {
                let tried = candidate.in_place_of(topic, &trainer.state.graph, &weights);
                let reached = trainer.bound_at(&tried, &items)?;
                if reached > best.as_ref().map_or(bound + least_gain, |best| best.1) {
                    best = Some((at, reached, tried));
                }
            }
            let Some((at, reached, better)) = best else { break };
            candidates.swap_remove(at);
            (bound, weights) = (reached, better);
            taken.push(topic);
        }
        self.round += 1;
        if taken.is_empty() {
            self.idle += 1;
            return Ok(());
        }
        (trainer.state.weights, self.taken) = (weights, taken);
        tell(trainer, RefineStage::Reseeded(self.taken.len()), on_event)?;
        self.todo = Todo::Train(options.epochs);
        Ok(())
    }
}

fn tell(trainer: &Trainer<'_>, stage: RefineStage, on_event: &mut OnEvent<'_>) -> Result<()> {
    on_event(&Event::Refined { stage, n_edges: trainer.state.graph.n_edges() })
}

/// The documents of a sample with their topics and bounds, and the sum of the bounds.
fn look(trainer: &mut Trainer<'_>, items: &[Item]) -> Result<(Sample, f64)> {
    let docs = trainer.docs;
    let mut sample = Sample::default();
    let mut take = |results: &DocResults<'_>| {
        for at in 0..results.n_docs() {
            let item = items[results.first_item + at];
            let (topics, q) = results.doc(at);
            let on = topics
                .iter()
                .zip(q)
                .filter(|(_, q)| **q >= Q_MISSED)
                .map(|(&topic, &q)| (topic, q))
                .collect();
            sample.add(item.count, docs.tokens(item.doc_ix as usize).collect(), on, results.elbo[at]);
        }
        Ok(())
    };
    let (stats, _) = trainer.run_estep(items, false, Some(&mut take))?;
    Ok((sample, stats.elbo_sum))
}

/// What the bound of a sample loses without each topic that has tokens.
///
/// Only the documents that have the topic on are run again; the others gain what it costs them that it is off, its leak.
fn worth(trainer: &mut Trainer<'_>, items: &[Item], sample: &Sample) -> Result<Vec<(u32, f64)>> {
    let n_docs: f64 = items.iter().map(|item| f64::from(item.count)).sum();
    let mut worth = Vec::new();
    for topic in 0..trainer.state.graph.n_topics() as u32 {
        if !candidates::has_tokens(&trainer.state.graph, topic) {
            continue;
        }
        let (some, with): (Vec<Item>, Vec<f64>) = sample
            .docs()
            .zip(items)
            .filter(|(doc, _)| doc.on.iter().any(|on| on.0 == topic))
            .map(|(doc, item)| (*item, doc.elbo * f64::from(item.count)))
            .unzip();
        let n_on: f64 = some.iter().map(|item| f64::from(item.count)).sum();
        let leak = trainer.state.weights.leak[topic as usize];
        let mut without = trainer.state.weights.clone();
        without.leak[topic as usize] = trainer.leak_floor();
        let lost = with.iter().sum::<f64>() - trainer.bound_at(&without, &some)?;
        worth.push((topic, lost - (n_docs - n_on) * leak));
    }
    Ok(worth)
}
