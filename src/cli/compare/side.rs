//! One of the two that are compared: a run or a model, of a network or a baseline.

use crate::cli::baseline::score_in_words;
use noisyor::baseline::{BaselineRecord, Trained, baseline_file, load_baseline};
use noisyor::corpus::{Parts, split};
use noisyor::network::{Names, Network, load_model};
use noisyor::run::RunRecord;
use noisyor::train::Metrics;
use noisyor::{Error, Result};
use rustc_hash::FxHashSet;
use serde::Serialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A run, or a model alone.
pub(super) enum Side {
    Run(Box<RunRecord>),
    Model(PathBuf, Box<Network>),
    BaselineRun(Box<BaselineRecord>),
    Baseline(PathBuf, Trained),
}

/// Which documents a run was trained on.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Trial<'a> {
    /// Of the corpus.
    fingerprint: &'a str,
    /// Validation and test share, and the seed of the split.
    shares: (f64, f64, u64),
}

impl Trial<'_> {
    /// Whether both are about the same documents.
    pub(super) fn is_of_corpus_of(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint
    }

    /// The parts of so many documents.
    pub(super) fn split(&self, n_docs: usize) -> Parts {
        let (valid, test, seed) = self.shares;
        split(n_docs, valid, test, seed)
    }
}

/// What can be said in numbers of either.
#[derive(Serialize)]
pub(super) struct Figures {
    pub(super) path: PathBuf,
    /// Which bound the figures of a run are, or what the scores of a baseline are.
    pub(super) bound: Option<String>,
    /// The evaluation with the best bound of the documents held out.
    pub(super) best: Option<Metrics>,
    pub(super) last: Option<Metrics>,
    pub(super) test_elbo: Option<f64>,
    /// How the run ended; none if it goes on or was killed.
    pub(super) ended: Option<String>,
    pub(super) seconds: Option<f64>,
    /// Training documents per second, the median of all evaluations.
    pub(super) docs_per_s: Option<f64>,
    /// Topics, or features of a baseline.
    pub(super) topics: usize,
    pub(super) tokens: usize,
    pub(super) edges: Option<usize>,
    /// Numbers that were learned.
    pub(super) parameters: usize,
}

impl Side {
    /// A folder is a run, a file a model.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let there = std::fs::metadata(path).map_err(|e| Error::io(path, e))?;
        Ok(match (there.is_dir(), baseline_file(path)?) {
            (true, _) if BaselineRecord::is_in(path) => {
                Self::BaselineRun(Box::new(BaselineRecord::read(path)?))
            }
            (true, _) => Self::Run(Box::new(RunRecord::read(path)?)),
            (false, Some(file)) => Self::Baseline(path.to_owned(), load_baseline(&file)?),
            (false, None) => Self::Model(path.to_owned(), Box::new(load_model(path)?)),
        })
    }

    /// The run of a network.
    pub(super) fn run(&self) -> Option<&RunRecord> {
        match self {
            Self::Run(run) => Some(run),
            _ => None,
        }
    }

    pub(super) fn network(&self) -> Option<&Network> {
        match self {
            Self::Run(run) => Some(&run.network),
            Self::Model(_, network) => Some(network),
            _ => None,
        }
    }

    pub(super) fn baseline(&self) -> Option<&Trained> {
        match self {
            Self::BaselineRun(run) => Some(&run.trained),
            Self::Baseline(_, baseline) => Some(baseline),
            _ => None,
        }
    }

    /// Names of its topics or features, and of its tokens.
    pub(super) fn names(&self) -> &Names {
        match self {
            Self::Run(run) => &run.network.names,
            Self::Model(_, network) => &network.names,
            Self::BaselineRun(run) => &run.trained.names,
            Self::Baseline(_, baseline) => &baseline.names,
        }
    }

    /// What a run is about; none of a model alone.
    pub(super) fn trial(&self) -> Option<Trial<'_>> {
        match self {
            Self::Run(run) => {
                let (facts, options) = (&run.config.run, &run.config.options);
                let shares = (options.valid, options.test, options.seed);
                Some(Trial { fingerprint: &facts.corpus_fingerprint, shares })
            }
            Self::BaselineRun(run) => {
                let config = &run.config;
                let shares = (config.valid, config.test, config.seed);
                Some(Trial { fingerprint: &config.run.corpus_fingerprint, shares })
            }
            Self::Model(..) | Self::Baseline(..) => None,
        }
    }

    /// The config of a run, as JSON.
    pub(super) fn config(&self) -> Option<Value> {
        match self {
            Self::Run(run) => Some(json!(run.config)),
            Self::BaselineRun(run) => Some(json!(run.config)),
            Self::Model(..) | Self::Baseline(..) => None,
        }
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Run(run) => &run.path,
            Self::BaselineRun(run) => &run.path,
            Self::Model(path, _) | Self::Baseline(path, _) => path,
        }
    }

    /// What is read of it.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        match self.trial() {
            Some(_) => ["config.json", "metrics.jsonl", "model.safetensors"]
                .map(|name| self.path().join(name))
                .to_vec(),
            None => vec![self.path().to_owned()],
        }
    }

    fn metrics(&self) -> &[Metrics] {
        match self {
            Self::Run(run) => &run.metrics,
            Self::BaselineRun(run) => &run.metrics,
            Self::Model(..) | Self::Baseline(..) => &[],
        }
    }

    /// What its figures are, in words; of a network alone that depends on who computes them.
    pub(super) fn kind(&self) -> Option<String> {
        let of_run = || self.run().map(|run| run.config.options.estep.bound.to_string());
        let baseline = self.baseline().map(|it| score_in_words(it.model.score(), it.model.score_of()));
        baseline.or_else(of_run)
    }

    pub(super) fn figures(&self) -> Figures {
        let metrics = self.metrics();
        let bound = |metrics: &Metrics| metrics.valid_elbo.unwrap_or(f64::NEG_INFINITY);
        let best = metrics.iter().reduce(|best, next| if bound(next) > bound(best) { next } else { best });
        let mut rates: Vec<f64> = metrics.iter().map(|metrics| metrics.docs_per_s).collect();
        rates.sort_unstable_by(f64::total_cmp);
        let (test_elbo, ended) = match self {
            Self::Run(run) => (run.config.run.test_elbo, run.config.run.ended.clone()),
            Self::BaselineRun(run) => (run.config.run.test_score, run.config.run.ended.clone()),
            Self::Model(..) | Self::Baseline(..) => (None, None),
        };
        let (edges, of_network) = match self.network().map(|network| &network.graph) {
            Some(graph) => (Some(graph.n_edges()), graph.n_edges() + graph.n_nodes()),
            None => (None, 0),
        };
        Figures {
            path: self.path().to_owned(),
            bound: self.kind(),
            best: best.filter(|best| best.valid_elbo.is_some()).cloned(),
            last: metrics.last().cloned(),
            test_elbo,
            ended,
            seconds: metrics.last().map(|last| last.seconds),
            docs_per_s: rates.get(rates.len() / 2).copied(),
            topics: self.names().topics.len(),
            tokens: self.names().tokens.len(),
            edges,
            parameters: self.baseline().map_or(of_network, |baseline| baseline.model.n_parameters()),
        }
    }
}

/// Why figures of the two cannot be set against each other.
pub(super) fn notes(a: &Side, b: &Side) -> Vec<String> {
    let mut notes = Vec::new();
    for (name, side) in [("A", a), ("B", b)] {
        if side.trial().is_none() {
            notes.push(format!("{name} is a model alone: its options and metrics are not known"));
        }
    }
    if let (Some(one), Some(other)) = (a.trial(), b.trial()) {
        if one.fingerprint != other.fingerprint {
            notes
                .push("the runs were trained on different documents: their bounds cannot be compared".into());
        } else if one.shares != other.shares {
            let message = "the runs held out different documents: their held-out and test bounds cannot be compared, those of \
                           the documents that both held out can";
            notes.push(message.into());
        }
    }
    notes.extend(note_of_kinds(a, b));
    let (tokens_a, tokens_b) = (&a.names().tokens, &b.names().tokens);
    let missing = |from: &[String], of: &[String]| {
        let known: FxHashSet<&str> = from.iter().map(String::as_str).collect();
        of.iter().filter(|name| !known.contains(name.as_str())).count()
    };
    let (only_a, only_b) = (missing(tokens_b, tokens_a), missing(tokens_a, tokens_b));
    if only_a + only_b > 0 {
        notes.push(format!(
            "{only_a} tokens are in A alone, {only_b} in B alone: bounds are of what a model knows, and cannot be compared"
        ));
    }
    notes
}

/// What the figures of both are, where they are not the same.
fn note_of_kinds(a: &Side, b: &Side) -> Option<String> {
    let (kind_a, kind_b) = (a.kind()?, b.kind()?);
    if kind_a == kind_b {
        return None;
    }
    let of = |side: &Side, kind: String| match side.baseline() {
        Some(_) => kind,
        None => format!("the {kind} bound"),
    };
    let (of_a, of_b) = (of(a, kind_a), of(b, kind_b));
    let scored = |side: &Side| side.baseline().and_then(|baseline| baseline.model.score_of());
    let are_networks = a.baseline().is_none() && b.baseline().is_none();
    let what = if are_networks || scored(a) != scored(b) {
        "they cannot be compared"
    } else {
        "a bound lies below the log-likelihood by an unknown amount"
    };
    Some(format!("the figures of A are of {of_a}, those of B of {of_b}: {what}"))
}
