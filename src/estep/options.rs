//! How an E-step is run.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Which lower bound of log p(y) is computed; every figure says which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// Local model; topics outside it at their best value given nothing: a tighter bound at no cost.
    Tail,
    /// Local model, topics outside it off: the paper's.
    Local,
    /// All topics in every document.
    Full,
}

impl Bound {
    /// What a figure is: the bound, and how many topics were clamped for it.
    pub fn label(self, clamp: u32) -> String {
        match clamp {
            0 => self.to_string(),
            n => format!("{self}, clamp {n}"),
        }
    }
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Tail => "tail",
            Self::Local => "local",
            Self::Full => "full",
        })
    }
}

/// A tempered start: q = sigmoid(g / T), T falling from `from` to 1 over `alternations`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Temper {
    /// First temperature.
    pub from: f32,
    /// Number of alternations above T = 1.
    pub alternations: u32,
}

impl Default for Temper {
    fn default() -> Self {
        Self { from: 4.0, alternations: 12 }
    }
}

impl Temper {
    /// T of an alternation, counted from zero: linear, 1 from `alternations` on.
    pub fn temperature(&self, alternation: u32) -> f32 {
        let left = self.alternations.saturating_sub(alternation);
        1.0 + (self.from - 1.0) * left as f32 / self.alternations.max(1) as f32
    }
}

/// Where the E-step of a document begins.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// q = 1/2, r = w / sum w (Sec. 4.1.3).
    Plain,
    /// The same, hot at first.
    Tempered(Temper),
    /// A greedy search for the best configuration.
    Greedy,
    /// Each of these (tempered by default), and the best bound wins.
    Best,
}

/// A later start, or a split, must be better by this many nats: below it both came to the same, and rounding would decide.
pub const MIN_BETTER: f32 = 1e-3;

impl Start {
    /// The starts to try, the best of which wins; of equals (to [`MIN_BETTER`]), the first.
    pub fn tries(self) -> &'static [Self] {
        const TEMPERED: Start = Start::Tempered(Temper { from: 4.0, alternations: 12 });
        match self {
            Self::Best => &[Self::Greedy, TEMPERED, Self::Plain],
            _ => &[],
        }
    }

    /// Whether a search is among what is tried.
    pub fn searches(self) -> bool {
        matches!(self, Self::Greedy | Self::Best)
    }

    /// The temper, if it has one.
    pub fn temper(self) -> Option<Temper> {
        match self {
            Self::Tempered(temper) => Some(temper),
            _ => None,
        }
    }
}

/// Topics of a document that are clamped at most where it is left to us: on tables the last eight of them gain 0.005 to 0.08 nats and double
/// the time (docs/optima.md).
pub const AUTO_CLAMPED: u32 = 16;
/// Topics of a document that can be clamped at most.
pub const MAX_CLAMPED: u32 = 24;

/// Schedule and bound of an E-step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EStepOptions {
    /// Which bound.
    pub bound: Bound,
    /// Alternations at most (the paper's N_E).
    pub max_alternations: u32,
    /// q sweeps per alternation (N_Q).
    pub q_sweeps: u32,
    /// r iterations per alternation (N_R).
    pub r_iterations: u32,
    /// Whether r iterations are accelerated; otherwise they are Eq. 10 as it stands.
    pub accelerate_r: bool,
    /// A document stops when no q moved more than this in one alternation at T = 1; 0 never stops early.
    pub tolerance: f32,
    /// Where it begins.
    pub start: Start,
    /// Topics of a document that are clamped, at most: the structured bound; 0 for none.
    #[serde(default)]
    pub clamp: u32,
}

impl Default for EStepOptions {
    fn default() -> Self {
        Self {
            bound: Bound::Tail,
            max_alternations: 100,
            q_sweeps: 1,
            r_iterations: 1,
            accelerate_r: true,
            tolerance: 1e-3,
            start: Start::Greedy,
            clamp: 0,
        }
    }
}

impl EStepOptions {
    /// The paper's schedule: N_E = N_Q = N_R = 10, Eq. 10 as it stands, no early stop.
    pub fn paper(bound: Bound) -> Self {
        Self {
            bound,
            max_alternations: 10,
            q_sweeps: 10,
            r_iterations: 10,
            accelerate_r: false,
            tolerance: 0.0,
            start: Start::Plain,
            clamp: 0,
        }
    }

    /// What a figure is: the bound, and how many topics were clamped for it.
    pub fn bound_label(&self) -> String {
        self.bound.label(self.clamp)
    }

    /// Checks that the numbers make sense.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] that names the option.
    pub fn check(&self) -> Result<()> {
        if self.max_alternations == 0 || self.q_sweeps == 0 {
            return Err(Error::Usage("an E-step needs at least one alternation and one q sweep".into()));
        }
        if self.clamp > MAX_CLAMPED {
            return Err(Error::Usage(format!(
                "{} topics of a document cannot be clamped; {MAX_CLAMPED} at most can",
                self.clamp
            )));
        }
        if self.clamp > 0 && !self.start.searches() {
            return Err(Error::Usage(
                "the structured bound chooses its topics by the greedy search: it needs the start `greedy` or `best`".into(),
            ));
        }
        if !(0.0..1.0).contains(&self.tolerance) {
            return Err(Error::Usage(format!("E-step tolerance {} is not in [0, 1)", self.tolerance)));
        }
        let tries = self.start.tries().iter().chain([&self.start]);
        match tries.filter_map(|start| start.temper()).next() {
            Some(temper) if !(temper.from >= 1.0 && temper.from.is_finite()) => {
                Err(Error::Usage(format!("temperature {} is not at least 1", temper.from)))
            }
            Some(temper) if temper.alternations >= self.max_alternations => Err(Error::Usage(format!(
                "tempering over {} alternations never reaches T = 1 within the {} there are at most; temper for fewer, \
                 or raise `max_alternations` (or N_E of `paper_estep`)",
                temper.alternations, self.max_alternations
            ))),
            _ => Ok(()),
        }
    }
}
