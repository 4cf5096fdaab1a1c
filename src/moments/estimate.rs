//! The parameters, round by round.

use super::anchor::{self, Ratios};
use super::average::{Average, CLIP, Estimate};
use super::formula::{BySubset, Derived, pair, triplet};
use super::pool::{Pool, Pooled};
use super::schedule::{Kind, Schedule, Step};
use super::source::{ByGroup, GROUPS, Source, Table};
use super::structure::TwoLayers;
use crate::error::Result;
use crate::monitor::Monitor;
use crate::network::{Graph, Weights};
use rayon::prelude::*;

/// How the estimates of several sets become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weighting {
    /// Only the first set counts, as in the paper.
    First,
    /// Estimates of single sets are averaged by inverse variances.
    Average,
    /// All sets of a topic are fitted together (src/moments/pool.rs).
    Pooled,
}

/// What was learned; parameters that the schedule does not reach are none.
#[derive(Debug, Clone, PartialEq)]
pub struct Learned {
    /// P(on) of every topic.
    pub prior: Vec<Option<Estimate>>,
    /// P(fails) of every edge, by edge number.
    pub failure: Vec<Option<Estimate>>,
    /// P(does not switch on) of every token's leak.
    pub leak_failure: Vec<Option<Estimate>>,
}

/// Runs a schedule.
///
/// # Errors
///
/// [`Error::Usage`](crate::Error::Usage) where topics have parents, [`Error::Interrupted`](crate::Error::Interrupted) where the
/// monitor says stop.
pub fn estimate(
    graph: &Graph,
    schedule: &Schedule,
    source: &dyn Source,
    weighting: Weighting,
    monitor: &Monitor,
) -> Result<Learned> {
    let net = TwoLayers::of(graph)?;
    Sweep { net, source, weighting }.run(schedule, monitor)
}

pub(super) struct Sweep<'a> {
    pub(super) net: TwoLayers<'a>,
    pub(super) source: &'a dyn Source,
    weighting: Weighting,
}

/// A known topic that couples a set, divided out.
pub(super) struct Removed {
    /// Its influence on every subset.
    influence: BySubset,
    /// Parameters and the derivatives of log influence.
    pub(super) by: Vec<(Which, BySubset)>,
}

/// A parameter below.
#[derive(Clone, Copy)]
pub(super) enum Which {
    Prior(u32),
    Failure(usize),
}

impl Sweep<'_> {
    fn run(&self, schedule: &Schedule, monitor: &Monitor) -> Result<Learned> {
        let mut learned = Learned {
            prior: vec![None; self.net.n_topics()],
            failure: vec![None; self.net.graph.n_edges()],
            leak_failure: Vec::new(),
        };
        for round in schedule.steps.chunk_by(|a, b| a.round == b.round) {
            let of_topics: Vec<&[Step]> = round.chunk_by(|a, b| a.topic == b.topic).collect();
            let solve = |steps: &&[Step]| monitor.go_on().map(|()| self.solve(steps, &learned));
            let solved: Vec<Pooled> = of_topics.par_iter().map(solve).collect::<Result<_>>()?;
            for (steps, Pooled { prior, failures }) in of_topics.into_iter().zip(solved) {
                learned.prior[steps[0].topic as usize].get_or_insert(prior);
                for (step, failure) in steps.iter().zip(failures) {
                    learned.failure[step.edge] = Some(failure);
                }
            }
        }
        if self.weighting == Weighting::Pooled {
            self.revise(&schedule.revisions, &mut learned, monitor)?;
        }
        let tokens = (0..self.net.n_tokens() as u32).into_par_iter();
        learned.leak_failure = tokens.map(|token| self.leak(token, &learned)).collect();
        Ok(learned)
    }

    /// Looks at edges once more with all that is known; the others stay as they are meanwhile.
    fn revise(&self, revisions: &[Step], learned: &mut Learned, monitor: &Monitor) -> Result<()> {
        let solve = |step: &Step| {
            let solve = || Pool::of(self, std::slice::from_ref(step), learned);
            monitor.go_on().map(|()| solve().solve(std::slice::from_ref(step), self.source.n_groups()))
        };
        let revised: Vec<Pooled> = revisions.par_iter().map(solve).collect::<Result<_>>()?;
        for (step, Pooled { failures, .. }) in revisions.iter().zip(revised) {
            let before = &mut learned.failure[step.edge];
            for failure in failures {
                if before.as_ref().is_none_or(|before| failure.se < before.se) {
                    *before = Some(failure);
                }
            }
        }
        Ok(())
    }

    /// What the steps of one topic in a round give: the prior, if it is new, and the edges.
    fn solve(&self, steps: &[Step], learned: &Learned) -> Pooled {
        if steps[0].kind == Kind::Anchor {
            return self.anchored(&steps[0], learned);
        }
        if self.weighting == Weighting::Pooled {
            return Pool::of(self, steps, learned).solve(steps, self.source.n_groups());
        }
        let mut priors = Average::default();
        let failures = steps.iter().enumerate().map(|(at, step)| {
            let mut of_step = Average::default();
            let failure = self.averaged(step, learned, &mut of_step);
            // In the paper the first triplet alone gives the prior.
            if at == 0 || self.weighting == Weighting::Average {
                priors.merge(&of_step);
            }
            failure
        });
        let failures = failures.collect();
        Pooled { prior: priors.estimate(self.source.n_groups()), failures }
    }

    /// The failure of an edge by one set after another; what they say about the prior is added to `priors`.
    fn averaged(&self, step: &Step, learned: &Learned, priors: &mut Average) -> Estimate {
        let mut failures = Average::default();
        let mut table = Table::default();
        let n_sets = if self.weighting == Weighting::First { 1 } else { step.sets.len() };
        for &set in step.sets.iter().take(n_sets) {
            let (tokens, n) = step.tokens(set);
            let tokens = &tokens[..n];
            self.source.table(tokens, &mut table);
            let removed = self.removed(step.topic, tokens, learned);
            let point =
                Point { table: &table, divided: divided(&table.moments, &removed), removed: &removed };
            if n == 2 {
                let partner = self.net.edge(step.topic, tokens[1]).expect("a partner is a child");
                let (Some(prior), Some(known)) =
                    (&learned.prior[step.topic as usize], &learned.failure[partner])
                else {
                    continue;
                };
                let found = pair(&point.divided, prior.value, known.value);
                let more =
                    [(Which::Prior(step.topic), found.by_prior), (Which::Failure(partner), found.by_known)];
                let (variance, by_group) = point.propagate(&found.failure, n, learned, &more);
                failures.add(found.failure.value, variance, &by_group);
                continue;
            }
            let found = triplet(&point.divided);
            for (average, derived) in [(&mut failures, &found.failure), (&mut *priors, &found.prior)] {
                let (variance, by_group) = point.propagate(derived, n, learned, &[]);
                average.add(
                    derived.value,
                    if found.degenerate { f64::INFINITY } else { variance },
                    &by_group,
                );
            }
        }
        failures.estimate(self.source.n_groups())
    }

    /// The known topics other than `topic` with two or more tokens of a set.
    fn removed(&self, topic: u32, tokens: &[u32], learned: &Learned) -> Vec<Removed> {
        let coupling = self.net.coupling(topic, tokens).into_iter();
        coupling.filter_map(|other| self.influence(other, tokens, learned, None)).collect()
    }

    /// The influence of a topic on the subsets of a set; of the documents but for the errors of a group, where one is given. None
    /// where the topic is not known: then it cancels, or is not to be divided out.
    pub(super) fn influence(
        &self,
        topic: u32,
        tokens: &[u32],
        learned: &Learned,
        group: Option<usize>,
    ) -> Option<Removed> {
        let value =
            |estimate: &Estimate| estimate.value + group.map_or(0.0, |group| estimate.by_group[group]);
        let p = value(learned.prior[topic as usize].as_ref()?);
        let mut edges = Vec::with_capacity(3);
        for (at, &token) in tokens.iter().enumerate() {
            if let Some(edge) = self.net.edge(topic, token) {
                edges.push((1usize << at, edge, value(learned.failure[edge].as_ref()?)));
            }
        }
        let mut influence = [1.0; 8];
        let mut by = vec![(Which::Prior(topic), [0.0; 8])];
        by.extend(edges.iter().map(|&(_, edge, _)| (Which::Failure(edge), [0.0; 8])));
        for mask in 1..1usize << tokens.len() {
            let fails: f64 = edges.iter().filter(|(bit, ..)| mask & bit != 0).map(|(.., f)| f).product();
            influence[mask] = 1.0 - p + p * fails;
            by[0].1[mask] = (fails - 1.0) / influence[mask];
            for (at, &(_, _, f)) in edges.iter().enumerate().filter(|(_, (bit, ..))| mask & bit != 0) {
                by[at + 1].1[mask] = p * (fails / f) / influence[mask];
            }
        }
        Some(Removed { influence, by })
    }

    /// `f_0 = M / prod of influences`, where all parents are known.
    fn leak(&self, token: u32, learned: &Learned) -> Option<Estimate> {
        let parents = self.net.parents(token).iter();
        let removed: Vec<Removed> =
            parents.map(|&topic| self.influence(topic, &[token], learned, None)).collect::<Option<_>>()?;
        let mut table = Table::default();
        self.source.table(&[token], &mut table);
        let divided = divided(&table.moments, &removed);
        let mut slope = [0.0; 8];
        slope[1] = 1.0;
        let point = Point { table: &table, divided, removed: &removed };
        let derived = Derived { value: divided[1], slope };
        let (variance, by_group) = point.propagate(&derived, 1, learned, &[]);
        if !variance.is_finite() || !divided[1].is_finite() {
            return Some(Estimate::degenerate(if divided[1].is_finite() { divided[1] } else { 1.0 }, 0));
        }
        let mut estimate = Estimate::new(divided[1], by_group, 1, self.source.n_groups());
        if self.source.n_groups() > 0 {
            // A token that is always or never present shows no spread, but one more document may differ.
            estimate.se = estimate.se.max(1.0 / table.known[1]);
        }
        Some(estimate)
    }

    /// An anchor: one equation over all of its sets.
    fn anchored(&self, step: &Step, learned: &Learned) -> Pooled {
        let tables: Vec<(Table, [u32; 3])> = step
            .sets
            .iter()
            .map(|&set| {
                let (tokens, _) = step.tokens(set);
                let mut table = Table::default();
                self.source.table(&tokens, &mut table);
                (table, tokens)
            })
            .collect();
        let ratios = |group: Option<usize>| -> Vec<Ratios> {
            let of_set = |(table, tokens): &(Table, [u32; 3])| {
                let coupling = self.net.coupling(step.topic, tokens).into_iter();
                let removed: Vec<Removed> =
                    coupling.filter_map(|other| self.influence(other, tokens, learned, group)).collect();
                let mut moments = table.moments;
                if let Some(group) = group {
                    (1..8).for_each(|mask| moments[mask] += table.by_group[mask][group]);
                }
                let m = divided(&moments, &removed);
                [m[3] / (m[1] * m[2]), m[5] / (m[1] * m[4]), m[7] / (m[1] * m[6])]
            };
            tables.iter().map(of_set).filter(|ratios| ratios.iter().all(|ratio| ratio.is_finite())).collect()
        };
        let (n_groups, n_sets) = (self.source.n_groups(), tables.len() as u32);
        let Some((prior, failure)) = anchor::solve(&ratios(None)) else {
            let none = Average::default().estimate(n_groups);
            return Pooled { prior: none.clone(), failures: vec![none] };
        };
        let (mut prior_by, mut failure_by) = ([0.0; GROUPS], [0.0; GROUPS]);
        for group in 0..n_groups {
            let moved = anchor::solve_near(&ratios(Some(group)), prior, failure);
            let (p, f) = moved.unwrap_or((f64::NAN, f64::NAN));
            (prior_by[group], failure_by[group]) = (p - prior, f - failure);
        }
        Pooled {
            prior: Estimate::new(prior, prior_by, n_sets, n_groups),
            failures: vec![Estimate::new(failure, failure_by, n_sets, n_groups)],
        }
    }
}

/// Moments without the influence of what is removed.
pub(super) fn divided(moments: &BySubset, removed: &[Removed]) -> BySubset {
    std::array::from_fn(|mask| removed.iter().fold(moments[mask], |m, removed| m / removed.influence[mask]))
}

/// Where derivatives and variances are taken.
struct Point<'a> {
    table: &'a Table,
    divided: BySubset,
    removed: &'a [Removed],
}

impl Point<'_> {
    /// The variance of a value, and what each group of documents adds to its error.
    ///
    /// `Cov(M_S, M_T) = (M_{S u T} - M_S M_T) N_{S u T} / (N_S N_T)`, with N the documents in which a subset is known. Errors of the
    /// parameters below count as independent in the variance, which is only for weights; by group, correlations are kept.
    fn propagate(
        &self,
        derived: &Derived,
        n_tokens: usize,
        learned: &Learned,
        more: &[(Which, f64)],
    ) -> (f64, ByGroup) {
        let subsets = 1..1usize << n_tokens;
        // By the moments as counted.
        let mut slope = [0.0; 8];
        for mask in subsets.clone() {
            let influence: f64 = self.removed.iter().map(|removed| removed.influence[mask]).product();
            slope[mask] = derived.slope[mask] / influence;
        }
        let mut by_group = [0.0; GROUPS];
        let mut variance = 0.0;
        for s in subsets.clone() {
            by_group.iter_mut().zip(&self.table.by_group[s]).for_each(|(sum, add)| *sum += slope[s] * add);
            for t in subsets.clone() {
                let Table { moments, known, .. } = self.table;
                let covariance = moments[s | t] - moments[s] * moments[t];
                variance += slope[s] * slope[t] * covariance * known[s | t] / (known[s] * known[t]);
            }
        }
        let of_removed = self.removed.iter().flat_map(|removed| &removed.by).map(|(which, by)| {
            let slope = subsets.clone().map(|mask| derived.slope[mask] * self.divided[mask] * by[mask]);
            (*which, -slope.sum::<f64>())
        });
        for (which, slope) in of_removed.chain(more.iter().copied()) {
            let Some(below) = learned.below(which) else { continue };
            by_group.iter_mut().zip(&below.by_group).for_each(|(sum, add)| *sum += slope * add);
            variance += (slope * below.se).powi(2);
        }
        (variance, by_group)
    }
}

impl Learned {
    fn below(&self, which: Which) -> Option<&Estimate> {
        match which {
            Which::Prior(topic) => self.prior[topic as usize].as_ref(),
            Which::Failure(edge) => self.failure[edge].as_ref(),
        }
    }

    /// The standard error of a parameter; infinite where it is not known.
    pub(super) fn error(&self, which: Which) -> f64 {
        self.below(which).map_or(f64::INFINITY, |estimate| estimate.se)
    }

    /// The weights of the network: `w = -log f`, `w0 = -log(1 - p)`. Parameters that were not learned, or are degenerate, keep those of
    /// `given`, or get a guess (a weak edge, a rare topic), and the leak that then explains how often the token is present.
    pub fn weights(&self, graph: &Graph, source: &dyn Source, given: Option<&Weights>) -> Weights {
        const GUESSED_PRIOR: f64 = 0.05;
        const GUESSED_EDGE: f64 = 0.2;
        let n_topics = graph.n_topics();
        let answer =
            |estimate: &Option<Estimate>| estimate.as_ref().filter(|e| !e.degenerate).map(|e| e.value);
        let prior = |(topic, estimate): (usize, &Option<Estimate>)| match answer(estimate) {
            Some(prior) => -(-prior).ln_1p(),
            None => given.map_or(GUESSED_PRIOR, |given| given.leak[topic]),
        };
        let mut leak: Vec<f64> = self.prior.iter().enumerate().map(prior).collect();
        let weight = |(edge, estimate): (usize, &Option<Estimate>)| match answer(estimate) {
            Some(failure) => -failure.ln(),
            None => given.map_or(GUESSED_EDGE, |given| given.edge[edge]),
        };
        let edge: Vec<f64> = self.failure.iter().enumerate().map(weight).collect();
        let mut table = Table::default();
        for (token, estimate) in self.leak_failure.iter().enumerate() {
            let node = n_topics + token;
            let failure = match (answer(estimate), given) {
                (Some(failure), _) => failure,
                (None, Some(given)) => (-given.leak[node]).exp(),
                (None, None) => {
                    source.table(&[token as u32], &mut table);
                    let parents = graph.parents(node).iter().zip(graph.edges_into(node));
                    let influence = |(&topic, edge_ix): (&u32, usize)| {
                        1.0 - (-leak[topic as usize]).exp_m1() * (-edge[edge_ix]).exp_m1()
                    };
                    let failure = table.moments[1] / parents.map(influence).product::<f64>();
                    if failure.is_finite() { failure.clamp(CLIP, 1.0 - CLIP) } else { 1.0 - CLIP }
                }
            };
            leak.push(-failure.ln());
        }
        Weights { leak, edge }
    }
}
