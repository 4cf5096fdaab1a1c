//! `noisyor eval --likelihood`: estimates by annealed importance sampling, and lower bounds by Markov chains.

use super::super::mcmc_args::ModelArg;
use super::super::{Common, progress::Progress};
use noisyor::corpus::Docs;
use noisyor::estep::{EStep, EStepOptions};
use noisyor::likelihood::{self, Estimates};
use noisyor::mcmc::{self, BoundOptions, Bounds};
use noisyor::monitor::Monitor;
use noisyor::network::Network;
use noisyor::{Error, Result};
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::Arc;

/// One way to a likelihood.
#[derive(Clone, Copy)]
pub(super) enum LikelihoodArg {
    /// Annealed importance sampling, with so many samples.
    Annealed(usize),
    /// A chain of so many samples of single topics.
    Mcmc(u64),
}

impl LikelihoodArg {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let way = match text.strip_prefix("mcmc") {
            Some("") => Some(Self::Mcmc(mcmc::FLIPS)),
            Some(n) => n.strip_prefix(':').and_then(|n| n.parse().ok()).map(Self::Mcmc),
            None => text.parse().ok().map(Self::Annealed),
        };
        way.ok_or_else(|| {
            "a number of samples, 'mcmc', or 'mcmc:N' with a number of samples of single topics".to_owned()
        })
    }
}

/// What is asked for.
pub(super) struct Asked {
    annealed: Option<likelihood::Options>,
    mcmc: Option<BoundOptions>,
}

impl Asked {
    pub(super) fn new(
        ways: &[LikelihoodArg],
        model: Option<ModelArg>,
        seed: u64,
        estep: &EStepOptions,
    ) -> Result<Self> {
        let mut asked = Self { annealed: None, mcmc: None };
        for &way in ways {
            match way {
                LikelihoodArg::Annealed(samples) => {
                    let estep = estep.clone();
                    let options =
                        likelihood::Options { samples, seed, estep, ..likelihood::Options::default() };
                    options.check()?;
                    asked.annealed = Some(options);
                }
                LikelihoodArg::Mcmc(flips) => {
                    let model = model.unwrap_or(ModelArg::Full).model();
                    let options = BoundOptions { flips, model, seed };
                    options.check()?;
                    asked.mcmc = Some(options);
                }
            }
        }
        if model.is_some() && asked.mcmc.is_none() {
            return Err(Error::Usage("--mcmc-model belongs to --likelihood=mcmc".into()));
        }
        Ok(asked)
    }

    /// Computes it.
    pub(super) fn run(
        self,
        network: &Network,
        docs: Docs<'_>,
        estep: &mut dyn EStep,
        common: &Common,
        monitor: &Arc<Monitor>,
    ) -> Result<Found> {
        let n_docs = docs.n_docs() as u64;
        let estimates = match self.annealed {
            Some(options) => {
                let _progress = Progress::start(common, monitor, "sampling", n_docs);
                let estimates = likelihood::estimate(network, docs, &options, estep, monitor)?;
                Some((estimates, options.samples))
            }
            None => None,
        };
        let bounds = match self.mcmc {
            Some(options) => {
                let _progress = Progress::start(common, monitor, "running chains", n_docs);
                Some((mcmc::bounds(network, docs, &options, monitor)?, options))
            }
            None => None,
        };
        Ok(Found { estimates, bounds })
    }
}

/// What was found, with how.
pub(super) struct Found {
    estimates: Option<(Estimates, usize)>,
    bounds: Option<(Bounds, BoundOptions)>,
}

impl Found {
    /// Names of its columns, each behind a tab.
    pub(super) fn columns(&self) -> String {
        let of_estimates = "\tlikelihood\tlikelihood_se\tess\tconfigurations";
        let of = |is_there: bool, columns: &str| if is_there { columns.to_owned() } else { String::new() };
        of(self.estimates.is_some(), of_estimates) + &of(self.bounds.is_some(), "\tmcmc_bound\tmcmc_elbo")
    }

    /// A document's figures, each behind a tab.
    pub(super) fn row(&self, doc_ix: usize) -> String {
        let mut row = String::new();
        if let Some((estimates, _)) = &self.estimates {
            let e = estimates.doc(doc_ix);
            let _ = write!(row, "\t{}\t{}\t{}\t{}", e.log_p, e.se, e.ess, e.configurations);
        }
        if let Some((bounds, _)) = &self.bounds {
            let doc = bounds.doc(doc_ix);
            let _ = write!(row, "\t{}\t{}", doc.bound, doc.elbo);
        }
        row
    }

    /// Adds its means to a result.
    pub(super) fn put_into(&self, result: &mut Value) {
        if let Some((estimates, _)) = &self.estimates {
            let means = estimates.means();
            result["likelihood_mean"] = json!(means.map(|means| means.log_p));
            result["likelihood_se"] = json!(means.map(|means| means.se));
            result["ess_mean"] = json!(means.map(|means| means.ess));
            result["configurations_bound_mean"] = json!(means.map(|means| means.configurations));
        }
        if let Some((bounds, options)) = &self.bounds {
            result["mcmc_model"] = json!(options.model);
            result["mcmc_flips"] = json!(options.flips);
            result["mcmc_bound_mean"] = json!(bounds.mean(|doc| doc.bound));
            result["mcmc_elbo_mean"] = json!(bounds.mean(|doc| doc.elbo));
            result["mcmc_bound_curve"] = json!(bounds.curve());
        }
    }

    /// Its means in words, a line each.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        if let Some((estimates, samples)) = &self.estimates
            && let Some(means) = estimates.means()
        {
            text += &format!(
                "estimated log-likelihood {:.6}, standard error {:.6}; effective sample size {:.1} of {samples}\n\
                 lower bound by all configurations met {:.6}\n",
                means.log_p, means.se, means.ess, means.configurations
            );
        }
        if let Some((bounds, options)) = &self.bounds
            && let (Some(bound), Some(elbo)) = (bounds.mean(|doc| doc.bound), bounds.mean(|doc| doc.elbo))
        {
            let topics = match options.model {
                mcmc::Model::Full => "all topics",
                mcmc::Model::Local => "local model",
            };
            let flips = options.flips;
            text += &format!(
                "lower bound by the states around a chain of {flips} samples ({topics}) {bound:.6}; mean bound at its marginals {elbo:.6}\n"
            );
        }
        text
    }
}
