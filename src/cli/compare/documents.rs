//! The documents that both held out, under both models.

use super::Args;
use super::side::Side;
use crate::cli::corpus_args::refuse_overwriting;
use crate::cli::train::Screen;
use crate::cli::{Common, progress::Progress};
use noisyor::baseline::scores;
use noisyor::compare::{Differences, differences, extremes};
use noisyor::corpus::{Corpus, Docs, Parts, Verifying, align};
use noisyor::estep::{DocResults, EStep, EStepOptions};
use noisyor::files::AtomicFile;
use noisyor::monitor::Monitor;
use noisyor::network::Network;
use noisyor::run::RunDocs;
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
    /// Whether a score of a baseline is among them.
    pub(super) has_baseline: bool,
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
    if let [Some(of_a), Some(of_b)] = [a, b].map(Side::baseline)
        && of_a.model.score_of() != of_b.model.score_of()
    {
        notes.push("no documents are compared: the two score different things".into());
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
        let mut elbo = |side: &Side| {
            let alignment = align(&corpus, &side.names().tokens);
            let docs = alignment.docs(&corpus);
            match (side.baseline(), side.network()) {
                (Some(baseline), _) => scores(baseline.model.as_ref(), &docs, &doc_ixs, monitor),
                (None, Some(network)) => evaluate(network, docs, &doc_ixs, &options, estep.as_mut(), monitor),
                (None, None) => Ok(Vec::new()),
            }
        };
        Ok((elbo(a)?, elbo(b)?))
    })();
    let (elbo_a, elbo_b) = verifying.finish(both)?;
    drop(progress);
    let differences = differences(&elbo_a, &elbo_b);
    let has_baseline = a.baseline().or(b.baseline()).is_some();
    let of_network = || options.bound.to_string();
    let bound = match has_baseline {
        false => of_network(),
        true => [a, b].map(|side| side.kind().unwrap_or_else(of_network)).join(" against "),
    };
    let tokens = a.names().tokens.clone();
    Ok(Some(Compared { corpus, doc_ixs, what, bound, has_baseline, elbo_a, elbo_b, differences, tokens }))
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
    let of_run = |side: &Side| {
        let (moved, mut screen) = (args.corpus.clone(), Screen::new(common, monitor));
        match side {
            Side::BaselineRun(run) => RunDocs::read_of_baseline(run, moved, monitor, &mut screen),
            Side::Run(run) => RunDocs::read(run, moved, monitor, &mut screen),
            Side::Model(..) | Side::Baseline(..) => unreachable!("a model alone is no run"),
        }
    };
    match (a.trial(), b.trial()) {
        (Some(trial_a), Some(trial_b)) => {
            if !trial_a.is_of_corpus_of(&trial_b) {
                return Ok(None);
            }
            let docs = of_run(a)?;
            let of_b = held_out(trial_b.split(docs.docs().n_docs()));
            let of_b: FxHashSet<u32> = of_b.into_iter().collect();
            let RunDocs { corpus, path, parts, .. } = docs;
            let doc_ixs = held_out(parts).into_iter().filter(|doc_ix| of_b.contains(doc_ix)).collect();
            Ok(Some(Chosen { corpus, path, doc_ixs, what: "documents held out by both" }))
        }
        (Some(_), None) | (None, Some(_)) => {
            let RunDocs { corpus, path, parts, .. } = of_run(if a.trial().is_some() { a } else { b })?;
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
            let mut tokens = a.names().tokens.clone();
            let known: FxHashSet<String> = tokens.iter().cloned().collect();
            tokens.extend(b.names().tokens.iter().filter(|name| !known.contains(*name)).cloned());
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
        let what = if compared.is_some_and(|compared| compared.has_baseline) { "score" } else { "elbo" };
        writeln!(file, "doc\t{what}_a\t{what}_b\tdifference")?;
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
