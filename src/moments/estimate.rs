//! The parameters, round by round.

use super::anchor::{self, Ratios};
use super::average::{Average, CLIP, Estimate};
use super::formula::{BySubset, Derived, pair, triplet};
use super::schedule::{Kind, Schedule, Step};
use super::source::{ByGroup, Exact, GROUPS, Source, Table, subset};
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
    /// By inverse variances at the moments as counted.
    Counted,
    /// By inverse variances at the moments of the network that the counted ones give: those do not vary with the estimates that they
    /// weigh.
    Model,
}

/// Single estimates of failures are brought into this range before they are averaged by weights that do not see that they are far off.
const PLAUSIBLE: [f64; 2] = [-1.0, 2.0];

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
    let mut sweep = Sweep { net, source, first_only: weighting == Weighting::First, model: None };
    let learned = sweep.run(schedule, monitor)?;
    if weighting != Weighting::Model {
        return Ok(learned);
    }
    let weights = learned.weights(graph, source, None);
    sweep.model = Some(Model { moments: Exact::new(graph, &weights), leaks: &learned.leak_failure });
    sweep.run(schedule, monitor)
}

/// The network that a first sweep gave.
struct Model<'a> {
    moments: Exact<'a>,
    leaks: &'a [Option<Estimate>],
}

impl Model<'_> {
    /// Whether everything about these tokens was learned: a leak comes last.
    fn knows(&self, tokens: &[u32]) -> bool {
        let is_known = |leak: &Option<Estimate>| leak.as_ref().is_some_and(|leak| !leak.degenerate);
        tokens.iter().all(|&token| is_known(&self.leaks[token as usize]))
    }
}

struct Sweep<'a> {
    net: TwoLayers<'a>,
    source: &'a dyn Source,
    first_only: bool,
    /// Where variances are taken.
    model: Option<Model<'a>>,
}

/// A known topic that couples a set, divided out.
struct Removed {
    /// Its influence on every subset.
    influence: BySubset,
    /// Parameters and the derivatives of log influence.
    by: Vec<(Which, BySubset)>,
}

#[derive(Clone, Copy)]
enum Which {
    Prior(u32),
    Failure(usize),
}

/// What one step gives: the failure of its edge, and the prior where that is new.
struct Answer {
    failure: Estimate,
    prior: Average,
    /// An anchor's prior is final.
    anchored: Option<Estimate>,
}

impl Sweep<'_> {
    fn run(&self, schedule: &Schedule, monitor: &Monitor) -> Result<Learned> {
        let mut learned = Learned {
            prior: vec![None; self.net.n_topics()],
            failure: vec![None; self.net.graph.n_edges()],
            leak_failure: Vec::new(),
        };
        for steps in schedule.steps.chunk_by(|a, b| a.round == b.round) {
            let answers: Vec<Answer> = steps
                .par_iter()
                .map(|step| monitor.go_on().map(|()| self.answer(step, &learned)))
                .collect::<Result<_>>()?;
            for of_topic in
                steps.iter().zip(&answers).collect::<Vec<_>>().chunk_by(|a, b| a.0.topic == b.0.topic)
            {
                let prior = &mut learned.prior[of_topic[0].0.topic as usize];
                if prior.is_none() {
                    let n_used = if self.first_only { 1 } else { of_topic.len() };
                    let triplets = of_topic.iter().filter(|(step, _)| step.kind == Kind::Triplet);
                    let mut average = Average::default();
                    triplets.take(n_used).for_each(|(_, answer)| average.merge(&answer.prior));
                    let anchored = of_topic.iter().find_map(|(_, answer)| answer.anchored.clone());
                    *prior = anchored.or_else(|| Some(average.estimate(self.source.n_groups())));
                }
            }
            for (step, answer) in steps.iter().zip(answers) {
                learned.failure[step.edge] = Some(answer.failure);
            }
        }
        let tokens = (0..self.net.n_tokens() as u32).into_par_iter();
        learned.leak_failure = tokens.map(|token| self.leak(token, &learned)).collect();
        Ok(learned)
    }

    fn answer(&self, step: &Step, learned: &Learned) -> Answer {
        if step.kind == Kind::Anchor {
            return self.anchored(step, learned);
        }
        let mut failures = Average::default();
        let mut priors = Average::default();
        let wants_prior = learned.prior[step.topic as usize].is_none();
        let (mut table, mut at) = (Table::default(), BySubset::default());
        let n_sets = if self.first_only { 1 } else { step.sets.len() };
        for &set in step.sets.iter().take(n_sets) {
            let (tokens, n) = step.tokens(set);
            let tokens = &tokens[..n];
            self.source.table(tokens, &mut table);
            let removed = self.removed(step.topic, tokens, learned);
            let own = divided(&table.moments, &removed);
            at.clone_from(&table.moments);
            if let Some(model) = self.model.as_ref().filter(|model| model.knows(tokens)) {
                (1..1 << n).for_each(|mask| at[mask] = model.moments.moment(&subset(tokens, mask)));
            }
            let point =
                Point { table: &table, moments: &at, divided: divided(&at, &removed), removed: &removed };
            let plausible = |value: f64| {
                if self.model.is_some() { value.clamp(PLAUSIBLE[0], PLAUSIBLE[1]) } else { value }
            };
            if n == 2 {
                let partner = self.net.edge(step.topic, tokens[1]).expect("a partner is a child");
                let (Some(prior), Some(known)) =
                    (&learned.prior[step.topic as usize], &learned.failure[partner])
                else {
                    continue;
                };
                let here = pair(&point.divided, prior.value, known.value);
                let more =
                    [(Which::Prior(step.topic), here.by_prior), (Which::Failure(partner), here.by_known)];
                let (variance, by_group) = point.propagate(&here.failure, n, learned, &more);
                failures.add(
                    plausible(pair(&own, prior.value, known.value).failure.value),
                    variance,
                    &by_group,
                );
                continue;
            }
            let (here, value) = (triplet(&point.divided), triplet(&own));
            let add = |average: &mut Average, derived: &Derived, value: f64, usable: bool| {
                let (variance, by_group) = point.propagate(derived, n, learned, &[]);
                average.add(value, if usable { variance } else { f64::INFINITY }, &by_group);
            };
            add(&mut failures, &here.failure, plausible(value.failure.value), !value.degenerate);
            if wants_prior {
                add(&mut priors, &here.prior, value.prior.value, !value.degenerate);
            }
        }
        let failure = failures.estimate(self.source.n_groups());
        Answer { failure, prior: priors, anchored: None }
    }

    /// The known topics other than `topic` with two or more tokens of a set.
    fn removed(&self, topic: u32, tokens: &[u32], learned: &Learned) -> Vec<Removed> {
        let coupling = self.net.coupling(topic, tokens).into_iter();
        coupling.filter_map(|other| self.influence(other, tokens, learned, None)).collect()
    }

    /// The influence of a topic on the subsets of a set; of the documents but for the errors of a group, where one is given. None
    /// where the topic is not known: then it cancels, or is not to be divided out.
    fn influence(
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
        let point = Point { table: &table, moments: &table.moments, divided, removed: &removed };
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
    fn anchored(&self, step: &Step, learned: &Learned) -> Answer {
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
            let none = Average::default();
            return Answer { failure: none.estimate(0), anchored: Some(none.estimate(0)), prior: none };
        };
        let (mut prior_by, mut failure_by) = ([0.0; GROUPS], [0.0; GROUPS]);
        for group in 0..n_groups {
            let moved = anchor::solve_near(&ratios(Some(group)), prior, failure);
            let (p, f) = moved.unwrap_or((f64::NAN, f64::NAN));
            (prior_by[group], failure_by[group]) = (p - prior, f - failure);
        }
        Answer {
            failure: Estimate::new(failure, failure_by, n_sets, n_groups),
            anchored: Some(Estimate::new(prior, prior_by, n_sets, n_groups)),
            prior: Average::default(),
        }
    }
}

/// Moments without the influence of what is removed.
fn divided(moments: &BySubset, removed: &[Removed]) -> BySubset {
    std::array::from_fn(|mask| removed.iter().fold(moments[mask], |m, removed| m / removed.influence[mask]))
}

/// Where derivatives and variances are taken.
struct Point<'a> {
    table: &'a Table,
    moments: &'a BySubset,
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
                let known = &self.table.known;
                let covariance = self.moments[s | t] - self.moments[s] * self.moments[t];
                variance += slope[s] * slope[t] * covariance * known[s | t] / (known[s] * known[t]);
            }
        }
        let of_removed = self.removed.iter().flat_map(|removed| &removed.by).map(|(which, by)| {
            let slope = subsets.clone().map(|mask| derived.slope[mask] * self.divided[mask] * by[mask]);
            (*which, -slope.sum::<f64>())
        });
        for (which, slope) in of_removed.chain(more.iter().copied()) {
            let below = match which {
                Which::Prior(topic) => &learned.prior[topic as usize],
                Which::Failure(edge) => &learned.failure[edge],
            };
            let Some(below) = below else { continue };
            by_group.iter_mut().zip(&below.by_group).for_each(|(sum, add)| *sum += slope * add);
            variance += (slope * below.se).powi(2);
        }
        (variance, by_group)
    }
}

impl Learned {
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
