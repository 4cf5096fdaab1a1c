//! `noisyor check`: every fault of a corpus, graph or model, and what it holds.

use super::common::{interruptible, print, tame};
use super::corpus_args::{CorpusArgs, size_of};
use super::flags::with_flags;
use super::{Common, progress::Progress};
use anyhow::Result;
use clap::ValueEnum;
use noisyor::moments::{Schedule, ScheduleOptions};
use noisyor::{Check, Error, Monitor, corpus, network};
use serde::Serialize;
use serde_json::json;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Every fault of a corpus, graph or model in one pass, with line numbers, and what it holds
///
/// Exit status 2 if there are faults.
#[derive(clap::Args)]
#[command(
    after_help = "A .json or .safetensors file is a model or graph; a .tsv file too if its first line reads like an
edge (parent, child and perhaps a weight); anything else is a corpus. --as overrides.

Examples:
  noisyor check reviews.jsonl.gz
  noisyor check packages.tsv --as corpus --text-column 3
  noisyor check run/model.safetensors"
)]
pub(crate) struct Args {
    /// Corpus (a file, or a folder of .txt files), graph or model
    file: PathBuf,
    /// What the file is
    #[arg(long = "as", value_enum, value_name = "KIND")]
    kind: Option<Kind>,
    /// Faults to print at most, up to 1000; all are counted
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(..=1000))]
    max_faults: u64,
    #[command(flatten)]
    reading: CorpusArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    Corpus,
    Model,
}

pub(crate) fn run(args: Args, common: &Common) -> Result<()> {
    args.reading.refuse_by_number()?;
    let guessed =
        || if !args.reading.is_given() && is_model(&args.file) { Kind::Model } else { Kind::Corpus };
    match args.kind.unwrap_or_else(guessed) {
        Kind::Model => {
            let mut check = network::check(&args.file)?;
            if check.summary.as_ref().is_some_and(|summary| summary.layers == 1) {
                check.notes.push(moments_note(&args.file)?);
            }
            report(&args, check, "model or graph", common)
        }
        Kind::Corpus => {
            let monitor = interruptible(common)?;
            let progress =
                Progress::of_bytes(common, &monitor, "checking", size_of(std::slice::from_ref(&args.file)));
            let (mut check, lacking) = corpus::check_for(&args.file, &args.reading.options()?, &monitor)?;
            drop(progress);
            check.notes.extend(corpus::missing_words(&lacking));
            report(&args, check, "corpus", common)
        }
    }
}

/// What the method of moments can learn of a graph of two layers, where that takes no time.
fn moments_note(path: &Path) -> Result<String> {
    const MAX_PAIRS: usize = 20_000_000;
    let graph = network::load(path)?.graph;
    let pairs = |topic: usize| graph.children(topic).len().pow(2) / 2;
    if (0..graph.n_topics()).map(pairs).sum::<usize>() > MAX_PAIRS {
        return Ok(
            "two layers: 'noisyor moments --schedule' tells what moments give without inference".into()
        );
    }
    let options = ScheduleOptions { max_sets: 1, ..ScheduleOptions::default() };
    let schedule = Schedule::of(&graph, &options, &Monitor::default())?;
    let (learned, all) = schedule.n_learned(&graph);
    Ok(format!(
        "two layers: moments give {learned} of {all} parameters without inference ('noisyor moments --schedule')"
    ))
}

/// By the name; a .tsv by its first line.
fn is_model(path: &Path) -> bool {
    let extension =
        path.extension().and_then(|extension| extension.to_str()).unwrap_or("").to_ascii_lowercase();
    match extension.as_str() {
        _ if path.is_dir() => false,
        "json" | "safetensors" => true,
        "tsv" => reads_like_an_edge(path).unwrap_or(false),
        _ => false,
    }
}

fn reads_like_an_edge(path: &Path) -> std::io::Result<bool> {
    if !path.metadata()?.is_file() {
        return Ok(false);
    }
    let lines = BufReader::new(File::open(path)?.take(1 << 16)).lines();
    let first = lines.map_while(Result::ok).find(|line| !line.is_empty() && !line.starts_with('#'));
    let fields: Vec<&str> = first.as_deref().unwrap_or("").split('\t').collect();
    Ok(match fields[..] {
        // Names of a corpus's columns, not of nodes.
        ["id" | "label", "text"] | ["text", "id" | "label"] => false,
        [_, _] => true,
        [_, _, weight] => network::is_edge_header(&fields) || weight.trim().parse::<f64>().is_ok(),
        _ => false,
    })
}

fn report<S: Serialize + std::fmt::Display>(
    args: &Args,
    check: Check<S>,
    kind: &str,
    common: &Common,
) -> Result<()> {
    let Check { faults, n_faults, notes, summary } = check;
    let file = args.file.display();
    if common.json {
        let faults: Vec<_> = faults.iter().take(args.max_faults as usize).map(fault_json).collect();
        let result = json!({
            "file": args.file, "kind": kind, "n_faults": n_faults, "faults": faults, "notes": notes, "summary": summary,
        });
        print(format_args!("{result}\n"))?;
    } else {
        let shown = faults.len().min(args.max_faults as usize);
        let mut text: String =
            faults[..shown].iter().map(|fault| with_flags(&format!("{fault}\n"))).collect();
        if n_faults > shown as u64 {
            text += &format!("... and {} more\n", n_faults - shown as u64);
        }
        text += &summary.map(|summary| summary.to_string()).unwrap_or_default();
        notes.iter().for_each(|note| text += &format!("note: {note}\n"));
        text += &match n_faults {
            0 => format!("{file}: a {kind} without faults\n"),
            1 => format!("{file}: 1 fault\n"),
            n => format!("{file}: {n} faults\n"),
        };
        print(tame(&text))?;
    }
    match n_faults {
        0 => Ok(()),
        n => Err(Error::Usage(format!("{file} has {n} fault{}", if n == 1 { "" } else { "s" })).into()),
    }
}

fn fault_json(fault: &Error) -> serde_json::Value {
    match fault {
        Error::Input { file, line, message } => {
            json!({"file": file, "line": line, "message": with_flags(message)})
        }
        other => json!({"file": null, "line": null, "message": with_flags(&other.to_string())}),
    }
}
