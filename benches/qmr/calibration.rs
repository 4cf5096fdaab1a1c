//! Posteriors of sampled cases beside what is true in them: `auto` and `vi`, exact answers, milliseconds a case. Prints tables in
//! Markdown.

use noisyor::Monitor;
use noisyor::network::Network;
use noisyor::posterior::calibration::{Bin, Reliability, SURE};
use noisyor::posterior::{Case, Engine, Method, Options, Posterior};
use noisyor::synth::{Preset, Sampler, random_network};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;
use std::time::Instant;

/// Cases sampled from a network, in which each finding is known with some probability.
pub struct Cases<'a> {
    n_findings: usize,
    sampler: Sampler<'a>,
    known: f64,
}

impl<'a> Cases<'a> {
    /// The network of the preset qmr.
    pub fn network() -> Network {
        random_network(&Preset::of("qmr").expect("a preset"), 1).expect("a network")
    }

    pub fn new(network: &'a Network, known: f64) -> Self {
        Self { n_findings: network.graph.n_tokens(), sampler: Sampler::new(network), known }
    }

    /// A case and the topics that are on in it.
    pub fn of(&self, number: u64) -> (Case, Vec<u32>) {
        let sampled = self.sampler.sample(7, number);
        let mut case = Case::of_document(&sampled.tokens, self.n_findings);
        let rng = &mut ChaCha8Rng::seed_from_u64(number);
        let is_known: Vec<bool> = (0..self.n_findings).map(|_| rng.random::<f64>() < self.known).collect();
        case.present.retain(|&token| is_known[token as usize]);
        case.absent.retain(|&token| is_known[token as usize]);
        (case, sampled.topics)
    }
}

/// What one method did to all cases.
#[derive(Default)]
struct Record {
    seconds: Vec<f64>,
    /// Largest differences from exact marginals.
    errors: Vec<f64>,
    reliability: Reliability,
    /// Cases, seconds, and how many met `within`, by the method that was really used.
    used: BTreeMap<String, (usize, f64, usize)>,
}

impl Record {
    fn add(&mut self, found: &Posterior, seconds: f64, on: &[u32], exact: Option<&Posterior>) {
        self.seconds.push(seconds);
        self.errors.extend(exact.map(|exact| difference(found, exact)));
        for (topic, marginal) in found.marginals.iter().enumerate() {
            self.reliability.add(marginal.p, on.binary_search(&(topic as u32)).is_ok());
        }
        let (n, time, met) = self.used.entry(found.method_name().to_owned()).or_default();
        (*n, *time, *met) = (*n + 1, *time + seconds, *met + usize::from(found.meets));
    }

    fn print(&mut self, name: &str) {
        for (method, (n, seconds, met)) in &self.used {
            println!("| {name} | {method} | {n} | {met} | {:.2} | | | |", 1e3 * seconds / *n as f64);
        }
        let n = self.seconds.len();
        self.seconds.sort_by(f64::total_cmp);
        let at = |share: f64| 1e3 * self.seconds[((n - 1) as f64 * share) as usize];
        let met: usize = self.used.values().map(|&(_, _, met)| met).sum();
        let mean = 1e3 * self.seconds.iter().sum::<f64>() / n as f64;
        let quantiles = format!("{:.2} | {:.2} | {:.2}", at(0.5), at(0.99), at(1.0));
        println!("| {name} | all | {n} | {met} | {mean:.2} | {quantiles} |");
    }

    fn print_errors(&self, name: &str) {
        let within = |error: f64| self.errors.iter().filter(|&&e| e <= error).count();
        let most = self.errors.iter().copied().fold(0.0, f64::max);
        println!("| {name} | {} | {} | {most:.1e} |", self.errors.len(), within(0.01));
    }
}

/// The largest difference of a marginal.
fn difference(a: &Posterior, b: &Posterior) -> f64 {
    a.marginals.iter().zip(&b.marginals).map(|(a, b)| (a.p - b.p).abs()).fold(0.0, f64::max)
}

/// All figures of so many cases.
pub fn print(n_cases: u64, known: f64) {
    let network = Cases::network();
    let (engine, cases, monitor) =
        (Engine::new(&network).expect("weights"), Cases::new(&network, known), Monitor::default());
    let run = |case: &Case, number: u64, method: Method| {
        let options = Options { method, ..Options::default() };
        let begin = Instant::now();
        let found = engine.run(case, number, &options, &monitor);
        (found, begin.elapsed().as_secs_f64())
    };
    let (mut auto, mut vi, mut n_present, mut compared) =
        (Record::default(), Record::default(), 0, Record::default());
    for number in 0..n_cases {
        let (case, on) = cases.of(number);
        n_present += case.present.len();
        let (found, seconds) = run(&case, number, Method::Auto);
        let found = found.expect("an answer");
        // Its own exact answers prove nothing.
        let is_exact = found.exact_findings > 0 || found.method == "closed-form";
        let exact = if is_exact { Some(found.clone()) } else { run(&case, number, Method::Exact).0.ok() };
        auto.add(&found, seconds, &on, None);
        if !is_exact {
            compared.errors.extend(exact.as_ref().map(|exact| difference(&found, exact)));
        }
        let (found, seconds) = run(&case, number, Method::Vi);
        vi.add(&found.expect("an answer"), seconds, &on, exact.as_ref());
    }
    let n_present = n_present as f64 / n_cases as f64;
    println!("{n_cases} cases, share of the findings known: {known}, present in a case: {n_present:.1}\n");
    println!("| `method` | used | cases | within 0.01 for certain | ms a case | median | 99 % | most |");
    println!("|---|---|---|---|---|---|---|---|");
    auto.print("auto");
    vi.print("vi");
    println!("\n| against exact | cases | all topics within 0.01 | largest difference |\n|---|---|---|---|");
    compared.print_errors("auto, where it is not exact itself");
    vi.print_errors("vi");
    println!("\n| p, q from | topics, auto | mean p | truly on | topics, vi | mean q | truly on |");
    println!("|---|---|---|---|---|---|---|");
    for (p, q) in auto.reliability.bins().into_iter().zip(vi.reliability.bins()) {
        let cells = |bin: Bin| match bin.n {
            0 => "0 | | ".to_owned(),
            n => format!("{n} | {:.4} | {:.4}", bin.mean, bin.on),
        };
        println!("| {} | {} | {} |", p.from, cells(p), cells(q));
    }
    let sure = |record: &Record| {
        let (n, on) = record.reliability.sure().unwrap_or_default();
        format!("{n} | | {on:.4}")
    };
    println!("| {SURE} and more | {} | {} |", sure(&auto), sure(&vi));
}
