//! Control variates in stochastic variational inference of LDA, HDP and NMF: how much they lower the variance of gradients, and whether
//! training gains by it.
//!
//! `cargo bench --bench control [-- [CORPUS] [TOPICS] [PASSES] [ETA,TAU,KAPPA]]`, by default the bundled sample, 20 topics and 4 passes. A
//! tenth of the documents is held out. `variance` is the ratio of the variance of a batch's gradient with to without, summed over
//! coordinates, at the parameters after a quarter of a pass and at the end. `completion` is the mean log-probability of a tenth of the
//! words of held-out documents given the others, after 1/8, 1/4, 1/2, 1, 2, .. passes (PASSES is a power of two); means over three seeds, and
//! the standard deviation of the last. CPU-seconds are those of training.

use cpu_time::ProcessTime;
use noisyor::Monitor;
use noisyor::baseline::{
    Dirichlet, Factors, HdpOptions, LdaOptions, Local, Model, NmfOptions, Sticks, Svi, SviOptions, Training,
    Variance, completion,
};
use noisyor::corpus::{Corpus, align, read, sample_corpus};
use noisyor::rng::{Stream, rng};
use rand::seq::SliceRandom;
use std::path::Path;

const SEEDS: [u64; 3] = [0, 1, 2];
const DRAWS: usize = 100;
const BATCHES: [usize; 3] = [20, 100, 500];
/// Points of the curve in the first pass.
const FIRST_PASS: usize = 4;
/// One document in so many is held out.
const HELD_OUT: u32 = 10;

struct Bench<'a> {
    training: Training<'a>,
    options: SviOptions,
    passes: u32,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let number =
        |at: usize, default: u32| arguments.get(at).map_or(default, |n| n.parse().expect("a number"));
    let corpus = match arguments.first() {
        Some(path) => {
            read(Path::new(path), &Default::default(), None, &Default::default()).expect("a corpus").0
        }
        None => sample_corpus().expect("the sample"),
    };
    let mut options = SviOptions { topics: number(1, 20) as usize, ..SviOptions::default() };
    if let Some(settings) = arguments.get(3) {
        let settings: Vec<f64> = settings.split(',').map(|x| x.parse().expect("numbers")).collect();
        (options.eta, options.tau, options.kappa) = (settings[0], settings[1], settings[2]);
    }
    run(&corpus, options, number(2, 4));
}

fn run(corpus: &Corpus, options: SviOptions, passes: u32) {
    let n_tokens = corpus.n_tokens();
    let names: Vec<String> = match corpus.token_names() {
        Some(names) => names.iter().map(str::to_owned).collect(),
        None => (0..n_tokens).map(|token| token.to_string()).collect(),
    };
    let (alignment, monitor) = (align(corpus, &names), Monitor::default());
    let (valid, train): (Vec<u32>, Vec<u32>) =
        (0..corpus.n_docs() as u32).partition(|doc_ix| doc_ix % HELD_OUT == 0);
    let docs = alignment.docs(corpus);
    let training = Training { docs, train: &train, valid: &valid, n_tokens, seed: 0, monitor: &monitor };
    println!("{} documents, {n_tokens} tokens, {options:?}", corpus.n_docs());
    println!(
        "{:>5} {:>6} {:>9} {:>9}  completion after 1/8, 1/4, 1/2, 1, 2, .. passes",
        "model", "batch", "corrected", "CPU-s"
    );
    let bench = Bench { training, options, passes };
    for batch in BATCHES.into_iter().filter(|&batch| batch < train.len()) {
        bench.rows::<Dirichlet>("lda", batch, |svi| LdaOptions { svi, ..LdaOptions::default() });
        bench.rows::<Factors>("nmf", batch, |svi| NmfOptions { svi });
        bench.rows::<Sticks>("hdp", batch, |svi| HdpOptions { svi, ..HdpOptions::default() });
    }
}

impl Bench<'_> {
    /// Two rows of the table, without and with, and the ratios of variances.
    fn rows<L: Local>(&self, name: &str, batch: usize, options: impl Fn(SviOptions) -> L::Options) {
        let mut ratios = Vec::new();
        for control_variates in [false, true] {
            let (mut curves, mut cpu) = (Vec::new(), 0.0);
            for seed in SEEDS {
                let training = Training { seed, ..self.training };
                let svi = SviOptions { batch, control_variates, ..self.options.clone() };
                let mut model = Svi::<L>::start(&options(svi), &training).expect("good options");
                let mut curve = Vec::new();
                for doc_ixs in self.pieces(seed) {
                    let begin = ProcessTime::now();
                    model.learn(&training, &doc_ixs).expect("steps");
                    cpu += begin.elapsed().as_secs_f64() / SEEDS.len() as f64;
                    curve.push(self.completion(&model));
                    if control_variates && seed == SEEDS[0] && [2, self.n_pieces()].contains(&curve.len()) {
                        let rows = model.variance(&training, batch, DRAWS).expect("control variates");
                        let ratio = |row: &Variance| format!("{} {:.3}", row.of, row.controlled / row.plain);
                        ratios.push(rows.iter().map(ratio).collect::<Vec<_>>().join(", "));
                    }
                }
                curves.push(curve);
            }
            let points = (0..self.n_pieces()).map(|at| mean(curves.iter().map(|curve| curve[at])));
            let shown: Vec<String> = points.clone().map(|(mean, _)| format!("{mean:>8.4}")).collect();
            let (_, deviation) = points.clone().next_back().expect("a point");
            let corrected = if control_variates { "yes" } else { "no" };
            println!("{name:>5} {batch:>6} {corrected:>9} {cpu:>9.2} {} ± {deviation:.4}", shown.join(" "));
        }
        println!("{name:>5} {batch:>6}  variance early: {}; at the end: {}", ratios[0], ratios[1]);
    }

    fn n_pieces(&self) -> usize {
        FIRST_PASS + self.passes.ilog2() as usize
    }

    /// Documents between one point of the curve and the next: an eighth of a pass, then as many again as there were.
    fn pieces(&self, seed: u64) -> Vec<Vec<u32>> {
        let order = (0..self.passes).flat_map(|number| {
            let mut order = self.training.train.to_vec();
            order.shuffle(&mut rng(seed, Stream::Shuffle(u64::from(number))));
            order
        });
        let order: Vec<u32> = order.collect();
        let end = |piece: usize| (self.training.train.len() << piece) >> (FIRST_PASS - 1);
        (0..self.n_pieces())
            .map(|piece| order[if piece == 0 { 0 } else { end(piece - 1) }..end(piece)].to_vec())
            .collect()
    }

    fn completion(&self, model: &dyn Model) -> f64 {
        let Training { docs, valid, monitor, .. } = &self.training;
        completion(model, docs, valid, 0.1, 0, monitor).expect("words to predict").mean
    }
}

/// Mean and standard deviation.
fn mean(values: impl ExactSizeIterator<Item = f64> + Clone) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.clone().sum::<f64>() / n;
    (mean, (values.map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt())
}
