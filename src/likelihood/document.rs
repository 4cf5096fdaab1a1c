//! One document: samples of its topics, and what they say of its likelihood.

use super::anneal::Annealer;
use super::proposal::{Mixture, Piece, soften};
use super::weights::{Mean, mean};
use super::{Estimate, Method, Options};
use crate::corpus::{Docs, Item};
use crate::error::Result;
use crate::mcmc::met::{Configurations, key};
use crate::mcmc::{Joint, Model, Shared};
use crate::monitor::Monitor;
use crate::network::Network;
use crate::rng::{Stream, rng};
use rand_chacha::ChaCha8Rng;

/// Sampling begins with log-odds this many times smaller than mean field's, which is too sure of itself.
const TEMPERATURE: f64 = 2.0;
/// Sampling begins with every topic on and off with at least this probability over their number, but not more than a tenth: so
/// that two topics or so are not as mean field has them, and what it has missed altogether is found.
const SURPRISES: f64 = 2.0;
/// Share of the defensive piece where there is no annealing.
const DEFENSIVE: f64 = 0.2;
/// Steps of a chain at first; four times as many, and again, where they are too few for a document.
const FIRST_STEPS: u32 = 128;
const MAX_STEPS: u32 = 8192;
/// They are too few where the effective sample size is below this share of the samples.
const MIN_ESS: f64 = 0.25;

/// One thread's memory.
pub(super) struct Worker<'a> {
    shared: &'a Shared<'a>,
    options: &'a Options,
    joint: Joint,
    annealer: Annealer,
    met: Configurations,
    log_weights: Vec<f64>,
}

impl<'a> Worker<'a> {
    pub(super) fn new(network: &Network, shared: &'a Shared<'a>, options: &'a Options) -> Self {
        Self {
            shared,
            options,
            joint: Joint::new(&network.graph, Model::Full),
            annealer: Annealer::default(),
            met: Configurations::default(),
            log_weights: Vec::new(),
        }
    }

    /// The estimate of a document, with mean field's q of every topic of the network.
    pub(super) fn run(
        &mut self,
        docs: &Docs<'_>,
        item: Item,
        q: &[f32],
        monitor: &Monitor,
    ) -> Result<Estimate> {
        self.joint.load(self.shared, docs, item);
        self.met.clear();
        let rng = &mut rng(self.options.seed, Stream::Likelihood(u64::from(item.doc_ix)));
        let q = (0..self.joint.n_topics()).map(|at| f64::from(q[self.joint.topic(at)])).collect();
        let pieces = vec![Piece { log_weight: 0.0, q }];
        let Mean { log, se, ess } = match self.options.method {
            Method::Annealed => self.anneal(&Mixture::new(pieces), rng, monitor)?,
            Method::Importance => self.importance(pieces, rng, monitor)?,
        };
        Ok(Estimate { log_p: log, se, ess, configurations: self.met.log() })
    }

    /// Chains begin at the product of the mixture's marginals.
    fn anneal(&mut self, proposal: &Mixture, rng: &mut ChaCha8Rng, monitor: &Monitor) -> Result<Mean> {
        let n_samples = self.options.samples;
        self.annealer.start(&self.joint, self.soften(&proposal.marginals()));
        let mut n_steps = FIRST_STEPS;
        loop {
            self.log_weights.clear();
            for _ in 0..n_samples {
                monitor.go_on()?;
                let log_weight = self.annealer.chain(&self.joint, n_steps, rng, &mut self.met);
                self.log_weights.push(log_weight);
            }
            let mean = mean(&self.log_weights);
            if mean.ess >= MIN_ESS * n_samples as f64 || n_steps >= MAX_STEPS {
                return Ok(mean);
            }
            n_steps *= 4;
        }
    }

    /// The mixture itself and a defensive piece: all configurations can come up, and weights are bounded.
    fn importance(
        &mut self,
        mut pieces: Vec<Piece>,
        rng: &mut ChaCha8Rng,
        monitor: &Monitor,
    ) -> Result<Mean> {
        let proposal = Mixture::new(pieces.iter().cloned());
        let defensive = self.soften(&proposal.marginals());
        let whole = proposal.log_weight();
        pieces.push(Piece { log_weight: whole + (DEFENSIVE / (1.0 - DEFENSIVE)).ln(), q: defensive });
        let proposal = Mixture::new(pieces);
        let (mut topics, mut on) = (Vec::new(), vec![false; self.joint.n_topics()]);
        self.log_weights.clear();
        for _ in 0..self.options.samples {
            monitor.go_on()?;
            proposal.sample(rng, &mut topics);
            topics.iter().for_each(|&topic| on[topic] = true);
            let log_joint = self.joint.log_joint(&on);
            topics.iter().for_each(|&topic| on[topic] = false);
            self.met.add(topics.iter().fold(0, |all, &topic| all ^ key(topic)), log_joint);
            self.log_weights.push(log_joint - proposal.log_density(&topics));
        }
        Ok(mean(&self.log_weights))
    }

    fn soften(&self, q: &[f64]) -> Vec<f64> {
        soften(q, TEMPERATURE, (SURPRISES / q.len() as f64).min(0.1))
    }
}
