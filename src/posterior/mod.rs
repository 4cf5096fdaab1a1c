//! Which topics are on, given what is known of a case: with certificates, and with tokens that are neither present nor absent.
//!
//! With d the unknown topics and y everything known, `p(y) = sum over d of p(d, y)` and `p(d_j = 1 | y)` are wanted. Sums over all d are
//! possible where there is structure to use:
//!
//! | method | network | gives |
//! |---|---|---|
//! | `exact` | two layers; any depth with few topics | exact values: [`cover`], [`hubs`], [`enumerate`](mod@enumerate) |
//! | `quickscore` | two layers | inclusion-exclusion, with the error that cancellation leaves |
//! | `hybrid` | two layers | bounds, some findings exact ([`certify`]) |
//! | `jj` | two layers | bounds of Jaakkola & Jordan ([`upper`], [`lower`]) |
//! | `ks` | two layers | bounds of Kearns & Saul ([`kearns_saul`]) |
//! | `mf0` to `mf3` | two layers | Taylor expansions, no bounds ([`mean_field`]) |
//! | `vi` | any | a lower bound by mean field, and an upper one ([`vi`](mod@vi), [`deep_upper`]) |
//! | `sample` | any | estimates with standard errors ([`sample`](mod@sample)) |
//! | `auto` | any | the cheapest that keeps every marginal within `within`; bounds by [`search`](mod@search) too |
//!
//! A network has two layers if no topic has a parent that is unknown, so given states may make it so.
//!
//! ```
//! use noisyor::posterior::{Case, Engine, Options};
//! use noisyor::{Monitor, network::load_bytes};
//!
//! // Weights of edges, and leaks: lines without a parent.
//! let model = "flu\tfever\t1.5\nflu\tcough\t0.5\ncold\tcough\t1.0\n\tflu\t0.1\n\tcold\t0.2\n\tfever\t0.01\n\tcough\t0.05\n";
//! let network = load_bytes("model.tsv".as_ref(), model.as_bytes())?.into_model("model.tsv".as_ref())?;
//! let engine = Engine::new(&network)?;
//! // Fever, and nothing is known of coughing.
//! let case = Case { present: vec![0], ..Case::default() };
//! let posterior = engine.run(&case, 0, &Options::default(), &Monitor::default())?;
//! assert!(posterior.marginals[0].lower > 0.8 && posterior.marginals[1].upper < 0.2);
//! # Ok::<(), noisyor::Error>(())
//! ```

mod answer;
mod ask;
mod auto;
mod backend;
pub mod calibration;
mod case;
mod cases;
pub mod certify;
pub mod cover;
#[doc(hidden)]
pub mod dag;
pub mod deep_upper;
pub mod enumerate;
mod greedy;
pub mod hubs;
pub mod hybrid;
pub mod kearns_saul;
pub mod lower;
pub mod mean_field;
mod minimise;
mod output;
mod page;
#[cfg(feature = "parquet")]
mod parquet;
pub mod quadratic;
pub mod quickscore;
pub mod sample;
pub mod search;
pub mod two_layer;
pub mod upper;
pub mod vi;
mod why;

pub use answer::{Answer, Extras};
pub use ask::Question;
pub use auto::Engine;
pub use backend::ExactEStep;
pub use case::Case;
pub use cases::Cases;
pub use output::{PosteriorFormat, PosteriorWriter};
pub use why::Reason;

use crate::error::{Error, Result};
use crate::monitor::Monitor;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// How to infer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// The cheapest whose error on every marginal is at most `within`.
    #[default]
    Auto,
    /// Exact.
    Exact,
    /// Inclusion-exclusion.
    Quickscore,
    /// Bounds with some findings exact.
    Hybrid,
    /// The bounds of Jaakkola & Jordan.
    Jj,
    /// MF(k), k from 0 to 3.
    MeanField(u8),
    /// The bounds of Kearns & Saul.
    Ks,
    /// Mean field: a lower bound.
    Vi,
    /// Importance sampling.
    Sample,
}

impl Method {
    /// All methods.
    pub const ALL: [Self; 12] = [
        Self::Auto,
        Self::Exact,
        Self::Quickscore,
        Self::Hybrid,
        Self::Jj,
        Self::MeanField(0),
        Self::MeanField(1),
        Self::MeanField(2),
        Self::MeanField(3),
        Self::Ks,
        Self::Vi,
        Self::Sample,
    ];
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Exact => f.write_str("exact"),
            Self::Quickscore => f.write_str("quickscore"),
            Self::Hybrid => f.write_str("hybrid"),
            Self::Jj => f.write_str("jj"),
            Self::MeanField(order) => write!(f, "mf{order}"),
            Self::Ks => f.write_str("ks"),
            Self::Vi => f.write_str("vi"),
            Self::Sample => f.write_str("sample"),
        }
    }
}

impl FromStr for Method {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|method| method.to_string() == name).ok_or_else(|| {
            let names: Vec<String> = Self::ALL.iter().map(Self::to_string).collect();
            Error::Usage(format!("`method` is '{name}'; it is one of {}", names.join(", ")))
        })
    }
}

/// How to infer, and how well.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The method.
    pub method: Method,
    /// Error allowed on every marginal.
    pub within: f64,
    /// Width allowed of the interval of `log p(y)`: findings are made exact until it is met.
    pub certify: Option<f64>,
    /// Seconds a case may take. Results then depend on the machine.
    pub seconds: Option<f64>,
    /// Exact inference sums over at most `2^max_exact` states: of topics, and of findings open at once in [`cover`].
    pub max_exact: usize,
    /// How many findings `hybrid` treats exactly.
    pub exact_findings: usize,
    /// How many samples `sample` takes.
    pub samples: usize,
    /// Seed of the samples.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            method: Method::Auto,
            within: 0.01,
            certify: None,
            seconds: None,
            max_exact: 22,
            exact_findings: 8,
            samples: 20_000,
            seed: 0,
        }
    }
}

/// Larger tables are refused: each further finding doubles the memory, 2^28 entries take 2 GiB, several times.
pub const MOST_EXACT: usize = 28;

/// Samples are kept, and `auto` takes up to 16 times as many.
pub const MOST_SAMPLES: usize = 1_000_000;

impl Options {
    /// Refuses what makes no sense.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`].
    pub fn check(&self) -> Result<()> {
        let positive = |name: &str, value: f64| {
            if value > 0.0 && value.is_finite() {
                return Ok(());
            }
            Err(Error::Usage(format!("`{name}` is {value}; it must be a positive number")))
        };
        positive("within", self.within)?;
        self.certify.map_or(Ok(()), |width| positive("certify", width))?;
        self.seconds.map_or(Ok(()), |seconds| positive("seconds", seconds))?;
        if self.max_exact > MOST_EXACT {
            return Err(Error::Usage(format!(
                "`max_exact` is {}; at most {MOST_EXACT} is possible",
                self.max_exact
            )));
        }
        if !(8..=MOST_SAMPLES).contains(&self.samples) {
            return Err(Error::Usage(format!(
                "`samples` is {}; it must be from 8 to {MOST_SAMPLES}",
                self.samples
            )));
        }
        if matches!(self.method, Method::MeanField(order) if order > 3) {
            return Err(Error::Usage(format!("`method` is {}; the highest order is mf3", self.method)));
        }
        Ok(())
    }
}

/// A probability and the interval it is in: for certain, or within three standard errors if sampled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Marginal {
    /// The probability.
    pub p: f64,
    /// Not below this.
    pub lower: f64,
    /// Not above this.
    pub upper: f64,
}

impl Marginal {
    /// Probabilities within [0, 1], p between the others.
    pub(crate) fn new(p: f64, lower: f64, upper: f64) -> Self {
        let within = |x: f64, or: f64| if x.is_nan() { or } else { x.clamp(0.0, 1.0) };
        let (lower, upper) = (within(lower, 0.0), within(upper, 1.0));
        let upper = upper.max(lower);
        Self { p: within(p, 0.5 * (lower + upper)).clamp(lower, upper), lower, upper }
    }

    /// Of which nothing is certain.
    pub(crate) fn unbounded(p: f64) -> Self {
        Self::new(p, 0.0, 1.0)
    }

    /// The most that p can be wrong by.
    pub fn error(&self) -> f64 {
        (self.p - self.lower).max(self.upper - self.p)
    }
}

/// An interval of `log p(y)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Minus infinity where a method gives none.
    pub lower: f64,
    /// Plus infinity where a method gives none.
    pub upper: f64,
}

impl Interval {
    /// All numbers.
    pub const UNKNOWN: Self = Self { lower: f64::NEG_INFINITY, upper: f64::INFINITY };
}

/// What is found of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Posterior {
    /// What was really used: "cover", "enumerate", "search", "hybrid 12", "sample".
    pub method: String,
    /// Bounds of `log p(y)`, certain. Given topic states are part of y.
    pub log_p: Interval,
    /// An estimate where a method gives one that is no bound.
    pub log_p_estimate: Option<f64>,
    /// Of every topic of the network.
    pub marginals: Vec<Marginal>,
    /// How many findings were treated exactly.
    pub exact_findings: usize,
    /// Effective sample size, of samples.
    pub ess: Option<f64>,
    /// Whether `certify`, or else `within`, was met.
    pub meets: bool,
}

impl Posterior {
    /// The method without how it was used: "hybrid 12" is a hybrid.
    pub fn method_name(&self) -> &str {
        self.method.split(' ').next().unwrap_or_default()
    }
}

/// Time and interruption.
#[derive(Debug, Clone, Copy)]
pub struct Watch<'a> {
    monitor: &'a Monitor,
    end: Option<Instant>,
}

impl<'a> Watch<'a> {
    /// Begins now.
    pub fn new(monitor: &'a Monitor, seconds: Option<f64>) -> Self {
        // More than a year is no limit.
        let limit = seconds.filter(|&seconds| seconds < 3e7).map(Duration::from_secs_f64);
        Self { monitor, end: limit.map(|limit| Instant::now() + limit) }
    }

    /// The same without a limit of time.
    #[must_use]
    pub fn without_end(self) -> Self {
        Self { end: None, ..self }
    }

    /// Whether there is time left.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`] if the user asked to stop.
    pub fn go_on(&self) -> Result<bool> {
        self.monitor.go_on()?;
        Ok(self.end.is_none_or(|end| Instant::now() < end))
    }
}
