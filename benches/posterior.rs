//! Seconds of exact inference in a network of QMR's size, all marginals included, by the number of present findings.
//!
//! `cargo bench --bench posterior [-- DOCUMENTS]`, by default three documents of the preset qmr a row: the first m findings of each are
//! present, the others unknown or absent. `difference` is the largest relative difference of a marginal, or of p(y), from the same without
//! any reduction, where that is possible.

use noisyor::Monitor;
use noisyor::posterior::dag::Dag;
use noisyor::posterior::hubs::Route;
use noisyor::posterior::two_layer::{Exact, Problem};
use noisyor::posterior::{Case, Engine, Method, Options, Watch};
use noisyor::synth::{Preset, Sampler, random_network};
use std::time::Instant;

/// Without reductions at most so many findings.
const MOST_PLAIN: usize = 16;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let n_docs: usize = arguments.first().map_or(3, |n| n.parse().expect("a number"));
    let preset = Preset::of("qmr").expect("a preset");
    let network = random_network(&preset, 1).expect("a network");
    let engine = Engine::new(&network).expect("weights");
    let (monitor, sampler) = (Monitor::default(), Sampler::new(&network));
    let watch = Watch::new(&monitor, None);
    println!("{} threads", rayon::current_num_threads());
    println!(
        "{:>8} {:>8} {:>10} {:>10} {:>10} {:>12}",
        "present", "others", "seconds", "slowest", "cost", "difference"
    );
    for m in [12, 16, 20, 24, 28, 32, 36] {
        for others in ["unknown", "absent"] {
            let docs = (0..).map(|doc| sampler.sample(7, doc).tokens).filter(|tokens| tokens.len() >= m);
            let (mut seconds, mut cost, mut difference) = (Vec::new(), 0f64, None);
            for tokens in docs.take(n_docs) {
                let mut case = Case::of_document(&tokens[..m], network.graph.n_tokens());
                if others == "unknown" {
                    case.absent.clear();
                }
                let options = Options { method: Method::Exact, max_exact: 26, ..Options::default() };
                let begin = Instant::now();
                let found = engine.run(&case, 0, &options, &monitor).expect("an answer");
                seconds.push(begin.elapsed().as_secs_f64());
                let dag = Dag::new(&network, &case).expect("a case");
                let problem = Problem::of(&dag).expect("two layers");
                cost = cost.max(Route::new(&problem, 26).map_or(f64::NAN, |route| route.cost));
                if m <= MOST_PLAIN {
                    let plain = problem.covered(26, &watch).expect("no interruption").expect("an answer");
                    let Exact { log_p, marginals } =
                        problem.exact(26, &watch).expect("no interruption").expect("an answer");
                    let of = |(a, b): (&f64, &f64)| (a / b - 1.0).abs();
                    let marginal = marginals.iter().zip(&plain.marginals).map(of).fold(0.0, f64::max);
                    let most = marginal.max((log_p - plain.log_p).abs());
                    difference = Some(difference.map_or(most, |before: f64| before.max(most)));
                    assert!(found.log_p.lower <= plain.log_p && plain.log_p <= found.log_p.upper);
                }
            }
            let (mean, slowest) = (
                seconds.iter().sum::<f64>() / seconds.len() as f64,
                seconds.iter().copied().fold(0.0, f64::max),
            );
            let difference = difference.map_or("-".to_owned(), |d| format!("{d:.1e}"));
            println!("{m:>8} {others:>8} {mean:>10.4} {slowest:>10.4} {cost:>10.1e} {difference:>12}");
        }
    }
}
