//! Kernels on memory full of NaN: each reads and writes the words of its contract and no others, whatever lies there.
//!
//! The twins are safe Rust on arrays of the exact size: an index outside would panic. On the GPU it would go unnoticed,
//! so there every array has room behind it, and the room must stay as it was.
#![cfg(feature = "gpu")]
#![allow(clippy::unwrap_used)]

mod contracts;
mod numbers;
mod whole_runs;

use crate::common::gpu::gpu_machine;
use crate::common::*;
use noisyor::batch::{Chunk, ChunkLimits, Chunks};
use noisyor::corpus::Item;
use noisyor::estep::cpu::CpuEStep;
use noisyor::estep::cpu::{MIN_GAIN, Q_ON};
use noisyor::estep::device::marks::{CLAMPED_OFF, CLAMPED_ON};
use noisyor::estep::device::twin::TwinMachine;
use noisyor::estep::device::{
    Args, Array, DOC_BOUND, DeviceEStep, DeviceOptions, Dispatch, DispatchPlan, Fault, KERNELS, Lanes,
    MAX_GROUPS, Machine, Place, Read, Route, Spent, network_words,
};
use noisyor::estep::gpu::{GpuMachine, GpuOptions};
use noisyor::estep::{Bound, DocResults, EStep, EStepOptions, Monitor, Params, Start, Stats, Work};
use noisyor::network::Network;
use noisyor::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

/// NaN as arithmetic makes it, and NaN that is the worst of indices as well.
const POISONS: [u32; 2] = [0x7fc0_0000, u32::MAX];
/// Where all arrays are.
const HERE: Place = Place { packed: 0, set: 0 };
/// Words behind every array on the GPU: more than a workgroup has threads.
const SPARE: usize = 100;
/// Chunks and blocks of a few documents, so that several are on their way at a time.
const SMALL: ChunkLimits = ChunkLimits { block_docs: 128, block_size: 1, chunk_size: 1 };

/// Runs a test on the one machine that this file opens.
fn with_gpu(test: impl FnOnce(&mut GpuMachine)) {
    static GPU: Mutex<Option<GpuMachine>> = Mutex::new(None);
    // What a failed test left on the machine does not matter: every test loads all that it reads.
    let mut gpu = GPU.lock().unwrap_or_else(|e| e.into_inner());
    if gpu.is_none() {
        *gpu = gpu_machine(GpuOptions::default());
    }
    if let Some(gpu) = gpu.as_mut() {
        test(gpu);
    }
}

// Memory.

/// The words of every array but the network, which no kernel writes (tests/layout.rs).
type Memory = BTreeMap<Array, Vec<u32>>;

/// Documents of a network as one chunk, and what is needed to run it.
struct Case {
    name: String,
    chunk: Chunk,
    plan: DispatchPlan,
    network: Vec<u32>,
}

impl Case {
    fn new(name: &str, network: &Network, docs: &[Vec<u32>], bound: Bound) -> Self {
        Self::by(Route::Flat, name, network, docs, bound)
    }

    fn by(route: Route, name: &str, network: &Network, docs: &[Vec<u32>], bound: Bound) -> Self {
        let params = Params::derive(&network.graph, &network.weights, bound).unwrap();
        Self::with_params(route, name, network, &params, docs, bound)
    }

    fn with_params(
        route: Route,
        name: &str,
        network: &Network,
        params: &Params,
        docs: &[Vec<u32>],
        bound: Bound,
    ) -> Self {
        let (corpus, alignment) = corpus_of(network, docs.iter().cloned());
        // Counts above one, as identical documents have.
        let items: Vec<Item> =
            (0..docs.len() as u32).map(|doc_ix| Item { doc_ix, count: 1 + doc_ix % 3 }).collect();
        let limits = DeviceOptions::default().limits;
        let (graph, full) = (&network.graph, bound == Bound::Full);
        let chunks = Chunks::new(graph, alignment.docs(&corpus), &items, 0, full, true, limits);
        let chunk = chunks.with_bins(route.bin_words()).next().unwrap();
        assert_eq!(chunk.n_docs(), docs.len(), "one chunk holds all of them");
        let options = EStepOptions { bound, start: Start::Best, ..EStepOptions::default() };
        let plan = DispatchPlan { route, ..DispatchPlan::new(graph, params.n_levels, &options, true, true) };
        Self {
            name: format!("{name}, {bound}, {}", route.name()),
            chunk,
            plan,
            network: network_words(graph, params),
        }
    }

    /// The same documents as pieces: of the topics every third is clamped on, another third off.
    fn pieces(mut self) -> Self {
        self.plan.pieces = true;
        self.name += ", pieces";
        self
    }

    /// Inputs as they are uploaded, everything else poison.
    fn memory(&self, poison: u32) -> Memory {
        let sizes = self.plan.array_bytes(&self.chunk).into_iter();
        let mut memory: Memory = sizes.map(|(array, n_bytes)| (array, vec![poison; n_bytes / 4])).collect();
        let mut put =
            |array, words: &[u32]| memory.get_mut(&array).unwrap()[..words.len()].copy_from_slice(words);
        put(Array::Docs, bytemuck::cast_slice(&self.chunk.docs));
        put(Array::Nodes, bytemuck::cast_slice(&self.chunk.nodes));
        let children: &[u32] = &self.chunk.slot_children;
        put(Array::Edges, &[bytemuck::cast_slice(&self.chunk.edges), children].concat());
        put(Array::Rows, bytemuck::cast_slice(&self.chunk.rows.list));
        put(Array::Touched, bytemuck::cast_slice(&self.chunk.touched));
        put(Array::EdgeOwners, &self.chunk.edge_owners);
        put(Array::Positions, &self.chunk.positions);
        put(Array::DocState, &vec![0; self.chunk.n_docs()]);
        if self.plan.pieces {
            let n_nodes = self.chunk.n_nodes();
            let mark = |node: usize| [CLAMPED_ON, CLAMPED_OFF].get(node % 3).map_or(0.0, |&mark| mark as f32);
            let marks: Vec<u32> = (0..n_nodes).map(|node| mark(node).to_bits()).collect();
            memory.get_mut(&Array::NodeState).unwrap()[3 * n_nodes..4 * n_nodes].copy_from_slice(&marks);
        }
        memory
    }

    /// Memory after some dispatches.
    fn run(&self, machine: &mut dyn Machine, memory: &Memory, dispatches: &[Dispatch]) -> Memory {
        machine.reserve(HERE, Array::Network, 4 * self.network.len()).unwrap();
        machine.write(HERE, Array::Network, 0, bytemuck::cast_slice(&self.network)).unwrap();
        for (&array, words) in memory {
            machine.reserve(HERE, array, 4 * words.len()).unwrap();
            machine.write(HERE, array, 0, bytemuck::cast_slice(words)).unwrap();
        }
        let reads: Vec<Read> =
            memory.iter().map(|(&array, words)| Read { array, words: 0..words.len() }).collect();
        machine.submit(HERE, dispatches, &reads).unwrap();
        machine.start(&[HERE.set]).unwrap();
        memory.keys().copied().zip(machine.wait(HERE.set).unwrap()).collect()
    }

    /// The same by the twins, on arrays of the exact size.
    fn run_twins(&self, memory: &Memory, dispatches: &[Dispatch]) -> Memory {
        self.run(&mut TwinMachine::new(), memory, dispatches)
    }

    /// The same on a GPU, on arrays with poison behind them.
    fn run_gpu(&self, gpu: &mut GpuMachine, memory: &Memory, dispatches: &[Dispatch], poison: u32) -> Memory {
        let mut roomy = memory.clone();
        roomy.values_mut().for_each(|words| words.resize(words.len() + SPARE, poison));
        let mut after = self.run(gpu, &roomy, dispatches);
        for (array, words) in &mut after {
            let spare = words.split_off(memory[array].len());
            assert_eq!(spare, vec![poison; SPARE], "{}: words behind {array:?}", self.name);
        }
        after
    }

    /// All dispatches of a run of so many alternations, after as many rounds of the search.
    fn dispatches(&self, n_alternations: u32) -> Vec<Dispatch> {
        let (chunk, plan) = (&self.chunk, &self.plan.tries()[0]);
        assert!(plan.searches());
        let rounds = plan.rounds(chunk, &chunk.rows, 0..n_alternations);
        let alternations = plan.alternations(chunk, &chunk.rows, 0..n_alternations);
        let start = plan.start(chunk).into_iter().chain(rounds).chain(plan.settle(chunk));
        start.chain(alternations).chain(plan.finish(chunk)).collect()
    }
}

fn cases(route: Route) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name: &str, network: &Network, docs: &[Vec<u32>]| {
        cases.extend([Bound::Tail, Bound::Full].map(|bound| Case::by(route, name, network, docs, bound)));
    };
    // No segment has an entry, except the documents'.
    let no_edges = network_of(2, 3, &[], vec![0.1, 0.2, 0.3, 0.4, 0.5]);
    add("no edges", &no_edges, &[vec![], vec![0, 2], vec![1], vec![]]);
    // With the local bounds not even a node.
    let small = network_of(2, 2, &[(0, 1, 0.7), (0, 2, 1.0), (1, 2, 0.5)], vec![0.1, 0.2, 0.3, 0.4]);
    add("empty documents", &small, &[vec![], vec![], vec![]]);
    add("one document", &small, &[vec![0, 1]]);
    // Token 1 has no parent: a document of it alone has no topics.
    add("tokens without parents", &small, &[vec![1], vec![0], vec![], vec![0, 1], vec![1]]);
    for seed in [3, 8] {
        let network = random_network(seed, 12, 15);
        add(&format!("random {seed}"), &network, &random_docs(&network, seed, 9));
    }
    for seed in [3, 8] {
        let network = random_network(seed, 12, 15);
        let docs = random_docs(&network, seed, 9);
        cases.push(Case::by(route, &format!("random {seed}"), &network, &docs, Bound::Tail).pieces());
    }
    // Rows for whole workgroups: a topic with 150 children, tokens with 150 parents, a node in 150 documents.
    let below = (150..300).map(|token| (0, token, 0.3 + 1e-3 * f64::from(token)));
    let above = (1..150).flat_map(|topic| [150, 151].map(|token| (topic, token, 0.01 * f64::from(topic))));
    let wide = network_of(150, 150, &below.chain(above).collect::<Vec<_>>(), vec![0.05; 300]);
    let mut docs = vec![(0..150).collect(), vec![0, 7, 70], vec![]];
    docs.resize(150, vec![3, 4]);
    cases.push(Case::by(route, "long rows", &wide, &docs, Bound::Local));
    cases
}
