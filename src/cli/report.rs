//! `noisyor report`: a run as one page.

use super::common::{BackendArgs, interruptible, print};
use super::corpus_args::{CorpusArgs, refuse_overwriting};
use super::documents::Documents;
use super::flags::with_flags;
use super::train::Screen;
use super::{Common, calibration, progress::Progress};
use anyhow::Result;
use noisyor::baseline::{BaselineRecord, baseline_page};
use noisyor::corpus::Verifying;
use noisyor::estep::EStepOptions;
use noisyor::monitor::Monitor;
use noisyor::network::{Network, load_model};
use noisyor::report::page::{About, Gathered, Report, floor_of_model, gather, sample_docs};
use noisyor::run::{RunDocs, RunRecord};
use noisyor::train::Metrics;
use noisyor::{Error, Result as LibResult, files};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A run as one self-contained page: curves, topics, weights, documents
///
/// The page needs no network and no other file. The documents of the run are read again and looked at once; where they are gone the
/// page does without. A run that is still training may be reported, too. Of a baseline the page has figures, curves and the tokens of its
/// features.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  noisyor report run
  noisyor report run --corpus moved/documents.jsonl -o report.html
  noisyor report model.safetensors --corpus documents.jsonl --title 'Our topics'")]
pub(crate) struct Args {
    /// Run folder, or a model: .safetensors, .json or .tsv
    run: PathBuf,
    /// Page to write [default: report.html in the run folder, or beside the model]
    #[arg(short, long, value_name = "FILE.html")]
    output: Option<PathBuf>,
    /// Documents: where the run's corpus is now, if it was moved; for a model, any corpus
    #[arg(long, value_name = "CORPUS")]
    corpus: Option<PathBuf>,
    /// Documents to look at, at most; of more, as many are drawn at random
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    docs: u64,
    /// Size of the page at most; of larger models it shows less
    #[arg(long, value_name = "N", default_value_t = 5.0)]
    max_mb: f64,
    /// Also how far q can be trusted, on N cases sampled from the model (1000 if not given): a plot and a table, as `noisyor eval --calibration`
    /// prints it
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true)]
    calibration: Option<Option<usize>>,
    /// What stands at the top [default: the name of the run]
    #[arg(long)]
    title: Option<String>,
    /// Seed of the documents drawn, and of sampled cases
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    reading: CorpusArgs,
    #[command(flatten)]
    backend: BackendArgs,
}

/// What is reported on.
struct Subject {
    about: About,
    network: Network,
    metrics: Vec<Metrics>,
    floor: f64,
    options: EStepOptions,
    docs: Option<Documents>,
    no_docs: String,
}

pub(crate) fn run(args: Args, common: &Common) -> Result<()> {
    if !(args.max_mb > 0.0 && args.max_mb.is_finite()) {
        return Err(Error::Usage(format!("--max-mb {} is not above 0", args.max_mb)).into());
    }
    let monitor = interruptible(common)?;
    let is_run = std::fs::metadata(&args.run).map_err(|e| Error::io(&args.run, e))?.is_dir();
    let folder = if is_run { args.run.as_path() } else { files::folder_of(&args.run) };
    let output = args.output.clone().unwrap_or_else(|| folder.join("report.html"));
    let inputs = ["config.json", "metrics.jsonl", "model.safetensors", "graph.safetensors"];
    let inputs = inputs
        .map(|name| args.run.join(name))
        .into_iter()
        .chain([args.run.clone()])
        .chain(args.corpus.clone());
    refuse_overwriting(&output, &inputs.collect::<Vec<_>>())?;
    if is_run && BaselineRecord::is_in(&args.run) {
        return args.of_baseline(&output, common);
    }
    let mut subject = if is_run { args.of_run(common, &monitor)? } else { args.of_model(common, &monitor)? };
    subject.leave_out_unknown();
    if let Some(Documents::OfRun(docs)) = &subject.docs {
        refuse_overwriting(&output, [&docs.path])?;
    }
    if !subject.no_docs.is_empty() {
        common.warn(&subject.no_docs);
    }
    let gathered =
        subject.docs.as_ref().map(|docs| args.gather(&subject, docs, common, &monitor)).transpose()?;
    let docs = subject.docs.as_ref().map(Documents::docs).zip(gathered);
    let n_docs = docs.as_ref().map_or(0, |(_, gathered)| gathered.n_docs);
    let measure = |n_cases: Option<usize>| {
        let (estep, asked_as) = (&subject.options, None);
        let sampled = calibration::Sampled { n_cases, seed: args.seed, estep, asked_as };
        sampled.measure(&subject.network, args.backend.open(common)?.as_mut(), common, &monitor)
    };
    let calibration = args.calibration.map(measure).transpose()?;
    let report = Report {
        title: args.title.clone().unwrap_or_else(|| title_of(&args.run)),
        about: subject.about,
        metrics: &subject.metrics,
        clamp: subject.options.clamp,
        network: &subject.network,
        floor: subject.floor,
        docs,
        no_docs: subject.no_docs,
        calibration,
    };
    let page = report.page((args.max_mb * 1e6) as usize, &monitor)?;
    common.say_replaced(&output);
    files::replace(&output, page.html.as_bytes())?;
    let mb = page.html.len() as f64 / 1e6;
    if mb > args.max_mb {
        common.warn(format_args!(
            "the page has {mb:.1} MB, more than --max-mb {}, although it shows as little as it can",
            args.max_mb
        ));
    }
    if !page.left_out.is_empty() {
        common.say(format_args!("left out to keep the page small: {}", page.left_out));
    }
    let n_topics = subject.network.graph.n_topics();
    if common.json {
        let result = json!({"report": output, "bytes": page.html.len(), "topics": n_topics, "docs": n_docs});
        return print(format_args!("{result}\n"));
    }
    print(format_args!("{}: {mb:.2} MB, {n_topics} topics, {n_docs} documents looked at\n", output.display()))
}

impl Subject {
    /// What words cost is not known where others are unknown: such documents are not shown.
    fn leave_out_unknown(&mut self) {
        if self.docs.as_ref().is_some_and(|docs| docs.docs().has_unknown()) {
            self.docs = None;
            self.no_docs =
                "no documents are shown: they have unknown values, which the page does not take yet; \
                            'noisyor posterior' writes a page about such documents"
                    .into();
        }
    }
}

impl Args {
    /// The run of a baseline: a page without documents.
    fn of_baseline(&self, output: &Path, common: &Common) -> Result<()> {
        if self.corpus.is_some() || self.reading.is_given() || self.calibration.is_some() {
            let message = "the page of a baseline has no documents: leave out --corpus, --calibration and options of reading";
            return Err(Error::Usage(message.into()).into());
        }
        let run = BaselineRecord::read(&self.run)?;
        let title = self.title.clone().unwrap_or_else(|| title_of(&self.run));
        let page = baseline_page(&run, &title);
        common.say_replaced(output);
        files::replace(output, page.as_bytes())?;
        let n_features = run.trained.names.topics.len();
        if common.json {
            let result = json!({"report": output, "bytes": page.len(), "features": n_features});
            return print(format_args!("{result}\n"));
        }
        let mb = page.len() as f64 / 1e6;
        print(format_args!("{}: {mb:.2} MB, {n_features} features\n", output.display()))
    }

    /// A run folder; if its corpus is gone the page does without documents.
    fn of_run(&self, common: &Common, monitor: &Arc<Monitor>) -> LibResult<Subject> {
        if self.reading.is_given() {
            let message = "a run's corpus is read as training read it; leave out options such as --format";
            return Err(Error::Usage(message.into()));
        }
        let run = RunRecord::read(&self.run)?;
        let mut screen = Screen::new(common, monitor);
        let (docs, no_docs) = match RunDocs::read(&run, self.corpus.clone(), monitor, &mut screen) {
            Ok(docs) => (Some(Documents::OfRun(docs)), String::new()),
            Err(error @ (Error::Input { .. } | Error::Io { .. })) if self.corpus.is_none() => {
                (None, with_flags(&format!("no documents are shown: {error}")))
            }
            Err(error) => return Err(error),
        };
        Ok(Subject {
            about: About::of_run(&run),
            network: run.network,
            metrics: run.metrics,
            floor: run.config.options.floor,
            options: run.config.options.estep,
            docs,
            no_docs,
        })
    }

    /// A model alone.
    fn of_model(&self, common: &Common, monitor: &Arc<Monitor>) -> LibResult<Subject> {
        if self.corpus.is_none() && self.reading.is_given() {
            let message = "options such as --format say how to read a corpus; name one with --corpus";
            return Err(Error::Usage(message.into()));
        }
        let network = load_model(&self.run)?;
        let read = |path: &PathBuf| {
            let (corpus, alignment) = self.reading.read_for(path, &network.names.tokens, common, monitor)?;
            Ok(Documents::Given(corpus, alignment))
        };
        let docs = self.corpus.as_ref().map(read).transpose()?;
        let no_docs = "no documents are shown: this is a model alone; name documents with --corpus";
        Ok(Subject {
            about: About::of_model(&self.run.to_string_lossy(), &network),
            metrics: Vec::new(),
            floor: floor_of_model(&network),
            options: EStepOptions::default(),
            no_docs: if docs.is_some() { String::new() } else { no_docs.into() },
            docs,
            network,
        })
    }

    fn gather(
        &self,
        subject: &Subject,
        documents: &Documents,
        common: &Common,
        monitor: &Arc<Monitor>,
    ) -> LibResult<Gathered> {
        let mut estep = self.backend.open(common)?;
        let docs = documents.docs();
        let doc_ixs = sample_docs(docs.n_docs(), usize::try_from(self.docs).unwrap_or(usize::MAX), self.seed);
        docs.corpus().give_back_pages();
        let verifying = Verifying::start(docs.corpus(), monitor);
        let progress = Progress::start(common, monitor, "looking at documents", doc_ixs.len() as u64);
        let (network, options, parts) = (&subject.network, &subject.options, documents.parts());
        let gathered = gather(network, docs, &doc_ixs, parts, options, estep.as_mut(), monitor);
        drop(progress);
        verifying.finish(gathered)
    }
}

/// The name of a run folder or model, as it is on disk.
fn title_of(path: &Path) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let name = path.file_name().map_or_else(|| "noisyor".into(), |name| name.to_string_lossy());
    name.into_owned()
}
