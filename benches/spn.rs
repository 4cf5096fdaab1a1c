//! Rows per CPU-second of a sum-product network, on one thread: log-likelihoods, and counts n_kj of a training pass.
//!
//! `cargo bench --bench spn [-- TRAIN.csv[.gz] [ROWS.csv[.gz] [EXPORT.json]]]`: a table of zeros and ones to learn from, one to evaluate
//! (by default the same), and a file that gets nodes, weights, rows and log-likelihoods, for other programs (scripts/bench-spn.sh).
//! Without a table, the bundled sample of documents.

mod common;

use common::Timing;
use noisyor::Monitor;
use noisyor::baseline::spn::{Evaluator, Node, Program, Spn, SpnOptions};
use noisyor::baseline::{Model, Training};
use noisyor::corpus::{
    Alignment, Corpus, Format, IngestOptions, Item, ReadOptions, align, read, sample_corpus,
};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// Runs of each measurement; the median counts.
const RUNS: usize = 5;
/// Passes of training before it is measured.
const PASSES: u32 = 5;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool of one thread");
    pool.install(|| run(&arguments));
}

fn table(path: &str) -> Corpus {
    let read_options = ReadOptions { format: Some(Format::Dense), ..ReadOptions::default() };
    let options = IngestOptions { read: read_options, ..IngestOptions::default() };
    read(Path::new(path), &options, None, &Default::default()).expect("a table of zeros and ones").0
}

fn aligned(corpus: &Corpus, n_tokens: usize) -> Alignment {
    let names = corpus.token_names().map(|names| names.iter().map(str::to_owned).collect());
    align(corpus, &names.unwrap_or_else(|| (0..n_tokens).map(|token| token.to_string()).collect::<Vec<_>>()))
}

fn run(arguments: &[String]) {
    let train = arguments.first().map_or_else(|| sample_corpus().expect("the sample"), |path| table(path));
    let n_tokens = train.n_tokens();
    let alignment = aligned(&train, n_tokens);
    let doc_ixs: Vec<u32> = (0..train.n_docs() as u32).collect();
    let monitor = Monitor::default();
    let docs = alignment.docs(&train);
    let training = Training { docs, train: &doc_ixs, valid: &[], n_tokens, seed: 1, monitor: &monitor };
    let (timing, mut spn) =
        Timing::of(1, || Spn::start(SpnOptions::default(), &training).expect("documents to learn from"));
    println!(
        "structure: {:.2} CPU-seconds; {} nodes, {} sums, {} weights",
        timing.cpu(),
        spn.structure().n_nodes(),
        spn.structure().n_sums(),
        spn.n_parameters()
    );
    for number in 0..PASSES {
        spn.pass(&training, number).expect("a pass");
    }

    let other = arguments.get(1).map(|path| table(path));
    let rows = other.as_ref().unwrap_or(&train);
    let alignment = aligned(rows, n_tokens);
    let docs = alignment.docs(rows);
    let doc_ixs: Vec<u32> = (0..rows.n_docs() as u32).collect();
    let n_rows = doc_ixs.len() as f64;
    let (timing, scores) = Timing::of(RUNS, || spn.scores(&docs, &doc_ixs));
    let mean = scores.iter().sum::<f64>() / n_rows;
    let rate = n_rows / timing.cpu();
    println!(
        "log-likelihood: {rate:.0} rows per CPU-second (spread {:.0} %), mean {mean:.4}",
        timing.spread()
    );
    let program = Arc::new(Program::new(spn.structure().clone()));
    let evaluator = Evaluator::new(&program, spn.weights().to_vec());
    let items = Item::each(&doc_ixs);
    let (timing, _) = Timing::of(RUNS, || evaluator.sums(&docs, &items, true, &monitor).expect("sums"));
    println!("counts: {:.0} rows per CPU-second (spread {:.0} %)", n_rows / timing.cpu(), timing.spread());
    if let Some(path) = arguments.get(2) {
        let present = |doc: &u32| docs.tokens(*doc as usize).collect::<Vec<u32>>();
        let rows: Vec<Vec<u32>> = doc_ixs.iter().map(present).collect();
        let file = json!({
            "n_tokens": n_tokens, "nodes": nodes(&spn), "rows": rows, "log_p": scores, "rows_per_cpu_second": rate,
        });
        std::fs::write(path, file.to_string()).expect("a file that can be written");
    }
}

/// Nodes with their weights, children first.
fn nodes(spn: &Spn) -> Vec<Value> {
    let structure = spn.structure();
    let of = |node: usize| {
        let weights = &spn.weights()[structure.params(node)];
        match structure.node(node) {
            Node::Leaf { token } => json!({ "leaf": token, "p": weights[1] }),
            Node::Indicator { token, present } => json!({ "leaf": token, "p": f64::from(u8::from(present)) }),
            Node::Sum(children) => json!({ "sum": children, "weights": weights }),
            Node::Product(children) => json!({ "product": children }),
        }
    };
    (0..structure.n_nodes()).map(of).collect()
}
