//! One training in progress: slices of documents, weight steps, evaluations, the best weights so far.

use super::condense::Condensation;
use super::control::Control;
use super::counts::Counts;
use super::smoothing::HeldOut;
use super::state::{Best, Partial, Phase, Since, State};
use super::{BatchSize, CheckedOptions, Ended, Event, Metrics, StepRule, Stepper};
use crate::batch::SLICE_DOCS;
use crate::corpus::{Docs, Item, token_frequency};
use crate::error::{Error, Result};
use crate::estep::{Bound, DocResults, EStep, Monitor, OnLists, Params, Sink, Stats, Work};
use crate::mcmc::{McmcOptions, Sampling};
use crate::network::Weights;
use crate::rng::{Stream, rng};
use rand::seq::SliceRandom;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// A topic below this probability is not missed by a document.
pub(super) const Q_MISSED: f32 = 0.01;
/// Leaks of topics that begin anew are at least this.
pub(super) const MIN_NEW_LEAK: f64 = 1e-3;
/// A round of refinement or renewal must gain this many nats to count.
pub(super) const GAIN: f64 = 1e-3;

/// Where training tells what happens; may fail to stop it.
pub(super) type OnEvent<'a> = dyn FnMut(&Event<'_>) -> Result<()> + 'a;

/// What takes the results of some documents, beside the items of their slice.
pub(super) type OnResults<'a> = dyn FnMut(&[Item], &DocResults<'_>) + 'a;

/// Documents of one weight step: which batch of the epoch's, and the places of its documents.
pub(super) struct StepDocs {
    ix: usize,
    docs: Range<usize>,
}

/// What a training is given: its documents, and how to train on them.
pub(super) struct Setup<'a> {
    pub(super) docs: Docs<'a>,
    pub(super) train_docs: Vec<u32>,
    pub(super) valid_docs: &'a [u32],
    pub(super) options: &'a CheckedOptions,
    /// Weight steps of the epochs.
    pub(super) n_steps: u64,
    pub(super) leak_floor: f64,
    pub(super) monitor: &'a Monitor,
}

/// Where training stands, and what it works with.
pub(super) struct Trainer<'a> {
    pub(super) state: State,
    pub(super) docs: Docs<'a>,
    pub(super) options: &'a CheckedOptions,
    pub(super) estep: &'a mut dyn EStep,
    pub(super) monitor: &'a Monitor,
    /// Training documents, dealt out to batches: only the order of the batches changes from epoch to epoch, so batches
    /// packed for one epoch serve all others.
    train_docs: Vec<u32>,
    valid_docs: &'a [u32],
    leak_floor: f64,
    /// Rates of the tokens, where counts are smoothed.
    rates: Option<Arc<Vec<f64>>>,
    /// Frequencies of the tokens, where they correct what batches say.
    frequency: Option<Arc<Vec<f64>>>,
    n_batches: usize,
    n_steps: u64,
    /// The batches of an epoch in their order.
    epoch: Option<(u64, Vec<u32>)>,
    /// When training would have begun, had it never stopped.
    start: Instant,
    seconds_before: f64,
}

impl<'a> Trainer<'a> {
    pub(super) fn new(state: State, setup: Setup<'a>, estep: &'a mut dyn EStep) -> Self {
        let Setup { docs, mut train_docs, valid_docs, options, n_steps, leak_floor, monitor } = setup;
        let n_batches = options.n_batches(train_docs.len());
        if options.batch != BatchSize::Full {
            train_docs.shuffle(&mut rng(options.seed, Stream::Shuffle(0)));
        }
        let seconds_before = state.seconds;
        let corrects = options.control_variates && n_batches > 1;
        let frequency = (options.smooth || corrects)
            .then(|| Arc::new(token_frequency(&docs, &train_docs, state.graph.n_tokens())));
        // A token that every document has is not certain.
        let rate = |p: &f64| -(-p.min(1.0 - 1e-6)).ln_1p();
        let rates = frequency.as_ref().filter(|_| options.smooth);
        let rates = rates.map(|frequency| Arc::new(frequency.iter().map(rate).collect()));
        let frequency = frequency.filter(|_| corrects);
        Self {
            state,
            docs,
            options,
            estep,
            monitor,
            train_docs,
            valid_docs,
            leak_floor,
            rates,
            frequency,
            n_batches,
            n_steps,
            epoch: None,
            start: Instant::now(),
            seconds_before,
        }
    }

    /// Number of training documents.
    pub(super) fn n_docs(&self) -> usize {
        self.train_docs.len()
    }

    /// Batches of an epoch.
    pub(super) fn n_batches(&self) -> usize {
        self.n_batches
    }

    /// The training documents.
    pub(super) fn train_docs(&self) -> &[u32] {
        &self.train_docs
    }

    /// The validation documents.
    pub(super) fn valid_docs(&self) -> &'_ [u32] {
        self.valid_docs
    }

    /// The smallest leak there may be.
    pub(super) fn leak_floor(&self) -> f64 {
        self.leak_floor
    }

    /// Whether documents are held out.
    pub(super) fn has_valid(&self) -> bool {
        !self.valid_docs.is_empty()
    }

    /// Goes on until there is nothing left to do or the user asks to stop; tells every state that it could go on from.
    pub(super) fn run(&mut self, on_event: &mut OnEvent<'_>) -> Result<Ended> {
        loop {
            self.state.seconds = self.seconds();
            let ended = match self.state.phase {
                Phase::Ended(ended) => Some(ended),
                _ => None,
            };
            on_event(&Event::Safe { state: &self.state, last: ended.is_some() })?;
            if let Some(ended) = ended {
                return Ok(ended);
            }
            match self.advance(on_event) {
                Err(Error::Interrupted) => {
                    self.state.seconds = self.seconds();
                    on_event(&Event::Safe { state: &self.state, last: true })?;
                    return Ok(Ended::Interrupted);
                }
                // The other ranks may go on another time.
                Err(error @ Error::Rank(_)) => {
                    self.state.seconds = self.seconds();
                    on_event(&Event::Safe { state: &self.state, last: true })?;
                    return Err(error);
                }
                advanced => advanced?,
            }
        }
    }

    /// One slice, one evaluation or one change of the graph. Interrupted, it has changed nothing.
    fn advance(&mut self, on_event: &mut OnEvent<'_>) -> Result<()> {
        self.monitor.go_on()?;
        if let Phase::Refining(refinement) = &mut self.state.phase {
            let mut refinement = std::mem::take(refinement);
            let advanced = refinement.advance(self, on_event);
            // It stays where it is until it is done.
            self.state.phase = match &advanced {
                Ok(true) => Phase::Epochs { evaluation_due: self.n_steps == 0 },
                _ => Phase::Refining(refinement),
            };
            return advanced.map(|_| ());
        }
        if let Phase::Renewing(renewal) = &mut self.state.phase {
            let mut renewal = std::mem::take(renewal);
            let advanced = renewal.advance(self, on_event);
            self.state.phase = match &advanced {
                Ok(true) => Phase::Epochs { evaluation_due: false },
                _ => Phase::Renewing(renewal),
            };
            return advanced.map(|_| ());
        }
        if let Phase::Condensing(condensation) = &self.state.phase {
            let mut condensation = condensation.clone();
            let advanced = condensation.advance(self, on_event);
            self.state.phase = match &advanced {
                Ok(Some(ended)) => Phase::Ended(*ended),
                _ => Phase::Condensing(condensation),
            };
            return advanced.map(|_| ());
        }
        let done = self.epoch_steps();
        if self.state.phase == (Phase::Epochs { evaluation_due: false }) && done < self.n_steps {
            let batch = self.batch(done);
            if self.take_slice(batch)? {
                let epoch_over = self.epoch_steps().is_multiple_of(self.n_batches as u64);
                let epoch = self.epoch_steps() / self.n_batches as u64;
                let evaluation_due = self.epoch_steps() >= self.n_steps
                    || epoch_over && epoch.is_multiple_of(u64::from(self.options.eval_every));
                self.state.phase = Phase::Epochs { evaluation_due };
            }
            return Ok(());
        }
        self.evaluate(true, on_event)?;
        let ended = match done >= self.n_steps {
            _ if self.state.patience.is_over(self.options.patience) => Some(Ended::EarlyStop),
            true => Some(Ended::Finished),
            false => None,
        };
        self.state.phase = match ended {
            // Who asks for the initial weights gets these.
            Some(ended) if self.options.condense && self.has_valid() && self.n_steps > 0 => {
                Phase::Condensing(Box::new(Condensation::new(ended)))
            }
            Some(ended) => Phase::Ended(ended),
            None => Phase::Epochs { evaluation_due: false },
        };
        if ended.is_none() && self.options.condense && self.state.prior.is_none() {
            self.drop_dead_edges(on_event)?;
        }
        Ok(())
    }

    /// Weight steps besides those of refinement.
    fn epoch_steps(&self) -> u64 {
        self.state.step - self.state.full_steps
    }

    /// The batch of a step.
    fn batch(&mut self, step: u64) -> StepDocs {
        let n_batches = self.n_batches as u64;
        let (epoch, at) = (step / n_batches, (step % n_batches) as usize);
        if self.epoch.as_ref().is_none_or(|(known, _)| *known != epoch) {
            let mut batches: Vec<u32> = (0..n_batches as u32).collect();
            if epoch > 0 {
                batches.shuffle(&mut rng(self.options.seed, Stream::Shuffle(epoch)));
            }
            self.epoch = Some((epoch, batches));
        }
        let ix = self.epoch.as_ref().map_or(0, |(_, batches)| batches[at]) as usize;
        let bound = |ix: usize| ix * self.train_docs.len() / self.n_batches;
        StepDocs { ix, docs: bound(ix)..bound(ix + 1) }
    }

    /// All training documents as one batch.
    pub(super) fn whole(&self) -> StepDocs {
        StepDocs { ix: 0, docs: 0..self.train_docs.len() }
    }

    /// The E-step of the next slice of a batch and, if it is the last one, the weight step. Returns whether it was.
    pub(super) fn take_slice(&mut self, batch: StepDocs) -> Result<bool> {
        let begun = Instant::now();
        let begin = batch.docs.end.min(batch.docs.start.saturating_add(self.state.partial_docs()));
        let end = batch.docs.end.min(begin + SLICE_DOCS);
        let items = self.items(&self.train_docs[begin..end]);
        let is_last = end == batch.docs.end;
        // The first step is smoothed, too, where its counts are those of all documents: what it fits too closely EM takes long to let go of.
        let is_first_of_all = self.state.step == 0 && batch.docs.len() == self.train_docs.len();
        let held = match is_last && is_first_of_all && self.smooths() {
            true => Some(self.held_sums()?),
            false => None,
        };
        let (stats, params) = self.run_slice(begin, &items)?;
        let n_docs = end - batch.docs.start;
        let stats = match self.state.partial.take() {
            Some(Partial { stats: mut sums, .. }) => {
                sums.merge(&stats);
                sums
            }
            None => stats,
        };
        if is_last {
            let stats = stats.with_tail(&params);
            if let Some(held) = held {
                self.fit_smoothing(Some(Counts::of(&self.state.weights, &stats)), held)?;
            }
            let control = self.control(batch.docs);
            let mut stepper = self.stepper().of_batch(batch.ix).with_control(control);
            let stepped = stepper.step(&self.state.graph, &mut self.state.weights, &stats);
            (self.state.memory, self.state.prior) = (stepper.memory, stepper.prior);
            stepped?;
            self.state.step += 1;
            self.state.since.stats.add_totals(&stats);
        } else {
            self.state.partial = Some(Partial { n_docs, stats });
        }
        self.state.since.seconds += begun.elapsed().as_secs_f64();
        Ok(is_last)
    }

    /// The E-step of a slice with its sums. Where starts are kept, searches begin where the slice's last E-step ended, and where this
    /// one ends is kept: EM cannot lose what a search from nothing would miss.
    fn run_slice(&mut self, begin: usize, items: &[Item]) -> Result<(Stats, Params)> {
        if let StepRule::Mcmc(options) = self.options.step {
            return self.sample_slice(begin, items, options);
        }
        if !(self.options.keep_starts && matches!(self.state.phase, Phase::Epochs { .. })) {
            return self.run_estep(items, true, None);
        }
        let params = Params::derive(&self.state.graph, &self.state.weights, self.options.estep.bound)?;
        let mut ended_on = OnLists::default();
        let mut sink = |results: &DocResults<'_>| {
            (0..results.n_docs()).for_each(|doc_ix| ended_on.push(results.doc(doc_ix).1));
            Ok(())
        };
        let kept_on = self.state.kept_on.remove(&(begin as u64));
        let ran = self.run_estep_at(&params, items, true, kept_on.as_ref(), Some(&mut sink));
        // Interrupted, nothing has changed.
        let kept = if ran.is_ok() { Some(ended_on) } else { kept_on };
        self.state.kept_on.extend(kept.map(|lists| (begin as u64, lists)));
        Ok((ran?, params))
    }

    /// The sums of a slice by samples of its topics. Chains go on where the slice's last ones ended.
    fn sample_slice(
        &mut self,
        begin: usize,
        items: &[Item],
        options: McmcOptions,
    ) -> Result<(Stats, Params)> {
        let State { graph, weights, kept_on, step, .. } = &mut self.state;
        // Samples are of all topics: there is no tail to be added.
        let params = Params::derive(graph, weights, Bound::Full)?;
        let (docs, monitor) = (self.docs, self.monitor);
        let chains = kept_on.get(&(begin as u64));
        let seed = (self.options.seed, *step);
        let sampling = Sampling { graph, weights, docs, items, options, seed, chains, monitor };
        let (stats, ends) = self.estep.sample(&sampling)?;
        kept_on.insert(begin as u64, ends);
        Ok((stats, params))
    }

    /// The weight step with what it remembers, which it takes.
    fn stepper(&mut self) -> Stepper {
        let range = (self.options.floor, self.leak_floor, self.options.cap);
        let n_steps = match self.state.phase {
            Phase::Refining(_) | Phase::Renewing(_) | Phase::Condensing(_) => (1, 1),
            _ => (self.n_batches as u64, self.n_steps),
        };
        let mut stepper = Stepper::new(self.options.step, range, self.train_docs.len(), n_steps)
            .with_smoothing(self.state.smoothing.zip(self.rates.clone()))
            .with_freeze(self.options.freeze.clone());
        stepper.memory = std::mem::take(&mut self.state.memory);
        stepper.prior = self.state.prior.take();
        stepper
    }

    /// What corrects the sums of the training documents at these places, where that is wanted.
    fn control(&self, places: Range<usize>) -> Option<Control> {
        let frequency = self.frequency.clone()?;
        let share = token_frequency(&self.docs, &self.train_docs[places], frequency.len());
        Some(Control { frequency, share })
    }

    /// Documents as items, identical ones joined if they may be.
    pub(super) fn items(&self, doc_ixs: &[u32]) -> Vec<Item> {
        if self.options.share_identical {
            return Item::shared(&self.docs, doc_ixs);
        }
        let mut items = Item::each(doc_ixs);
        items.sort_unstable_by_key(|item| item.doc_ix);
        items
    }

    /// The E-step of some documents at the current weights.
    pub(super) fn run_estep(
        &mut self,
        items: &[Item],
        gradients: bool,
        sink: Option<&mut Sink<'_>>,
    ) -> Result<(Stats, Params)> {
        let params = Params::derive(&self.state.graph, &self.state.weights, self.options.estep.bound)?;
        let stats = self.run_estep_at(&params, items, gradients, None, sink)?;
        Ok((stats, params))
    }

    /// The E-step of some documents at other weights.
    fn run_estep_at(
        &mut self,
        params: &Params,
        items: &[Item],
        gradients: bool,
        kept_on: Option<&OnLists>,
        sink: Option<&mut Sink<'_>>,
    ) -> Result<Stats> {
        let (graph, options) = (&self.state.graph, &self.options.estep);
        let (docs, monitor) = (self.docs, self.monitor);
        let work = Work { graph, params, docs, items, options, gradients, kept_on, monitor };
        let stats = self.estep.run(&work, sink)?;
        self.docs.corpus().release();
        Ok(stats)
    }

    /// The results of some documents at other weights.
    pub(super) fn results_at(
        &mut self,
        weights: &Weights,
        items: &[Item],
        sink: &mut Sink<'_>,
    ) -> Result<()> {
        let params = Params::derive(&self.state.graph, weights, self.options.estep.bound)?;
        self.run_estep_at(&params, items, false, None, Some(sink)).map(|_| ())
    }

    /// The sum of the bounds of some documents at other weights.
    pub(super) fn bound_at(&mut self, weights: &Weights, items: &[Item]) -> Result<f64> {
        let params = Params::derive(&self.state.graph, weights, self.options.estep.bound)?;
        Ok(self.run_estep_at(&params, items, false, None, None)?.elbo_sum)
    }

    /// The E-step of all training documents at the current weights; `on_results` gets the items of a slice, and results for some.
    pub(super) fn visit(
        &mut self,
        gradients: bool,
        mut on_results: Option<&mut OnResults<'_>>,
    ) -> Result<(Stats, Params)> {
        let mut sums: Option<(Stats, Params)> = None;
        for begin in (0..self.train_docs.len()).step_by(SLICE_DOCS) {
            let end = self.train_docs.len().min(begin + SLICE_DOCS);
            let items = self.items(&self.train_docs[begin..end]);
            let mut forward = on_results.as_mut().map(|on_results| {
                |results: &DocResults<'_>| {
                    on_results(&items, results);
                    Ok(())
                }
            });
            let sink = forward.as_mut().map(|forward| forward as &mut Sink<'_>);
            let (stats, params) = self.run_estep(&items, gradients, sink)?;
            match &mut sums {
                Some((sums, _)) => sums.merge(&stats),
                None => sums = Some((stats, params)),
            }
        }
        sums.ok_or_else(|| Error::Usage("there are no documents to train on".into()))
    }

    /// Whether counts are smoothed as documents held out ask for.
    fn smooths(&self) -> bool {
        self.state.smoothing.is_some() && self.has_valid()
    }

    /// Smoothing as the documents held out ask for, whose sums these are, given the counts of the training documents: from the next
    /// weight step on.
    fn fit_smoothing(&mut self, train: Option<Counts>, held: Stats) -> Result<()> {
        let State { graph, weights, smoothing, .. } = &mut self.state;
        let (Some(smoothing), Some(rates), Some(train)) = (smoothing, &self.rates, train) else {
            return Ok(());
        };
        let held = held.with_tail(&Params::derive(graph, weights, self.options.estep.bound)?);
        *smoothing = smoothing.fit(&HeldOut {
            graph,
            rates,
            n_docs: self.train_docs.len() as f64,
            train: &train,
            held: &Counts::of(weights, &held),
            floors: (self.options.floor, self.leak_floor),
        });
        Ok(())
    }

    /// The sums of the documents held out.
    fn held_sums(&mut self) -> Result<Stats> {
        let docs = self.valid_docs;
        let gradients = self.smooths();
        let mut sums = Stats::new(&self.state.graph, gradients);
        for slice in docs.chunks(SLICE_DOCS) {
            let items = self.items(slice);
            sums.merge(&self.run_estep(&items, gradients, None)?.0);
        }
        Ok(sums)
    }

    /// The mean bound of the documents held out, if there are any; smoothing follows them.
    fn valid_elbo(&mut self) -> Result<Option<f64>> {
        let sums = self.held_sums()?;
        let bound = self.has_valid().then(|| sums.elbo_mean());
        if self.smooths() {
            let State { graph, weights, memory, .. } = &self.state;
            let train = memory.counts(graph).map(|counts| match self.control(0..0) {
                Some(control) => control.correct(graph, weights, &counts),
                None => counts,
            });
            self.fit_smoothing(train, sums)?;
        }
        Ok(bound)
    }

    /// Evaluates the current weights. Those that `may_win` are kept if they are the best. Returns the bound of the
    /// validation documents, if there are any.
    pub(super) fn evaluate(&mut self, may_win: bool, on_event: &mut OnEvent<'_>) -> Result<Option<f64>> {
        let valid_elbo = self.valid_elbo()?;
        let seconds_now = self.seconds();
        let state = &mut self.state;
        let train_elbo = state.train_elbo();
        let Since { stats, seconds } = std::mem::take(&mut state.since);
        let metrics = Metrics {
            step: state.step,
            epoch: state.epoch(self.n_batches),
            seconds: seconds_now,
            bound: self.options.estep.bound.into(),
            train_elbo,
            valid_elbo,
            n_edges: state.graph.n_edges(),
            smoothing: state.smoothing,
            docs_per_s: stats.n_docs / seconds.max(1e-9),
            edges_per_s: stats.n_edge_updates as f64 / seconds.max(1e-9),
        };
        let best_so_far = state.best.as_ref().and_then(|best| best.metrics.valid_elbo);
        let gain = match (valid_elbo, best_so_far) {
            (Some(now), Some(best)) => now - best,
            _ => f64::INFINITY,
        };
        let best = may_win && gain > 0.0;
        if may_win {
            state.patience.count(valid_elbo, self.options.patience);
        }
        if best {
            // Into the memory of the one before, if its graph is the same: millions of edges are not copied twice.
            match state.best.as_mut().filter(|best| best.graph == state.graph) {
                Some(best) => {
                    best.weights.edge.copy_from_slice(&state.weights.edge);
                    best.weights.leak.copy_from_slice(&state.weights.leak);
                    best.metrics = metrics.clone();
                }
                None => {
                    let (graph, weights) = (state.graph.clone(), state.weights.clone());
                    state.best = Some(Best { graph, weights, metrics: metrics.clone() });
                }
            }
        }
        on_event(&Event::Evaluated {
            metrics: &metrics,
            best,
            graph: &state.graph,
            weights: &state.weights,
        })?;
        Ok(valid_elbo)
    }

    fn seconds(&self) -> f64 {
        self.seconds_before + self.start.elapsed().as_secs_f64()
    }
}
