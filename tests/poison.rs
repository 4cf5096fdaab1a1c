//! Kernels on memory full of NaN: each reads and writes the words of its contract and no others, whatever lies there.
//!
//! The twins are safe Rust on arrays of the exact size: an index outside would panic. On the GPU it would go unnoticed,
//! so there every array has room behind it, and the room must stay as it was.
#![allow(clippy::unwrap_used)]

mod common;

use common::gpu::gpu_machine;
use common::*;
use noisyor::batch::{Chunk, ChunkLimits, Chunks};
use noisyor::corpus::Item;
use noisyor::estep::cpu::CpuEStep;
use noisyor::estep::cpu::twin::TwinMachine;
use noisyor::estep::device::{
    Args, Array, DOC_BOUND, DeviceEStep, DeviceOptions, Dispatch, Fault, KERNELS, Lanes, MAX_GROUPS, Machine,
    Plan, Read, Spent, network_words,
};
use noisyor::estep::gpu::{GpuMachine, GpuOptions};
use noisyor::estep::{Bound, DocResults, EStep, EStepOptions, Monitor, Params, Stats, Work};
use noisyor::network::Network;
use noisyor::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

/// NaN as arithmetic makes it, and NaN that is the worst of indices as well.
const POISONS: [u32; 2] = [0x7fc0_0000, u32::MAX];
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
    plan: Plan,
    network: Vec<u32>,
}

impl Case {
    fn new(name: &str, network: &Network, docs: &[Vec<u32>], bound: Bound) -> Self {
        let params = Params::derive(&network.graph, &network.weights, bound).unwrap();
        Self::with_params(name, network, &params, docs, bound)
    }

    fn with_params(name: &str, network: &Network, params: &Params, docs: &[Vec<u32>], bound: Bound) -> Self {
        let (corpus, alignment) = corpus_of(network, docs.iter().cloned());
        // Counts above one, as identical documents have.
        let items: Vec<Item> =
            (0..docs.len() as u32).map(|doc_ix| Item { doc_ix, count: 1 + doc_ix % 3 }).collect();
        let limits = DeviceOptions::default().limits;
        let (graph, full) = (&network.graph, bound == Bound::Full);
        let mut chunks = Chunks::new(graph, alignment.docs(&corpus), &items, 0, full, true, limits);
        let chunk = chunks.next().unwrap();
        assert_eq!(chunk.n_docs(), docs.len(), "one chunk holds all of them");
        let plan = Plan {
            options: EStepOptions { bound, ..EStepOptions::default() },
            gradients: true,
            keep_q: true,
            n_topics: graph.n_topics() as u32,
            n_edges: graph.n_edges() as u32,
        };
        Self { name: format!("{name}, {bound}"), chunk, plan, network: network_words(graph, params) }
    }

    /// Inputs as they are uploaded, everything else poison.
    fn memory(&self, poison: u32) -> Memory {
        let sizes = self.plan.array_bytes(&self.chunk).into_iter();
        let mut memory: Memory = sizes.map(|(array, n_bytes)| (array, vec![poison; n_bytes / 4])).collect();
        let mut put =
            |array, words: &[u32]| memory.get_mut(&array).unwrap()[..words.len()].copy_from_slice(words);
        put(Array::Docs, bytemuck::cast_slice(&self.chunk.docs));
        put(Array::Nodes, bytemuck::cast_slice(&self.chunk.nodes));
        put(Array::Edges, bytemuck::cast_slice(&self.chunk.edges));
        put(Array::Rows, &self.chunk.rows.list);
        put(Array::Touched, bytemuck::cast_slice(&self.chunk.touched));
        put(Array::EdgeOwners, &self.chunk.edge_owners);
        put(Array::Positions, &self.chunk.positions);
        put(Array::DocState, &vec![0; self.chunk.n_docs()]);
        memory
    }

    /// Memory after some dispatches.
    fn run(&self, machine: &mut dyn Machine, memory: &Memory, dispatches: &[Dispatch]) -> Memory {
        machine.reserve(0, Array::Network, 4 * self.network.len()).unwrap();
        machine.write(0, Array::Network, 0, bytemuck::cast_slice(&self.network)).unwrap();
        for (&array, words) in memory {
            machine.reserve(0, array, 4 * words.len()).unwrap();
            machine.write(0, array, 0, bytemuck::cast_slice(words)).unwrap();
        }
        let reads: Vec<Read> =
            memory.iter().map(|(&array, words)| Read { array, words: 0..words.len() }).collect();
        machine.submit(0, dispatches, &reads).unwrap();
        memory.keys().copied().zip(machine.wait(0).unwrap()).collect()
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

    /// All dispatches of a run of so many alternations.
    fn dispatches(&self, n_alternations: u32) -> Vec<Dispatch> {
        let (chunk, plan) = (&self.chunk, &self.plan);
        let alternations = (0..n_alternations).flat_map(|at| plan.alternation(chunk, &chunk.rows, at));
        plan.start(chunk).into_iter().chain(alternations).chain(plan.finish(chunk)).collect()
    }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name: &str, network: &Network, docs: &[Vec<u32>]| {
        cases.extend([Bound::Tail, Bound::Full].map(|bound| Case::new(name, network, docs, bound)));
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
    // Rows for whole workgroups: a topic with 150 children, tokens with 150 parents, a node in 150 documents.
    let below = (150..300).map(|token| (0, token, 0.3 + 1e-3 * f64::from(token)));
    let above = (1..150).flat_map(|topic| [150, 151].map(|token| (topic, token, 0.01 * f64::from(topic))));
    let wide = network_of(150, 150, &below.chain(above).collect::<Vec<_>>(), vec![0.05; 300]);
    let mut docs = vec![(0..150).collect(), vec![0, 7, 70], vec![]];
    docs.resize(150, vec![3, 4]);
    cases.push(Case::new("long rows", &wide, &docs, Bound::Local));
    cases
}

// Contracts.

/// The words that a dispatch reads, of arrays that kernels write, and the words that it writes.
#[derive(Default)]
struct Contract {
    reads: BTreeSet<(Array, usize)>,
    writes: BTreeSet<(Array, usize)>,
    /// Words that it may write, with what they then are.
    may_write: BTreeMap<(Array, usize), u32>,
}

impl Contract {
    fn new(dispatch: &Dispatch, chunk: &Chunk, memory: &Memory) -> Self {
        let mut contract = Self::default();
        let rows =
            dispatch.args.row_begin as usize..(dispatch.args.row_begin + dispatch.args.n_rows) as usize;
        for at in rows {
            match dispatch.kernel.name {
                "edge_sums" => contract.add_edge_sum(chunk, at),
                "node_sums" => contract.add_node_sum(chunk, at),
                "doc_bound" => contract.add_doc_bound(chunk, chunk.rows.list[at] as usize),
                name => contract.add_node(name, chunk, memory, chunk.rows.list[at] as usize, &dispatch.args),
            }
        }
        contract
    }

    fn read(&mut self, array: Array, words: impl IntoIterator<Item = usize>) {
        self.reads.extend(words.into_iter().map(|word| (array, word)));
    }

    fn write(&mut self, array: Array, words: impl IntoIterator<Item = usize>) {
        self.writes.extend(words.into_iter().map(|word| (array, word)));
    }

    /// Sections of node_state: q, log-odds, kappa; words of edge_state: r, term; words of slots: child, m.
    fn add_node(&mut self, kernel: &str, chunk: &Chunk, memory: &Memory, row: usize, args: &Args) {
        let (node, next, n_nodes) = (chunk.nodes[row], chunk.nodes[row + 1], chunk.n_nodes());
        let (q, log_odds, kappa) = (row, n_nodes + row, 2 * n_nodes + row);
        let edges = node.edge_begin as usize..next.edge_begin as usize;
        let parents: Vec<usize> =
            chunk.edges[edges.clone()].iter().map(|edge| edge.parent as usize).collect();
        let places: Vec<usize> = chunk.edges[edges.clone()].iter().map(|edge| edge.slot as usize).collect();
        let m = places.iter().map(|slot| 2 * slot + 1);
        let doc_ix = node.doc_ix as usize;
        if matches!(kernel, "q_update" | "r_update") {
            self.read(Array::DocState, [doc_ix]);
            if memory[&Array::DocState][doc_ix] < args.alternation {
                return;
            }
        }
        match kernel {
            "init_r" => {
                self.write(Array::NodeState, [q, log_odds, kappa]);
                self.write(Array::EdgeState, edges.flat_map(|e| [2 * e, 2 * e + 1]));
                self.write(Array::Slots, places.iter().flat_map(|slot| [2 * slot, 2 * slot + 1]));
            }
            "r_update" => {
                self.read(Array::NodeState, parents.into_iter().chain([kappa]));
                self.read(Array::EdgeState, edges.clone().flat_map(|e| [2 * e, 2 * e + 1]));
                self.write(Array::NodeState, [kappa]);
                self.write(Array::EdgeState, edges.flat_map(|e| [2 * e, 2 * e + 1]));
                self.write(Array::Slots, m);
            }
            "q_update" => {
                let slots = node.slot_begin as usize..next.slot_begin as usize;
                let children = slots.clone().map(|slot| memory[&Array::Slots][2 * slot] as usize);
                self.read(Array::NodeState, parents.into_iter().chain(children).chain([q]));
                self.read(Array::Slots, m.chain(slots.flat_map(|slot| [2 * slot, 2 * slot + 1])));
                self.write(Array::NodeState, [q, log_odds]);
                self.may_write.insert((Array::DocState, doc_ix), args.alternation + 1);
            }
            "node_bound" => {
                self.read(Array::NodeState, parents.into_iter().chain([q]));
                self.read(Array::NodeState, (node.id < args.n_topics).then_some(log_odds));
                self.read(Array::Slots, m);
                self.write(Array::NodeState, [kappa]);
            }
            "gradient" => {
                self.read(Array::NodeState, parents.into_iter().chain([q]));
                self.read(Array::EdgeState, edges.clone().map(|e| 2 * e));
                self.write(Array::NodeState, [log_odds, kappa]);
                self.write(Array::EdgeState, edges.map(|e| 2 * e + 1));
            }
            other => panic!("no contract for {other}"),
        }
    }

    fn add_doc_bound(&mut self, chunk: &Chunk, row: usize) {
        let nodes = chunk.docs[row].node_begin as usize..chunk.docs[row + 1].node_begin as usize;
        self.read(Array::NodeState, nodes.map(|node| 2 * chunk.n_nodes() + node));
        self.write(Array::DocBounds, [row]);
    }

    fn positions(chunk: &Chunk, owner: usize) -> impl Iterator<Item = usize> {
        let (touched, next) = (chunk.touched[owner], chunk.touched[owner + 1]);
        let positions = &chunk.positions[touched.position_begin as usize..next.position_begin as usize];
        positions.iter().map(|&at| at as usize)
    }

    fn add_edge_sum(&mut self, chunk: &Chunk, row: usize) {
        let owner = chunk.edge_owners[row] as usize;
        let j = row - chunk.touched_edges(owner).start;
        let edges = Self::positions(chunk, owner).map(|at| chunk.nodes[at].edge_begin as usize + j);
        self.read(Array::EdgeState, edges.map(|e| 2 * e + 1));
        self.write(Array::EdgeTotals, [row]);
    }

    fn add_node_sum(&mut self, chunk: &Chunk, row: usize) {
        let n_nodes = chunk.n_nodes();
        let terms = Self::positions(chunk, row).flat_map(|at| [n_nodes + at, 2 * n_nodes + at]);
        self.read(Array::NodeState, terms);
        self.write(Array::NodeTotals, [2 * row, 2 * row + 1]);
    }

    /// Memory with poison wherever the dispatch may not read; inputs stay.
    fn poison(&self, memory: &Memory, poison: u32) -> Memory {
        let mut memory = memory.clone();
        for (&array, words) in memory.range_mut(Array::DocState..) {
            for (at, word) in words.iter_mut().enumerate() {
                *word = if self.reads.contains(&(array, at)) { *word } else { poison };
            }
        }
        memory
    }

    /// What was to be written is, by numbers, and nothing else.
    fn check(&self, name: &str, before: &Memory, twin: &Memory, gpu: &Memory) {
        let number = |word: u32| f32::from_bits(word);
        for (&array, words) in before {
            for (at, &was) in words.iter().enumerate() {
                let (place, twin, gpu) = ((array, at), twin[&array][at], gpu[&array][at]);
                let what = format!("{name}: word {at} of {array:?}, {was:#x}, twin {twin:#x}, GPU {gpu:#x}");
                if let Some(&then) = self.may_write.get(&place) {
                    assert!([was, then].contains(&twin) && [was, then].contains(&gpu), "{what}: neither");
                } else if !self.writes.contains(&place) {
                    assert!(twin == was && gpu == was, "{what}: touched");
                } else if array == Array::Slots && at % 2 == 0 {
                    assert_eq!(twin, gpu, "{what}: not the child");
                } else {
                    assert!(number(twin).is_finite() && number(gpu).is_finite(), "{what}: not a number");
                    // An old value that is read cannot be poison: where the twin moves far from it, so must the GPU.
                    let moved = (number(twin) - number(was)).abs() > 0.01 * number(twin).abs();
                    assert!(!moved || gpu != was, "{what}: not written");
                }
            }
        }
    }
}

/// Long rows by single threads and short ones by workgroups, too; and without the last row, which then must stay as it is.
fn variants(dispatch: Dispatch) -> impl Iterator<Item = Dispatch> {
    let n_rows = dispatch.args.n_rows;
    let cut = [n_rows, n_rows - 1].into_iter().filter(|&n_rows| n_rows > 0);
    cut.flat_map(move |n_rows| {
        Lanes::ALL.map(|lanes| Dispatch { lanes, args: Args { n_rows, ..dispatch.args }, ..dispatch })
    })
}

#[test]
fn every_kernel_reads_and_writes_the_words_of_its_contract_and_no_others() {
    with_gpu(|gpu| {
        let mut seen = BTreeSet::new();
        for (case, poison) in cases().iter().flat_map(|case| POISONS.map(|poison| (case, poison))) {
            let (chunk, plan) = (&case.chunk, &case.plan);
            let mut memory = case.memory(poison);
            let mut run = |memory: &mut Memory, dispatches: Vec<Dispatch>| {
                for dispatch in dispatches {
                    for dispatch in variants(dispatch) {
                        seen.insert(dispatch.kernel.name);
                        let contract = Contract::new(&dispatch, chunk, memory);
                        let before = contract.poison(memory, poison);
                        let twin = case.run_twins(&before, &[dispatch]);
                        let on_gpu = case.run_gpu(gpu, &before, &[dispatch], poison);
                        contract.check(&format!("{}: {dispatch:?}", case.name), &before, &twin, &on_gpu);
                    }
                    *memory = case.run_twins(memory, &[dispatch]);
                }
            };
            run(&mut memory, plan.start(chunk));
            run(&mut memory, plan.alternation(chunk, &chunk.rows, 0));
            // Every other document is done: it stays as it is.
            let state = memory.get_mut(&Array::DocState).unwrap();
            state.iter_mut().enumerate().for_each(|(doc_ix, state)| *state = doc_ix as u32 % 2);
            run(&mut memory, plan.alternation(chunk, &chunk.rows, 1));
            run(&mut memory, plan.finish(chunk));
        }
        assert_eq!(seen.len(), KERNELS.len());
    });
}

#[test]
fn a_run_fills_all_state_and_all_outputs_from_nothing_but_the_inputs() {
    with_gpu(|gpu| {
        for case in cases() {
            let dispatches = case.dispatches(3);
            let [one, other] = POISONS.map(|poison| {
                let memory = case.memory(poison);
                let twin = case.run_twins(&memory, &dispatches);
                let on_gpu = case.run_gpu(gpu, &memory, &dispatches, poison);
                for (array, words) in twin.range(Array::NodeState..).chain(on_gpu.range(Array::NodeState..)) {
                    let numbers = words.iter().all(|&word| f32::from_bits(word).is_finite());
                    assert!(numbers, "{}: poison left in {array:?}", case.name);
                }
                let inputs = |memory: &Memory| {
                    memory.range(..Array::DocState).map(|(_, words)| words.clone()).collect()
                };
                let kept: [Vec<Vec<u32>>; 3] = [&memory, &twin, &on_gpu].map(inputs);
                assert!(kept[0] == kept[1] && kept[0] == kept[2], "{}: inputs were written", case.name);
                on_gpu.range(Array::DocState..).map(|(_, words)| words.clone()).collect::<Vec<_>>()
            });
            assert_eq!(one, other, "{}: the bits depend on what was there before", case.name);
        }
    });
}

#[test]
fn a_write_outside_an_array_is_refused_once_and_the_machine_goes_on() {
    with_gpu(|gpu| {
        let case = &cases()[0];
        let (memory, dispatches) = (case.memory(POISONS[0]), case.dispatches(2));
        let before = case.run_gpu(gpu, &memory, &dispatches, POISONS[0]);
        let refused = gpu.write(0, Array::Docs, 1 << 30, &[0; 16]);
        assert!(matches!(refused, Err(Fault::Refused(_))), "{refused:?}");
        assert_eq!(case.run_gpu(gpu, &memory, &dispatches, POISONS[0]), before);
    });
}

#[test]
fn folded_dispatches_write_every_row_and_none_behind_the_last() {
    with_gpu(|gpu| {
        // More workgroups than one dimension holds: the second line of them is nearly all outside.
        let network = network_of(0, 1, &[], vec![0.3]);
        let n_docs = MAX_GROUPS as usize + 3;
        let case = Case::new("folded", &network, &vec![vec![0]; n_docs], Bound::Local);
        let mut memory = case.memory(POISONS[0]);
        let terms: Vec<u32> = (0..3 * n_docs).map(|at| (at as f32).to_bits()).collect();
        memory.insert(Array::NodeState, terms.clone());
        let args = Args { n_rows: n_docs as u32, n_nodes: n_docs as u32, ..Args::default() };
        let args = Args { row_begin: case.chunk.rows.docs[0].begin, ..args };
        let dispatch = Dispatch { kernel: &DOC_BOUND, lanes: Lanes::Group, args };
        let after = case.run_gpu(gpu, &memory, &[dispatch], POISONS[0]);
        assert_eq!(after[&Array::DocBounds], terms[2 * n_docs..]);
    });
}

// Whole runs.

/// A GPU whose arrays are full of poison whenever room is made in them.
struct Poisoned<'a> {
    gpu: &'a mut GpuMachine,
    poison: u32,
}

impl Machine for Poisoned<'_> {
    fn name(&self) -> String {
        self.gpu.name()
    }

    fn max_array_bytes(&self) -> u64 {
        self.gpu.max_array_bytes()
    }

    fn reserve(&mut self, set: usize, array: Array, n_bytes: usize) -> Result<(), Fault> {
        let poison = vec![self.poison; n_bytes / 4 + SPARE];
        self.gpu.reserve(set, array, 4 * poison.len())?;
        self.gpu.write(set, array, 0, bytemuck::cast_slice(&poison))
    }

    fn write(&mut self, set: usize, array: Array, at: usize, bytes: &[u8]) -> Result<(), Fault> {
        self.gpu.write(set, array, at, bytes)
    }

    fn submit(&mut self, set: usize, dispatches: &[Dispatch], reads: &[Read]) -> Result<(), Fault> {
        self.gpu.submit(set, dispatches, reads)
    }

    fn wait(&mut self, set: usize) -> Result<Vec<Vec<u32>>, Fault> {
        self.gpu.wait(set)
    }

    fn reopen(&mut self) -> Result<()> {
        panic!("the device was lost")
    }

    fn clear(&mut self) {
        self.gpu.clear();
    }

    fn take_spent(&mut self) -> Spent {
        self.gpu.take_spent()
    }
}

/// Sums and bounds of documents by a backend.
fn run_on(
    backend: &mut dyn EStep,
    network: &Network,
    params: &Params,
    docs: &[Vec<u32>],
    bound: Bound,
) -> Result<(Stats, Vec<f64>)> {
    let (corpus, alignment) = corpus_of(network, docs.iter().cloned());
    let items = Item::each(&(0..docs.len() as u32).collect::<Vec<_>>());
    let (graph, docs, monitor) = (&network.graph, alignment.docs(&corpus), &Monitor::default());
    let options = &EStepOptions { bound, ..EStepOptions::default() };
    let work = Work { graph, docs, items: &items, options, gradients: true, monitor };
    let mut elbo = Vec::new();
    let mut sink = |results: &DocResults<'_>| {
        assert!(results.q.iter().all(|q| (0.0..=1.0).contains(q)), "{:?}", results.q);
        elbo.extend_from_slice(results.elbo);
        Ok(())
    };
    let stats = backend.run(&work, params, Some(&mut sink))?;
    Ok((stats, elbo))
}

fn on_poison(gpu: &mut GpuMachine, poison: u32) -> DeviceEStep<Poisoned<'_>> {
    DeviceEStep::new(Poisoned { gpu, poison }, DeviceOptions { limits: SMALL, cache_bytes: 0 })
}

#[test]
fn whole_runs_give_the_same_bits_whatever_was_in_memory() {
    with_gpu(|gpu| {
        for seed in [3, 8, 21] {
            let network = random_network(seed, 12, 15);
            let docs = random_docs(&network, seed, 300);
            let params = Params::derive(&network.graph, &network.weights, Bound::Tail).unwrap();
            let [zeros, nan, ones] = [0, POISONS[0], POISONS[1]].map(|poison| {
                run_on(&mut on_poison(gpu, poison), &network, &params, &docs, Bound::Tail).unwrap()
            });
            assert!(zeros == nan && zeros == ones, "seed {seed}");
        }
    });
}

fn is_finite((stats, elbo): &(Stats, Vec<f64>)) -> bool {
    let sums = [&stats.edge, &stats.leak, &stats.topic_q, elbo];
    sums.into_iter().flatten().all(|number| number.is_finite())
}

/// Two topics and three tokens with parents, one without.
fn extreme_network(leak: f64, edge: [f64; 2]) -> Network {
    let edges = [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (1, 4)];
    let edges: Vec<(u32, u32, f64)> =
        edges.iter().zip(edge.iter().cycle()).map(|(e, &w)| (e.0, e.1, w)).collect();
    network_of(2, 4, &edges, vec![leak; 6])
}

#[test]
fn extreme_weights_give_numbers_where_the_cpu_backend_does() {
    with_gpu(|gpu| {
        let docs = [vec![], vec![0], vec![3], vec![0, 1, 2], vec![0, 1, 2, 3]];
        // f'(w0) is a denormal f32 at a leak of 90 and zero at 1e6.
        for leak in [1e-30, 1e-9, 0.1, 90.0, 1e6] {
            for edge in [[1e-30, 1e-30], [1e6, 1e6], [1e-30, 1e6], [1e-45, 1.0], [1.0, 0.5]] {
                let network = extreme_network(leak, edge);
                for bound in [Bound::Tail, Bound::Full] {
                    let what = format!("leak {leak:e}, edges {edge:?}, {bound}");
                    let params = Params::derive(&network.graph, &network.weights, bound).unwrap();
                    let cpu = run_on(&mut CpuEStep::new(), &network, &params, &docs, bound).unwrap();
                    assert!(is_finite(&cpu), "{what}: CPU");
                    let backend = &mut on_poison(gpu, POISONS[0]);
                    let on_gpu = run_on(backend, &network, &params, &docs, bound)
                        .unwrap_or_else(|e| panic!("{what}: {e}"));
                    assert!(is_finite(&on_gpu), "{what}: {on_gpu:?}");
                }
            }
        }
    });
}

#[test]
fn denormal_words_in_the_network_give_numbers() {
    with_gpu(|gpu| {
        let docs = [vec![], vec![0, 1, 2], vec![0, 1, 2, 3]];
        let network = extreme_network(0.1, [1.0, 0.5]);
        let params = Params::derive(&network.graph, &network.weights, Bound::Tail).unwrap();
        for denormal in [f32::from_bits(1), 1e-40, -1e-40] {
            for at in 0..4 {
                let mut params = params.clone();
                match at {
                    // Beside a normal weight: 1 / sum w would be infinite on an adapter that takes denormals as zero.
                    // `Params::derive` makes no weight that small.
                    0 => params.edge[network.graph.edges_into(2).start] = denormal.abs(),
                    1 => params.slope.fill(denormal.abs()),
                    2 => params.bias.fill(denormal),
                    _ => params.tail.fill(denormal),
                }
                let cpu = run_on(&mut CpuEStep::new(), &network, &params, &docs, Bound::Tail).unwrap();
                let on_gpu =
                    run_on(&mut on_poison(gpu, POISONS[1]), &network, &params, &docs, Bound::Tail).unwrap();
                assert!(is_finite(&cpu) && is_finite(&on_gpu), "{denormal:e} at {at}: {on_gpu:?}");
                let bounds = on_gpu.1.iter().zip(&cpu.1);
                bounds.for_each(|(got, want)| assert_close("denormal", *got, *want, F32_BOUND));
            }
        }
    });
}

// No numbers in the network. WGSL lets a compiler assume that there are none: an adapter may fail here where others pass.

const BAD: [f32; 3] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];

/// 0 -> 1 -> token 0 (node 3), 2 -> token 1 (node 4), token 2 (node 5) by itself.
fn chains() -> Network {
    network_of(3, 3, &[(0, 1, 1.0), (1, 3, 1.0), (2, 4, 1.0)], vec![0.1; 6])
}

/// Makes a parameter of a node something that is no number.
fn spoil(network: &Network, params: &Params, node: usize, at: usize, bad: f32) -> Option<Params> {
    let mut params = params.clone();
    match at {
        0 => *params.edge.get_mut(network.graph.edges_into(node).next()?)? = bad,
        1 if network.graph.edges_into(node).is_empty() => return None, // no part of the bound
        1 => params.slope[node] = bad,
        2 => params.bias[node] = bad,
        _ => *params.tail.get_mut(node)? = bad,
    }
    Some(params)
}

#[test]
fn no_number_in_the_network_reaches_the_bounds_of_exactly_the_documents_concerned() {
    with_gpu(|gpu| {
        let (network, docs) = (chains(), [vec![], vec![0], vec![1], vec![2], vec![0, 1], vec![1, 2]]);
        let params = Params::derive(&network.graph, &network.weights, Bound::Tail).unwrap();
        let places = (0..6).flat_map(|node| [0, 1, 2, 3].map(|at| (node, at)));
        for ((node, at), bad) in places.flat_map(|place| BAD.map(|bad| (place, bad))) {
            let Some(params) = spoil(&network, &params, node, at, bad) else { continue };
            let case = Case::with_params("no number", &network, &params, &docs, Bound::Tail);
            let concerned: Vec<bool> = (0..docs.len())
                .map(|doc_ix| {
                    let nodes = &case.chunk.nodes[..case.chunk.n_nodes()];
                    nodes.iter().any(|other| other.doc_ix as usize == doc_ix && other.id as usize == node)
                })
                .collect();
            let (memory, dispatches) = (case.memory(POISONS[0]), case.dispatches(20));
            let twin = case.run_twins(&memory, &dispatches);
            let on_gpu = case.run_gpu(gpu, &memory, &dispatches, POISONS[0]);
            for after in [twin, on_gpu] {
                let is_bad = |&bound: &u32| !f32::from_bits(bound).is_finite();
                let found: Vec<bool> = after[&Array::DocBounds].iter().map(is_bad).collect();
                assert_eq!(found, concerned, "{bad} at node {node}, parameter {at}");
            }
        }
    });
}

#[test]
fn a_run_that_meets_no_number_names_the_document_and_the_next_run_is_as_if_nothing_had_been() {
    with_gpu(|gpu| {
        // The document at fault is the first of many chunks: others are still on the device when it is found.
        let network = chains();
        let mut docs = vec![vec![0]];
        docs.resize(1000, vec![1]);
        let params = Params::derive(&network.graph, &network.weights, Bound::Tail).unwrap();
        let mut backend = on_poison(gpu, POISONS[0]);
        let before = run_on(&mut backend, &network, &params, &docs, Bound::Tail).unwrap();
        let places = [1, 3].into_iter().flat_map(|node| [0, 1, 2].map(|at| (node, at)));
        for ((node, at), bad) in places.flat_map(|place| BAD.map(|bad| (place, bad))) {
            let spoiled = spoil(&network, &params, node, at, bad).unwrap();
            match run_on(&mut backend, &network, &spoiled, &docs, Bound::Tail) {
                Err(Error::Numeric(message)) => {
                    assert!(message.starts_with("the bound of document 0 is "), "{message}");
                }
                other => panic!("{bad} at node {node}, parameter {at}: {other:?}"),
            }
            assert_eq!(run_on(&mut backend, &network, &params, &docs, Bound::Tail).unwrap(), before);
        }
    });
}
