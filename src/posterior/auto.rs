//! From a case to its posterior: which method is run.

use super::case::Case;
use super::certify::{Bounds, Until, certify, of_exact};
use super::dag::Dag;
use super::deep_upper::{deep_upper, without_outside};
use super::enumerate::enumerate;
use super::hubs::Route;
use super::kearns_saul::kearns_saul;
use super::mean_field::mean_field;
use super::quickscore::{ROUNDING, quickscore};
use super::sample::sample;
use super::search::search;
use super::two_layer::Problem;
use super::vi::vi;
use super::{Interval, Marginal, Method, Options, Posterior, Watch, upper};
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::network::Network;
use crate::numeric::f64::log1mexp;

/// An exact answer of this cost takes about a millisecond; where it costs more, a search may be quicker.
const CHEAP: f64 = 1e7;
/// About the cost of a leaf of the search, in the same units.
const LEAF: f64 = 1e5;
/// How far a search goes where no exact answer is to be had: some tenths of a second.
const MAX_LEAVES: usize = 20_000;

/// Hybrid bounds are tried by `auto` only where the bounds alone are this close, in nats: each exact finding closes some of the gap.
const WORTH_A_HYBRID: f64 = 3.0;
/// Bits of the tables of such trials: they are rebuilt many times.
const TRIAL_BITS: usize = 14;

/// How many times as many samples `auto` takes where they do not suffice.
const MORE_SAMPLES: [usize; 2] = [4, 16];

/// Infers topics of one network. It can be shared by threads.
#[derive(Debug, Clone, Copy)]
pub struct Engine<'a> {
    network: &'a Network,
}

/// A case in work.
#[derive(Clone)]
struct Work<'a> {
    dag: Dag,
    /// The same with what is absent absorbed, where it has two layers.
    two_layer: Option<Problem>,
    options: &'a Options,
    watch: Watch<'a>,
    case_ix: u64,
}

impl<'a> Engine<'a> {
    /// Takes a network in.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] for weights that are none.
    pub fn new(network: &'a Network) -> Result<Self> {
        match network.weights.fault(&network.graph, &|node| network.names.of(node).to_owned()) {
            Some(fault) => Err(Error::Usage(format!("{fault}; it must be above 0 and at most 1e6"))),
            None => Ok(Self { network }),
        }
    }

    /// The network.
    pub fn network(&self) -> &'a Network {
        self.network
    }

    /// Whether no topic has a parent.
    pub fn is_two_layer(&self) -> bool {
        let graph = &self.network.graph;
        (0..graph.n_topics()).all(|topic| graph.parents(topic).is_empty())
    }

    /// Infers the topics of a case. Samples are the same for the same seed and `case_ix`, on any number of threads.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] for options that make no sense, a case that contradicts itself, or a method that this network is too deep or too
    /// large for; [`Error::Interrupted`].
    pub fn run(&self, case: &Case, case_ix: u64, options: &Options, monitor: &Monitor) -> Result<Posterior> {
        options.check()?;
        let dag = Dag::new(self.network, case)?;
        let two_layer = Problem::of(&dag);
        let watch = Watch::new(monitor, options.seconds);
        Work { dag, two_layer, options, watch, case_ix }.run()
    }

    /// An upper bound of `log p(y)`. Of a network whose topics have parents it is loose.
    ///
    /// # Errors
    ///
    /// As [`Engine::run`].
    pub fn upper(&self, case: &Case, monitor: &Monitor) -> Result<f64> {
        let dag = Dag::new(self.network, case)?;
        let watch = Watch::new(monitor, None);
        let Some(problem) = Problem::of(&dag) else {
            let inside = without_outside(&dag);
            let q = vi(&inside, &watch)?.q;
            return Ok(certain_upper(&inside, &q));
        };
        let none_exact = vec![false; problem.n_findings()];
        let upper = upper::upper(&problem, &none_exact, None, (0, &watch))?;
        let upper = upper.map_or(problem.constant, |upper| upper.bound.log_p);
        Ok(upper + problem.rounding(upper))
    }
}

impl Work<'_> {
    fn run(&self) -> Result<Posterior> {
        let method = self.options.method;
        let Some(problem) = &self.two_layer else {
            return match method {
                Method::Auto => self.deep_auto(),
                Method::Exact => self.deep_exact()?.ok_or_else(|| self.too_many_topics()),
                Method::Vi => self.deep_vi(),
                Method::Sample => self.sample(1),
                _ => Err(Error::Usage(format!(
                    "`method` {method} is for networks of two layers, but topics here have parents; use auto, exact, vi or sample"
                ))),
            };
        };
        match (method, self.options.certify) {
            (Method::Auto | Method::Hybrid, Some(width)) => self.certified(problem, width),
            (Method::Auto, None) => self.auto(problem),
            (Method::Exact, _) => self
                .exact(problem, self.route(problem).as_ref())?
                .ok_or_else(|| self.too_many_findings(problem)),
            (Method::Quickscore, _) => self.quickscore(problem),
            (Method::Hybrid, None) => self.hybrid(problem),
            (Method::Jj, _) => self.bounds(problem, false),
            (Method::Vi, _) => self.bounds(problem, true),
            (Method::MeanField(order), _) => self.mean_field(problem, order),
            (Method::Ks, _) => self.kearns_saul(problem),
            (Method::Sample, _) => self.sample(1),
        }
    }

    fn too_many_topics(&self) -> Error {
        Error::Usage(format!(
            "`method` exact sums over the states of {} unknown topics that have parents; at most {} (`max_exact`) are possible, within \
             `seconds`: use sample or vi",
            self.dag.n_topics(),
            self.options.max_exact
        ))
    }

    fn too_many_findings(&self, problem: &Problem) -> Error {
        Error::Usage(format!(
            "`method` exact needs tables of more than 2^{} entries (`max_exact`) for {} present tokens, or more than `seconds`: use \
             hybrid or sample",
            self.options.max_exact,
            problem.n_findings()
        ))
    }

    /// Puts an answer together; `marginals` are of the unknown topics.
    fn posterior(&self, method: &str, log_p: Interval, marginals: &[Marginal]) -> Posterior {
        let mut all: Vec<Marginal> = self
            .dag
            .settled
            .iter()
            .map(|p| p.map_or(Marginal::unbounded(0.5), |p| Marginal::new(p, p - 1e-12, p + 1e-12)))
            .collect();
        // What is given is certain.
        for (marginal, settled) in all.iter_mut().zip(&self.dag.settled) {
            if let Some(p) = settled.filter(|&p| p == 0.0 || p == 1.0) {
                *marginal = Marginal { p, lower: p, upper: p };
            }
        }
        self.dag.topics.iter().zip(marginals).for_each(|(&topic, &marginal)| all[topic as usize] = marginal);
        let mut log_p = log_p;
        if log_p.upper.is_finite() {
            log_p.upper = log_p.upper.min(simple_upper(&self.dag)).max(log_p.lower);
        }
        let meets = self.meets(log_p, &all);
        Posterior {
            method: method.to_owned(),
            log_p,
            log_p_estimate: None,
            marginals: all,
            exact_findings: 0,
            ess: None,
            meets,
        }
    }

    /// Whether an answer is as exact as was asked for.
    fn meets(&self, log_p: Interval, marginals: &[Marginal]) -> bool {
        match self.options.certify {
            Some(width) => log_p.upper - log_p.lower <= width,
            None => marginals.iter().all(|marginal| marginal.error() <= self.options.within),
        }
    }

    fn route(&self, problem: &Problem) -> Option<Route> {
        Route::new(problem, self.options.max_exact)
    }

    fn exact(&self, problem: &Problem, route: Option<&Route>) -> Result<Option<Posterior>> {
        let Some(route) = route else { return Ok(None) };
        let Some(exact) = route.exact(problem, &self.watch)? else { return Ok(None) };
        let (log_p, marginals) = of_exact(problem, &exact);
        let exact_findings = problem.n_findings();
        Ok(Some(Posterior { exact_findings, ..self.posterior(route.name, log_p, &marginals) }))
    }

    fn auto(&self, problem: &Problem) -> Result<Posterior> {
        let route = self.route(problem);
        let cost = route.as_ref().map_or(f64::INFINITY, |route| route.cost);
        if cost > CHEAP
            && let (found, true) = self.searched(problem, self.options.within.ln_1p(), cost)?
        {
            return Ok(found);
        }
        if let Some(exact) = self.exact(problem, route.as_ref())? {
            return Ok(exact);
        }
        let bounds = self.bounds(problem, false)?;
        if bounds.meets || !self.watch.go_on()? {
            return Ok(bounds);
        }
        if bounds.log_p.upper - bounds.log_p.lower <= WORTH_A_HYBRID {
            let (within, max_bits) = (Some(self.options.within), self.options.max_exact.min(TRIAL_BITS));
            let hybrid = self.certificate(problem, (None, within), problem.n_findings(), max_bits)?;
            if hybrid.meets {
                return Ok(hybrid);
            }
        }
        self.sampled_enough()
    }

    /// Bounds whose logs are at most `gap` apart, or what was reached at this cost; and whether they are. Then no marginal is wrong by more
    /// than `exp(gap) - 1`.
    fn searched(&self, problem: &Problem, gap: f64, cost: f64) -> Result<(Posterior, bool)> {
        let max_leaves = (cost / LEAF).min(MAX_LEAVES as f64) as usize;
        let found = search(problem, gap, max_leaves, &self.watch)?;
        Ok((self.posterior("search", found.log_p, &found.marginals), found.meets))
    }

    /// Exact where that is cheap or the bounds do not meet. All bounds hold, so what remains when time is over is the tightest of each.
    fn certified(&self, problem: &Problem, width: f64) -> Result<Posterior> {
        let route = self.route(problem);
        let cost = route.as_ref().map_or(f64::INFINITY, |route| route.cost);
        // The least that is known takes milliseconds, and is not cut short.
        let patient = Work { watch: self.watch.without_end(), ..self.clone() };
        let mut best = patient.bounds(problem, false)?;
        if !best.meets && self.options.method == Method::Auto {
            best = self.tightest(best, self.searched(problem, width, cost)?.0);
        }
        // Rebuilding a table for each of many steps costs more than the whole table once.
        if !best.meets
            && let Some(exact) = self.exact(problem, route.as_ref())?
        {
            return Ok(exact);
        }
        if !best.meets && self.watch.go_on()? {
            let (until, max_exact) = ((Some(width), None), self.options.max_exact);
            best = self.tightest(best, self.certificate(problem, until, problem.n_findings(), max_exact)?);
        }
        Ok(best)
    }

    /// What two answers together are certain of; the name and p are those of the one with the closer bounds of `log p(y)`.
    fn tightest(&self, a: Posterior, b: Posterior) -> Posterior {
        let width = |of: &Posterior| of.log_p.upper - of.log_p.lower;
        let (closer, other) = if width(&b) < width(&a) { (b, a) } else { (a, b) };
        let of = |(close, other): (&Marginal, &Marginal)| {
            Marginal::new(close.p, close.lower.max(other.lower), close.upper.min(other.upper))
        };
        let marginals: Vec<Marginal> = closer.marginals.iter().zip(&other.marginals).map(of).collect();
        let log_p = Interval {
            lower: closer.log_p.lower.max(other.log_p.lower),
            upper: closer.log_p.upper.min(other.log_p.upper),
        };
        let meets = self.meets(log_p, &marginals);
        Posterior { log_p, marginals, meets, ..closer }
    }

    fn hybrid(&self, problem: &Problem) -> Result<Posterior> {
        self.certificate(problem, (Some(0.0), None), self.options.exact_findings, self.options.max_exact)
    }

    fn certificate(
        &self,
        problem: &Problem,
        (log_p, marginals): (Option<f64>, Option<f64>),
        max_exact: usize,
        max_bits: usize,
    ) -> Result<Posterior> {
        let until = Until { log_p, marginals, max_exact, max_bits, watch: &self.watch };
        let Some(found) = certify(problem, &until)? else { return Err(self.too_many_findings(problem)) };
        let exact_findings = found.exact.len();
        let posterior = self.posterior(&format!("hybrid {exact_findings}"), found.log_p, &found.marginals);
        Ok(Posterior { exact_findings, ..posterior })
    }

    /// The bounds of Jaakkola & Jordan; p from the upper one's measure, or the lower one's q.
    fn bounds(&self, problem: &Problem, is_lower: bool) -> Result<Posterior> {
        let none_exact = vec![false; problem.n_findings()];
        let Some(bounds) = Bounds::new(problem, &none_exact, None, (0, &self.watch))? else {
            return Err(self.too_many_findings(problem));
        };
        let mut marginals = bounds.marginals(problem);
        if is_lower {
            for (marginal, &q) in marginals.iter_mut().zip(&bounds.lower_q) {
                *marginal = Marginal::new(q, marginal.lower, marginal.upper);
            }
        }
        Ok(self.posterior(if is_lower { "vi" } else { "jj" }, bounds.log_p(problem), &marginals))
    }

    fn quickscore(&self, problem: &Problem) -> Result<Posterior> {
        let m = problem.n_findings();
        if m > self.options.max_exact {
            return Err(Error::Usage(format!(
                "`method` quickscore sums over the subsets of {m} present tokens; at most {} (`max_exact`) are possible: use exact, \
                 hybrid or sample",
                self.options.max_exact
            )));
        }
        let Some(found) = quickscore(problem, &self.watch)? else {
            return Ok(self.posterior("quickscore", Interval::UNKNOWN, &self.unbounded(&problem.rho())));
        };
        let error = found.kappa * ROUNDING * (1 + problem.n_topics()) as f64;
        if !(error < 0.5 && found.value > 0.0) {
            // No digit is left: nothing is known but that probabilities are at most one.
            let log_p = Interval { lower: f64::NEG_INFINITY, upper: problem.constant };
            return Ok(self.posterior("quickscore", log_p, &self.unbounded(&problem.rho())));
        }
        let log_p = problem.constant + found.value.ln();
        let wide = problem.rounding(log_p) - (-error).ln_1p();
        let marginal = |&p: &f64| Marginal::new(p, p - 4.0 * wide, p + 4.0 * wide);
        let marginals: Vec<Marginal> = found.marginals.iter().map(marginal).collect();
        let interval = Interval { lower: log_p - wide, upper: log_p + wide };
        Ok(Posterior { exact_findings: m, ..self.posterior("quickscore", interval, &marginals) })
    }

    fn mean_field(&self, problem: &Problem, order: u8) -> Result<Posterior> {
        let found = mean_field(problem, order);
        let positive = found.factor > 0.0;
        let estimate = problem.constant + found.log_first + found.factor.ln();
        let posterior =
            self.posterior(&format!("mf{order}"), Interval::UNKNOWN, &self.unbounded(&found.marginals));
        Ok(Posterior { log_p_estimate: (positive && estimate.is_finite()).then_some(estimate), ..posterior })
    }

    fn kearns_saul(&self, problem: &Problem) -> Result<Posterior> {
        let (lower, upper) = kearns_saul(problem, 1.0);
        let log_p =
            Interval { lower: lower - problem.rounding(lower), upper: upper + problem.rounding(upper) };
        let log_p = if lower.is_finite() { log_p } else { Interval { lower: f64::NEG_INFINITY, ..log_p } };
        let none_exact = vec![false; problem.n_findings()];
        let tilted = upper::upper(problem, &none_exact, None, (0, &self.watch))?;
        let q = tilted.map_or_else(|| problem.rho(), |upper| upper.bound.marginals);
        Ok(self.posterior("ks", log_p, &self.unbounded(&q)))
    }

    fn unbounded(&self, p: &[f64]) -> Vec<Marginal> {
        p.iter().map(|&p| Marginal::unbounded(p)).collect()
    }

    fn sample(&self, times: usize) -> Result<Posterior> {
        let mean_field = vi(&self.dag, &self.watch)?;
        let mut around = vec![mean_field.q.clone()];
        let log_p = match &self.two_layer {
            Some(problem) => {
                let bounds = self.bounds(problem, false)?;
                // The upper bound's measure is nowhere much smaller than p(d, y).
                let q = self.dag.topics.iter().map(|&topic| bounds.marginals[topic as usize].p);
                around.push(q.collect());
                bounds.log_p
            }
            None => self.deep_interval(mean_field.log_p, &mean_field.q),
        };
        let key = (self.options.seed, self.case_ix);
        let found = sample(&self.dag, &around, self.options.samples.saturating_mul(times), key, &self.watch)?;
        let of = |(&p, &se): (&f64, &f64)| Marginal::new(p, p - 3.0 * se, p + 3.0 * se);
        let marginals: Vec<Marginal> = found.marginals.iter().zip(&found.marginal_se).map(of).collect();
        let estimate = Some(found.log_p).filter(|log_p| log_p.is_finite());
        Ok(Posterior {
            log_p_estimate: estimate,
            ess: Some(found.ess),
            ..self.posterior("sample", log_p, &marginals)
        })
    }

    fn deep_interval(&self, lower: f64, q: &[f64]) -> Interval {
        Interval { lower: lower - rounding(&self.dag, lower), upper: certain_upper(&self.dag, q) }
    }

    fn deep_vi(&self) -> Result<Posterior> {
        let found = vi(&self.dag, &self.watch)?;
        Ok(self.posterior("vi", self.deep_interval(found.log_p, &found.q), &self.unbounded(&found.q)))
    }

    fn deep_exact(&self) -> Result<Option<Posterior>> {
        let n_topics = self.dag.n_topics();
        if n_topics > self.options.max_exact {
            return Ok(None);
        }
        let Some(found) = enumerate(&self.dag, &self.watch)? else { return Ok(None) };
        let rounding = rounding(&self.dag, found.log_p);
        let marginal = |&p: &f64| Marginal::new(p, p - rounding, p + rounding);
        let marginals: Vec<Marginal> = found.marginals.iter().map(marginal).collect();
        let log_p = Interval { lower: found.log_p - rounding, upper: found.log_p + rounding };
        let posterior = self.posterior("enumerate", log_p, &marginals);
        Ok(Some(Posterior { exact_findings: self.dag.on.len(), ..posterior }))
    }

    fn deep_auto(&self) -> Result<Posterior> {
        match self.deep_exact()? {
            Some(exact) => Ok(exact),
            None => self.sampled_enough(),
        }
    }

    /// Samples, and more of them where they do not suffice.
    fn sampled_enough(&self) -> Result<Posterior> {
        let mut found = self.sample(1)?;
        for more in MORE_SAMPLES {
            // Samples do not move bounds.
            if found.meets || self.options.certify.is_some() || !self.watch.go_on()? {
                break;
            }
            found = self.sample(more)?;
        }
        Ok(found)
    }
}

/// An upper bound in a network of any depth, widened for rounding.
fn certain_upper(dag: &Dag, q: &[f64]) -> f64 {
    let upper = deep_upper(dag, q);
    let upper = upper + rounding(dag, upper);
    if upper.is_finite() { upper.min(simple_upper(dag)) } else { simple_upper(dag) }
}

/// An upper bound that needs no search: every node that is on is no likelier than with all of its parents on, and nothing is likelier than
/// certain.
fn simple_upper(dag: &Dag) -> f64 {
    let of = |(leak, parents): &(f64, Vec<(usize, f64)>)| {
        log1mexp(leak + parents.iter().map(|&(_, w)| w).sum::<f64>())
    };
    let upper = dag.constant + dag.on.iter().map(of).sum::<f64>();
    (upper + rounding(dag, upper)).min(0.0)
}

/// By how much rounding may move a log-probability: it grows with the topics of the whole network, summed out or not.
fn rounding(dag: &Dag, log_p: f64) -> f64 {
    1e-12 * ((1 + dag.settled.len() + dag.on.len()) as f64 + log_p.abs())
}
