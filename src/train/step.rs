//! The weight step, Eq. 17: projected and preconditioned. The only writer of weights.

use super::control::Control;
use super::counts::{Counts, Ledger, keep_first};
use super::{Freeze, Prior, RateSchedule, Smoothing, StepRule};
use crate::error::{Error, Result};
use crate::estep::{Stats, StepSums};
use crate::mcmc::McmcOptions;
use crate::network::{Graph, Weights, keep};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

const ADAM_BETA1: f64 = 0.9;
const ADAM_BETA2: f64 = 0.999;
const ADAM_EPSILON: f64 = 1e-8;
/// A step changes no weight by more than this factor: Adam's steps are all about as large as the rate, and would
/// throw leaks of a thousandth to the floor, where they are slow to come back.
const ADAM_FACTOR: f64 = 2.0;

/// Where weights may lie.
#[derive(Debug, Clone, Copy)]
struct Range {
    floor: f64,
    leak_floor: f64,
    cap: f64,
}

/// The step's state from batch to batch.
#[derive(Debug, Clone)]
pub struct Stepper {
    rule: StepRule,
    range: Range,
    /// Training documents in the corpus.
    n_docs: f64,
    /// Batches per epoch, and in all.
    n_steps: (u64, u64),
    /// What the rule remembers.
    pub(super) memory: Memory,
    /// What an older model counts as.
    pub(super) prior: Option<Prior>,
    /// How counts of edges to tokens are smoothed, with the rates of the tokens; none: by the penalty alone.
    smoothing: Option<(Smoothing, Arc<Vec<f64>>)>,
    /// Weights that it leaves alone.
    freeze: Freeze,
    /// Which of the epoch's batches the next step is about.
    batch_ix: usize,
    /// What corrects the batch's sums.
    control: Option<Control>,
}

/// What a rule remembers from step to step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    step: u64,
    state: Remembered,
    /// Averages of N, L and Q that gradients are corrected by.
    averages: Option<Counts>,
}

impl Memory {
    /// The counts of all documents that were seen, per document, where EM counts.
    pub(super) fn counts(&self, graph: &Graph) -> Option<Counts> {
        match &self.state {
            Remembered::Counts(counts) => Some(counts.clone()),
            Remembered::Ledger(ledger) => Some(ledger.total(graph)),
            Remembered::Nothing | Remembered::Moments(_) => None,
        }
    }

    /// Forgets the edges that are not marked.
    pub(super) fn keep_edges(&mut self, kept: &[bool]) {
        if let Some(averages) = &mut self.averages {
            keep(&mut averages.edge, kept);
        }
        match &mut self.state {
            Remembered::Nothing => {}
            Remembered::Counts(counts) => keep(&mut counts.edge, kept),
            Remembered::Ledger(ledger) => ledger.keep_edges(kept),
            Remembered::Moments(moments) => keep_first(moments, kept),
        }
    }

    /// Whether it belongs to a graph.
    pub(super) fn fits(&self, graph: &Graph) -> bool {
        let state_fits = match &self.state {
            Remembered::Nothing => true,
            Remembered::Counts(counts) => counts.fits(graph),
            Remembered::Ledger(ledger) => ledger.fits(graph),
            Remembered::Moments(moments) => moments.len() == graph.n_edges() + graph.n_nodes(),
        };
        state_fits && self.averages.as_ref().is_none_or(|averages| averages.fits(graph))
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
enum Remembered {
    #[default]
    Nothing,
    /// Running averages.
    Counts(Counts),
    /// The last counts of every batch.
    Ledger(Ledger),
    /// First and second moments, edges then leaks.
    Moments(Vec<[f64; 2]>),
}

impl Stepper {
    /// For a corpus of `n_docs` training documents; weights stay in `[floor, cap]`, leaks in
    /// `[leak_floor, cap]`; `n_steps` is (per epoch, in all).
    pub fn new(
        rule: StepRule,
        (floor, leak_floor, cap): (f64, f64, f64),
        n_docs: usize,
        n_steps: (u64, u64),
    ) -> Self {
        let range = Range { floor, leak_floor, cap };
        let memory = Memory::default();
        Self {
            rule,
            range,
            n_docs: n_docs.max(1) as f64,
            n_steps,
            memory,
            prior: None,
            smoothing: None,
            freeze: Freeze::default(),
            batch_ix: 0,
            control: None,
        }
    }

    /// The same, where an older model counts beside the documents; EM alone heeds it.
    pub fn with_prior(self, prior: Option<Prior>) -> Self {
        Self { prior, ..self }
    }

    /// The same, where edges to tokens and their leaks are smoothed so, given the rates of the tokens; EM alone heeds it.
    pub fn with_smoothing(self, smoothing: Option<(Smoothing, Arc<Vec<f64>>)>) -> Self {
        Self { smoothing, ..self }
    }

    /// The same, where some weights stay as they are.
    pub fn with_freeze(self, freeze: Freeze) -> Self {
        Self { freeze, ..self }
    }

    /// The same, for a step about this batch of the epoch's.
    pub fn of_batch(self, batch_ix: usize) -> Self {
        Self { batch_ix, ..self }
    }

    /// The same, where what is known of the corpus corrects the batch's sums; with one batch an epoch there is nothing to correct.
    pub fn with_control(self, control: Option<Control>) -> Self {
        Self { control: control.filter(|_| self.n_steps.0 > 1), ..self }
    }

    /// The step from a batch's sums, projected and rounded to f32. Fails, naming it, on a
    /// weight that is no longer a number.
    ///
    /// # Errors
    ///
    /// [`Error::Numeric`] that names the weight.
    pub fn step(&mut self, graph: &Graph, weights: &mut Weights, stats: &StepSums) -> Result<()> {
        if stats.n_docs == 0.0 {
            return Ok(());
        }
        if let Some(topic) = stats.topic_q.iter().position(|q| !q.is_finite()) {
            let q = stats.topic_q[topic];
            return Err(Error::Numeric(format!(
                "the sum of q of topic {topic} is {q}: the E-step went wrong"
            )));
        }
        let before = (!self.freeze.is_none()).then(|| weights.clone());
        self.advance(graph, weights, stats);
        if let Some(fault) = non_finite(weights) {
            return Err(Error::Numeric(format!(
                "{fault} after weight step {}: lower `rate`, or use `step` em, which has none",
                self.memory.step
            )));
        }
        let Range { floor, leak_floor, cap } = self.range;
        weights.edge.iter_mut().for_each(|w| *w = w.clamp(floor, cap));
        weights.leak.iter_mut().for_each(|w| *w = w.clamp(leak_floor, cap));
        weights.round_to_f32();
        // Wherever they lie.
        if let Some(before) = before {
            self.freeze.restore(weights, &before);
        }
        Ok(())
    }

    /// The step as the mathematics has it, before projection and rounding.
    pub fn advance(&mut self, graph: &Graph, weights: &mut Weights, stats: &StepSums) {
        match self.rule {
            StepRule::Em { lambda } => self.em(graph, weights, stats, lambda),
            StepRule::Paper { rate, c, schedule } => {
                let corrected = self.correct(graph, weights, stats);
                let rate = rate * self.factor(schedule);
                let stats = corrected.as_ref().unwrap_or(stats);
                each_gradient(graph, weights, stats, |_, weight, gradient, is_edge| {
                    *weight += rate * if is_edge { c } else { 1.0 } * gradient;
                });
            }
            StepRule::Adam { rate, schedule } => {
                let corrected = self.correct(graph, weights, stats);
                let stats = corrected.as_ref().unwrap_or(stats);
                self.adam(graph, weights, stats, rate * self.factor(schedule))
            }
            StepRule::Mcmc(McmcOptions { augmentation, .. }) => {
                augmentation.to_rates(weights);
                self.em(graph, weights, stats, 0.0);
                augmentation.to_weights(weights);
            }
        }
        self.memory.step += 1;
    }

    /// The sums of a batch for its gradients, corrected by those of earlier ones, where that is wanted.
    fn correct(&mut self, graph: &Graph, weights: &Weights, stats: &Stats) -> Option<Stats> {
        let control = self.control.as_ref()?;
        let mut averages = Counts::of_sums(stats).with_share(control.share.clone());
        let old = self.memory.averages.take();
        let corrected = old.as_ref().map(|old| control.correct_sums(graph, weights, old, stats));
        if let Some(old) = &old {
            averages.average_with(old, self.memory.step, self.n_steps.0, self.n_docs);
        }
        self.memory.averages = Some(averages);
        corrected
    }

    fn factor(&self, schedule: RateSchedule) -> f64 {
        schedule.factor(self.memory.step, self.n_steps.0, self.n_steps.1)
    }

    /// `w = n / (Q + lambda / D)`, or smoothed, and `w0 = n_0`, with counts per document: this batch's where it is the whole
    /// corpus, else those of several, corrected where that is wanted; then those of an older model are added. A topic with Q = 0 keeps its
    /// weights, and so does a token that no batch has told of yet.
    fn em(&mut self, graph: &Graph, weights: &mut Weights, stats: &StepSums, lambda: f64) {
        let (n_batches, step) = (self.n_steps.0, self.memory.step);
        let share = self.control.as_ref().map_or_else(Vec::new, |control| control.share.clone());
        let mut counts = Counts::of(weights, stats).with_share(share);
        let mut state = std::mem::take(&mut self.memory.state);
        let has_ledger = matches!(&state, Remembered::Ledger(ledger) if ledger.n_batches() == n_batches);
        if Ledger::is_for(self.n_docs, n_batches) && !has_ledger {
            state = Remembered::Ledger(Ledger::new(n_batches, weights));
        }
        match &mut state {
            Remembered::Ledger(ledger) => ledger.enter(self.batch_ix, step, stats.n_docs, &mut counts),
            Remembered::Counts(old) if n_batches > 1 => {
                counts.average_with(old, step, n_batches, self.n_docs)
            }
            _ => {}
        }
        let corrected = self.control.as_ref().map(|control| control.correct(graph, weights, &counts));
        let averages = counts;
        let counts = corrected.as_ref().unwrap_or(&averages);
        let is_untold = |node: usize| {
            self.control.as_ref().is_some_and(|control| control.is_untold(graph, &averages, node))
        };
        let first = graph.n_topics();
        for node in (0..graph.n_nodes()).filter(|&node| !is_untold(node)) {
            // A token's smoothing, with what a topic of base rates would add to it.
            let smoothed = self.smoothing.as_ref().filter(|_| node >= first).map(|(smoothing, rates)| {
                (smoothing, smoothing.base(counts.leak[node], rates[node - first]))
            });
            for at in graph.edges_into(node) {
                let parent = graph.edge_parents()[at];
                let new = (counts.edge[at], counts.topic_q[parent as usize]);
                let (n, q) =
                    self.prior.as_ref().map_or(new, |old| old.add_edge(at, parent, new, self.n_docs));
                if q > 0.0 {
                    weights.edge[at] = match smoothed {
                        Some((smoothing, base)) => smoothing.edge(n * self.n_docs, q * self.n_docs, base),
                        None => n / (q + lambda / self.n_docs),
                    };
                }
            }
        }
        let mut leaks = counts.leak.clone();
        if let Some(old) = &self.prior {
            old.add_leaks(&mut leaks, self.n_docs);
        }
        if let Some((smoothing, rates)) = &self.smoothing {
            let leaks = leaks[first..].iter_mut().zip(rates.iter());
            leaks.for_each(|(leak, &rate)| *leak = smoothing.leak(*leak, rate));
        }
        let told = weights.leak.iter_mut().zip(leaks).enumerate().filter(|(node, _)| !is_untold(*node));
        told.for_each(|(_, (leak, new))| *leak = new);
        self.memory.state = match state {
            Remembered::Ledger(ledger) => {
                ledger.draw_back(weights);
                Remembered::Ledger(ledger)
            }
            _ => Remembered::Counts(averages),
        };
    }

    fn adam(&mut self, graph: &Graph, weights: &mut Weights, stats: &Stats, rate: f64) {
        if !matches!(self.memory.state, Remembered::Moments(_)) {
            self.memory.state = Remembered::Moments(vec![[0.0; 2]; graph.n_edges() + graph.n_nodes()]);
        }
        let Remembered::Moments(moments) = &mut self.memory.state else { return };
        let time = self.memory.step as f64 + 1.0;
        let (unbias1, unbias2) = (1.0 / (1.0 - ADAM_BETA1.powf(time)), 1.0 / (1.0 - ADAM_BETA2.powf(time)));
        each_gradient(graph, weights, stats, |at, weight, gradient, _| {
            let [first, second] = &mut moments[at];
            *first = ADAM_BETA1 * *first + (1.0 - ADAM_BETA1) * gradient;
            *second = ADAM_BETA2 * *second + (1.0 - ADAM_BETA2) * gradient * gradient;
            let step = rate * (*first * unbias1) / ((*second * unbias2).sqrt() + ADAM_EPSILON);
            *weight = (*weight + step).clamp(*weight / ADAM_FACTOR, *weight * ADAM_FACTOR);
        });
    }
}

/// Calls `f(place, weight, gradient / D, is_edge)` for all edges, then all leaks (Eqs. 13-16: G = N - Q, L - D).
fn each_gradient(
    graph: &Graph,
    weights: &mut Weights,
    stats: &Stats,
    mut f: impl FnMut(usize, &mut f64, f64, bool),
) {
    for (at, (weight, &parent)) in weights.edge.iter_mut().zip(graph.edge_parents()).enumerate() {
        f(at, weight, (stats.edge[at] - stats.topic_q[parent as usize]) / stats.n_docs, true);
    }
    for (node, weight) in weights.leak.iter_mut().enumerate() {
        f(stats.edge.len() + node, weight, (stats.leak[node] - stats.n_docs) / stats.n_docs, false);
    }
}

fn non_finite(weights: &Weights) -> Option<String> {
    let find = |list: &[f64], what: &str| {
        let at = list.iter().position(|w| !w.is_finite())?;
        Some(format!("{what} {at} is {}", list[at]))
    };
    find(&weights.leak, "the leak of node").or_else(|| find(&weights.edge, "the weight of edge"))
}
