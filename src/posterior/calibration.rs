//! Calibration: of the topics that are said to be on with probability p, how many are?
//!
//! Cases are sampled from the model, so which topics are on is known and the model is right: what is off is inference alone.

use super::cases::Cases;
use super::{Engine, Options};
use crate::corpus::{Corpus, Docs, Others, align};
use crate::error::Result;
use crate::estep::{DocResults, EStep, EStepOptions};
use crate::infer;
use crate::monitor::Monitor;
use crate::network::Network;
use crate::synth::Sampler;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Where the bins of probabilities begin: most topics of most cases are nearly certain, so they are narrow at the ends.
pub const BIN_STARTS: [f64; 14] = [0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99];
/// Topics from this on are said to be on.
pub const SURE: f64 = 0.95;

/// Topics of cases whose probability falls into one bin.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Bin {
    /// Where it begins, and where it ends.
    pub from: f64,
    /// The next one's begin.
    pub to: f64,
    /// Topics of cases.
    pub n: u64,
    /// Their mean probability.
    pub mean: f64,
    /// The share of them that is on.
    pub on: f64,
}

/// How probabilities compare with what is true.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reliability {
    /// Per bin: number, sum of p, number that is on.
    sums: [(u64, f64, u64); BIN_STARTS.len()],
    squares: f64,
    /// Topics said to be on, and those of them that are.
    sure: (u64, u64),
}

impl Reliability {
    /// A topic with a probability that is on or not.
    pub fn add(&mut self, p: f64, on: bool) {
        let bin = BIN_STARTS.partition_point(|&start| start <= p).saturating_sub(1);
        let (n, sum, n_on) = &mut self.sums[bin];
        (*n, *sum, *n_on) = (*n + 1, *sum + p, *n_on + u64::from(on));
        self.squares += (p - f64::from(on)).powi(2);
        if p >= SURE {
            self.sure.0 += 1;
            self.sure.1 += u64::from(on);
        }
    }

    /// Number of probabilities.
    pub fn n(&self) -> u64 {
        self.sums.iter().map(|sums| sums.0).sum()
    }

    /// The bins, empty ones included.
    pub fn bins(&self) -> Vec<Bin> {
        let of = |(bin, &(n, sum, on)): (usize, &(u64, f64, u64))| Bin {
            from: BIN_STARTS[bin],
            to: BIN_STARTS.get(bin + 1).copied().unwrap_or(1.0),
            n,
            mean: sum / n.max(1) as f64,
            on: on as f64 / n.max(1) as f64,
        };
        self.sums.iter().enumerate().map(of).collect()
    }

    /// The mean square of p minus the truth (Brier's score).
    pub fn brier(&self) -> f64 {
        self.squares / self.n().max(1) as f64
    }

    /// The mean over all probabilities of how far p is from the share that is on in its bin.
    pub fn error(&self) -> f64 {
        let of = |&(_, sum, on): &(u64, f64, u64)| (sum - on as f64).abs();
        self.sums.iter().map(of).sum::<f64>() / self.n().max(1) as f64
    }

    /// Of topics with p at least [`SURE`]: how many there are, and the share that is on.
    pub fn sure(&self) -> Option<(u64, f64)> {
        (self.sure.0 > 0).then(|| (self.sure.0, self.sure.1 as f64 / self.sure.0 as f64))
    }
}

/// How well probabilities of topics are calibrated on sampled cases.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// Cases.
    pub n_cases: usize,
    /// Of q, as the E-step has it.
    pub mean_field: Reliability,
    /// Of p, as `auto` has it; none where it was not computed.
    pub posterior: Option<Reliability>,
    /// How many cases each method of `auto` answered.
    pub methods: BTreeMap<String, usize>,
}

impl Calibration {
    /// All figures, as JSON.
    pub fn json(&self) -> Value {
        let of = |reliability: &Reliability| {
            let sure = reliability.sure();
            json!({
                "bins": reliability.bins(), "brier": reliability.brier(), "error": reliability.error(),
                "sure": sure.map(|(n, _)| n), "sure_on": sure.map(|(_, on)| on),
            })
        };
        json!({
            "cases": self.n_cases, "q": of(&self.mean_field), "p": self.posterior.as_ref().map(of),
            "methods": self.methods,
        })
    }
}

/// What is compared, and on what.
pub struct Request<'a> {
    /// The model.
    pub network: &'a Network,
    /// Cases to sample.
    pub n_cases: usize,
    /// Their seed.
    pub seed: u64,
    /// How the E-step is run.
    pub estep: &'a EStepOptions,
    /// How p is computed; none: only q is.
    pub posterior: Option<&'a Options>,
    /// Documents whose unknown tokens are unknown in the sampled cases, too: case i is asked what document i was.
    pub asked_as: Option<Docs<'a>>,
}

impl Request<'_> {
    /// Samples cases, infers their topics, and compares. The monitor counts the cases of each way.
    ///
    /// # Errors
    ///
    /// As [`Engine::run`] and [`infer::run`].
    pub fn measure(&self, estep: &mut dyn EStep, monitor: &Monitor) -> Result<Calibration> {
        let (corpus, truth) = self.sample(monitor)?;
        let alignment = align(&corpus, &self.network.names.tokens);
        let docs = alignment.docs(&corpus);
        let mut calibration = Calibration {
            n_cases: self.n_cases,
            mean_field: self.mean_field(docs, &truth, estep, monitor)?,
            posterior: None,
            methods: BTreeMap::new(),
        };
        let Some(options) = self.posterior else { return Ok(calibration) };
        let cases = Cases { engine: Engine::new(self.network)?, docs, given: &[], options };
        let mut reliability = Reliability::default();
        cases.each(
            0..self.n_cases,
            monitor,
            |case, doc_ix| cases.run(case, doc_ix, monitor),
            |doc_ix, _, posterior| {
                let p = posterior.marginals.iter().map(|marginal| marginal.p);
                compare(&mut reliability, p, &truth[doc_ix]);
                *calibration.methods.entry(posterior.method_name().to_owned()).or_default() += 1;
                Ok(())
            },
        )?;
        calibration.posterior = Some(reliability);
        Ok(calibration)
    }

    /// Sampled documents, and the topics that are on in each.
    fn sample(&self, monitor: &Monitor) -> Result<(Corpus, Vec<Vec<u32>>)> {
        let sampler = Sampler::new(self.network);
        let (mut corpus, mut truth) = (Corpus::default(), Vec::with_capacity(self.n_cases));
        corpus.set_token_names(&self.network.names.tokens);
        let asked_as = self.asked_as.filter(|docs| docs.has_unknown() && docs.n_docs() > 0);
        let mut others = Others::default();
        for doc_ix in 0..self.n_cases {
            monitor.go_on()?;
            let mut sampled = sampler.sample(self.seed, doc_ix as u64);
            if let Some(docs) = asked_as {
                docs.unknown(doc_ix % docs.n_docs(), &mut others.tokens);
                sampled.tokens.retain(|token| others.tokens.binary_search(token).is_err());
            }
            corpus.push_state(&mut sampled.tokens, &mut others, "", "")?;
            truth.push(sampled.topics);
        }
        Ok((corpus, truth))
    }

    fn mean_field(
        &self,
        docs: Docs<'_>,
        truth: &[Vec<u32>],
        estep: &mut dyn EStep,
        monitor: &Monitor,
    ) -> Result<Reliability> {
        let doc_ixs: Vec<u32> = (0..self.n_cases as u32).collect();
        let n_topics = self.network.graph.n_topics();
        // q of topics outside a local model is the same in all documents, and known when the E-step is done.
        let mut inside: Vec<(Vec<u32>, Vec<f32>)> = Vec::with_capacity(self.n_cases);
        let mut sink = |results: &DocResults<'_>| {
            inside.extend((0..results.n_docs()).map(|at| {
                let (topics, q) = results.doc(at);
                (topics.to_vec(), q.to_vec())
            }));
            Ok(())
        };
        let run = infer::run(self.network, docs, &doc_ixs, self.estep, estep, monitor, Some(&mut sink));
        let (_, params) = run?;
        let mut reliability = Reliability::default();
        let mut all = vec![0.0; n_topics];
        for ((topics, q), truth) in inside.iter().zip(truth) {
            all.copy_from_slice(&params.tail_q);
            topics.iter().zip(q).for_each(|(&topic, &q)| all[topic as usize] = f64::from(q));
            compare(&mut reliability, all.iter().copied(), truth);
        }
        Ok(reliability)
    }
}

/// Adds the topics of a case; `on` are those that are on, ascending.
fn compare(reliability: &mut Reliability, p: impl Iterator<Item = f64>, on: &[u32]) {
    for (topic, p) in (0..).zip(p) {
        reliability.add(p, on.binary_search(&topic).is_ok());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_hold_what_falls_into_them() {
        let mut reliability = Reliability::default();
        for (p, on) in [(0.0, false), (0.009, false), (0.95, true), (0.96, false), (1.0, true), (0.5, true)] {
            reliability.add(p, on);
        }
        let bins = reliability.bins();
        assert_eq!(
            bins.iter().map(|bin| bin.n).collect::<Vec<_>>(),
            [2, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2, 1]
        );
        assert_eq!((bins[7].on, bins[12].on, bins[13].to), (1.0, 0.5, 1.0));
        assert_eq!(reliability.sure(), Some((3, 2.0 / 3.0)));
        assert!(
            (reliability.brier() - (0.009f64.powi(2) + 0.05f64.powi(2) + 0.96f64.powi(2) + 0.25) / 6.0).abs()
                < 1e-12
        );
        assert!((reliability.error() - (0.009 + 0.5 + (1.91 - 1.0) + 0.0) / 6.0).abs() < 1e-12);
    }
}
