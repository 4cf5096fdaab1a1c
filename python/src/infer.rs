//! Topics of documents, into arrays.

use crate::backend;
use crate::corpus::Corpus;
use crate::network::Network;
use crate::options;
use crate::task::{Reporter, RunObserver, run, whole};
use noisyor::Monitor;
use noisyor::corpus::{Verifying, align_checked, matching_warnings};
use noisyor::infer::TopicMatrix;
use noisyor::run::{Level, Observer, Stage};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use std::sync::Arc;

/// Bounds, then the CSR arrays of the topics' probabilities.
type Inferred<'py> = (
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i32>>,
    Bound<'py, PyArray1<f32>>,
);

/// Runs the E-step on all documents; topics below the threshold are left out. `by_number`: columns without names are the model's tokens in
/// their order.
#[pyfunction]
#[pyo3(signature = (network, corpus, options, threshold, by_number, log_odds, backend, n_threads, listener=None))]
#[allow(clippy::too_many_arguments)] // each is one of the caller's
pub fn infer<'py>(
    py: Python<'py>,
    network: &Network,
    corpus: &Corpus,
    options: &str,
    threshold: f32,
    by_number: bool,
    log_odds: bool,
    backend: &str,
    n_threads: usize,
    listener: Option<&Bound<'py, PyAny>>,
) -> PyResult<Inferred<'py>> {
    let (options, backend) = (options::estep(py, options)?, options::backend(py, backend)?);
    let (network, monitor) = (&*network.0, Arc::new(Monitor::default()));
    let infer = |reporter: &mut Reporter| {
        let Corpus { corpus, ingested, .. } = corpus;
        let mut observer = RunObserver { reporter, monitor: &monitor };
        let tokens = &network.names.tokens;
        let alignment = align_checked(corpus, tokens, by_number)?;
        let warnings = matching_warnings(corpus, &alignment, ingested, tokens);
        warnings.iter().for_each(|warning| observer.says(Level::Warning, warning));
        let mut estep = backend::open(&backend, &mut observer)?;
        let verifying = Verifying::start(corpus, &monitor);
        observer.begins(Stage::Evaluating, Some(corpus.n_docs() as u64));
        let docs = alignment.docs(corpus);
        let matrix = TopicMatrix::infer(network, docs, &options, threshold, estep.as_mut(), &monitor);
        observer.ended();
        let mut matrix = verifying.finish(matrix)?;
        if log_odds {
            matrix.to_log_odds();
        }
        Ok(matrix)
    };
    let TopicMatrix { elbo, indptr, topics, q } = whole(py, run(py, n_threads, &monitor, listener, infer)?)?;
    Ok((elbo.into_pyarray(py), indptr.into_pyarray(py), topics.into_pyarray(py), q.into_pyarray(py)))
}
