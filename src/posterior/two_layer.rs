//! Two layers: topics without parents and the findings they cause, what is absent absorbed.
//!
//! With `S_j` the summed weights of topic j to absent findings, `pi_j = 1 - exp(-w0_j)` and m present findings,
//!
//! ```text
//! log p(y) = c + log E_rho[ prod over present i of (1 - exp(-a_i)) ],   logit rho_j = logit pi_j - S_j,
//! c        = - sum over absent of w0_i + sum_j log(1 - pi_j + pi_j exp(-S_j)).
//! ```

use super::Watch;
use super::cover;
use super::dag::{Dag, log_mix};
use super::enumerate::enumerate;
use super::hubs::Route;
use crate::error::Result;
use crate::exact::MAX_TOPICS;
use crate::numeric::f64::{beta, log1mexp, log1mexp_slope, sigmoid, softplus};

/// Present findings and the topics that can cause them.
#[derive(Debug, Clone)]
pub struct Problem {
    /// c.
    pub constant: f64,
    /// `logit rho_j` of every topic.
    pub logit: Vec<f64>,
    /// `w0_i` of every present finding.
    pub leak: Vec<f64>,
    /// (finding, weight) of every topic.
    pub effects: Vec<Vec<(usize, f64)>>,
    /// (topic, weight) of every finding.
    pub causes: Vec<Vec<(usize, f64)>>,
}

/// The exact answer.
#[derive(Debug, Clone)]
pub struct Exact {
    /// `log p(y)`.
    pub log_p: f64,
    /// `p(d_j = 1 | y)` of every topic.
    pub marginals: Vec<f64>,
}

/// Topics and findings that are connected, with what inference on them costs.
struct Component {
    topics: Vec<usize>,
    findings: Vec<usize>,
    how: How,
}

enum How {
    /// One finding, and no topic but those in its leak.
    Leak,
    Enumerate,
    Cover(cover::Plan),
}

/// Present findings after the exact reductions.
pub struct Reduced {
    problem: Problem,
    /// The one finding and weight of topics that were folded into its leak.
    folded: Vec<Option<(usize, f64)>>,
    components: Vec<Component>,
}

impl Problem {
    /// Builds the lists by finding.
    pub fn new(constant: f64, logit: Vec<f64>, leak: Vec<f64>, effects: Vec<Vec<(usize, f64)>>) -> Self {
        let mut causes = vec![Vec::new(); leak.len()];
        for (topic, effects) in effects.iter().enumerate() {
            effects.iter().for_each(|&(finding, w)| causes[finding].push((topic, w)));
        }
        Self { constant, logit, leak, effects, causes }
    }

    /// Absorbs what is absent; none for a network that is deeper.
    pub fn of(dag: &Dag) -> Option<Self> {
        if dag.is_deep() {
            return None;
        }
        let logit_pi: Vec<f64> = dag.leak.iter().map(|&leak| beta(leak)).collect();
        let absorbed: f64 = logit_pi.iter().zip(&dag.absent).map(|(&logit, &s)| log_mix(logit, -s)).sum();
        let logit = logit_pi.iter().zip(&dag.absent).map(|(logit, s)| logit - s).collect();
        let mut effects = vec![Vec::new(); dag.n_topics()];
        for (finding, (_, parents)) in dag.on.iter().enumerate() {
            parents.iter().for_each(|&(topic, w)| effects[topic].push((finding, w)));
        }
        let leak = dag.on.iter().map(|(leak, _)| *leak).collect();
        Some(Self::new(dag.constant + absorbed, logit, leak, effects))
    }

    /// m.
    pub fn n_findings(&self) -> usize {
        self.leak.len()
    }

    /// n.
    pub fn n_topics(&self) -> usize {
        self.logit.len()
    }

    /// `rho_j` of every topic.
    pub fn rho(&self) -> Vec<f64> {
        self.logit.iter().map(|&logit| sigmoid(logit)).collect()
    }

    /// By how much rounding may move a log-probability of this problem.
    pub fn rounding(&self, log_p: f64) -> f64 {
        1e-12 * ((1 + self.n_findings() + self.n_topics()) as f64 + log_p.abs())
    }

    /// `prod over findings not in exact of exp(k_i + sum_j t_ij d_j)` put into the priors: the problem of the exact findings alone.
    /// `tilt_j = sum_i t_ij`, `constant = sum_i k_i`.
    pub fn tilted(&self, exact: &[bool], tilt: &[f64], constant: f64) -> Self {
        let mix: f64 = self.logit.iter().zip(tilt).map(|(&logit, &s)| log_mix(logit, s)).sum();
        let logit = self.logit.iter().zip(tilt).map(|(logit, s)| logit + s).collect();
        let mut place = vec![0; exact.len()];
        let mut leak = Vec::new();
        for finding in (0..exact.len()).filter(|&finding| exact[finding]) {
            place[finding] = leak.len();
            leak.push(self.leak[finding]);
        }
        let kept = |effects: &Vec<(usize, f64)>| {
            let exact = effects.iter().filter(|&&(finding, _)| exact[finding]);
            exact.map(|&(finding, w)| (place[finding], w)).collect()
        };
        let effects = self.effects.iter().map(kept).collect();
        Self::new(self.constant + constant + mix, logit, leak, effects)
    }

    /// The exact reductions; none where more than `2^max_bits` terms would remain.
    pub fn reduce(&self, max_bits: usize) -> Option<Reduced> {
        // A topic with one effect folds into its leak.
        let mut leak = self.leak.clone();
        let mut folded = vec![None; self.n_topics()];
        let mut effects = self.effects.clone();
        for (topic, effects) in effects.iter_mut().enumerate() {
            if let [(finding, w)] = effects[..] {
                leak[finding] -= log_mix(self.logit[topic], -w);
                folded[topic] = Some((finding, w));
                effects.clear();
            }
        }
        let problem = Self::new(self.constant, self.logit.clone(), leak, effects);
        let components = problem.connected().into_iter().map(|(topics, findings)| {
            let how = problem.plan(&topics, &findings, max_bits)?;
            Some(Component { topics, findings, how })
        });
        let components = components.collect::<Option<Vec<_>>>()?;
        Some(Reduced { problem, folded, components })
    }

    /// Findings that share no topic, even by others, are independent.
    fn connected(&self) -> Vec<(Vec<usize>, Vec<usize>)> {
        let mut seen_topic = vec![false; self.n_topics()];
        let mut seen = vec![false; self.n_findings()];
        let mut components = Vec::new();
        for first in 0..self.n_findings() {
            if std::mem::replace(&mut seen[first], true) {
                continue;
            }
            let (mut topics, mut findings, mut done) = (Vec::new(), vec![first], 0);
            while done < findings.len() {
                for &(topic, _) in &self.causes[findings[done]] {
                    if std::mem::replace(&mut seen_topic[topic], true) {
                        continue;
                    }
                    topics.push(topic);
                    for &(finding, _) in &self.effects[topic] {
                        if !std::mem::replace(&mut seen[finding], true) {
                            findings.push(finding);
                        }
                    }
                }
                done += 1;
            }
            topics.sort_unstable();
            findings.sort_unstable();
            components.push((topics, findings));
        }
        components
    }

    /// The cheaper of enumerating topics and covering findings.
    fn plan(&self, topics: &[usize], findings: &[usize], max_bits: usize) -> Option<How> {
        if topics.is_empty() {
            return Some(How::Leak);
        }
        // A state of the tree costs some logarithms, an entry of a table a multiplication.
        const STATE: f64 = 100.0;
        let by_topics =
            if topics.len() <= max_bits { STATE * (topics.len() as f64).exp2() } else { f64::INFINITY };
        match cover::Plan::new(self, topics, findings, max_bits) {
            Some(plan) if plan.cost <= by_topics => Some(How::Cover(plan)),
            _ if by_topics.is_finite() => Some(How::Enumerate),
            _ => None,
        }
    }

    /// The sub-network of a component, as a network of any depth.
    fn dag_of(&self, topics: &[usize], findings: &[usize]) -> Dag {
        let place = |topic: usize| topics.binary_search(&topic).unwrap_or(0);
        let causes = |finding: usize| {
            self.causes[finding].iter().map(|&(topic, w)| (place(topic), w)).collect::<Vec<_>>()
        };
        Dag {
            topics: topics.iter().map(|&topic| topic as u32).collect(),
            // -log(1 - rho)
            leak: topics.iter().map(|&topic| softplus(self.logit[topic])).collect(),
            absent: vec![0.0; topics.len()],
            parents: vec![Vec::new(); topics.len()],
            on: findings.iter().map(|&finding| (self.leak[finding], causes(finding))).collect(),
            ..Dag::default()
        }
    }

    /// The same as a network of any depth.
    #[doc(hidden)]
    pub fn dag(&self) -> Dag {
        let all = |n: usize| (0..n).collect::<Vec<_>>();
        let dag = self.dag_of(&all(self.n_topics()), &all(self.n_findings()));
        Dag { constant: self.constant, ..dag }
    }

    /// The exact answer by one table of all findings and topics, without any reduction.
    #[doc(hidden)]
    pub fn covered(&self, max_bits: usize, watch: &Watch<'_>) -> Result<Option<Exact>> {
        let topics: Vec<usize> =
            (0..self.n_topics()).filter(|&topic| !self.effects[topic].is_empty()).collect();
        let (findings, uncaused): (Vec<usize>, Vec<usize>) =
            (0..self.n_findings()).partition(|&finding| !self.causes[finding].is_empty());
        let uncaused: f64 = uncaused.iter().map(|&finding| log1mexp(self.leak[finding])).sum();
        let Some(plan) = cover::Plan::new(self, &topics, &findings, max_bits) else { return Ok(None) };
        let mut marginals = self.rho();
        let mut slopes = vec![0.0; self.n_findings()];
        let log = plan.run(self, &mut marginals, &mut slopes, watch)?;
        Ok(log.map(|log| Exact { log_p: self.constant + uncaused + log, marginals }))
    }

    /// The exact answer, if it takes tables of at most `2^max_bits` entries and the time suffices.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`](crate::Error::Interrupted).
    pub fn exact(&self, max_bits: usize, watch: &Watch<'_>) -> Result<Option<Exact>> {
        Route::new(self, max_bits).map_or(Ok(None), |route| route.exact(self, watch))
    }
}

impl Reduced {
    /// About the number of multiplications.
    pub fn cost(&self) -> f64 {
        let of = |component: &Component| match &component.how {
            How::Leak => 1.0,
            How::Enumerate => 100.0 * (component.topics.len() as f64).exp2(),
            How::Cover(plan) => plan.cost,
        };
        self.components.iter().map(of).sum()
    }

    /// What is done most: the name of the method.
    pub fn name(&self) -> &'static str {
        let is = |of: fn(&How) -> bool| self.components.iter().any(|component| of(&component.how));
        if is(|how| matches!(how, How::Cover(_))) {
            "cover"
        } else if is(|how| matches!(how, How::Enumerate)) {
            "enumerate"
        } else {
            "closed-form"
        }
    }

    /// The exact answer; none where time runs out or numbers leave the range of f64.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`](crate::Error::Interrupted).
    pub fn exact(&self, watch: &Watch<'_>) -> Result<Option<Exact>> {
        let problem = &self.problem;
        let mut log_p = problem.constant;
        let mut marginals = problem.rho();
        // Posterior means of f'(a_i), which tell how much a finding still lacks a cause.
        let mut slopes = vec![0.0; problem.n_findings()];
        for Component { topics, findings, how } in &self.components {
            match how {
                How::Leak => {
                    for &finding in findings {
                        log_p += log1mexp(problem.leak[finding]);
                        slopes[finding] = log1mexp_slope(problem.leak[finding]);
                    }
                }
                How::Enumerate => {
                    let Some(log) = self.enumerated(topics, findings, &mut marginals, &mut slopes, watch)?
                    else {
                        return Ok(None);
                    };
                    log_p += log;
                }
                How::Cover(plan) => {
                    let mut log = plan.run(problem, &mut marginals, &mut slopes, watch)?;
                    // Logarithms have no range to leave.
                    if log.is_none() && topics.len() <= MAX_TOPICS && watch.go_on()? {
                        log = self.enumerated(topics, findings, &mut marginals, &mut slopes, watch)?;
                    }
                    let Some(log) = log else { return Ok(None) };
                    log_p += log;
                }
            }
        }
        for (topic, folded) in self.folded.iter().enumerate() {
            if let Some((finding, w)) = *folded {
                let logit = problem.logit[topic];
                // (1 - rho)(1 - e^-w) / (1 - rho + rho e^-w)
                let gain = sigmoid(w - logit) * -(-w).exp_m1();
                let rho = sigmoid(logit);
                // rho slope first: either alone may be out of range.
                marginals[topic] = (rho + rho * slopes[finding] * gain).min(1.0);
            }
        }
        Ok(Some(Exact { log_p, marginals }))
    }

    /// A component by all states of its topics.
    fn enumerated(
        &self,
        topics: &[usize],
        findings: &[usize],
        marginals: &mut [f64],
        slopes: &mut [f64],
        watch: &Watch<'_>,
    ) -> Result<Option<f64>> {
        let Some(all) = enumerate(&self.problem.dag_of(topics, findings), watch)? else { return Ok(None) };
        topics.iter().zip(all.marginals).for_each(|(&topic, p)| marginals[topic] = p);
        findings.iter().zip(all.slopes).for_each(|(&finding, slope)| slopes[finding] = slope);
        Ok(Some(all.log_p))
    }
}
