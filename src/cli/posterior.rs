//! `noisyor posterior`: how likely each topic is in every case, with error bars.

use super::common::{interruptible, model_file, print};
use super::corpus_args::{CorpusArgs, refuse_overwriting};
use super::{Common, progress::Progress};
use anyhow::Result;
use clap::builder::PossibleValuesParser;
use noisyor::corpus::Docs;
use noisyor::infer::STDOUT;
use noisyor::monitor::Monitor;
use noisyor::network::{Network, load_model};
use noisyor::posterior::{
    Case, Engine, Method, Options, Posterior, PosteriorFormat, PosteriorWriter, Question,
};
use noisyor::report::find_topic;
use noisyor::{Error, Result as LibResult};
use rayon::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Cases that are computed before they are written, in their order.
const SLICE_CASES: usize = 256;

/// How likely each topic is in every case, with error bars, and how likely the case is
///
/// Unlike `infer`, whose q is the best of a simple family, p is the probability itself, computed exactly where that is possible and
/// between bounds where it is not. Tokens (findings) are present, absent or unknown; unknown ones say nothing.
///
/// Methods: exact sums over all states of at most 22 topics, or, in networks of two layers, over the sets of present findings, where
/// quickscore cancels too much by sums of positive terms alone; hybrid treats --exact-findings of them so and bounds the others; jj is the upper
/// bound of Jaakkola and Jordan, vi the lower bound that training uses; mf0 to mf3 expand about the mean (no bounds); ks is the bound of Kearns
/// and Saul; sample draws topics from the variational posterior and weighs them. auto takes the cheapest that is exact to --within.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  noisyor posterior illnesses.json patients.csv -o - | jq .topics
  noisyor posterior model.safetensors cases.jsonl -o posteriors.tsv --threshold 0.05
  noisyor posterior model.json cases.jsonl --given \"smoker=1\" --certify 0.01 -o bounds.jsonl")]
pub(crate) struct Args {
    /// Model: .safetensors, .json or .tsv, or a run folder
    model: PathBuf,
    /// Cases: a corpus, in which tokens may be unknown
    cases: PathBuf,
    /// Output: .jsonl (a case a line), .tsv or .parquet (a row per case and topic), or - for standard output
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
    /// Topics whose state is known in all cases, as in "smoker=1,flu=0"
    #[arg(long, value_name = "TOPIC=STATE,...")]
    given: Vec<String>,
    /// Also say which unknown findings to ask for next: so many, those first whose answer is expected to tell most about the topics, in bits
    #[arg(long, value_name = "N")]
    ask: Option<usize>,
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
    if args.ask.is_some() && format != PosteriorFormat::Jsonl {
        let message = "--ask is answered in JSON lines alone; name a .jsonl output, or leave it out";
        return Err(Error::Usage(message.into()).into());
    }
    let options = args.options();
    options.check()?;
    let model = model_file(&args.model)?;
    if !stdout {
        refuse_overwriting(&args.output, [&model, &args.cases])?;
    }
    let network = load_model(&model)?;
    let given = parse_given(&network, &args.given)?;
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
    let cases = Cases { engine: &engine, docs, given: &given, options: &options, ask: args.ask };
    let written = cases
        .run(&monitor, &mut |id, posterior, questions| {
            tally.add(posterior);
            writer.write(id, posterior, questions)
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

/// What to compute of which cases.
struct Cases<'a> {
    engine: &'a Engine<'a>,
    docs: Docs<'a>,
    given: &'a [(u32, bool)],
    options: &'a Options,
    ask: Option<usize>,
}

/// Gets the id of a case, its posterior, and what to ask.
type CaseSink<'a> = dyn FnMut(&str, &Posterior, Option<&[Question]>) -> LibResult<()> + 'a;

impl Cases<'_> {
    /// The posterior of every case, handed on in their order.
    fn run(&self, monitor: &Monitor, sink: &mut CaseSink<'_>) -> LibResult<()> {
        let all: Vec<usize> = (0..self.docs.n_docs()).collect();
        let corpus = self.docs.corpus();
        for slice in all.chunks(SLICE_CASES) {
            let run = |&doc_ix: &usize| self.run_case(doc_ix, monitor);
            let answers: Vec<_> = slice.par_iter().map(run).collect::<LibResult<_>>()?;
            for (&doc_ix, (posterior, questions)) in slice.iter().zip(&answers) {
                sink(&corpus.id(doc_ix), posterior, questions.as_deref())?;
            }
        }
        Ok(())
    }

    fn run_case(&self, doc_ix: usize, monitor: &Monitor) -> LibResult<(Posterior, Option<Vec<Question>>)> {
        monitor.go_on()?;
        let mut absent = Vec::new();
        self.docs.absent(doc_ix, &mut absent);
        let mut present: Vec<u32> = self.docs.tokens(doc_ix).collect();
        present.sort_unstable();
        let case = Case { present, absent, given: self.given.to_vec() };
        let run = || {
            let posterior = self.engine.run(&case, doc_ix as u64, self.options, monitor)?;
            let ask = |most: usize| {
                let mut questions = self.engine.ask(&case, doc_ix as u64, self.options, monitor)?;
                questions.truncate(most);
                Ok::<_, Error>(questions)
            };
            Ok((posterior, self.ask.map(ask).transpose()?))
        };
        let answer = run().map_err(|e| match e {
            Error::Usage(message) => {
                Error::Usage(format!("case {}: {message}", self.docs.corpus().id(doc_ix)))
            }
            other => other,
        });
        monitor.docs_done.fetch_add(1, Ordering::Relaxed);
        answer
    }
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

/// Topics and states, as in `smoker=1,flu=0`.
fn parse_given(network: &Network, given: &[String]) -> LibResult<Vec<(u32, bool)>> {
    let mut states: BTreeMap<u32, bool> = BTreeMap::new();
    for entry in given.iter().flat_map(|list| list.split(',')).map(str::trim).filter(|e| !e.is_empty()) {
        let fault = |message: &str| Error::Usage(format!("--given {entry}: {message}, as in \"smoker=1\""));
        let (name, state) = entry.rsplit_once('=').ok_or_else(|| fault("give a topic and its state"))?;
        let state = match state.trim().to_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => true,
            "0" | "false" | "no" | "off" => false,
            _ => return Err(fault("a state is 1 or 0")),
        };
        let topic = find_topic(network, name.trim())?;
        if states.insert(topic, state).is_some_and(|other| other != state) {
            return Err(fault("the topic is given as on and as off; give one of them"));
        }
    }
    Ok(states.into_iter().collect())
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
        // "hybrid 12" is a hybrid.
        let method = posterior.method.split(' ').next().unwrap_or_default();
        *self.methods.entry(method.to_owned()).or_default() += 1;
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
