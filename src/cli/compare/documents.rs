//! The documents that both held out, under both models.

use super::Args;
use super::side::Side;
use crate::cli::corpus_args::refuse_overwriting;
use crate::cli::train::Screen;
use crate::cli::{Common, progress::Progress};
use noisyor::compare::{Differences, differences, extremes};
use noisyor::corpus::{Corpus, Docs, Parts, Verifying, align};
use noisyor::estep::{DocResults, EStep, EStepOptions};
use noisyor::files::AtomicFile;
use noisyor::monitor::Monitor;
use noisyor::network::Network;
use noisyor::run::{RunDocs, RunRecord};
use noisyor::{Error, Result, infer};
use rustc_hash::FxHashSet;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Documents, and their bounds under both models.
pub(super) struct Compared {
    corpus: Corpus,
    doc_ixs: Vec<u32>,
    /// What documents these are.
    pub(super) what: &'static str,
    pub(super) bound: String,
    elbo_a: Vec<f64>,
    elbo_b: Vec<f64>,
    pub(super) differences: Option<Differences>,
    /// Names of tokens where the corpus has none.
    tokens: Vec<String>,
}

/// A document that differs much.
pub(super) struct Example {
    pub(super) id: String,
    pub(super) elbo_a: f64,
    pub(super) elbo_b: f64,
    pub(super) words: Vec<String>,
}

/// First words of an example.
const WORDS: usize = 8;

/// Evaluates them; none if there are no documents to compare, which is noted.
pub(super) fn compare_documents(
    a: &Side,
    b: &Side,
    args: &Args,
    notes: &mut Vec<String>,
    common: &Common,
    monitor: &Arc<Monitor>,
) -> Result<Option<Compared>> {
    let Some(chosen) = choose(a, b, args, notes, common, monitor)? else { return Ok(None) };
    let Chosen { corpus, path, doc_ixs, what } = chosen;
    args.per_doc.as_deref().map_or(Ok(()), |output| refuse_overwriting(output, [&path]))?;
    if doc_ixs.is_empty() {
        notes.push(format!("there are no {what}"));
        return Ok(None);
    }
    let options_of = |side: &Side| side.run().map(|run| run.config.options.estep.clone());
    let options = options_of(a).or(options_of(b)).unwrap_or_default();
    if options_of(b).is_some_and(|of_b| of_b != options) {
        notes.push("the runs had different E-steps: documents are evaluated with that of A".into());
    }
    options.check()?;
    let mut estep = args.backend.open(common)?;
    let verifying = Verifying::start(&corpus, monitor);
    let progress = Progress::start(common, monitor, "evaluating", 2 * doc_ixs.len() as u64);
    let both = (|| {
        let mut elbo = |network: &Network| {
            let alignment = align(&corpus, &network.names.tokens);
            evaluate(network, alignment.docs(&corpus), &doc_ixs, &options, estep.as_mut(), monitor)
        };
        Ok((elbo(a.network())?, elbo(b.network())?))
    })();
    let (elbo_a, elbo_b) = verifying.finish(both)?;
    drop(progress);
    let differences = differences(&elbo_a, &elbo_b);
    let (bound, tokens) = (options.bound.to_string(), a.network().names.tokens.clone());
    Ok(Some(Compared { corpus, doc_ixs, what, bound, elbo_a, elbo_b, differences, tokens }))
}

/// A corpus, where it is, and which of its documents.
struct Chosen {
    corpus: Corpus,
    path: PathBuf,
    doc_ixs: Vec<u32>,
    what: &'static str,
}

/// The documents that the runs held out, or all where no run says which.
fn choose(
    a: &Side,
    b: &Side,
    args: &Args,
    notes: &mut Vec<String>,
    common: &Common,
    monitor: &Arc<Monitor>,
) -> Result<Option<Chosen>> {
    let of_run =
        |run: &RunRecord| RunDocs::read(run, args.corpus.clone(), monitor, &mut Screen::new(common, monitor));
    match (a.run(), b.run()) {
        (Some(run_a), Some(run_b)) => {
            if a.corpus() != b.corpus() {
                return Ok(None);
            }
            let docs = of_run(run_a)?;
            let of_b = held_out(run_b.config.options.split(docs.docs().n_docs()));
            let of_b: FxHashSet<u32> = of_b.into_iter().collect();
            let RunDocs { corpus, path, parts, .. } = docs;
            let doc_ixs = held_out(parts).into_iter().filter(|doc_ix| of_b.contains(doc_ix)).collect();
            Ok(Some(Chosen { corpus, path, doc_ixs, what: "documents held out by both" }))
        }
        (Some(run), None) | (None, Some(run)) => {
            let RunDocs { corpus, path, parts, .. } = of_run(run)?;
            notes.push(
                "which documents the model alone was trained on is not known: it may have seen these".into(),
            );
            let doc_ixs = held_out(parts);
            Ok(Some(Chosen { corpus, path, doc_ixs, what: "documents held out by the run" }))
        }
        (None, None) => {
            let Some(path) = &args.corpus else {
                notes.push("no documents are compared: give a corpus with --corpus".into());
                return Ok(None);
            };
            let mut tokens = a.network().names.tokens.clone();
            let known: FxHashSet<String> = tokens.iter().cloned().collect();
            tokens.extend(b.network().names.tokens.iter().filter(|name| !known.contains(*name)).cloned());
            let (corpus, _) = args.reading.read_for(path, &tokens, common, monitor)?;
            let doc_ixs = (0..corpus.n_docs() as u32).collect();
            Ok(Some(Chosen { corpus, path: path.clone(), doc_ixs, what: "documents" }))
        }
    }
}

/// Validation and test part, ascending.
fn held_out(parts: Parts) -> Vec<u32> {
    let mut both = [parts.valid, parts.test].concat();
    both.sort_unstable();
    both
}

fn evaluate(
    network: &Network,
    docs: Docs<'_>,
    doc_ixs: &[u32],
    options: &EStepOptions,
    estep: &mut dyn EStep,
    monitor: &Monitor,
) -> Result<Vec<f64>> {
    let mut elbo = Vec::with_capacity(doc_ixs.len());
    let mut collect = |results: &DocResults<'_>| {
        elbo.extend_from_slice(results.elbo);
        Ok(())
    };
    infer::run(network, docs, doc_ixs, options, estep, monitor, Some(&mut collect))?;
    Ok(elbo)
}

/// Writes the table of all documents, with a header alone where there are none.
pub(super) fn write_per_doc(mut file: AtomicFile, path: &Path, compared: Option<&Compared>) -> Result<()> {
    let mut write = || {
        writeln!(file, "doc\telbo_a\telbo_b\tdifference")?;
        if let Some(compared) = compared {
            for (at, &doc_ix) in compared.doc_ixs.iter().enumerate() {
                let id = compared.corpus.id(doc_ix as usize);
                let (a, b) = (compared.elbo_a[at], compared.elbo_b[at]);
                writeln!(file, "{}\t{a}\t{b}\t{}", infer::tsv_field(&id), a - b)?;
            }
        }
        Ok(())
    };
    write().map_err(|e| Error::io(path, e))?;
    file.commit()
}

impl Compared {
    /// The documents that A explains better by most, and those that B does.
    pub(super) fn examples(&self, top: usize) -> [Vec<Example>; 2] {
        let (a, b) = extremes(&self.elbo_a, &self.elbo_b, top);
        [a, b].map(|places| places.into_iter().map(|at| self.example(at)).collect())
    }

    fn example(&self, at: usize) -> Example {
        let doc_ix = self.doc_ixs[at] as usize;
        let name = |&token: &u32| match self.corpus.token_names() {
            Some(names) => names.get(token as usize).to_owned(),
            None => self.tokens.get(token as usize).cloned().unwrap_or_else(|| token.to_string()),
        };
        Example {
            id: self.corpus.id(doc_ix).into_owned(),
            elbo_a: self.elbo_a[at],
            elbo_b: self.elbo_b[at],
            words: self.corpus.tokens(doc_ix).iter().take(WORDS).map(name).collect(),
        }
    }

    pub(super) fn json(&self, top: usize) -> Value {
        let example = |example: &Example| {
            let Example { id, elbo_a, elbo_b, words } = example;
            json!({"doc": id, "elbo_a": elbo_a, "elbo_b": elbo_b, "difference": elbo_a - elbo_b, "words": words})
        };
        let [a, b] = self.examples(top).map(|list| list.iter().map(example).collect::<Vec<_>>());
        json!({
            "which": self.what, "bound": self.bound, "differences": self.differences, "best_under_a": a, "best_under_b": b,
        })
    }
}
