//! Packing: nanoseconds per positive edge on one core, and in chunks for a device; and that cost follows the documents, not the network.
//!
//! `cargo bench --bench pack`

mod common;

use common::{Case, Timing};
use noisyor::batch::{Batch, Chunks, Packer};
use noisyor::corpus::align;
use noisyor::estep::EStepOptions;
use noisyor::estep::device::DeviceOptions;
use noisyor::network::{Graph, Names, Network, Weights};

fn main() {
    println!("packing, one core");
    println!("{:8} {:>12} {:>14} {:>10} {:>7}", "corpus", "edges/doc", "ns per edge", "us per doc", "spread");
    for case in [
        Case::sample(),
        Case::preset("qmr", 5_000),
        Case::preset("dblp", 10_000),
        Case::preset("yelp", 5_000),
    ] {
        let (timing, n_edges) = time_pack(&case);
        println!(
            "{:8} {:12.1} {:14.2} {:10.2} {:6.1}%",
            case.name,
            n_edges as f64 / case.corpus.n_docs() as f64,
            1e9 * timing.cpu() / n_edges as f64,
            1e6 * timing.cpu() / case.corpus.n_docs() as f64,
            timing.spread()
        );
    }
    println!("\nwhat a document holds on average");
    println!(
        "{:8} {:>7} {:>12} {:>7} {:>7} {:>16}",
        "corpus", "edges", "into topics", "nodes", "topics", "several parents"
    );
    for case in [Case::sample(), Case::preset("dblp", 8_000), Case::preset("yelp", 4_000)] {
        print_content(&case);
    }
    println!("\nchunks for a device, all cores: without and with the index that sums need");
    println!(
        "{:8} {:>9} {:>14} {:>7} {:>11} {:>16}",
        "corpus", "index", "CPU ns an edge", "spread", "bytes/edge", "read back/edge"
    );
    for case in [Case::sample(), Case::preset("dblp", 8_000), Case::preset("yelp", 4_000)] {
        for gradients in [false, true] {
            time_chunks(&case, gradients);
        }
    }
    println!("\nthe same 20,000 sample documents in larger networks (copies side by side)");
    println!("{:>6} {:>10} {:>14} {:>22}", "size", "edges", "pack us/doc", "E-step CPU us/doc");
    for copies in [1, 10, 100] {
        let mut case = Case::sample();
        case.network = beside_copies(&case.network, copies);
        let (pack, _) = time_pack(&case);
        let (estep, stats) = case.time_estep(5, &case.items(), &EStepOptions::default(), true);
        println!(
            "{:>5}x {:>10} {:14.2} {:22.2}",
            copies,
            case.network.graph.n_edges(),
            1e6 * pack.cpu() / stats.n_docs,
            1e6 * estep.cpu() / stats.n_docs
        );
    }
}

/// Prints how many edges and nodes of which kind a document has.
fn print_content(case: &Case) {
    let (graph, items) = (&case.network.graph, case.items());
    let alignment = align(&case.corpus, &case.network.names.tokens);
    let limits = DeviceOptions::default().limits;
    let (mut n_edges, mut into_topics, mut n_nodes, mut n_topics, mut several) = (0, 0, 0, 0, 0);
    for chunk in Chunks::new(graph, alignment.docs(&case.corpus), &items, 0, false, false, limits) {
        n_edges += chunk.n_edges();
        n_nodes += chunk.n_nodes();
        for pair in chunk.nodes.windows(2) {
            let n_parents = (pair[1].edge_begin - pair[0].edge_begin) as usize;
            let is_topic = usize::from(graph.is_topic(pair[0].id as usize));
            n_topics += is_topic;
            into_topics += is_topic * n_parents;
            several += usize::from(n_parents > 1);
        }
    }
    let mean = |n: usize| n as f64 / items.len() as f64;
    let [edges, into_topics] = [n_edges, into_topics].map(mean);
    let [nodes, topics, several] = [n_nodes, n_topics, several].map(mean);
    println!("{:8} {edges:7.0} {into_topics:12.0} {nodes:7.0} {topics:7.0} {several:16.0}", case.name);
}

/// Packs all documents in chunks, in parallel, and prints what an edge takes: time, bytes up, and bytes of sums down.
fn time_chunks(case: &Case, gradients: bool) {
    let (graph, items) = (&case.network.graph, case.items());
    let alignment = align(&case.corpus, &case.network.names.tokens);
    let limits = DeviceOptions::default().limits;
    let (timing, (n_edges, n_bytes, n_read)) = Timing::of(7, || {
        let chunks = Chunks::new(graph, alignment.docs(&case.corpus), &items, 0, false, gradients, limits);
        chunks.fold((0, 0, 0), |(n_edges, n_bytes, n_read), chunk| {
            let read = 4 * chunk.n_touched_edges() + 8 * chunk.touched_ids.len();
            (n_edges + chunk.n_edges(), n_bytes + chunk.n_bytes(), n_read + read)
        })
    });
    let per_edge = |n: usize| n as f64 / n_edges as f64;
    println!(
        "{:8} {:>9} {:14.2} {:6.1}% {:11.1} {:16.2}",
        case.name,
        if gradients { "with" } else { "without" },
        1e9 * timing.cpu() / n_edges as f64,
        timing.spread(),
        per_edge(n_bytes),
        per_edge(n_read)
    );
}

/// Packs all documents in batches of about 65,536 nodes and edges; returns the edges packed.
fn time_pack(case: &Case) -> (Timing, usize) {
    let (graph, items) = (&case.network.graph, case.items());
    let alignment = align(&case.corpus, &case.network.names.tokens);
    let docs = alignment.docs(&case.corpus);
    let (mut packer, mut batch) = (Packer::new(graph, false), Batch::default());
    Timing::of(7, || {
        let (mut done, mut n_edges) = (0, 0);
        while done < items.len() {
            done += packer.pack(graph, &docs, &items[done..], 1 << 16, &mut batch);
            n_edges += batch.n_edges();
        }
        n_edges
    })
}

/// The network and copies of it, unconnected; documents know only the first.
fn beside_copies(network: &Network, copies: usize) -> Network {
    let graph = &network.graph;
    let (n_topics, n_tokens) = (graph.n_topics(), graph.n_tokens());
    let place = |node: u32, copy: usize| {
        let node = node as usize;
        let base =
            if node < n_topics { copy * n_topics } else { copies * n_topics + copy * n_tokens - n_topics };
        (base + node) as u32
    };
    let edges: Vec<(u32, u32)> = (0..copies)
        .flat_map(|copy| graph.edges().map(move |(parent, child)| (place(parent, copy), place(child, copy))))
        .collect();
    let named = |names: &[String]| -> Vec<String> {
        let name =
            |copy: usize, name: &String| if copy == 0 { name.clone() } else { format!("{name}/{copy}") };
        (0..copies).flat_map(|copy| names.iter().map(move |n| name(copy, n))).collect()
    };
    let (large, order) = Graph::build(copies * n_topics, copies * n_tokens, &edges, &|node| node.to_string())
        .expect("a graph");
    let edge = order.iter().map(|&at| network.weights.edge[at as usize % graph.n_edges()]).collect();
    let (topic_leak, token_leak) = network.weights.leak.split_at(n_topics);
    let leak = [topic_leak.repeat(copies), token_leak.repeat(copies)].concat();
    Network {
        graph: large,
        weights: Weights { leak, edge },
        names: Names { topics: named(&network.names.topics), tokens: named(&network.names.tokens) },
        training: String::new(),
    }
}
