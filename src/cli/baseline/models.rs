//! The models and their options.

use super::SharedArgs;
use clap::ValueEnum;
use noisyor::baseline::{
    BernoulliLdaOptions, HdpOptions, LdaOptions, MixtureOptions, ModelOptions, NmfOptions, SviOptions,
};
use noisyor::{Error, Result};

#[derive(clap::Subcommand)]
pub(super) enum ModelArgs {
    Mixture(MixtureArgs),
    Lda(LdaArgs),
    Hdp(HdpArgs),
    Nmf(NmfArgs),
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
    /// Documents that every component has besides its own, which hold each token as often as all documents do [default: EM with 5, and scores
    /// with what makes the documents held out likeliest, from 1 to 160]
    #[arg(long, value_name = "DOCS")]
    smoothing: Option<f64>,
    #[command(flatten)]
    shared: SharedArgs,
}

/// Latent Dirichlet allocation; scores are bounds
///
/// With --likelihood bernoulli every token is an observation, present or absent (Ji et al.'s baseline, by variational EM), and scores can be
/// set beside those of other models; the bound is loose, and `noisyor eval --likelihood` has an estimate beside it. With multinomial it is
/// the usual LDA over the tokens that are present, by stochastic variational inference.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  noisyor baseline lda documents.jsonl --topics 9 --test 0.3 -o lda
  noisyor baseline lda documents.jsonl --likelihood multinomial --topics 100 --control-variates -o lda")]
pub(super) struct LdaArgs {
    /// What a document is
    #[arg(long, value_enum, default_value_t = LikelihoodArg::Bernoulli)]
    likelihood: LikelihoodArg,
    /// Topics [default: 10 for bernoulli, 20 for multinomial]
    #[arg(long, value_name = "K")]
    topics: Option<usize>,
    /// Prior of a document's shares of topics, Dir(alpha, ..., alpha)
    #[arg(long, default_value_t = LdaOptions::default().alpha)]
    alpha: f64,
    #[command(flatten)]
    svi: SviArgs,
    #[command(flatten)]
    shared: SharedArgs,
}

/// Topics of a hierarchical Dirichlet process, by stochastic variational inference; scores are bounds
///
/// Scores are of the tokens that are present, given their number: they cannot be set beside those of networks.
#[derive(clap::Args)]
#[command(after_help = "Example:
  noisyor baseline hdp documents.jsonl --topics 150 --sticks 10 -o hdp")]
pub(super) struct HdpArgs {
    /// Topics at most
    #[arg(long, value_name = "K", default_value_t = HdpOptions::default().svi.topics)]
    topics: usize,
    /// Topics of a document at most
    #[arg(long, value_name = "T", default_value_t = HdpOptions::default().sticks)]
    sticks: usize,
    /// How evenly a document's stick is broken: its pieces are from Beta(1, alpha)
    #[arg(long, default_value_t = HdpOptions::default().alpha)]
    alpha: f64,
    /// The same of the corpus's stick
    #[arg(long, default_value_t = HdpOptions::default().omega)]
    omega: f64,
    #[command(flatten)]
    svi: SviArgs,
    #[command(flatten)]
    shared: SharedArgs,
}

/// Non-negative matrix factorisation with generalised Kullback-Leibler loss, by stochastic variational inference; scores are estimates
///
/// Scores are of the tokens that are present, given their number: they cannot be set beside those of networks.
#[derive(clap::Args)]
#[command(after_help = "Example:
  noisyor baseline nmf documents.jsonl --topics 100 -o nmf")]
pub(super) struct NmfArgs {
    /// Factors
    #[arg(long, value_name = "K", default_value_t = NmfOptions::default().svi.topics)]
    topics: usize,
    #[command(flatten)]
    svi: SviArgs,
    #[command(flatten)]
    shared: SharedArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LikelihoodArg {
    Bernoulli,
    Multinomial,
}

/// Options of stochastic variational inference.
#[derive(clap::Args)]
#[command(next_help_heading = "Stochastic variational inference")]
struct SviArgs {
    /// Prior of a topic's words, Dir(eta, ..., eta) [default: 0.1]
    #[arg(long)]
    eta: Option<f64>,
    /// Documents of a batch [default: 200]
    #[arg(long, value_name = "N")]
    batch: Option<usize>,
    /// Step t has rate (t + tau)^-kappa [default: 16]
    #[arg(long)]
    tau: Option<f64>,
    /// See --tau [default: 0.7]
    #[arg(long)]
    kappa: Option<f64>,
    /// Correct gradients by what is known of all documents, so that they vary less from batch to batch
    #[arg(long)]
    control_variates: bool,
}

impl SviArgs {
    fn options(&self, topics: usize) -> SviOptions {
        let usual = SviOptions::default();
        SviOptions {
            topics,
            eta: self.eta.unwrap_or(usual.eta),
            batch: self.batch.unwrap_or(usual.batch),
            tau: self.tau.unwrap_or(usual.tau),
            kappa: self.kappa.unwrap_or(usual.kappa),
            control_variates: self.control_variates,
            ..usual
        }
    }

    fn is_given(&self) -> bool {
        let numbers = [self.eta, self.tau, self.kappa];
        numbers.iter().any(Option::is_some) || self.batch.is_some() || self.control_variates
    }
}

impl ModelArgs {
    pub(super) fn shared(&self) -> &SharedArgs {
        match self {
            Self::Mixture(args) => &args.shared,
            Self::Lda(args) => &args.shared,
            Self::Hdp(args) => &args.shared,
            Self::Nmf(args) => &args.shared,
        }
    }

    pub(super) fn options(&self) -> Result<ModelOptions> {
        let options = match self {
            Self::Mixture(MixtureArgs { components, smoothing, .. }) => {
                ModelOptions::Mixture(MixtureOptions { components: *components, smoothing: *smoothing })
            }
            Self::Lda(args) => args.options()?,
            Self::Hdp(HdpArgs { topics, sticks, alpha, omega, svi, .. }) => {
                let svi = svi.options(*topics);
                ModelOptions::Hdp(HdpOptions { sticks: *sticks, alpha: *alpha, omega: *omega, svi })
            }
            Self::Nmf(NmfArgs { topics, svi, .. }) => {
                ModelOptions::Nmf(NmfOptions { svi: svi.options(*topics) })
            }
        };
        options.check()?;
        Ok(options)
    }
}

impl LdaArgs {
    fn options(&self) -> Result<ModelOptions> {
        let Self { alpha, topics, svi, .. } = self;
        if self.likelihood == LikelihoodArg::Multinomial {
            let svi = svi.options(topics.unwrap_or(SviOptions::default().topics));
            return Ok(ModelOptions::Lda(LdaOptions { alpha: *alpha, svi }));
        }
        if svi.is_given() {
            let message =
                "--eta, --batch, --tau, --kappa and --control-variates are for --likelihood multinomial";
            return Err(Error::Usage(message.into()));
        }
        let usual = BernoulliLdaOptions::default();
        let topics = topics.unwrap_or(usual.topics);
        Ok(ModelOptions::BernoulliLda(BernoulliLdaOptions { topics, alpha: *alpha, ..usual }))
    }
}
