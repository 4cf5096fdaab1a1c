//! `noisyor compare`: two runs, or models, side by side.

mod documents;
mod side;
mod text;

use super::common::{BackendArgs, interruptible, print};
use super::corpus_args::{CorpusArgs, refuse_overwriting};
use super::figures::{grouped, short_time};
use super::progress::{Pace, Progress};
use super::{Common, common};
use anyhow::Result;
use documents::{Compared, compare_documents};
use noisyor::compare::{Matching, Setting, differing_settings, match_topics};
use noisyor::files::AtomicFile;
use noisyor::monitor::Monitor;
use noisyor::network::Network;
use noisyor::network::top_words;
use serde_json::{Value, json};
use side::Side;
use std::path::PathBuf;
use std::sync::Arc;

/// Two runs side by side: options, bounds, documents, topics
///
/// Either may be of a baseline (`noisyor baseline`); then there are scores for bounds, it is said what they are, and topics are left out.
/// Documents that both held out are evaluated under both models, with the E-step of the first. Topics are matched one to one by the
/// cosine of the probabilities of the words that they switch on.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  noisyor compare runs/001 runs/002
  noisyor compare runs/001 runs/002 --per-doc differences.tsv
  noisyor compare run mixture
  noisyor compare a.safetensors b.safetensors --corpus documents.jsonl")]
pub(crate) struct Args {
    /// Run folder, or model: .safetensors, .json or .tsv
    a: PathBuf,
    /// What to compare it with
    b: PathBuf,
    /// Corpus, if it is no longer where the runs found it; of two models, the documents to compare them on
    #[arg(long)]
    corpus: Option<PathBuf>,
    /// Leave out the documents
    #[arg(long, conflicts_with_all = ["corpus", "per_doc"])]
    no_docs: bool,
    /// Write the bounds of every document to a table: doc, elbo_a, elbo_b, difference
    #[arg(long, value_name = "FILE.tsv")]
    per_doc: Option<PathBuf>,
    /// Documents and topics listed of each kind
    #[arg(long, value_name = "N", default_value_t = 5)]
    top: usize,
    #[command(flatten)]
    reading: CorpusArgs,
    #[command(flatten)]
    backend: BackendArgs,
}

/// What a config holds besides settings: what was typed, and what came of it.
const NO_SETTINGS: [&str; 5] =
    ["run.arguments", "run.ended", "run.test_elbo", "run.test_score", "run.graph_fingerprint"];

/// All that is found out.
struct Comparison {
    a: Side,
    b: Side,
    settings: Vec<Setting>,
    /// Why figures cannot be compared, and other things to know.
    notes: Vec<String>,
    documents: Option<Compared>,
    /// None where one of them is no network.
    topics: Option<Matching>,
}

pub(crate) fn run(args: Args, common: &Common) -> Result<()> {
    let monitor = interruptible(common)?;
    let (a, b) = (Side::read(&args.a)?, Side::read(&args.b)?);
    let per_doc = match &args.per_doc {
        Some(path) => {
            refuse_overwriting(path, &[a.files(), b.files()].concat())?;
            Some(AtomicFile::create(path)?)
        }
        None => None,
    };
    let settings = match (a.config(), b.config()) {
        (Some(a), Some(b)) => differing_settings(&a, &b, &NO_SETTINGS),
        _ => Vec::new(),
    };
    let mut notes = side::notes(&a, &b);
    let documents = match args.no_docs {
        true => None,
        false => compare_documents(&a, &b, &args, &mut notes, common, &monitor)?,
    };
    if let (Some(file), Some(path)) = (per_doc, &args.per_doc) {
        documents::write_per_doc(file, path, documents.as_ref())?;
    }
    let networks = a.network().zip(b.network());
    let topics = networks.map(|(a, b)| matched(a, b, common, &monitor)).transpose()?;
    let comparison = Comparison { a, b, settings, notes, documents, topics };
    match common.json {
        true => print(format_args!("{}\n", comparison.json(args.top))),
        false => print(common::tame(&text::of(&comparison, args.top))),
    }
}

fn matched(a: &Network, b: &Network, common: &Common, monitor: &Arc<Monitor>) -> noisyor::Result<Matching> {
    let (n_a, n_b) = (a.graph.n_topics() as u64, b.graph.n_topics() as u64);
    let line = move |pace: &Pace, _: Option<usize>| {
        let left = pace.seconds_left.map_or(String::new(), |left| format!(", {} left", short_time(left)));
        format!("matching {} topics with {}{left}", grouped(n_a as f64), grouped(n_b as f64))
    };
    let _progress = Progress::with_line(common, monitor, 2 * n_a + n_b, Box::new(line));
    match_topics(a, b, monitor)
}

/// Words of a topic that are listed.
const WORDS: usize = 8;

impl Comparison {
    fn json(&self, top: usize) -> Value {
        let topics = self.topics.as_ref().zip(self.a.network().zip(self.b.network()));
        json!({
            "a": self.a.figures(), "b": self.b.figures(), "settings": self.settings, "notes": self.notes,
            "documents": self.documents.as_ref().map(|documents| documents.json(top)),
            "topics": topics.map(|(topics, (a, b))| topics_json(topics, a, b)),
        })
    }
}

fn topics_json(topics: &Matching, a: &Network, b: &Network) -> Value {
    let topic = |network: &Network, topic: u32| json!({"topic": network.names.of(topic), "words": top_words(network, topic as usize, WORDS)});
    let of =
        |network: &Network, topics: &[u32]| topics.iter().map(|&at| topic(network, at)).collect::<Vec<_>>();
    let pair = |pair: &noisyor::compare::Matched| json!({"a": topic(a, pair.a), "b": topic(b, pair.b), "similarity": pair.similarity});
    json!({
        "matched": topics.pairs.iter().map(pair).collect::<Vec<_>>(),
        "only_a": of(a, &topics.only_a), "only_b": of(b, &topics.only_b),
    })
}
