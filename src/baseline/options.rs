//! Which baseline, and its options.

use super::spn::{Spn, SpnOptions};
use super::{
    BernoulliLda, BernoulliLdaOptions, Hdp, HdpOptions, Lda, LdaOptions, MixtureModel, MixtureOptions, Model,
    Nmf, NmfOptions, Tensors, Training,
};
use crate::error::{Error, Result};
use crate::faults::shown;
use serde::{Deserialize, Serialize};

/// A baseline, as it is asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelOptions {
    /// A mixture of Bernoulli distributions.
    Mixture(MixtureOptions),
    /// Latent Dirichlet allocation over the presence of every token.
    BernoulliLda(BernoulliLdaOptions),
    /// Latent Dirichlet allocation over the tokens that are present.
    Lda(LdaOptions),
    /// Topics of a hierarchical Dirichlet process.
    Hdp(HdpOptions),
    /// Non-negative matrix factorisation.
    Nmf(NmfOptions),
    /// A sum-product network.
    Spn(Box<SpnOptions>),
}

impl ModelOptions {
    /// The model's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Mixture(_) => "mixture",
            Self::BernoulliLda(_) => "bernoulli-lda",
            Self::Lda(_) => "lda",
            Self::Hdp(_) => "hdp",
            Self::Nmf(_) => "nmf",
            Self::Spn(_) => "spn",
        }
    }

    /// Passes at most, unless the user says otherwise.
    pub fn default_epochs(&self) -> u32 {
        match self {
            Self::Mixture(_) => 60,
            Self::BernoulliLda(_) => 100,
            Self::Spn(_) => 50,
            Self::Lda(_) | Self::Hdp(_) | Self::Nmf(_) => 20,
        }
    }

    /// Refuses what makes no sense.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] then.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Mixture(options) => options.check(),
            Self::BernoulliLda(options) => options.check(),
            Self::Lda(options) => options.check(),
            Self::Hdp(options) => options.check(),
            Self::Nmf(options) => options.check(),
            Self::Spn(options) => options.as_ref().clone().check().map(|_| ()),
        }
    }

    /// A model before its first pass.
    ///
    /// # Errors
    ///
    /// Options that make no sense, documents that the model cannot learn from, cancellation.
    pub fn start(&self, training: &Training<'_>) -> Result<Box<dyn Model>> {
        Ok(match self {
            Self::Mixture(options) => Box::new(MixtureModel::start(options, training)?),
            Self::BernoulliLda(options) => Box::new(BernoulliLda::start(options, training)?),
            Self::Lda(options) => Box::new(Lda::start(options, training)?),
            Self::Hdp(options) => Box::new(Hdp::start(options, training)?),
            Self::Nmf(options) => Box::new(Nmf::start(options, training)?),
            Self::Spn(options) => Box::new(Spn::start(options.as_ref().clone(), training)?),
        })
    }

    /// The model of this name, from what [`Model::tensors`] gave.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] where there is no such model, or what it gave is damaged.
    pub fn load(name: &str, tensors: Tensors) -> Result<Box<dyn Model>> {
        Ok(match name {
            "mixture" => Box::new(MixtureModel::load(tensors)?),
            "bernoulli-lda" => Box::new(BernoulliLda::load(tensors)?),
            "lda" => Box::new(Lda::load(tensors)?),
            "hdp" => Box::new(Hdp::load(tensors)?),
            "nmf" => Box::new(Nmf::load(tensors)?),
            "spn" => Box::new(Spn::load(tensors)?),
            _ => {
                let name = shown(name);
                return Err(Error::Usage(format!("a baseline '{name}' is not known to this version")));
            }
        })
    }
}
