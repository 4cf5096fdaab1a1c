//! E-step throughput: packing and gradient sums included, default criterion against the paper's schedule.
//!
//! `NOISYOR_TINY20=path/to/tiny20.svm.gz cargo bench --bench estep`

mod common;

use common::Case;
use noisyor::corpus::{Item, align};
use noisyor::estep::{Bound, EStepOptions};

fn main() {
    println!("{} threads; CPU seconds are over all threads", rayon::current_num_threads());
    println!(
        "{:8} {:22} {:>10} {:>9} {:>12} {:>12} {:>7} {:>6} {:>7} {:>9}",
        "corpus",
        "schedule",
        "bound",
        "vs paper",
        "docs/CPU-s",
        "docs/s",
        "spread",
        "alt.",
        "edges",
        "ns/update"
    );
    let cases = [
        Case::tiny20(),
        Some(Case::sample()),
        Some(Case::preset("dblp", 4_000)),
        Some(Case::preset("yelp", 2_000)),
    ];
    for case in cases.into_iter().flatten() {
        run(&case);
    }
}

fn run(case: &Case) {
    let each = case.items();
    let alignment = align(&case.corpus, &case.network.names.tokens);
    let all: Vec<u32> = (0..case.corpus.n_docs() as u32).collect();
    let shared = Item::shared(&alignment.docs(&case.corpus), &all);
    let accelerated = EStepOptions::default();
    let plain = EStepOptions { accelerate_r: false, ..EStepOptions::default() };
    let loose = EStepOptions { tolerance: 1e-2, ..EStepOptions::default() };
    let local = EStepOptions { bound: Bound::Local, ..EStepOptions::default() };
    let rows: [(&str, &[Item], EStepOptions); 6] = [
        ("paper 10x(10+10) tail", &each, EStepOptions::paper(Bound::Tail)),
        ("default tail", &each, accelerated.clone()),
        ("default tail, shared", &shared, accelerated),
        ("plain Eq. 10 tail", &each, plain),
        ("tolerance 1e-2 tail", &each, loose),
        ("default local", &each, local),
    ];
    let mut paper = None;
    for (name, items, options) in rows {
        let (timing, stats) = case.time_estep(5, items, &options, true);
        let against = stats.elbo_mean() - *paper.get_or_insert(stats.elbo_mean());
        println!(
            "{:8} {name:22} {:10.4} {against:+9.4} {:12.0} {:12.0} {:6.1}% {:6.2} {:7.1} {:9.2}",
            case.name,
            stats.elbo_mean(),
            stats.n_docs / timing.cpu(),
            stats.n_docs / timing.wall(),
            timing.spread(),
            stats.n_alternations as f64 / stats.n_items as f64,
            stats.n_edges as f64 / stats.n_items as f64,
            1e9 * timing.cpu() / stats.n_edge_updates as f64,
        );
    }
}
