//! How a run stands, from its folder alone.

use crate::cli::figures::short_time;
use noisyor::baseline::BaselineConfig;
use noisyor::lock::holder;
use noisyor::run::{FollowedMetrics, Growth, RunConfig, read_config};
use noisyor::train::Metrics;
use noisyor::{Error, Result};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Evaluations that the time of an epoch is taken from.
const RECENT: usize = 5;

/// A run that is looked at again and again.
pub(super) struct Watched {
    pub(super) path: PathBuf,
    pub(super) followed: FollowedMetrics,
    /// Its config; none before there is one.
    config: Option<Config>,
    standing: Standing,
}

/// Of a network or a baseline.
enum Config {
    Network(Box<RunConfig>),
    Baseline(Box<BaselineConfig>),
}

impl Config {
    fn read(path: &Path) -> Result<Self> {
        match BaselineConfig::read(path) {
            Ok(config) => Ok(Self::Baseline(Box::new(config))),
            Err(_) => read_config(path).map(|config| Self::Network(Box::new(config))),
        }
    }

    fn ended(&self) -> Option<&str> {
        match self {
            Self::Network(config) => config.run.ended.as_deref(),
            Self::Baseline(config) => config.run.ended.as_deref(),
        }
    }

    /// Epochs at most, those of refinement included.
    fn n_epochs(&self) -> f64 {
        let RunConfig { options, run, .. } = match self {
            Self::Network(config) => config.as_ref(),
            Self::Baseline(config) => return f64::from(config.epochs),
        };
        let by_steps = match (options.max_steps, run.batches_per_epoch) {
            (Some(steps), Some(n_batches)) if n_batches >= 1 => steps as f64 / n_batches as f64,
            _ => f64::INFINITY,
        };
        let refining = options.refine.as_ref().map_or(0, |refine| refine.n_epochs())
            + options.renew.as_ref().map_or(0, |renew| renew.n_epochs());
        f64::from(options.epochs).min(by_steps) + f64::from(refining)
    }

    /// Whether it may end before its last epoch.
    fn may_stop(&self) -> bool {
        match self {
            Self::Network(config) => {
                let options = &config.options;
                options.patience > 0 && options.valid > 0.0
                    || options.refine.is_some()
                    || options.renew.is_some()
            }
            Self::Baseline(_) => true,
        }
    }

    /// The test figure, and its key for programs.
    fn test(&self) -> (&'static str, Option<f64>) {
        match self {
            Self::Network(config) => ("test_elbo", config.run.test_elbo),
            Self::Baseline(config) => ("test_score", config.run.test_score),
        }
    }

    /// The command that continues it.
    fn command(&self) -> &'static str {
        match self {
            Self::Network(_) => "train",
            Self::Baseline(_) => "baseline",
        }
    }
}

/// Whether it goes on.
enum Standing {
    /// A process holds its lock; which, if that is known.
    GoesOn(String),
    /// It ended, and said how.
    Ended(String),
    /// Nobody works on it, and it did not say why.
    Stopped,
}

impl Watched {
    /// A folder that a run is in, or begins in.
    pub(super) fn new(path: &Path) -> Self {
        let (path, followed) = (path.to_owned(), FollowedMetrics::new(path));
        Self { path, followed, config: None, standing: Standing::Stopped }
    }

    /// Looks what is new.
    pub(super) fn look(&mut self) -> Result<Growth> {
        // The lock first: of a run that let it go all is written.
        let holder = holder(&self.path);
        self.config = match Config::read(&self.path) {
            Ok(config) => Some(config),
            Err(Error::Usage(_)) if holder.is_some() => None,
            Err(error) => return Err(error),
        };
        let ended = self.config.as_ref().and_then(Config::ended);
        self.standing = match (holder, ended) {
            (Some(process), _) => Standing::GoesOn(process),
            (None, Some(ended)) => Standing::Ended(ended.to_owned()),
            (None, None) => Standing::Stopped,
        };
        self.followed.look()
    }

    pub(super) fn goes_on(&self) -> bool {
        matches!(self.standing, Standing::GoesOn(_))
    }

    pub(super) fn metrics(&self) -> &[Metrics] {
        self.followed.metrics()
    }

    /// The evaluation with the best bound of the documents held out; of the training documents where none are.
    pub(super) fn best(&self) -> Option<&Metrics> {
        let bound =
            |metrics: &Metrics| metrics.valid_elbo.or(metrics.train_elbo).unwrap_or(f64::NEG_INFINITY);
        // Of equal ones the first.
        self.metrics()
            .iter()
            .reduce(|best, metrics| if bound(metrics) > bound(best) { metrics } else { best })
    }

    /// Epochs at most, those of refinement included.
    pub(super) fn n_epochs(&self) -> Option<f64> {
        self.config.as_ref().map(Config::n_epochs)
    }

    /// Whether it may end before its last epoch.
    fn may_stop(&self) -> bool {
        self.config.as_ref().is_none_or(Config::may_stop)
    }

    /// Seconds that the epochs left will take, by those of the last few evaluations; none of a run that does not go on.
    fn seconds_left(&self) -> Option<f64> {
        let (last, n_epochs) = (self.metrics().last()?, self.n_epochs()?);
        let start = (0.0, 0.0);
        let before = self.metrics().len().checked_sub(1 + RECENT).map(|at| &self.metrics()[at]);
        let (epoch, seconds) = before.map_or(start, |metrics| (metrics.epoch, metrics.seconds));
        let since = self.followed.changed().and_then(|then| SystemTime::now().duration_since(then).ok());
        let left = (n_epochs - last.epoch) * (last.seconds - seconds) / (last.epoch - epoch)
            - since.unwrap_or_default().as_secs_f64();
        Some(left.max(0.0)).filter(|left| left.is_finite() && self.goes_on())
    }

    /// How long it will take, in words.
    pub(super) fn left(&self) -> Option<String> {
        let most = if self.may_stop() { "at most " } else { "" };
        self.seconds_left().map(|left| format!("{most}{} left", short_time(left)))
    }

    /// Whether it goes on, and what can be done if not.
    pub(super) fn standing_line(&self) -> String {
        let command = self.config.as_ref().map_or("train", Config::command);
        let resume = || format!("to continue: noisyor {command} --resume {}", self.path.display());
        match &self.standing {
            Standing::GoesOn(process) if process.is_empty() => "running".into(),
            Standing::GoesOn(process) => format!("running (process {process})"),
            Standing::Ended(how) if how == "interrupted" => format!("interrupted; {}", resume()),
            Standing::Ended(how) => how.clone(),
            Standing::Stopped => format!("stopped before its end; {}", resume()),
        }
    }

    /// All of it for programs.
    pub(super) fn state(&self) -> Value {
        let (standing, process) = match &self.standing {
            Standing::GoesOn(process) => ("running", process.parse::<u64>().ok()),
            Standing::Ended(how) => (how.as_str(), None),
            Standing::Stopped => ("stopped", None),
        };
        let (test_key, test) = self.config.as_ref().map_or(("test_elbo", None), Config::test);
        json!({
            "run": self.path, "standing": standing, "process": process, "evaluations": self.metrics().len(),
            "epochs_at_most": self.n_epochs(), "last": self.metrics().last(), "best": self.best(),
            test_key: test, "seconds_left": self.seconds_left(), "may_stop_early": self.may_stop(),
        })
    }
}
