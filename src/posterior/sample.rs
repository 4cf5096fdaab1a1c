//! Importance sampling of the unknown topics, in a network of any depth.
//!
//! The proposal is a mixture of products: marginals that others have found, the same softened (the defensive component: weights stay
//! bounded where mean field is too sure of itself), and what a first round of samples finds. Topics that lead to nothing known are
//! sampled from the model itself and do not change the weights.

use super::Watch;
use super::dag::Dag;
use crate::error::Result;
use crate::numeric::f64::{LogSum, log1mexp, sigmoid};
use crate::rng::{Stream, rng};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Log-odds of the defensive component are this many times smaller.
const TEMPERATURE: f64 = 2.0;
/// It has every topic on and off with at least this probability over their number, but not more than a tenth.
const SURPRISES: f64 = 2.0;
/// Shares of the samples used to find the last component.
const PILOT: usize = 4;

/// What sampling finds.
#[derive(Debug, Clone)]
pub struct Sampled {
    /// The estimate of `log p(y)`.
    pub log_p: f64,
    /// Its standard error.
    pub se: f64,
    /// Effective sample size.
    pub ess: f64,
    /// Of every topic of the [`Dag`].
    pub marginals: Vec<f64>,
    /// Their standard errors.
    pub marginal_se: Vec<f64>,
}

struct Sampler<'a> {
    dag: &'a Dag,
    /// Topics that lead to nothing known.
    is_barren: Vec<bool>,
    /// Components of the proposal: log-odds, and log of the product with all topics off.
    pieces: Vec<(Vec<f64>, f64)>,
}

struct Round {
    log_weights: Vec<f64>,
    /// Topics that are on, sample by sample.
    on: Vec<Vec<u32>>,
}

impl<'a> Sampler<'a> {
    fn new(dag: &'a Dag) -> Self {
        let mut is_barren: Vec<bool> = dag.absent.iter().map(|&absent| absent == 0.0).collect();
        dag.on
            .iter()
            .for_each(|(_, parents)| parents.iter().for_each(|&(parent, _)| is_barren[parent] = false));
        for topic in (0..dag.n_topics()).rev() {
            if !is_barren[topic] {
                dag.parents[topic].iter().for_each(|&(parent, _)| is_barren[parent] = false);
            }
        }
        Self { dag, is_barren, pieces: Vec::new() }
    }

    /// Adds a component with probabilities at least `floor` away from 0 and 1.
    fn add(&mut self, q: &[f64], temperature: f64, floor: f64) {
        let logit = |(topic, &q): (usize, &f64)| {
            if self.is_barren[topic] {
                return f64::NEG_INFINITY;
            }
            let q = q.clamp(1e-9, 1.0 - 1e-9);
            let soft = sigmoid((q.ln() - (-q).ln_1p()) / temperature).clamp(floor, 1.0 - floor);
            soft.ln() - (-soft).ln_1p()
        };
        let logits: Vec<f64> = q.iter().enumerate().map(logit).collect();
        let log_off = -logits.iter().map(|&logit| crate::numeric::f64::softplus(logit)).sum::<f64>();
        self.pieces.push((logits, log_off));
    }

    fn sample(&self, n_samples: usize, rng: &mut ChaCha8Rng, watch: &Watch<'_>) -> Result<Round> {
        let dag = self.dag;
        let mut round = Round { log_weights: Vec::new(), on: Vec::new() };
        let probabilities: Vec<Vec<f64>> =
            self.pieces.iter().map(|(logits, _)| logits.iter().map(|&g| sigmoid(g)).collect()).collect();
        let mut x = vec![false; dag.n_topics()];
        for number in 0..n_samples {
            // Two at least, for a standard error.
            if number >= 2 && !watch.go_on()? {
                break;
            }
            // Components take turns: their shares are exact.
            let q = &probabilities[number % probabilities.len()];
            let activation = |x: &[bool], leak: f64, parents: &[(usize, f64)]| {
                leak + parents.iter().filter(|&&(parent, _)| x[parent]).map(|&(_, w)| w).sum::<f64>()
            };
            let mut log_joint = dag.constant;
            for topic in 0..dag.n_topics() {
                let a = activation(&x, dag.leak[topic], &dag.parents[topic]);
                if self.is_barren[topic] {
                    x[topic] = rng.random::<f64>() < -(-a).exp_m1();
                } else {
                    x[topic] = rng.random::<f64>() < q[topic];
                    log_joint += if x[topic] { log1mexp(a) - dag.absent[topic] } else { -a };
                }
            }
            for (leak, parents) in &dag.on {
                log_joint += log1mexp(activation(&x, *leak, parents));
            }
            let on: Vec<u32> = (0..x.len() as u32).filter(|&topic| x[topic as usize]).collect();
            let mut density = LogSum::default();
            for (logits, log_off) in &self.pieces {
                let chosen = on.iter().filter(|&&topic| !self.is_barren[topic as usize]);
                density.add(log_off + chosen.map(|&topic| logits[topic as usize]).sum::<f64>());
            }
            round.log_weights.push(log_joint - density.log() + (self.pieces.len() as f64).ln());
            round.on.push(on);
        }
        Ok(round)
    }
}

impl Round {
    fn summary(&self, n_topics: usize) -> Sampled {
        let n = self.log_weights.len() as f64;
        let mut sum = LogSum::default();
        self.log_weights.iter().for_each(|&log| sum.add(log));
        let weights: Vec<f64> = self.log_weights.iter().map(|log| (log - sum.log()).exp()).collect();
        let squares: f64 = weights.iter().map(|w| w * w).sum();
        let ess = (1.0 / squares).clamp(1.0, n);
        let (mut on, mut on_squares) = (vec![0.0; n_topics], vec![0.0; n_topics]);
        for (w, topics) in weights.iter().zip(&self.on) {
            for &topic in topics {
                on[topic as usize] += w;
                on_squares[topic as usize] += w * w;
            }
        }
        // sum w^2 (x - p)^2, but not less than that of ess plain samples, one of them on and one off added: a topic that never came up
        // is not certainly off.
        let se = |(&p, &both): (&f64, &f64)| {
            let sampled = both * (1.0 - 2.0 * p) + squares * p * p;
            let added = (p * ess + 1.0) / (ess + 2.0);
            sampled.max(added * (1.0 - added) / ess).sqrt()
        };
        Sampled {
            log_p: sum.log() - n.ln(),
            se: ((n / ess - 1.0) / (n - 1.0)).max(0.0).sqrt(),
            ess,
            marginal_se: on.iter().zip(&on_squares).map(se).collect(),
            marginals: on.iter().map(|p| p.min(1.0)).collect(),
        }
    }
}

/// Samples from a proposal around given marginals.
///
/// # Errors
///
/// [`Error::Interrupted`](crate::Error::Interrupted).
pub fn sample(
    dag: &Dag,
    around: &[Vec<f64>],
    n_samples: usize,
    (seed, case_ix): (u64, u64),
    watch: &Watch<'_>,
) -> Result<Sampled> {
    let n_topics = dag.n_topics();
    let rng = &mut rng(seed, Stream::Posterior(case_ix));
    let mut sampler = Sampler::new(dag);
    let n_proposed = sampler.is_barren.iter().filter(|&&barren| !barren).count().max(1) as f64;
    let floor = (SURPRISES / n_proposed).min(0.1);
    for q in around {
        sampler.add(q, 1.0, 0.1 * floor);
        sampler.add(q, TEMPERATURE, floor);
    }
    let n_samples = n_samples.max(8);
    let pilot = sampler.sample(n_samples / PILOT, rng, watch)?.summary(n_topics);
    for _ in 0..2 {
        sampler.add(&pilot.marginals, 1.0, floor);
    }
    Ok(sampler.sample(n_samples - n_samples / PILOT, rng, watch)?.summary(n_topics))
}
