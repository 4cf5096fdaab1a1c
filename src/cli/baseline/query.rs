//! `noisyor baseline query` and `sample`: tokens given others, and documents drawn from a model.

use crate::cli::Common;
use crate::cli::common::{print, tame};
use crate::cli::corpus_args::refuse_overwriting;
use anyhow::Result;
use noisyor::baseline::{Trained, baseline_file, load_baseline};
use noisyor::files::AtomicFile;
use noisyor::{Error, Result as LibResult};
use rustc_hash::FxHashMap;
use serde_json::{Map, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Probabilities of tokens given others: mixtures and sum-product networks
///
/// Tokens that are not given are unknown, and summed out exactly. Beside every probability stands the one without anything given.
#[derive(clap::Args)]
#[command(after_help = "Example:
  noisyor baseline query spn --given fever=1,cough=0 --top 10")]
pub(super) struct QueryArgs {
    #[command(flatten)]
    of: OfModel,
    /// Tokens to print: those whose probability changes most; all with --json
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
}

/// Documents drawn from a model: mixtures and sum-product networks
#[derive(clap::Args)]
#[command(after_help = "Example:
  noisyor baseline sample spn --docs 1000 --given fever=1 -o drawn.jsonl")]
pub(super) struct SampleArgs {
    #[command(flatten)]
    of: OfModel,
    /// Documents to draw
    #[arg(long, value_name = "N", default_value_t = 1000)]
    docs: usize,
    /// JSON lines to write, one document a line [default: standard output]
    #[arg(short, long, value_name = "FILE.jsonl")]
    output: Option<PathBuf>,
    /// Seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

#[derive(clap::Args)]
struct OfModel {
    /// Run folder of a baseline, or its model.safetensors
    model: PathBuf,
    /// Tokens whose state is known, as in "fever=1,cough=0"
    #[arg(long, value_name = "TOKEN=STATE,...")]
    given: Vec<String>,
}

impl OfModel {
    /// The model, and the given tokens by number.
    fn load(&self) -> LibResult<(Trained, Vec<(u32, bool)>)> {
        std::fs::metadata(&self.model).map_err(|e| Error::io(&self.model, e))?;
        let Some(file) = baseline_file(&self.model)? else {
            let message = "this is no baseline; give the folder of a run of 'noisyor baseline', or its model";
            return Err(Error::input(&self.model, None, message));
        };
        let trained = load_baseline(&file)?;
        let given = states(&self.given, &trained.names.tokens)?;
        Ok((trained, given))
    }
}

/// Tokens and their states, each once.
fn states(given: &[String], tokens: &[String]) -> LibResult<Vec<(u32, bool)>> {
    let numbers: FxHashMap<&str, u32> = tokens.iter().map(String::as_str).zip(0..).collect();
    let mut states: BTreeMap<u32, bool> = BTreeMap::new();
    for entry in
        given.iter().flat_map(|list| list.split(',')).map(str::trim).filter(|entry| !entry.is_empty())
    {
        let fault = |message: &str| Error::Usage(format!("--given {entry}: {message}, as in \"fever=1\""));
        let (name, state) = entry.rsplit_once('=').ok_or_else(|| fault("give a token and its state"))?;
        let state = match state.trim() {
            "1" => true,
            "0" => false,
            _ => return Err(fault("a state is 1 or 0")),
        };
        let token = numbers.get(name.trim()).ok_or_else(|| fault("the model has no such token"))?;
        if states.insert(*token, state).is_some_and(|other| other != state) {
            return Err(fault("the token is given as present and as absent; give one of them"));
        }
    }
    Ok(states.into_iter().collect())
}

fn cannot(trained: &Trained, what: &str) -> Error {
    Error::Usage(format!("{} cannot {what}; mixtures and sum-product networks can", trained.model.name()))
}

pub(super) fn query(args: &QueryArgs, common: &Common) -> Result<()> {
    let (trained, given) = args.of.load()?;
    let (model, names) = (&trained.model, &trained.names.tokens);
    let both = model.marginals(&given).zip(model.marginals(&[]));
    let (p, before) = both.ok_or_else(|| cannot(&trained, "answer queries"))?;
    let is_given = |token: usize| given.iter().any(|&(at, _)| at as usize == token);
    let mut others: Vec<usize> = (0..names.len()).filter(|&token| !is_given(token)).collect();
    let change = |token: usize| (p[token] - before[token]).abs();
    // With nothing given, the likeliest.
    let key = |token: usize| if given.is_empty() { p[token] } else { change(token) };
    others.sort_by(|&a, &b| key(b).total_cmp(&key(a)).then(a.cmp(&b)));
    if common.json {
        let tokens: Map<_, _> = others
            .iter()
            .map(|&token| (names[token].clone(), json!({"p": p[token], "before": before[token]})))
            .collect();
        let states: Map<_, _> =
            given.iter().map(|&(token, state)| (names[token as usize].clone(), json!(state))).collect();
        return print(format_args!("{}\n", json!({"given": states, "tokens": tokens})));
    }
    let shown = &others[..others.len().min(args.top)];
    let width = shown.iter().map(|&token| names[token].chars().count()).max().unwrap_or(0).max(5);
    let mut text = format!("{:width$}  {:>9}  {:>9}\n", "token", "p", "before");
    for &token in shown {
        text += &format!("{:width$}  {:9.5}  {:9.5}\n", names[token], p[token], before[token]);
    }
    print(tame(&text))
}

pub(super) fn sample(args: &SampleArgs, common: &Common) -> Result<()> {
    if let Some(output) = &args.output {
        let of_run =
            ["model.safetensors", "config.json", "metrics.jsonl"].map(|name| args.of.model.join(name));
        refuse_overwriting(output, of_run.iter().chain([&args.of.model]))?;
    }
    let (trained, given) = args.of.load()?;
    let drawn = trained.model.sample(&given, args.docs, args.seed)?;
    let drawn = drawn.ok_or_else(|| cannot(&trained, "draw documents"))?;
    let line = |(at, tokens): (usize, &Vec<u32>)| {
        let tokens: Vec<&str> =
            tokens.iter().map(|&token| trained.names.tokens[token as usize].as_str()).collect();
        format!("{}\n", json!({"id": at.to_string(), "tokens": tokens}))
    };
    let text: String = drawn.iter().enumerate().map(line).collect();
    let Some(output) = args.output.as_deref().filter(|output| *output != Path::new("-")) else {
        return print(text);
    };
    common.say_replaced(output);
    let mut file = AtomicFile::create(output)?;
    file.write_all(text.as_bytes()).map_err(|e| Error::io(output, e))?;
    file.commit()?;
    common.say(format_args!("{} documents -> {}", args.docs, output.display()));
    Ok(())
}
