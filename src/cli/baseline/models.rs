//! The models and their options.

use super::SharedArgs;
use clap::ValueEnum;
use clap::builder::PossibleValuesParser;
use noisyor::baseline::spn::{Clustering, Fit, SpnOptions};
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
    Spn(SpnArgs),
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

/// Sum-product network; exact scores
///
/// The structure is learned as LearnSPN does: independent groups of tokens become products, clusters of documents sums. `noisyor baseline query`
/// has probabilities of tokens given others, `noisyor baseline sample` draws documents.
#[derive(clap::Args)]
#[command(after_help = "Example:
  noisyor baseline spn table.csv --test 0.2 -o spn
  noisyor baseline query spn --given fever=1,cough=0")]
pub(super) struct SpnArgs {
    /// How weights are fitted: smoothed EM, projected gradients of the likelihood, collapsed variational Bayes by its fixed point or by gradients
    /// as in the paper, the same online, or in one pass in which posteriors become priors
    #[arg(long, value_name = "FIT", default_value = "cvb", value_parser = PossibleValuesParser::new(Fit::NAMES.map(|(name, _)| name)))]
    spn_fit: String,
    /// EM: added to every count
    #[arg(long, default_value_t = SpnOptions::default().smoothing)]
    smoothing: f64,
    /// Collapsed variational Bayes: documents that the prior of a node is worth
    #[arg(long, value_name = "DOCS", default_value_t = SpnOptions::default().prior)]
    prior: f64,
    /// Online and stream: documents of a batch
    #[arg(long, value_name = "N", default_value_t = SpnOptions::default().batch)]
    batch: usize,
    /// Structure: how documents are split: by EM into two clusters, or by hard incremental EM into as many as --penalty allows
    #[arg(long, value_enum, default_value_t = ClusteringArg::Soft)]
    clustering: ClusteringArg,
    /// Structure: what a further cluster costs in hard clustering, in nats a token
    #[arg(long, value_name = "NATS", default_value_t = SpnOptions::default().penalty)]
    penalty: f64,
    /// Structure: two tokens depend on each other where independence has a smaller p-value
    #[arg(long, value_name = "P", default_value_t = SpnOptions::default().p_value)]
    p_value: f64,
    /// Structure: fewer documents are not split further
    #[arg(long, value_name = "N", default_value_t = SpnOptions::default().min_rows)]
    min_rows: usize,
    #[command(flatten)]
    shared: SharedArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ClusteringArg {
    Soft,
    Hard,
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
            Self::Spn(args) => &args.shared,
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
            Self::Spn(args) => args.options(),
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

impl SpnArgs {
    fn options(&self) -> ModelOptions {
        let Self { smoothing, prior, batch, penalty, p_value, min_rows, .. } = *self;
        let fit = Fit::NAMES.iter().find(|(name, _)| *name == self.spn_fit);
        let fit = fit.map_or(Fit::default(), |&(_, fit)| fit);
        let clustering = match self.clustering {
            ClusteringArg::Soft => Clustering::Soft,
            ClusteringArg::Hard => Clustering::Hard,
        };
        let usual = SpnOptions::default();
        let options =
            SpnOptions { fit, smoothing, prior, batch, clustering, penalty, p_value, min_rows, ..usual };
        ModelOptions::Spn(Box::new(options))
    }
}
