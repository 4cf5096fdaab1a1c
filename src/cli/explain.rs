//! `noisyor explain`: one document's topics, and which topic explains which word.

mod document;
mod text;

use super::Common;
use super::common::{columns, interruptible, model_file, print};
use super::corpus_args::{CorpusArgs, refuse_overwriting};
use super::estep_args::EStepArgs;
use super::given::GivenArgs;
use super::progress::Progress;
use anyhow::Result;
use document::Document;
use noisyor::columns::fit_lines;
use noisyor::explain::{Explainer, explanation_json, picture, why_json};
use noisyor::files;
use noisyor::network::load_model;
use noisyor::report::find_topic;
use noisyor::{Error, Result as LibResult};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// One document's topics, and which topic explains which word
///
/// The document's local model where its E-step ends, which is where `infer` ends with the same options: topics that are on, the words
/// each explains, words that only the leak explains, and topics that were considered but are off. A topic's share of a word is the part of
/// all that switched the word on that came from it. With --clamp several explanations may compete: they are listed by their weight, and
/// what is said of topics and words is the mean over them.
///
/// q is the probability of a topic by mean field, which is often too sure: `noisyor posterior` has probabilities that can be relied on, with
/// --why the findings that speak for a topic and against it.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  noisyor explain run --text \"rain and wind delayed the match\" --svg picture.svg
  noisyor explain run/model.safetensors --corpus documents.jsonl --doc 17 --why Weather")]
#[command(group(clap::ArgGroup::new("document").required(true).args(["text", "tokens", "doc", "id"])))]
pub(crate) struct Args {
    /// Model: .safetensors, .json or .tsv, or a run folder
    model: PathBuf,
    /// A text, split into words and phrases as a corpus is
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// Tokens by name, with commas between them; white space around a name is left out
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    tokens: Option<Vec<String>>,
    /// The document with this number, counted from 0
    #[arg(long, value_name = "N")]
    doc: Option<usize>,
    /// The document with this id
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// The corpus that --doc and --id are about [default: the run's, if MODEL is a run folder]
    #[arg(long, value_name = "CORPUS", conflicts_with_all = ["text", "tokens"])]
    corpus: Option<PathBuf>,
    /// Also the terms of this topic's log-odds, in the heaviest explanation: a name, a part of one, or a number
    #[arg(long, value_name = "TOPIC")]
    why: Option<String>,
    #[command(flatten)]
    given: GivenArgs,
    /// Draw the picture as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write a page with the picture and tables
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the picture for Graphviz
    #[arg(long, value_name = "FILE")]
    dot: Option<PathBuf>,
    /// Columns to print in [default: the terminal's; without one, as many as it takes]
    #[arg(long, value_name = "N")]
    width: Option<usize>,
    #[command(flatten)]
    reading: CorpusArgs,
    #[command(flatten)]
    estep: EStepArgs,
}

/// A name that is none of one topic: its words may lead to it.
fn hint_at_search(error: Error) -> Error {
    match error {
        Error::Usage(message) => {
            Error::Usage(format!("{message}; 'noisyor topics --search WORDS' finds topics by their words"))
        }
        other => other,
    }
}

impl Args {
    fn outputs(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.svg, &self.html, &self.dot].into_iter().flatten()
    }

    /// Outputs must not replace what is read, nor each other.
    fn check_outputs(&self, model: &PathBuf) -> LibResult<()> {
        for (at, output) in self.outputs().enumerate() {
            refuse_overwriting(output, [model].into_iter().chain(&self.corpus))?;
            if self.outputs().take(at).any(|other| other == output) {
                let message = format!("{}: two outputs cannot be one file", output.display());
                return Err(Error::Usage(message));
            }
        }
        Ok(())
    }
}

pub(crate) fn run(args: Args, common: &Common) -> Result<()> {
    if args.reading.is_given() && args.corpus.is_none() {
        return Err(Error::Usage("options about reading mean nothing without --corpus".into()).into());
    }
    let options = args.estep.options()?;
    let model = model_file(&args.model)?;
    args.check_outputs(&model)?;
    let network = load_model(&model)?;
    let given = args.given.states(&network)?;
    let why =
        args.why.as_deref().map(|topic| find_topic(&network, topic).map_err(hint_at_search)).transpose()?;
    let monitor = interruptible(common)?;
    let mut document = Document::read(&args, &network, common, &monitor)?;
    // What given topics cause counts as leak; they are themselves explained, as tokens.
    let with_given = network.with_given(&given)?;
    document.tokens.extend(&with_given.present);
    let mut network = with_given.network;
    document.leave_out_unmeasured(&mut network, given.len())?;
    monitor.go_on()?;
    let explainer = Explainer::new(&network, &options)?;
    let progress = Progress::open(common, &monitor, "explaining");
    let explanation = explainer.explain(&document.tokens)?;
    drop(progress);
    let why = why.map(|topic| explainer.why(&explanation, topic));
    if explanation.n_unconverged > 0 && explanation.last_move > f64::from(options.tolerance) {
        common.warn(format_args!(
            "after {} alternations a q would still move by {:.0e}: two topics are nearly as good for the same words, or --estep-max is low",
            explanation.n_alternations, explanation.last_move
        ));
    }
    monitor.go_on()?;
    let write = |path: &Option<PathBuf>, content: &dyn Fn() -> String| -> LibResult<()> {
        let Some(path) = path else { return Ok(()) };
        common.say_replaced(path);
        files::replace(path, content().as_bytes())?;
        common.say(format_args!("-> {}", Path::display(path)));
        Ok(())
    };
    write(&args.svg, &|| picture::svg(&network, &explanation))?;
    write(&args.dot, &|| picture::dot(&network, &explanation))?;
    write(&args.html, &|| picture::html(&explainer, &explanation, &document.heading))?;
    if common.json {
        let mut result = explanation_json(&network, &explanation);
        result["document"] = json!({
            "name": document.heading, "unknown": document.unknown, "stop_words": document.stop_words,
        });
        result["why"] = why.as_ref().map_or(Value::Null, |why| why_json(&network, why));
        return print(format_args!("{result}\n"));
    }
    let columns = columns(args.width);
    let mut text = text::explanation(&explainer, &explanation, &document, columns);
    if let Some(why) = &why {
        text += "\n";
        text += &text::why(&network, why, columns);
    }
    // Lists are made to fit; names and headings may not be.
    print(fit_lines(&text, columns))
}
