//! `noisyor docs`: the documents of a topic.

use super::common::{BackendArgs, columns, interruptible, model_file, print};
use super::corpus_args::CorpusArgs;
use super::documents::Documents;
use super::estep_args::EStepArgs;
use super::train::Screen;
use super::{Common, progress::Progress};
use anyhow::Result;
use noisyor::columns::{fit, fit_lines, fit_list, grouped, plain, width};
use noisyor::corpus::Verifying;
use noisyor::explain::{Explainer, probability_text};
use noisyor::monitor::Monitor;
use noisyor::network::{Network, load_model};
use noisyor::report::page::CorpusPart;
use noisyor::report::{find_topic, topic_docs, words_of_topic};
use noisyor::run::{RunDocs, RunRecord};
use noisyor::{Error, Result as LibResult};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

/// Columns that an id may take.
const ID_COLUMNS: usize = 32;

/// The documents of a topic, those first in which it is most likely on
///
/// Each with its q, which is that of `infer` with the same options, and with the words that the topic explains there, itself or through
/// topics below, those first of which it has the largest share.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  noisyor docs run Weather
  noisyor docs run/model.safetensors 17 --corpus documents.jsonl --top 5 --json")]
pub(crate) struct Args {
    /// Run folder, or a model: .safetensors, .json or .tsv
    model: PathBuf,
    /// Topic: a name, a part of one, or a number
    topic: String,
    /// Documents to list
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    top: u32,
    /// Documents to look at [default: the run's, if MODEL is a run folder]
    #[arg(long, value_name = "CORPUS")]
    corpus: Option<PathBuf>,
    /// Columns to print in [default: the terminal's; without one, as many as it takes]
    #[arg(long, value_name = "N")]
    width: Option<usize>,
    #[command(flatten)]
    reading: CorpusArgs,
    #[command(flatten)]
    estep: EStepArgs,
    #[command(flatten)]
    backend: BackendArgs,
}

/// A document as it is listed.
struct Listed {
    doc_ix: u32,
    id: String,
    part: CorpusPart,
    q: f32,
    words: Vec<(String, f64)>,
}

pub(crate) fn run(args: Args, common: &Common) -> Result<()> {
    let options = args.estep.options()?;
    let network = load_model(&model_file(&args.model)?)?;
    let topic = find_topic(&network, &args.topic)?;
    let monitor = interruptible(common)?;
    let documents = args.read(&network, common, &monitor)?;
    let (docs, parts) = (documents.docs(), documents.parts());
    docs.all_known("docs")?;
    let mut estep = args.backend.open(common)?;
    docs.corpus().give_back_pages();
    let verifying = Verifying::start(docs.corpus(), &monitor);
    let progress = Progress::start(common, &monitor, "looking at documents", docs.n_docs() as u64);
    let found = topic_docs(&network, docs, topic, args.top as usize, &options, estep.as_mut(), &monitor);
    drop(progress);
    let found = verifying.finish(found)?;
    let explainer = Explainer::new(&network, &options)?;
    let list = |&(doc_ix, q): &(u32, f32)| {
        monitor.go_on()?;
        let tokens: Vec<u32> = docs.tokens(doc_ix as usize).collect();
        Ok(Listed {
            doc_ix,
            id: docs.corpus().id(doc_ix as usize).into_owned(),
            part: CorpusPart::of(parts.as_ref(), doc_ix),
            q,
            words: words_of_topic(&explainer, &tokens, topic)?,
        })
    };
    let listed = found.strongest.iter().map(list).collect::<LibResult<Vec<Listed>>>()?;
    let name = network.names.of(topic);
    if common.json {
        let document = |doc: &Listed| {
            let mut entry = json!({"doc": doc.doc_ix, "id": doc.id, "q": doc.q, "words": doc.words});
            if parts.is_some() {
                entry["part"] = json!(doc.part);
            }
            entry
        };
        let result = json!({
            "topic": name, "number": topic, "docs": docs.n_docs(), "on": found.n_on,
            "documents": listed.iter().map(document).collect::<Vec<_>>(),
        });
        return print(format_args!("{result}\n"));
    }
    let columns = columns(args.width);
    let mut text = format!(
        "{} ({topic}): on in {} of {} documents\n",
        plain(name),
        grouped(found.n_on as f64),
        grouped(docs.n_docs() as f64)
    );
    let shown = |doc: &Listed| {
        let held_out = if doc.part == CorpusPart::Train { "" } else { " (held out)" };
        fit(&plain(&doc.id), ID_COLUMNS) + held_out
    };
    let widest = listed.iter().map(|doc| width(&shown(doc))).max().unwrap_or(0);
    for doc in &listed {
        let id = shown(doc);
        let pad = widest - width(&id);
        let line = format!("{:>6}  {id}{:pad$}  ", probability_text(f64::from(doc.q)), "");
        let words: Vec<String> = doc.words.iter().map(|(word, _)| plain(word)).collect();
        text += &format!("{line}{}\n", fit_list(&words, columns.saturating_sub(width(&line)).max(8)));
    }
    print(fit_lines(&text, columns))
}

impl Args {
    fn read(&self, network: &Network, common: &Common, monitor: &Arc<Monitor>) -> LibResult<Documents> {
        if let Some(corpus) = &self.corpus {
            let (corpus, alignment) =
                self.reading.read_for(corpus, &network.names.tokens, common, monitor)?;
            return Ok(Documents::Given(corpus, alignment));
        }
        if self.reading.is_given() {
            let message = "options such as --format say how to read a corpus; name one with --corpus";
            return Err(Error::Usage(message.into()));
        }
        if !self.model.is_dir() {
            let message = "a model alone has no documents: name some with --corpus, or give a run folder, which knows its corpus";
            return Err(Error::Usage(message.into()));
        }
        let run = RunRecord::read(&self.model)?;
        Ok(Documents::OfRun(RunDocs::read(&run, None, monitor, &mut Screen::new(common, monitor))?))
    }
}
