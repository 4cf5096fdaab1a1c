//! Backends side by side.

use crate::corpus::Corpus;
use crate::network::Network;
use crate::task::{Reporter, run, whole};
use noisyor::bench::{Contender, bench as measure};
use noisyor::corpus::{Item, align_checked};
use noisyor::estep::cpu::CpuEStep;
use noisyor::estep::device::{DeviceEStep, DeviceOptions, Machine};
use noisyor::estep::gpu::{GpuMachine, GpuOptions};
use noisyor::estep::{EStepOptions, Params, Work};
use noisyor::{Error, Monitor};
use pyo3::prelude::*;
use std::sync::Arc;

/// E-step throughput of backends on the same documents, as JSON; those whose answers differ get no speed-up.
#[pyfunction]
#[pyo3(signature = (network, corpus, by_number, backends, repeat, n_threads, listener=None))]
#[allow(clippy::too_many_arguments)] // each is one of the caller's
pub fn bench(
    py: Python<'_>,
    network: &Network,
    corpus: &Corpus,
    by_number: bool,
    backends: Vec<String>,
    repeat: usize,
    n_threads: usize,
    listener: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let (network, corpus, monitor) = (&*network.0, &corpus.corpus, Arc::new(Monitor::default()));
    let measured = |_: &mut Reporter| {
        corpus.all_known("bench")?;
        let mut contenders =
            backends.iter().map(|backend| contender(backend)).collect::<noisyor::Result<Vec<Contender>>>()?;
        let options = EStepOptions::default();
        let params = Params::derive(&network.graph, &network.weights, options.bound)?;
        let alignment = align_checked(corpus, &network.names.tokens, by_number)?;
        let items = Item::each(&(0..corpus.n_docs() as u32).collect::<Vec<_>>());
        let work = Work {
            graph: &network.graph,
            params: &params,
            docs: alignment.docs(corpus),
            items: &items,
            options: &options,
            gradients: true,
            kept_on: None,
            monitor: &monitor,
        };
        let report = measure(&work, repeat, &mut contenders, &mut |_| {})?;
        serde_json::to_string(&report).map_err(|e| Error::Usage(e.to_string()))
    };
    whole(py, run(py, n_threads, &monitor, listener, measured)?)
}

fn contender(backend: &str) -> noisyor::Result<Contender> {
    match backend {
        "cpu" => {
            let estep = CpuEStep::new();
            let device = estep.instructions().name().to_owned();
            Ok(Contender { name: backend.into(), device, estep: Box::new(estep) })
        }
        "gpu" => {
            let machine = GpuMachine::open(GpuOptions::default())?;
            let device = machine.name();
            let estep = Box::new(DeviceEStep::new(machine, DeviceOptions::default()));
            Ok(Contender { name: backend.into(), device, estep })
        }
        other => Err(Error::Usage(format!("`backends` are 'cpu' and 'gpu'; there is no '{other}'"))),
    }
}
