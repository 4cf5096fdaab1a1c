//! Seconds of exact inference in a network of QMR's size, all marginals included, by the number of present findings.
//!
//! `cargo bench --bench posterior [-- CASES]`, by default three cases of the preset qmr a row. Present are the first m findings of a
//! document, or the m findings with the most causes (`hardest`); the others are unknown or absent. Leaks of the findings are the preset's, or
//! 1e-6. `difference` is the largest relative difference of a marginal, or of p(y), from one table of all findings without any reduction,
//! where that has at most 2^24 entries. `kappa` is how many times larger the terms of inclusion-exclusion are than their sum: with 1e16 and
//! more it has no digit.

use noisyor::posterior::dag::Dag;
use noisyor::posterior::hubs::Route;
use noisyor::posterior::two_layer::{Exact, Problem};
use noisyor::posterior::{Case, Engine, Method, Options, Watch, quickscore::quickscore};
use noisyor::synth::{Preset, Sampler, random_network};
use noisyor::{Monitor, Network};
use std::time::Instant;

/// Without reductions at most so many findings, and subsets of at most so many.
const MOST_PLAIN: usize = 24;
const MOST_SUBSETS: usize = 16;
const MAX_EXACT: usize = 26;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let n_cases: usize = arguments.first().map_or(3, |n| n.parse().expect("a number"));
    let preset = Preset::of("qmr").expect("a preset");
    let mut network = random_network(&preset, 1).expect("a network");
    println!("{} threads", rayon::current_num_threads());
    println!(
        "{:>7} {:>8} {:>8} {:>8} {:>10} {:>10} {:>10} {:>11} {:>9}",
        "leaks", "present", "m", "others", "seconds", "slowest", "cost", "difference", "kappa"
    );
    let n_topics = network.graph.n_topics();
    for leaks in ["preset", "1e-6"] {
        if let Ok(leak) = leaks.parse() {
            network.weights.leak[n_topics..].fill(leak);
        }
        for m in [12, 16, 20, 24, 28, 32, 36] {
            for (present, others) in [("sampled", "unknown"), ("sampled", "absent"), ("hardest", "unknown")] {
                let cases = cases(&network, m, present, others == "absent", n_cases);
                println!("{leaks:>7} {present:>8} {m:>8} {others:>8} {}", row(&network, &cases));
            }
        }
    }
}

fn cases(network: &Network, m: usize, present: &str, is_absent: bool, n_cases: usize) -> Vec<Case> {
    let (graph, sampler) = (&network.graph, Sampler::new(network));
    let n_tokens = graph.n_tokens();
    let n_causes = |token: u32| graph.parents(graph.n_topics() + token as usize).len();
    let mut by_causes: Vec<u32> = (0..n_tokens as u32).collect();
    by_causes.sort_by_key(|&token| std::cmp::Reverse(n_causes(token)));
    let sampled = (0..).map(|doc| sampler.sample(7, doc).tokens).filter(|tokens| tokens.len() >= m);
    let chosen: Vec<Vec<u32>> = match present {
        "hardest" => by_causes.chunks_exact(m).take(n_cases).map(<[u32]>::to_vec).collect(),
        _ => sampled.map(|tokens| tokens[..m].to_vec()).take(n_cases).collect(),
    };
    let case = |present: Vec<u32>| match is_absent {
        true => Case::of_document(&present, n_tokens),
        false => Case { present, ..Case::default() },
    };
    chosen.into_iter().map(case).collect()
}

/// Mean and slowest time, and the largest of the other figures.
fn row(network: &Network, cases: &[Case]) -> String {
    let (engine, monitor) = (Engine::new(network).expect("weights"), Monitor::default());
    let watch = Watch::new(&monitor, None);
    let options = Options { method: Method::Exact, max_exact: MAX_EXACT, ..Options::default() };
    let (mut seconds, mut cost, mut difference, mut kappa) = (Vec::new(), 0f64, None, None);
    for case in cases {
        let begin = Instant::now();
        if engine.run(case, 0, &options, &monitor).is_err() {
            return format!("tables of more than 2^{MAX_EXACT} entries");
        }
        seconds.push(begin.elapsed().as_secs_f64());
        let problem = Problem::of(&Dag::new(network, case).expect("a case")).expect("two layers");
        cost = cost.max(Route::new(&problem, MAX_EXACT).map_or(f64::NAN, |route| route.cost));
        if case.present.len() > MOST_PLAIN {
            continue;
        }
        let exact = |of: noisyor::Result<Option<Exact>>| of.expect("no interruption").expect("an answer");
        let found = exact(problem.exact(MAX_EXACT, &watch));
        let plain = exact(problem.covered(MAX_EXACT, &watch));
        let of = |(a, b): (&f64, &f64)| (a / b - 1.0).abs();
        let marginal = found.marginals.iter().zip(&plain.marginals).map(of).fold(0.0, f64::max);
        let most = marginal.max((found.log_p - plain.log_p).abs());
        difference = Some(most.max(difference.unwrap_or(0.0)));
        if case.present.len() <= MOST_SUBSETS {
            let sums = quickscore(&problem, &watch).expect("no interruption").expect("an answer");
            let size = sums.kappa * sums.value.abs();
            kappa = Some((size / (found.log_p - problem.constant).exp()).max(kappa.unwrap_or(0.0)));
        }
    }
    let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
    let slowest = seconds.iter().copied().fold(0.0, f64::max);
    let shown = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.1e}"));
    format!("{mean:>10.4} {slowest:>10.4} {cost:>10.1e} {:>11} {:>9}", shown(difference), shown(kappa))
}
