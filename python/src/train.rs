//! Training: a run of the library, as the program makes it.

use crate::corpus::Corpus;
use crate::errors::OrRaise;
use crate::network::{Network, loaded};
use crate::options::{overlaid, parse, run_config};
use crate::task::{Done, Reporter, RunObserver, run};
use noisyor::Monitor;
use noisyor::corpus::{CorpusSource, Place};
use noisyor::run::{BackendOptions, Changes, CheckpointRule, Given, Run, read_config};
use noisyor::train::Metrics;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

/// Makes a run in a new folder; of a corpus that was read from a file the folder notes where that is. `graph` is the name and content of a
/// file with the graph, where `config` says that it is in memory. Returns the model, and as JSON how it ended.
#[pyfunction]
#[pyo3(signature = (corpus, config, graph, folder, n_threads, listener=None))]
pub fn train(
    py: Python<'_>,
    corpus: &Corpus,
    config: &str,
    graph: Option<(String, Vec<u8>)>,
    folder: PathBuf,
    n_threads: usize,
    listener: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Network, String)> {
    let source = corpus.source.clone().unwrap_or_else(|| CorpusSource::new(Place::Memory));
    let config = run_config(py, source, config)?;
    let graph = graph.map(|(name, content)| loaded(py, &name, &content)).transpose()?;
    let given = Given { corpus: Some(corpus.corpus.clone()), graph, ..Given::default() };
    trained(py, n_threads, listener, |monitor, observer| {
        Run::prepare(config, Some(&folder), given, Arc::clone(monitor), observer)
    })
}

/// What may be different when a run is resumed, as JSON has it.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
struct Changed {
    epochs: Option<u32>,
    max_steps: Option<u64>,
    patience: Option<u32>,
    memory_mb: Option<u64>,
    checkpoints: Option<CheckpointRule>,
    backend: Option<Value>,
}

/// Continues the run of a folder, whoever began it; documents that were in memory, or moved, are given again.
#[pyfunction]
#[pyo3(signature = (folder, corpus, changes, n_threads, listener=None))]
pub fn resume(
    py: Python<'_>,
    folder: PathBuf,
    corpus: Option<&Corpus>,
    changes: &str,
    n_threads: usize,
    listener: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Network, String)> {
    let Changed { epochs, max_steps, patience, memory_mb, checkpoints, backend } =
        parse(py, "changes", changes)?;
    let backend = match backend {
        Some(given) => {
            let before: BackendOptions = read_config(&folder).or_raise(py)?.backend;
            Some(overlaid(&before, &given, "backend").or_raise(py)?)
        }
        None => None,
    };
    let path = corpus.and_then(|corpus| corpus.source.as_ref()?.path().map(PathBuf::from));
    let in_memory = corpus.filter(|_| path.is_none()).map(|corpus| corpus.corpus.clone());
    let changes = Changes {
        corpus: path,
        backend,
        memory_mb,
        checkpoints,
        epochs,
        max_steps,
        patience,
        ..Changes::default()
    };
    let given = Given { corpus: in_memory, ..Given::default() };
    trained(py, n_threads, listener, |monitor, observer| {
        Run::resume(&folder, changes, given, Arc::clone(monitor), observer)
    })
}

fn trained(
    py: Python<'_>,
    n_threads: usize,
    listener: Option<&Bound<'_, PyAny>>,
    open: impl FnOnce(&Arc<Monitor>, &mut RunObserver<'_>) -> noisyor::Result<Run> + Send,
) -> PyResult<(Network, String)> {
    let monitor = Arc::new(Monitor::default());
    let train = |reporter: &mut Reporter| {
        let observer = &mut RunObserver { reporter, monitor: &monitor };
        let mut run = open(&monitor, observer)?;
        let trained = run.train(observer)?;
        let figures = run.evaluate(&trained, observer)?;
        run.finish(&trained, &figures)?;
        let metrics: Option<&Metrics> = trained.outcome.metrics.as_ref();
        let baseline = |at: usize| figures.baselines[at].as_ref().map(|baseline| baseline.mean);
        let (what, reference) = figures.reference;
        let ended = json!({
            "ended": trained.outcome.ended.in_words(), "interrupted": figures.interrupted, "metrics": metrics,
            "test_elbo": figures.test_elbo, "valid_baseline": baseline(0), "test_baseline": baseline(1),
            "reference": {"what": what, "elbo": reference}, "learning": run.config().run.learning, "folder": run.path(),
        });
        Ok((trained.network, ended))
    };
    let Done { value: (network, mut ended), interrupted } = run(py, n_threads, &monitor, listener, train)?;
    ended["ctrl_c"] = interrupted.into();
    Ok((Network::new(network), ended.to_string()))
}
