//! Measuring: the same work several times in one run, CPU seconds and wall seconds, median and spread.
#![allow(dead_code)]

use cpu_time::ProcessTime;
use noisyor::corpus::{Corpus, Item, align, read};
use noisyor::estep::{EStep, EStepOptions, Monitor, Params, Stats, Work, cpu::CpuEStep};
use noisyor::network::{Network, load_bytes};
use noisyor::synth::{Preset, Sampler, random_network};
use rayon::prelude::*;
use std::path::Path;
use std::time::Instant;

/// Seconds of repeated runs.
pub struct Timing {
    cpu: Vec<f64>,
    wall: Vec<f64>,
}

impl Timing {
    /// Runs `work` once to warm up, then `n` times.
    pub fn of<T>(n: usize, mut work: impl FnMut() -> T) -> (Self, T) {
        let mut result = work();
        let mut timing = Self { cpu: Vec::new(), wall: Vec::new() };
        for _ in 0..n {
            let (cpu, wall) = (ProcessTime::now(), Instant::now());
            result = work();
            timing.cpu.push(cpu.elapsed().as_secs_f64());
            timing.wall.push(wall.elapsed().as_secs_f64());
        }
        timing.cpu.sort_by(f64::total_cmp);
        timing.wall.sort_by(f64::total_cmp);
        (timing, result)
    }

    /// Median CPU seconds.
    pub fn cpu(&self) -> f64 {
        self.cpu[self.cpu.len() / 2]
    }

    /// Median wall seconds.
    pub fn wall(&self) -> f64 {
        self.wall[self.wall.len() / 2]
    }

    /// Largest over smallest CPU time, as a percentage above 1.
    pub fn spread(&self) -> f64 {
        100.0 * (self.cpu[self.cpu.len() - 1] / self.cpu[0] - 1.0)
    }
}

/// A network and documents to run it on.
pub struct Case {
    pub name: String,
    pub network: Network,
    pub corpus: Corpus,
}

impl Case {
    /// Documents sampled from a preset's random network.
    pub fn preset(name: &str, n_docs: usize) -> Self {
        let preset = Preset::of(name).expect("a preset");
        let network = random_network(&preset, 0).expect("a network");
        let sampler = Sampler::new(&network);
        let docs: Vec<Vec<u32>> =
            (0..n_docs as u64).into_par_iter().map(|doc| sampler.sample(0, doc).tokens).collect();
        Self { name: name.to_owned(), corpus: Corpus::from_tokens(docs), network }
    }

    /// The bundled sample under its own network.
    pub fn sample() -> Self {
        let network = noisyor::corpus::sample_network().expect("the sample's network");
        Self { name: "sample".into(), network, corpus: noisyor::corpus::sample_corpus().expect("the sample") }
    }

    /// tiny20 under the trained network of tests/golden/tiny20_peer.json, where NOISYOR_TINY20 names its file.
    pub fn tiny20() -> Option<Self> {
        let Some(path) = std::env::var_os("NOISYOR_TINY20") else {
            println!("tiny20 left out: set NOISYOR_TINY20 to the path of tiny20.svm.gz (not bundled)");
            return None;
        };
        let peer: serde_json::Value =
            serde_json::from_str(include_str!("../../tests/golden/tiny20_peer.json"))
                .expect("the golden file");
        let model = peer["cases"][1]["model"].to_string();
        let file = Path::new("tiny20_peer.json");
        let network =
            load_bytes(file, model.as_bytes()).and_then(|l| l.into_model(file)).expect("the peer's model");
        let read = read(Path::new(&path), &Default::default(), None, &Default::default());
        let (corpus, _) = read.expect("tiny20");
        Some(Self { name: "tiny20".into(), network, corpus })
    }

    /// All documents, one by one.
    pub fn items(&self) -> Vec<Item> {
        Item::each(&(0..self.corpus.n_docs() as u32).collect::<Vec<_>>())
    }

    /// Runs the E-step `n` times over `items`.
    pub fn time_estep(
        &self,
        n: usize,
        items: &[Item],
        options: &EStepOptions,
        gradients: bool,
    ) -> (Timing, Stats) {
        let alignment = align(&self.corpus, &self.network.names.tokens);
        let graph = &self.network.graph;
        let params = Params::derive(graph, &self.network.weights, options.bound).expect("good weights");
        let docs = alignment.docs(&self.corpus);
        let work = Work {
            graph,
            params: &params,
            docs,
            items,
            options,
            gradients,
            kept_on: None,
            monitor: &Monitor::default(),
        };
        let mut estep = CpuEStep::new();
        Timing::of(n, || estep.run(&work, None).expect("an E-step"))
    }
}
