//! `noisyor posterior`: how likely each topic is in every case, with error bars.

use super::common::{interruptible, model_file, print};
use super::corpus_args::{CorpusArgs, refuse_overwriting};
use super::given::GivenArgs;
use super::{Common, progress::Progress};
use anyhow::Result;
use clap::builder::PossibleValuesParser;
use noisyor::Error;
use noisyor::infer::STDOUT;
use noisyor::network::load_model;
use noisyor::posterior::{
    Cases, Engine, Extras, Method, Options, Posterior, PosteriorFormat, PosteriorWriter,
};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Questions and reasons of a page, unless the user says otherwise.
const ON_A_PAGE: usize = 3;

/// How likely each topic is in every case, with error bars, and how likely the case is
///
/// Unlike `infer`, whose q is the best of a simple family, p is the probability itself, computed exactly where that is possible and
/// between bounds where it is not. Tokens (findings) are present, absent or unknown; unknown ones say nothing.
///
/// Methods: exact sums over all states of at most 22 topics, or, in networks of two layers, over the sets of present findings, where
/// quickscore cancels too much by sums of positive terms alone; hybrid treats --exact-findings of them so and bounds the others; jj is the upper
/// bound of Jaakkola and Jordan, vi the lower bound that training uses; mf0 to mf3 expand about the mean (no bounds); ks is the bound of Kearns
/// and Saul; sample draws topics from the variational posterior and weighs them. auto takes the cheapest that is exact to --within, or searches over
/// the states of topics until bounds are that close.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  noisyor posterior illnesses.json patients.csv -o - | jq .topics
  noisyor posterior model.safetensors cases.jsonl -o posteriors.tsv --threshold 0.05
  noisyor posterior model.json cases.jsonl --given \"smoker=1\" --certify 0.01 -o bounds.jsonl
  noisyor posterior illnesses.json patients.csv -o patients.html")]
pub(crate) struct Args {
    /// Model: .safetensors, .json or .tsv, or a run folder
    model: PathBuf,
    /// Cases: a corpus, in which tokens may be unknown
    cases: PathBuf,
    /// Output: .jsonl (a case a line), .tsv or .parquet (a row per case and topic), .html (a page to read), or - for standard output
    #[arg(short, long, value_name = "OUT", default_value = STDOUT)]
    output: PathBuf,
    /// Format of the output [default: by its name; jsonl on standard output]
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(PosteriorFormat::NAMES.iter().map(|(name, _)| *name)))]
    output_format: Option<String>,
    /// auto, exact, quickscore, hybrid, jj, mf0, mf1, mf2, mf3, ks, vi or sample
    #[arg(long, value_name = "METHOD", default_value = "auto")]
    method: Method,
    /// auto: the largest error that the probability of a topic may have
    #[arg(long, value_name = "X", default_value_t = 0.01)]
    within: f64,
    /// Bound log p of every case from below and above, by treating more findings exactly until the bounds are this close
    #[arg(long, value_name = "EPS")]
    certify: Option<f64>,
    /// With --certify: seconds for a case; the bounds reached by then are the answer
    #[arg(long, value_name = "S")]
    seconds: Option<f64>,
    /// Present findings that are treated exactly at most: each further one takes twice as long
    #[arg(long, value_name = "N", default_value_t = 22)]
    max_exact: usize,
    /// hybrid: findings that are treated exactly, those first that change the bound most
    #[arg(long, value_name = "N", default_value_t = 8)]
    exact_findings: usize,
    /// sample: samples of a case
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    samples: usize,
    /// Seed of the samples
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    given: GivenArgs,
    /// Also say which unknown findings to ask for next: so many, those first whose answer is expected to tell most about the topics, in
    /// bits [default on a page: 3]
    #[arg(long, value_name = "N")]
    ask: Option<usize>,
    /// Also say why a topic is likely or not: so many findings, those first that change its log-odds most, compared with their being
    /// unknown [default on a page: 3]
    #[arg(long, value_name = "N")]
    why: Option<usize>,
    /// Leave out topics with a probability below this
    #[arg(long, value_name = "P", default_value_t = 0.0)]
    threshold: f64,
    #[command(flatten)]
    reading: CorpusArgs,
}

pub(crate) fn run(args: Args, common: &Common) -> Result<()> {
    let given = args.output_format.as_ref();
    let given = given.and_then(|given| PosteriorFormat::NAMES.iter().find(|(name, _)| name == given));
    let format = PosteriorFormat::of(&args.output, given.map(|&(_, format)| format))?;
    let stdout = args.output == Path::new(STDOUT);
    if stdout && common.json {
        let message =
            "--json makes no sense where posteriors go to standard output; leave it out, or name a file";
        return Err(Error::Usage(message.into()).into());
    }
    if !(0.0..=1.0).contains(&args.threshold) {
        return Err(Error::Usage(format!("--threshold {} is not in [0, 1]", args.threshold)).into());
    }
    let is_page = format == PosteriorFormat::Html;
    for (option, is_given) in [("--ask", args.ask.is_some()), ("--why", args.why.is_some())] {
        if is_given && !is_page && format != PosteriorFormat::Jsonl {
            let message = format!(
                "{option} is answered in JSON lines and on pages alone; name a .jsonl or .html output, or leave it out"
            );
            return Err(Error::Usage(message).into());
        }
    }
    let options = args.options();
    options.check()?;
    let model = model_file(&args.model)?;
    if !stdout {
        refuse_overwriting(&args.output, [&model, &args.cases])?;
    }
    let network = load_model(&model)?;
    let given = args.given.states(&network)?;
    let engine = Engine::new(&network)?;
    let monitor = interruptible(common)?;
    let (corpus, alignment) = args.reading.read_for(&args.cases, &network.names.tokens, common, &monitor)?;
    corpus.verify_while(&monitor)?;
    let docs = alignment.docs(&corpus);
    common.say_replaced(&args.output);
    let mut writer = PosteriorWriter::create(&args.output, format, &network.names, args.threshold)?;
    let start = Instant::now();
    let progress = Progress::start(common, &monitor, "cases", docs.n_docs() as u64);
    let mut tally = Tally::default();
    let cases = Cases { engine, docs, given: &given, options: &options };
    let on_a_page = is_page.then_some(ON_A_PAGE);
    let extras =
        Extras { ask: args.ask.or(on_a_page), why: args.why.or(on_a_page), threshold: args.threshold };
    let answer = |case: &_, doc_ix| cases.answer(case, doc_ix, &extras, &monitor);
    let written = cases
        .each(0..docs.n_docs(), &monitor, answer, |doc_ix, case, answer| {
            tally.add(&answer.posterior);
            writer.write(&corpus.id(doc_ix), case, &answer)
        })
        .and_then(|()| writer.commit());
    drop(progress);
    match written {
        // A reader that went away has what it wanted.
        Err(Error::Io { source, .. }) if stdout && source.kind() == ErrorKind::BrokenPipe => {
            return Err(source.into());
        }
        written => written?,
    }
    tally.tell(&args, start.elapsed().as_secs_f64(), common)
}

impl Args {
    fn options(&self) -> Options {
        Options {
            method: self.method,
            within: self.within,
            certify: self.certify,
            seconds: self.seconds,
            max_exact: self.max_exact,
            exact_findings: self.exact_findings,
            samples: self.samples,
            seed: self.seed,
        }
    }
}

/// What was done, over all cases.
#[derive(Default)]
struct Tally {
    n_cases: usize,
    n_met: usize,
    methods: BTreeMap<String, usize>,
    lower: f64,
    upper: f64,
}

impl Tally {
    fn add(&mut self, posterior: &Posterior) {
        self.n_cases += 1;
        self.n_met += usize::from(posterior.meets);
        *self.methods.entry(posterior.method_name().to_owned()).or_default() += 1;
        self.lower += posterior.log_p.lower;
        self.upper += posterior.log_p.upper;
    }

    fn tell(&self, args: &Args, seconds: f64, common: &Common) -> Result<()> {
        let per_case = seconds / self.n_cases.max(1) as f64;
        let mean = |sum: f64| Some(sum / self.n_cases as f64).filter(|mean| mean.is_finite());
        if common.json {
            let result = json!({
                "cases": self.n_cases, "met": self.n_met, "methods": self.methods, "output": args.output,
                "log_p_mean": {"lower": mean(self.lower), "upper": mean(self.upper)},
                "seconds_a_case": per_case,
            });
            return print(format_args!("{result}\n"));
        }
        let methods: Vec<String> = self.methods.iter().map(|(method, n)| format!("{method} {n}")).collect();
        let aim = match args.certify {
            Some(eps) => format!("log p known to {eps}"),
            None => format!("all probabilities known to {}", args.within),
        };
        common.say(format_args!(
            "{} cases ({}), {:.2} ms each; {aim} in {} of them",
            self.n_cases,
            methods.join(", "),
            1e3 * per_case,
            self.n_met
        ));
        Ok(())
    }
}
