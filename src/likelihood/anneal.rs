//! Annealed importance sampling (Neal 2001): from a product of Bernoulli distributions q to p(x, y) along
//! `q(x)^(1-b) p(x, y)^b`, with a Gibbs sweep over all topics at every b between 0 and 1.

use crate::mcmc::met::Configurations;
use crate::mcmc::{Configuration, Joint};
use crate::numeric::f64::sigmoid;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Where the chains of a document begin, and the chain at hand; its memory is reused.
#[derive(Debug, Default)]
pub(super) struct Annealer {
    q: Vec<f64>,
    /// `log q / (1 - q)`.
    logit: Vec<f64>,
    /// log of the product with all topics off.
    log_off: f64,
    /// All topics off: every chain is set up from there, by as many flips as it has topics on.
    off: Configuration,
    x: Configuration,
    /// log q(x).
    log_q: f64,
}

impl Annealer {
    /// Takes a document in; q must be above 0 and below 1.
    pub(super) fn start(&mut self, joint: &Joint, q: Vec<f64>) {
        self.logit.clear();
        self.logit.extend(q.iter().map(|&q| q.ln() - (-q).ln_1p()));
        self.log_off = q.iter().map(|&q| (-q).ln_1p()).sum();
        self.q = q;
        self.off.clear(joint);
    }

    /// Runs a chain of so many steps from q to p; its log weight. One step is plain importance sampling from q.
    pub(super) fn chain(
        &mut self,
        joint: &Joint,
        n_steps: u32,
        rng: &mut ChaCha8Rng,
        met: &mut Configurations,
    ) -> f64 {
        self.x.copy(&self.off);
        self.log_q = self.log_off;
        for topic in 0..joint.n_topics() {
            if rng.random::<f64>() < self.q[topic] {
                self.flip(joint, topic);
            }
        }
        let mut log_weight = 0.0;
        for step in 1..=n_steps {
            log_weight += (self.x.log_joint - self.log_q) / f64::from(n_steps);
            // At b = 1 another sweep would change no weight.
            if step < n_steps {
                self.sweep(joint, f64::from(step) / f64::from(n_steps), rng, met);
            }
        }
        met.add(self.x.key, self.x.log_joint);
        log_weight
    }

    /// Every topic by its conditional probability, of log-odds `b g + (1 - b) logit q`.
    fn sweep(&mut self, joint: &Joint, b: f64, rng: &mut ChaCha8Rng, met: &mut Configurations) {
        for topic in 0..joint.n_topics() {
            let log_odds = b * self.x.gain[topic] + (1.0 - b) * self.logit[topic];
            if (rng.random::<f64>() < sigmoid(log_odds)) != self.x.on[topic] {
                self.flip(joint, topic);
                met.add(self.x.key, self.x.log_joint);
            }
        }
    }

    fn flip(&mut self, joint: &Joint, topic: usize) {
        self.x.flip(joint, topic);
        self.log_q += if self.x.on[topic] { self.logit[topic] } else { -self.logit[topic] };
    }
}
