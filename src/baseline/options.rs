//! Which baseline, and its options.

use super::mixture::{MixtureModel, MixtureOptions};
use super::{Model, Tensors, Training};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// A baseline, as it is asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelOptions {
    /// A mixture of Bernoulli distributions.
    Mixture(MixtureOptions),
}

impl ModelOptions {
    /// The model's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Mixture(_) => "mixture",
        }
    }

    /// Passes at most, unless the user says otherwise.
    pub fn default_epochs(&self) -> u32 {
        match self {
            Self::Mixture(_) => 60,
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
            _ => {
                let name = crate::faults::shown(name);
                return Err(Error::Usage(format!("a baseline '{name}' is not known to this version")));
            }
        })
    }
}
