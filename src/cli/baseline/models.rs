//! The models and their options.

use super::SharedArgs;
use noisyor::Result;
use noisyor::baseline::{MixtureOptions, ModelOptions};

#[derive(clap::Subcommand)]
pub(super) enum ModelArgs {
    Mixture(MixtureArgs),
}

/// Mixture of Bernoulli distributions, by EM; exact scores
///
/// A document has one component, which switches on each token on its own. Features are the probabilities of the components.
#[derive(clap::Args)]
#[command(after_help = "Example:
  noisyor baseline mixture documents.jsonl --components 400 --test 0.3 -o mixture")]
pub(super) struct MixtureArgs {
    /// Components
    #[arg(long, value_name = "N", default_value_t = MixtureOptions::default().components)]
    components: usize,
    /// Documents that every component has besides its own, which hold each token as often as all documents do [default: of 1, 4, 16 and
    /// 64 what makes the documents held out likeliest]
    #[arg(long, value_name = "DOCS")]
    smoothing: Option<f64>,
    #[command(flatten)]
    shared: SharedArgs,
}

impl ModelArgs {
    pub(super) fn shared(&self) -> &SharedArgs {
        match self {
            Self::Mixture(args) => &args.shared,
        }
    }

    pub(super) fn options(&self) -> Result<ModelOptions> {
        let options = match self {
            Self::Mixture(MixtureArgs { components, smoothing, .. }) => {
                ModelOptions::Mixture(MixtureOptions { components: *components, smoothing: *smoothing })
            }
        };
        options.check()?;
        Ok(options)
    }
}
