//! What `noisyor infer` loses against the E-step alone, by output: the same documents in one run, one after the other.
//!
//! `cargo bench --bench infer [-- DOCUMENTS REPEATS [MODEL CORPUS [OUTPUT]]]`, by default 4,000 documents of the preset yelp, three times,
//! and every output; one of them (`parquet`) where only that is of interest, as with a million documents.
//! Ratios are of the sums over all repeats; the spread is of a single repeat's ratio.

mod common;

use common::Case;
use cpu_time::ProcessTime;
use noisyor::corpus::{Alignment, Corpus, align, native};
use noisyor::estep::{DocResults, EStepOptions, Monitor, Params, cpu::CpuEStep};
use noisyor::infer::{Inference, InferredBy, Job, OutputFormat, Shard, Task};
use noisyor::network::{Network, load_model};
use std::path::Path;
use std::time::Instant;

const TARGETS: [&str; 6] = ["E-step", "E-step, sink", "jsonl", "tsv", "parquet", "npz"];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let number =
        |at: usize, default: usize| arguments.get(at).map_or(default, |n| n.parse().expect("a number"));
    let (n_docs, n_repeats) = (number(0, 4_000), number(1, 3));
    let (network, corpus) = match arguments.get(2..4) {
        Some([model, corpus]) => (
            load_model(Path::new(model)).expect("a model"),
            native::open(Path::new(corpus)).expect("a native corpus"),
        ),
        _ => {
            let case = Case::preset("yelp", n_docs);
            (case.network, case.corpus)
        }
    };
    corpus.verify().expect("a sound corpus");
    let targets = match arguments.get(4).map(String::as_str) {
        Some(output) => vec!["E-step", output],
        None => TARGETS.to_vec(),
    };
    assert!(targets.iter().all(|target| TARGETS.contains(target)), "outputs are {:?}", &TARGETS[2..]);
    let subject = Subject::new(&network, &corpus, n_docs);
    Subject::new(&network, &corpus, n_docs.min(4_000)).time("E-step"); // to warm up
    // CPU and wall seconds of every target, repeat by repeat.
    let seconds: Vec<Vec<[f64; 2]>> =
        (0..n_repeats).map(|_| targets.iter().map(|target| subject.time(target)).collect()).collect();
    println!("{} documents, {n_repeats} times, {} threads", subject.n_docs, rayon::current_num_threads());
    println!(
        "{:14} {:>12} {:>12} {:>10} {:>10} {:>16}",
        "", "docs/CPU-s", "docs/s", "CPU ratio", "ratio", "spread of ratio"
    );
    for (at, target) in targets.iter().enumerate() {
        let sum = |at: usize, of: usize| seconds.iter().map(|repeat| repeat[at][of]).sum::<f64>();
        let ratios = seconds.iter().map(|repeat| repeat[0][1] / repeat[at][1]);
        let (low, high) =
            ratios.fold((f64::MAX, 0.0), |(low, high), ratio| (ratio.min(low), ratio.max(high)));
        let n_docs = (n_repeats * subject.n_docs) as f64;
        println!(
            "{target:14} {:12.0} {:12.0} {:10.3} {:10.3} {low:9.3}..{high:.3}",
            n_docs / sum(at, 0),
            n_docs / sum(at, 1),
            sum(0, 0) / sum(at, 0),
            sum(0, 1) / sum(at, 1),
        );
    }
}

/// A network and the documents to infer.
struct Subject<'a> {
    network: &'a Network,
    corpus: &'a Corpus,
    alignment: Alignment,
    shard: Shard,
    n_docs: usize,
    options: EStepOptions,
}

impl<'a> Subject<'a> {
    /// About the first `n_docs` documents.
    fn new(network: &'a Network, corpus: &'a Corpus, n_docs: usize) -> Self {
        let shard: Shard = format!("1/{}", (corpus.n_docs() / n_docs).max(1)).parse().expect("a shard");
        let n_docs = shard.range(corpus.n_docs()).len();
        let alignment = align(corpus, &network.names.tokens);
        Self { network, corpus, alignment, shard, n_docs, options: EStepOptions::default() }
    }

    /// CPU and wall seconds from the first document until the last is computed, or the output is in place.
    fn time(&self, target: &str) -> [f64; 2] {
        let Self { network, corpus, alignment, shard, n_docs, options } = self;
        let docs = alignment.docs(corpus);
        let params = Params::derive(&network.graph, &network.weights, options.bound).expect("good weights");
        let (mut estep, monitor) = (CpuEStep::new(), Monitor::default());
        let folder = tempfile::tempdir().expect("a folder");
        let (cpu, wall) = (ProcessTime::now(), Instant::now());
        if target.starts_with("E-step") {
            let mut nothing = |_: &DocResults<'_>| Ok(());
            let sink = (target != "E-step").then_some(&mut nothing as _);
            let task = Task { network, params: &params, docs, options, monitor: &monitor };
            task.run_range(0..*n_docs, &mut estep, sink).expect("an E-step");
        } else {
            let output = folder.path().join(format!("out.{target}"));
            let (shard, part_docs) = (Some(*shard), Job::PART_DOCS);
            let format = OutputFormat::of(&output, None).expect("a format");
            let job = Job {
                by: InferredBy::Network { network, options, given: &[], is_exact: false },
                docs,
                shard,
                threshold: 0.01,
                format,
                log_odds: false,
                part_docs,
            };
            let mut batch = Inference::open(&output, job, "cpu", false, &mut |_| {}).expect("an output");
            batch.run(&mut estep, &monitor).expect("an E-step");
            batch.commit().expect("an output");
        }
        [cpu.elapsed().as_secs_f64(), wall.elapsed().as_secs_f64()]
    }
}
