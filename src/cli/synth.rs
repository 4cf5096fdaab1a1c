//! `noisyor synth`: documents sampled from a network, with the truth beside them.

use super::common::{interruptible, print};
use super::{Common, progress::Progress};
use anyhow::Result;
use clap::ValueEnum;
use noisyor::Error;
use noisyor::files::AtomicFile;
use noisyor::network::{Network, load_model, save};
use noisyor::synth::{Preset, Sampled, Sampler, random_network, unknown_tokens};
use rayon::prelude::*;
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Documents sampled from a random network of a preset's size, or from a given one
#[derive(clap::Args)]
#[command(after_help = "Writes into DIR: network.safetensors (the truth), corpus.svm or corpus.jsonl, and
truth.svm (the topics that were on in each document, column = topic number + 1).

Example:
  noisyor synth --preset dblp --docs 10000 -o dblp10k")]
#[command(group = clap::ArgGroup::new("source").required(true).args(["preset", "model"]))]
pub(crate) struct Args {
    /// Size of the random network: tiny, qmr (570 diseases, 4,075 findings), dblp or yelp
    #[arg(long, value_parser = Preset::NAMES)]
    preset: Option<String>,
    /// Network to sample from: .safetensors, .json or .tsv
    #[arg(long)]
    model: Option<PathBuf>,
    /// Documents [default: the preset's number; 1000 for a model]
    #[arg(long, value_name = "N")]
    docs: Option<u64>,
    /// Folder to write
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Format of the corpus: by token number, or by name
    #[arg(long, value_enum, default_value_t = CorpusFormat::Svmlight)]
    format: CorpusFormat,
    /// Share of the tokens of a document that are unknown, drawn at random for each document; only with --format jsonl
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    unknown: f64,
    /// Seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CorpusFormat {
    Svmlight,
    Jsonl,
}

/// Documents sampled at once, in parallel; they are written in order.
const CHUNK_DOCS: u64 = 16_384;

pub(crate) fn run(args: Args, common: &Common) -> Result<()> {
    if !(0.0..=1.0).contains(&args.unknown) {
        return Err(Error::Usage(format!("--unknown {} is not in [0, 1]", args.unknown)).into());
    }
    if args.unknown > 0.0 && args.format != CorpusFormat::Jsonl {
        let message = "SVMlight has no unknown tokens among absent ones; give --format jsonl with --unknown";
        return Err(Error::Usage(message.into()).into());
    }
    let (network, default_docs) = match (&args.preset, &args.model) {
        (Some(name), _) => {
            let preset =
                Preset::of(name).ok_or_else(|| Error::Usage(format!("there is no preset '{name}'")))?;
            common.say(format_args!("making a random network with {} edges", preset.n_edges));
            (random_network(&preset, args.seed)?, preset.n_docs as u64)
        }
        (None, Some(path)) => (load_model(path)?, 1_000),
        (None, None) => return Err(Error::Usage("give --preset or --model".into()).into()),
    };
    let n_docs = args.docs.unwrap_or(default_docs);
    std::fs::create_dir_all(&args.output).map_err(|e| Error::io(&args.output, e))?;
    let n_occurrences = write_documents(&args, &network, n_docs, common)?;
    save(&network, &args.output.join("network.safetensors"))?;

    let graph = &network.graph;
    let per_doc = n_occurrences as f64 / n_docs.max(1) as f64;
    if common.json {
        return print(format_args!(
            "{}\n",
            json!({
                "docs": n_docs, "topics": graph.n_topics(), "tokens": graph.n_tokens(), "edges": graph.n_edges(),
                "tokens_per_doc": per_doc, "output": args.output,
            })
        ));
    }
    print(format_args!(
        "{n_docs} documents of {per_doc:.1} tokens from {} topics, {} tokens, {} edges -> {}\n",
        graph.n_topics(),
        graph.n_tokens(),
        graph.n_edges(),
        args.output.display()
    ))
}

/// Writes corpus and truth; returns the number of tokens over all documents.
fn write_documents(args: &Args, network: &Network, n_docs: u64, common: &Common) -> Result<u64> {
    let monitor = interruptible(common)?;
    let _progress = Progress::start(common, &monitor, "sampling", n_docs);
    let name = match args.format {
        CorpusFormat::Svmlight => "corpus.svm",
        CorpusFormat::Jsonl => "corpus.jsonl",
    };
    let (corpus_path, truth_path) = (args.output.join(name), args.output.join("truth.svm"));
    let (mut corpus, mut truth) = (AtomicFile::create(&corpus_path)?, AtomicFile::create(&truth_path)?);
    let sampler = Sampler::new(network);
    let mut n_occurrences = 0;
    for begin in (0..n_docs).step_by(CHUNK_DOCS as usize) {
        if monitor.stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted.into());
        }
        let end = (begin + CHUNK_DOCS).min(n_docs);
        let sample = |doc_ix: u64| {
            let mut sampled = sampler.sample(args.seed, doc_ix);
            let unknown = unknown_tokens(args.unknown, network.graph.n_tokens(), args.seed, doc_ix);
            sampled.tokens.retain(|token| unknown.binary_search(token).is_err());
            let line = document_line(&sampled, &unknown, network, args.format);
            (sampled.tokens.len() as u64, line, svmlight_line(&sampled.topics))
        };
        let lines: Vec<(u64, String, String)> = (begin..end).into_par_iter().map(sample).collect();
        for (n_tokens, corpus_line, truth_line) in lines {
            n_occurrences += n_tokens;
            put(&mut corpus, &corpus_path, &corpus_line)?;
            put(&mut truth, &truth_path, &truth_line)?;
        }
        monitor.docs_done.fetch_add(end - begin, Ordering::Relaxed);
    }
    corpus.commit()?;
    truth.commit()?;
    Ok(n_occurrences)
}

fn put(file: &mut AtomicFile, path: &Path, line: &str) -> Result<(), Error> {
    file.write_all(line.as_bytes()).map_err(|e| Error::io(path, e))
}

fn document_line(sampled: &Sampled, unknown: &[u32], network: &Network, format: CorpusFormat) -> String {
    if format == CorpusFormat::Svmlight {
        return svmlight_line(&sampled.tokens);
    }
    let names = &network.names.tokens;
    let named =
        |tokens: &[u32]| tokens.iter().map(|&token| names[token as usize].as_str()).collect::<Vec<_>>();
    let tokens = named(&sampled.tokens);
    // The shorter of two ways to say the same.
    let line = match unknown.len() {
        0 => json!({ "tokens": tokens }),
        n if 2 * n <= names.len() => json!({ "tokens": tokens, "unknown": named(unknown) }),
        _ => {
            let is_listed = |token: &u32| {
                unknown.binary_search(token).is_ok() || sampled.tokens.binary_search(token).is_ok()
            };
            let absent: Vec<u32> = (0..names.len() as u32).filter(|token| !is_listed(token)).collect();
            json!({ "present": tokens, "absent": named(&absent) })
        }
    };
    format!("{line}\n")
}

fn svmlight_line(columns: &[u32]) -> String {
    let mut line = String::from("0");
    columns.iter().for_each(|column| line += &format!(" {}:1", column + 1));
    line + "\n"
}
