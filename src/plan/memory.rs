//! Host memory of a training run, by the sizes of what it holds: the one place to change when training holds something else.

use super::device::DeviceNeed;
use super::shape::Shape;
use crate::batch::{BLOCK_DOCS, CPU_PART_SIZE, SLICE_DOCS};
use crate::corpus::Docs;
use crate::estep::cpu::BLOCKS_AHEAD;
use crate::network::{Graph, Names};
use crate::train::{Ledger, StepRule, TrainOptions};
use serde::Serialize;

/// The program itself: code, its libraries, threads.
const PROGRAM: f64 = 8e6;
/// The same with a driver for a device, and with one that compiles kernels for the CPU.
const DRIVER: f64 = 60e6;
const SOFTWARE_DRIVER: f64 = 110e6;
/// Copies of the graph and its weights at one time: as loaded, as training started, as it stands, the best, and the best to come.
const GRAPHS: f64 = 5.0;
/// Copies of the names of topics and of tokens, with what saving the graph leaves of the allocator's small pieces.
const NAMES: (f64, f64) = (3.0, 4.0);
/// A name: where it is, and what the allocator gives for a short text.
const NAME: f64 = 24.0 + 32.0;
/// Blocks of documents that a thread of the CPU backend is ahead of the one that is added, as a rule; at most [`BLOCKS_AHEAD`].
const USUALLY_AHEAD: usize = 4;
/// Bytes of all arrays for each node and edge that is packed there.
const PART_BYTES: f64 = 20.0;
/// Chunks of a device on the host besides those that are kept and those in flight: the parts of one being packed and, if not all are
/// kept, one being made of them and one ahead.
const CHUNKS: (f64, f64) = (1.0, 3.0);
/// A list of the topics that were on in a document: bytes, and bytes for each of its tokens.
const ON_LIST: (f64, f64) = (1.0, 0.25);
/// What the allocator keeps of what comes and goes.
const SLACK: f64 = 1.25;

/// What computes the E-step, as far as memory goes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Backend<'a> {
    /// The CPU.
    Cpu,
    /// A device, with so many bytes for packed documents that are kept.
    Device {
        /// Its arrays.
        need: &'a DeviceNeed,
        /// Memory for packed documents, in bytes.
        cache_bytes: u64,
        /// Whether its memory is the host's: software.
        software: bool,
    },
}

/// Host memory in bytes: the resident peak, and what it is made of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct MemoryNeed {
    /// The program, and the device's driver.
    pub program: u64,
    /// Graph, weights and names, in as many copies as there are.
    pub network: u64,
    /// Sums, parameters and what the weight step remembers.
    pub optimiser: u64,
    /// What the threads of the CPU backend work with, and sums that wait to be added.
    pub workers: u64,
    /// What more sums there may be for a moment, when a thread falls far behind the others. Not in the total.
    pub behind: u64,
    /// Packed documents for a device; where that is software, its arrays too.
    pub packed: u64,
    /// The corpus: pages of a mapped file that were touched (all of them in the end), else documents in memory.
    pub corpus: u64,
    /// The order of the documents, and the items of a slice.
    pub order: u64,
    /// Which topics were on in every document, where starts are kept.
    pub kept_starts: u64,
    /// Writing a checkpoint: the graph as it is kept.
    pub checkpoint: u64,
    /// All of it, as a rule.
    pub total: u64,
    /// A checkpoint on disk; two are kept, and a third is written before the first goes.
    pub checkpoint_file: u64,
}

impl MemoryNeed {
    /// What has to fit into memory: a mapped corpus need not stay there.
    pub fn least(&self, corpus_is_mapped: bool) -> u64 {
        self.total + self.behind - if corpus_is_mapped { self.corpus } else { 0 }
    }
}

/// The memory that training takes; `shape` is that of its documents.
pub(super) fn train_memory(
    graph: &Graph,
    names: &Names,
    docs: &Docs<'_>,
    shape: &Shape,
    options: &TrainOptions,
    n_threads: usize,
    backend: Backend<'_>,
) -> MemoryNeed {
    let (nodes, edges, topics) = (graph.n_nodes() as f64, graph.n_edges() as f64, graph.n_topics() as f64);
    let n_docs = docs.n_docs();
    let one_each = 8.0 * (edges + nodes);
    let graph_bytes = 12.0 * edges + 4.0 * nodes + 12.0 * topics;
    let long =
        |names: &[String]| names.iter().map(|name| name.len().saturating_sub(24)).sum::<usize>() as f64;
    let names_bytes = NAMES.0 * (NAME * topics + long(&names.topics))
        + NAMES.1 * (NAME * graph.n_tokens() as f64 + long(&names.tokens));
    let network = GRAPHS * (graph_bytes + one_each) + names_bytes;
    let n_train = n_docs as f64 * (1.0 - options.valid - options.test);
    let n_batches = options.n_batches(n_train as usize);
    let averages = one_each + 8.0 * topics;
    let ledger = Ledger::bytes_per_weight(n_train, n_batches as u64) * (edges + nodes + topics);
    // Corrected counts or gradients are made beside the averages that they are made from.
    let (shares, corrected) = match options.control_variates && n_batches > 1 {
        true => (8.0 * graph.n_tokens() as f64, averages),
        false => (0.0, 0.0),
    };
    let averaged = if matches!(options.step, StepRule::Em { .. }) { 0.0 } else { corrected };
    // The averages of the last step are there while the next ones are made.
    let (remembered, stepping) = match options.step {
        StepRule::Em { .. } | StepRule::Mcmc(_) if ledger > 0.0 => (ledger, averages),
        StepRule::Em { .. } | StepRule::Mcmc(_) => (averages, averages),
        StepRule::Paper { .. } => (0.0, 0.0),
        StepRule::Adam { .. } => (2.0 * one_each, 0.0),
    };
    let (remembered, stepping) = (remembered + averaged + shares, stepping + averaged + corrected + shares);
    let params = 4.0 * edges + 12.0 * nodes + 12.0 * topics;
    let sums = one_each + 16.0 * topics;
    let batch_docs = n_train / n_batches as f64;
    let slices = if batch_docs > SLICE_DOCS as f64 { 2.0 } else { 1.0 }; // sums of slices are merged
    let is_sampled = matches!(options.step, StepRule::Mcmc(_));
    let prior = if options.prior.is_some() || is_sampled { averages } else { 0.0 };
    let optimiser = remembered + stepping + params + slices * sums + prior;
    let blocks = |ahead: usize| cpu_workers(graph, shape, batch_docs, n_threads, ahead);
    let in_memory = |(workers, packed, program)| (SLACK * workers, packed, program);
    let (workers, packed, program) = match backend {
        Backend::Cpu => in_memory((blocks(USUALLY_AHEAD), 0.0, PROGRAM)),
        Backend::Device { need, cache_bytes, software } => {
            let kept = (need.packed_bytes as f64).min(cache_bytes as f64);
            let network = 8.0 * edges + 32.0 * nodes; // as kernels read it, and on its way there
            // Pieces of documents are packed anew every time.
            let all_kept = need.packed_bytes <= cache_bytes && options.estep.clamp == 0;
            let n_chunks = if all_kept { CHUNKS.0 } else { CHUNKS.1 + need.sets as f64 };
            let packed = kept + n_chunks * need.chunk_bytes as f64 + network;
            let driver = if software { SOFTWARE_DRIVER } else { DRIVER };
            (0.0, packed + if software { need.total as f64 } else { 0.0 }, PROGRAM + driver)
        }
    };
    let behind = match backend {
        Backend::Cpu => SLACK * (blocks(BLOCKS_AHEAD) - blocks(USUALLY_AHEAD)),
        Backend::Device { .. } => 0.0,
    };
    let slice = batch_docs.min(SLICE_DOCS as f64);
    let order = 4.0 * n_docs as f64 + (8.0 + 16.0) * slice;
    let kept_starts = match options.keep_starts || is_sampled {
        true => {
            n_train * ON_LIST.0 + ON_LIST.1 * docs.corpus().n_occurrences() as f64 * n_train / n_docs as f64
        }
        false => 0.0,
    };
    let checkpoint = graph_bytes + (1 << 18) as f64;
    let corpus = docs.corpus().n_bytes() as f64;
    let optimiser = SLACK * optimiser;
    let total = program + network + optimiser + workers + packed + corpus + order + kept_starts + checkpoint;
    let parents = if topics < 128.0 {
        1.0
    } else if topics < 16384.0 {
        2.0
    } else {
        3.0
    };
    // Numbers of edges and topics take as many bytes as they need; graph and weights are there twice, as they stand and the best.
    let checkpoint_file =
        2.0 * (parents * edges + 3.0 * nodes + one_each) + remembered + prior + kept_starts + 4096.0;
    MemoryNeed {
        program: program as u64,
        network: network as u64,
        optimiser: optimiser as u64,
        workers: workers as u64,
        behind: behind as u64,
        packed: packed as u64,
        corpus: corpus as u64,
        order: order as u64,
        kept_starts: kept_starts as u64,
        checkpoint: checkpoint as u64,
        total: total as u64,
        checkpoint_file: checkpoint_file as u64,
    }
}

/// Each thread's dense sums and packed part, and the sums of the blocks that are ahead.
fn cpu_workers(graph: &Graph, shape: &Shape, batch_docs: f64, n_threads: usize, ahead: usize) -> f64 {
    let (nodes, edges) = (graph.n_nodes() as f64, graph.n_edges() as f64);
    let part = PART_BYTES * (CPU_PART_SIZE + shape.largest) as f64;
    let worker = 8.0 * edges + 32.0 * nodes + 24.0 * graph.n_topics() as f64 + part;
    let n_blocks = (batch_docs / BLOCK_DOCS as f64).ceil().min((ahead * n_threads) as f64);
    let (touched_nodes, touched_edges) = shape.touched;
    worker * (n_threads as f64).min(n_blocks) + n_blocks * (28.0 * touched_nodes + 8.0 * touched_edges)
}

/// Bytes of memory that the machine could still give, where the system tells.
pub fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}
