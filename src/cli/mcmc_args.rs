//! Options of sampling by Markov chains.

use clap::{Args, ValueEnum};
use noisyor::mcmc::{Augmentation, McmcOptions, Model};
use noisyor::{Error, Result};

/// Topics that a chain samples.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModelArg {
    Full,
    Local,
}

impl ModelArg {
    pub(crate) fn model(self) -> Model {
        match self {
            Self::Full => Model::Full,
            Self::Local => Model::Local,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AugmentationArg {
    Poisson,
    Cascade,
}

#[derive(Args)]
#[command(next_help_heading = "Training by samples (--step mcmc)")]
pub(crate) struct SamplingArgs {
    /// Sweeps of a document and weight step whose states are counted [default: 20]
    #[arg(long, value_name = "N")]
    sweeps: Option<u32>,
    /// Sweeps before them; chains go on where the document's last step left them [default: 5]
    #[arg(long, value_name = "N")]
    burn_in: Option<u32>,
    /// What is counted of a node that is on: Poisson numbers of causes, or which parents succeeded [default: cascade]
    #[arg(long, value_enum)]
    augmentation: Option<AugmentationArg>,
    /// Topics that are sampled: all, or the ancestors of a document's tokens, which is faster and biased [default: full]
    #[arg(long, value_enum)]
    mcmc_model: Option<ModelArg>,
    /// Documents that every edge counts beside, with all topics on and the initial weights: against edges that vanish [default: 1]
    #[arg(long, value_name = "N")]
    pseudo_count: Option<f64>,
}

impl SamplingArgs {
    /// The options as given, and for the rest the usual ones.
    pub(crate) fn options(&self) -> McmcOptions {
        let usual = McmcOptions::default();
        McmcOptions {
            model: self.mcmc_model.map_or(usual.model, ModelArg::model),
            sweeps: self.sweeps.unwrap_or(usual.sweeps),
            burn_in: self.burn_in.unwrap_or(usual.burn_in),
            augmentation: match self.augmentation {
                None => usual.augmentation,
                Some(AugmentationArg::Poisson) => Augmentation::Poisson,
                Some(AugmentationArg::Cascade) => Augmentation::Cascade,
            },
            pseudo_count: self.pseudo_count.unwrap_or(usual.pseudo_count),
        }
    }

    /// Refuses them all: another step samples nothing.
    pub(crate) fn refuse(&self) -> Result<()> {
        let options = [
            ("sweeps", self.sweeps.is_some()),
            ("burn-in", self.burn_in.is_some()),
            ("augmentation", self.augmentation.is_some()),
            ("mcmc-model", self.mcmc_model.is_some()),
            ("pseudo-count", self.pseudo_count.is_some()),
        ];
        match options.iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => Err(Error::Usage(format!("--{option} belongs to --step mcmc"))),
            None => Ok(()),
        }
    }
}
