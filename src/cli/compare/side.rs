//! One of the two that are compared: a run, or a model alone.

use noisyor::network::{Network, load_model};
use noisyor::run::{RunConfig, RunRecord};
use noisyor::train::Metrics;
use noisyor::{Error, Result};
use rustc_hash::FxHashSet;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A run, or a model.
pub(super) enum Side {
    Run(Box<RunRecord>),
    Model(PathBuf, Box<Network>),
}

/// What can be said in numbers of either.
#[derive(Serialize)]
pub(super) struct Figures {
    pub(super) path: PathBuf,
    /// Which bound the figures of a run are.
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
    pub(super) topics: usize,
    pub(super) tokens: usize,
    pub(super) edges: usize,
}

impl Side {
    /// A folder is a run, a file a model.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let there = std::fs::metadata(path).map_err(|e| Error::io(path, e))?;
        Ok(match there.is_dir() {
            true => Self::Run(Box::new(RunRecord::read(path)?)),
            false => Self::Model(path.to_owned(), Box::new(load_model(path)?)),
        })
    }

    pub(super) fn run(&self) -> Option<&RunRecord> {
        match self {
            Self::Run(run) => Some(run),
            Self::Model(..) => None,
        }
    }

    pub(super) fn network(&self) -> &Network {
        match self {
            Self::Run(run) => &run.network,
            Self::Model(_, network) => network,
        }
    }

    pub(super) fn config(&self) -> Option<&RunConfig> {
        self.run().map(|run| &run.config)
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Run(run) => &run.path,
            Self::Model(path, _) => path,
        }
    }

    /// What is read of it.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        match self {
            Self::Run(run) => {
                ["config.json", "metrics.jsonl", "model.safetensors"].map(|name| run.path.join(name)).to_vec()
            }
            Self::Model(path, _) => vec![path.clone()],
        }
    }

    /// The run's corpus, told by its fingerprint.
    pub(super) fn corpus(&self) -> Option<&str> {
        Some(&self.config()?.run.corpus_fingerprint)
    }

    pub(super) fn figures(&self) -> Figures {
        let graph = &self.network().graph;
        let metrics = self.run().map_or(&[][..], |run| &run.metrics);
        let bound = |metrics: &Metrics| metrics.valid_elbo.unwrap_or(f64::NEG_INFINITY);
        let best = metrics.iter().reduce(|best, next| if bound(next) > bound(best) { next } else { best });
        let mut rates: Vec<f64> = metrics.iter().map(|metrics| metrics.docs_per_s).collect();
        rates.sort_unstable_by(f64::total_cmp);
        let facts = self.config().map(|config| &config.run);
        Figures {
            path: self.path().to_owned(),
            bound: self.run().map(|run| run.config.options.estep.bound.to_string()),
            best: best.filter(|best| best.valid_elbo.is_some()).cloned(),
            last: metrics.last().cloned(),
            test_elbo: facts.and_then(|facts| facts.test_elbo),
            ended: facts.and_then(|facts| facts.ended.clone()),
            seconds: metrics.last().map(|last| last.seconds),
            docs_per_s: rates.get(rates.len() / 2).copied(),
            topics: graph.n_topics(),
            tokens: graph.n_tokens(),
            edges: graph.n_edges(),
        }
    }
}

/// Why figures of the two cannot be set against each other.
pub(super) fn notes(a: &Side, b: &Side) -> Vec<String> {
    let mut notes = Vec::new();
    for (name, side) in [("A", a), ("B", b)] {
        if side.run().is_none() {
            notes.push(format!("{name} is a model alone: its options and metrics are not known"));
        }
    }
    if let (Some(run_a), Some(run_b)) = (a.run(), b.run()) {
        let (one, other) = (&run_a.config.options, &run_b.config.options);
        if a.corpus() != b.corpus() {
            notes
                .push("the runs were trained on different documents: their bounds cannot be compared".into());
        } else if (one.valid, one.test, one.seed) != (other.valid, other.test, other.seed) {
            let message = "the runs held out different documents: their held-out and test bounds cannot be compared, those of \
                           the documents that both held out can";
            notes.push(message.into());
        }
        let (bound_a, bound_b) = (one.estep.bound, other.estep.bound);
        if bound_a != bound_b {
            notes.push(format!(
                "the figures of A are of the {bound_a} bound, those of B of the {bound_b} bound: they cannot be compared"
            ));
        }
    }
    let (tokens_a, tokens_b) = (&a.network().names.tokens, &b.network().names.tokens);
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
