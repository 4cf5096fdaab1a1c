//! E-step options, which several commands share.

use clap::{Args, ValueEnum};
use noisyor::estep::{AUTO_CLAMPED, Bound, EStepOptions, MAX_CLAMPED, Start, Temper};

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BoundArg {
    Tail,
    Local,
    Full,
}

impl BoundArg {
    fn bound(self) -> Bound {
        match self {
            Self::Tail => Bound::Tail,
            Self::Local => Bound::Local,
            Self::Full => Bound::Full,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StartArg {
    Greedy,
    Plain,
    Tempered,
    Best,
}

#[derive(Args)]
#[command(next_help_heading = "E-step")]
pub(crate) struct EStepArgs {
    /// Which bound: local model with the free tail, the paper's local model, or all topics in every document
    #[arg(long, value_enum, default_value_t = BoundArg::Tail)]
    bound: BoundArg,
    /// A document stops when no q moved more than this in one alternation
    #[arg(long, value_name = "TOL", default_value_t = EStepOptions::default().tolerance)]
    estep_tol: f32,
    /// Alternations of q and r at most
    #[arg(id = "max_alternations", long = "estep-max", value_name = "N", default_value_t = EStepOptions::default().max_alternations)]
    estep_max: u32,
    /// The paper's schedule instead: N_E times (N_Q q sweeps, N_R r iterations), no early stop
    #[arg(long, value_name = "N_E,N_Q,N_R", num_args = 0..=1, default_missing_value = "10,10,10", require_equals = true)]
    #[arg(value_delimiter = ',', conflicts_with_all = ["estep_tol", "max_alternations"])]
    paper_estep: Option<Vec<u32>>,
    /// Where an E-step begins: at the configuration of topics that a greedy search finds; at q = 0.5 (plain); the same, hot at
    /// first (tempered); or all of these, and the best bound wins [default: greedy; plain with --paper-estep]
    #[arg(long, value_enum)]
    start: Option<StartArg>,
    /// Structured bound, nearer the likelihood: up to B topics of a document, those of competing explanations, are clamped on and
    /// off, the rest is mean field [auto: up to 16; default: none]
    #[arg(long, value_name = "B|auto", value_parser = parse_clamp)]
    clamp: Option<u32>,
    /// How a tempered start cools: q = sigmoid(g / T) with T falling to 1 over N alternations
    #[arg(long, value_name = "T,N", num_args = 0..=1, default_missing_value = "4,12", require_equals = true)]
    #[arg(value_delimiter = ',')]
    temper: Option<Vec<f32>>,
}

fn parse_clamp(given: &str) -> Result<u32, String> {
    if given == "auto" {
        return Ok(AUTO_CLAMPED);
    }
    let n = given.parse::<u32>().ok().filter(|&n| n <= MAX_CLAMPED);
    n.ok_or_else(|| format!("a number of topics from 0 to {MAX_CLAMPED}, or 'auto'"))
}

impl EStepArgs {
    pub(crate) fn options(&self) -> noisyor::Result<EStepOptions> {
        let usage = |message: &str| Err(noisyor::Error::Usage(message.into()));
        let bound = self.bound.bound();
        let mut options = EStepOptions {
            bound,
            max_alternations: self.estep_max,
            tolerance: self.estep_tol,
            ..EStepOptions::default()
        };
        match self.paper_estep.as_deref() {
            None => {}
            Some(&[max_alternations, q_sweeps, r_iterations]) => {
                options =
                    EStepOptions { max_alternations, q_sweeps, r_iterations, ..EStepOptions::paper(bound) };
            }
            Some(_) => return usage("--paper-estep takes three numbers, as in --paper-estep=10,10,10"),
        }
        let temper = match self.temper.as_deref() {
            None => None,
            Some(&[from, alternations]) if alternations >= 0.0 && alternations.fract() == 0.0 => {
                Some(Temper { from, alternations: alternations as u32 })
            }
            Some(_) => {
                return usage(
                    "--temper takes a temperature and a number of alternations, as in --temper=4,12",
                );
            }
        };
        options.start = match (self.start, temper) {
            (None, None) => options.start,
            (Some(StartArg::Tempered), None) => Start::Tempered(Temper::default()),
            (None | Some(StartArg::Tempered), Some(temper)) => Start::Tempered(temper),
            (_, Some(_)) => {
                return usage("--temper is for the tempered start; leave it out, or use --start tempered");
            }
            (Some(StartArg::Greedy), None) => Start::Greedy,
            (Some(StartArg::Plain), None) => Start::Plain,
            (Some(StartArg::Best), None) => Start::Best,
        };
        options.clamp = self.clamp.unwrap_or(0);
        options.check()?;
        Ok(options)
    }
}
