//! Training and whole passes: tiny20 from scratch on eight seeds, and all documents of the dblp preset once.
//!
//! `NOISYOR_TINY20=path/to/tiny20.svm.gz cargo bench --bench epoch`

mod common;

use common::Case;
use cpu_time::ProcessTime;
use noisyor::corpus::{Item, align};
use noisyor::estep::{Bound, EStep, EStepOptions, Monitor, Params, Start, Temper, Work, cpu::CpuEStep};
use noisyor::train::{BatchSize, Begin, Event, TrainOptions, train};
use std::time::Instant;

fn main() {
    println!("{} threads", rayon::current_num_threads());
    if let Some(case) = Case::tiny20() {
        train_tiny20(&case);
    }
    let start = Instant::now();
    let case = Case::preset("dblp", 430_213);
    println!(
        "\ndblp preset, all {} documents (made in {:.1} s)",
        case.corpus.n_docs(),
        start.elapsed().as_secs_f64()
    );
    for (name, options) in [
        ("default", EStepOptions::default()),
        ("plain Eq. 10", EStepOptions { accelerate_r: false, ..Default::default() }),
    ] {
        let (timing, stats) = case.time_estep(1, &case.items(), &options, true);
        println!(
            "{name}: packing, E-step and gradient sums {:.1} s wall, {:.1} CPU-s; bound (tail) {:.3}, {:.2} alternations, \
             {:.0} positive edges a document",
            timing.wall(),
            timing.cpu(),
            stats.elbo_mean(),
            stats.n_alternations as f64 / stats.n_docs,
            stats.n_edges as f64 / stats.n_docs
        );
    }
}

/// 70/30 split by the seed; the held-out bound against time, and the full bound of the best weights.
fn train_tiny20(case: &Case) {
    let alignment = align(&case.corpus, &case.network.names.tokens);
    let (graph, docs, monitor) = (&case.network.graph, alignment.docs(&case.corpus), Monitor::default());
    println!("tiny20 from scratch on the graph of tests/golden/tiny20_peer.json, 70/30 split by the seed");
    let hot = EStepOptions {
        start: Start::Tempered(Temper { from: 4.0, alternations: 6 }),
        ..EStepOptions::default()
    };
    for (name, batch, epochs, estep_options) in [
        ("mini-batches", BatchSize::Auto, 40, EStepOptions::default()),
        ("full batch", BatchSize::Full, 100, EStepOptions::default()),
        ("full, tempered 4,6", BatchSize::Full, 60, hot),
    ] {
        for seed in 0..8 {
            let estep = estep_options.clone();
            let options = TrainOptions {
                seed,
                batch,
                epochs,
                estep,
                valid: 0.3,
                patience: 0,
                ..TrainOptions::default()
            };
            let options = options.check().expect("good options");
            let (cpu, mut reached, mut seconds) = (ProcessTime::now(), None, 0.0);
            let mut estep = CpuEStep::new();
            let outcome =
                train(Begin::New(graph, None), docs, &options, &mut estep, &monitor, &mut |event| {
                    if let Event::Evaluated { metrics, .. } = event {
                        seconds = metrics.seconds;
                        if reached.is_none() && metrics.valid_elbo > Some(-14.5) {
                            reached = Some(seconds);
                        }
                    }
                    Ok(())
                })
                .expect("training");
            let cpu = cpu.elapsed().as_secs_f64();
            let full = EStepOptions { bound: Bound::Full, ..estep_options.clone() };
            let params = Params::derive(graph, &outcome.weights, Bound::Full).expect("good weights");
            let items = Item::each(&options.split(docs.n_docs()).valid);
            let work = Work {
                graph,
                params: &params,
                docs,
                items: &items,
                options: &full,
                gradients: false,
                kept_on: None,
                monitor: &monitor,
            };
            let stats = estep.run(&work, None).expect("an E-step");
            println!(
                "{name:18} seed {seed}: -14.50 (tail) after {}, best {:.4} (tail) {:.4} (full) after {seconds:.2} s, {cpu:.2} CPU-s",
                reached.map_or("never".into(), |s| format!("{s:.2} s")),
                outcome.metrics.and_then(|m| m.valid_elbo).unwrap_or(f64::NAN),
                stats.elbo_mean(),
            );
        }
    }
}
