//! A trained network for Python: files, numbers, topics, explanations, pages, samples.

use crate::corpus::Corpus;
use crate::errors::OrRaise;
use crate::options;
use crate::task::{Reporter, RunObserver, run, whole};
use crate::{backend, errors};
use noisyor::corpus::{TextTokens, align_checked, tokens_of_text};
use noisyor::estep::EStepOptions;
use noisyor::explain::{Explainer, explanation_json, picture, why_json};
use noisyor::network::{fingerprint, load, load_bytes, save, to_bytes};
use noisyor::report::page::{About, Report, floor_of_model, gather, sample_docs};
use noisyor::report::{TopicTree, find_topic, topic_tree};
use noisyor::synth::Sampler;
use noisyor::train::Metrics;
use noisyor::{Error, Monitor};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

/// Graph, weights and names; they do not change.
#[pyclass(frozen, module = "noisyor._core")]
pub struct Network(pub(crate) Arc<noisyor::Network>);

/// Parents, children and weights of all edges, by number: topics first, then tokens.
type Edges<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<f64>>);
/// Rows of a sparse matrix: where they begin, and columns.
type Rows<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i32>>);

impl Network {
    /// A network that was made here.
    pub fn new(network: noisyor::Network) -> Self {
        Self(Arc::new(network))
    }
}

#[pymethods]
impl Network {
    /// From a file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let network = py.detach(|| load(&path)?.into_model(&path));
        network.or_raise(py).map(Self::new)
    }

    /// From the content of a file; its name tells the format.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, name: PathBuf, content: &[u8]) -> PyResult<Self> {
        let network = py.detach(|| load_bytes(&name, content)?.into_model(&name));
        network.or_raise(py).map(Self::new)
    }

    /// The content of a file of this name.
    fn to_bytes<'py>(&self, py: Python<'py>, name: PathBuf) -> PyResult<Bound<'py, PyBytes>> {
        let content = py.detach(|| to_bytes(&self.0, &name)).or_raise(py)?;
        Ok(PyBytes::new(py, &content))
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| save(&self.0, &path)).or_raise(py)
    }

    #[getter]
    fn topic_names(&self) -> Vec<&str> {
        self.0.names.topics.iter().map(String::as_str).collect()
    }

    #[getter]
    fn token_names(&self) -> Vec<&str> {
        self.0.names.tokens.iter().map(String::as_str).collect()
    }

    #[getter]
    fn n_topics(&self) -> usize {
        self.0.graph.n_topics()
    }

    #[getter]
    fn n_tokens(&self) -> usize {
        self.0.graph.n_tokens()
    }

    #[getter]
    fn n_edges(&self) -> usize {
        self.0.graph.n_edges()
    }

    /// What the model says of its training, as JSON, or nothing.
    #[getter]
    fn training(&self) -> &str {
        &self.0.training
    }

    /// SHA-256 of the content.
    #[getter]
    fn fingerprint(&self) -> String {
        fingerprint(&self.0)
    }

    fn edges<'py>(&self, py: Python<'py>) -> Edges<'py> {
        let (parents, children): (Vec<u32>, Vec<u32>) = self.0.graph.edges().unzip();
        let weights = self.0.weights.edge.clone();
        (parents.into_pyarray(py), children.into_pyarray(py), weights.into_pyarray(py))
    }

    fn leaks<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.weights.leak.clone().into_pyarray(py)
    }

    /// The hierarchy, as JSON.
    fn topic_tree(&self, py: Python<'_>, top: usize, depth: usize) -> PyResult<String> {
        let tree = py.detach(|| serde_json::to_string(&topic_tree(&self.0, top, depth)));
        tree.map_err(|e| Error::Usage(e.to_string())).or_raise(py)
    }

    /// The same as text, as the program prints it.
    fn topic_text(&self, py: Python<'_>, top: usize, depth: usize) -> String {
        py.detach(|| TopicTree::text(&topic_tree(&self.0, top, depth)))
    }

    /// The topic that a name, a part of one, or a number means.
    fn find_topic(&self, py: Python<'_>, wanted: &str) -> PyResult<u32> {
        find_topic(&self.0, wanted).or_raise(py)
    }

    /// One document, given as text or as tokens by number: JSON, and the picture as SVG.
    #[pyo3(signature = (text, tokens, why, options))]
    fn explain(
        &self,
        py: Python<'_>,
        text: Option<&str>,
        tokens: Option<Vec<u32>>,
        why: Option<u32>,
        options: &str,
    ) -> PyResult<(String, String)> {
        let options = options::estep(py, options)?;
        py.detach(|| self.explanation(text, tokens, why, &options)).or_raise(py)
    }

    /// Documents sampled from the model: their tokens, then their topics.
    fn sample<'py>(&self, py: Python<'py>, n_docs: u64, seed: u64) -> (Rows<'py>, Rows<'py>) {
        let (mut tokens, mut topics) = ((vec![0], Vec::new()), (vec![0], Vec::new()));
        py.detach(|| {
            let sampler = Sampler::new(&self.0);
            for doc_ix in 0..n_docs {
                let sampled = sampler.sample(seed, doc_ix);
                for ((ends, entries), of_doc) in
                    [(&mut tokens, sampled.tokens), (&mut topics, sampled.topics)]
                {
                    entries.extend(of_doc.into_iter().map(|number| number as i32));
                    ends.push(entries.len() as i64);
                }
            }
        });
        let rows = |(ends, entries): (Vec<i64>, Vec<i32>)| (ends.into_pyarray(py), entries.into_pyarray(py));
        (rows(tokens), rows(topics))
    }

    /// A page about the model, with documents where they are given, and with the evaluations of its training, as a JSON list.
    #[pyo3(signature = (title, corpus, metrics, max_mb, backend, n_threads, listener=None))]
    #[allow(clippy::too_many_arguments)] // what a page is made of
    fn report(
        &self,
        py: Python<'_>,
        title: String,
        corpus: Option<&Corpus>,
        metrics: &str,
        max_mb: f64,
        backend: &str,
        n_threads: usize,
        listener: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let (metrics, backend): (Vec<Metrics>, _) =
            (options::parse(py, "metrics", metrics)?, options::backend(py, backend)?);
        let (network, monitor) = (&*self.0, Arc::new(Monitor::default()));
        let page = |reporter: &mut Reporter| {
            let options = EStepOptions::default();
            let alignment = corpus
                .map(|corpus| align_checked(&corpus.corpus, &network.names.tokens, true))
                .transpose()?;
            let docs = match (corpus, &alignment) {
                (Some(corpus), Some(alignment)) => {
                    corpus.corpus.all_known("report")?;
                    let docs = alignment.docs(&corpus.corpus);
                    let doc_ixs = sample_docs(docs.n_docs(), PAGE_DOCS, 0);
                    let mut observer = RunObserver { reporter, monitor: &monitor };
                    let mut estep = backend::open(&backend, &mut observer)?;
                    let gathered = gather(network, docs, &doc_ixs, None, &options, estep.as_mut(), &monitor)?;
                    Some((docs, gathered))
                }
                _ => None,
            };
            let no_docs = if docs.is_some() { "" } else { "no documents were given" };
            let report = Report {
                about: About::of_model(&title, network),
                title,
                metrics: &metrics,
                clamp: 0,
                network,
                floor: floor_of_model(network),
                docs,
                no_docs: no_docs.into(),
                calibration: None,
            };
            Ok(report.page((max_mb * 1e6) as usize, &monitor)?.html)
        };
        whole(py, run(py, n_threads, &monitor, listener, page)?)
    }
}

/// A page looks at so many documents at most, as that of the program.
const PAGE_DOCS: usize = 100_000;

impl Network {
    fn explanation(
        &self,
        text: Option<&str>,
        tokens: Option<Vec<u32>>,
        why: Option<u32>,
        options: &EStepOptions,
    ) -> noisyor::Result<(String, String)> {
        let network = &*self.0;
        let text = text.map(|text| tokens_of_text(text, &network.names.tokens)).transpose()?;
        let TextTokens { tokens: of_text, unknown, stop_words } = text.unwrap_or_default();
        let tokens = tokens.unwrap_or(of_text);
        if let Some(token) = tokens.iter().find(|&&token| token as usize >= network.names.tokens.len()) {
            let message = format!("token {token} is none of the model's {}", network.names.tokens.len());
            return Err(Error::Usage(message));
        }
        let explainer = Explainer::new(network, options)?;
        let explanation = explainer.explain(&tokens)?;
        let mut told = explanation_json(network, &explanation);
        told["document"] = json!({"unknown": unknown, "stop_words": stop_words});
        told["why"] = why.map_or(Value::Null, |topic| why_json(network, &explainer.why(&explanation, topic)));
        Ok((told.to_string(), picture::svg(network, &explanation)))
    }
}

/// The adapters there are, as JSON; a usage error where there is no such feature.
#[pyfunction]
pub fn devices(py: Python<'_>) -> String {
    let adapters = py.detach(noisyor::estep::gpu::list_adapters);
    let adapter = |(number, adapter): (usize, &noisyor::estep::gpu::AdapterSummary)| {
        json!({
            "number": number, "name": adapter.name, "kind": adapter.kind, "api": adapter.api, "driver": adapter.driver,
            "max_array_bytes": adapter.max_array_bytes, "max_buffer_bytes": adapter.max_buffer_bytes, "auto": adapter.automatic,
        })
    };
    let list: Vec<Value> = adapters.iter().enumerate().map(adapter).collect();
    let instructions = noisyor::estep::cpu::InstructionSet::widest().name();
    json!({"devices": list, "cpu": instructions}).to_string()
}

/// Names of the topics and tokens of a graph or model, from the content of its file.
#[pyfunction]
pub fn graph_names(py: Python<'_>, name: &str, content: &[u8]) -> PyResult<(Vec<String>, Vec<String>)> {
    let names = loaded(py, name, content)?.names;
    Ok((names.topics, names.tokens))
}

/// A graph or model from the content of a file.
///
/// # Errors
/// Faults of the file.
pub fn loaded(py: Python<'_>, name: &str, content: &[u8]) -> PyResult<noisyor::network::Loaded> {
    load_bytes(name.as_ref(), content).map_err(|error| errors::exception(py, &error))
}
