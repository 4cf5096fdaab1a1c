//! Control variates: the right coefficients, less noise without bias, nothing where there is nothing to correct.

use super::*;
use noisyor::corpus::Others;
use noisyor::train::control::{Control, EdgeMeans};
use noisyor::train::{Freeze, PriorOptions};
use std::sync::Arc;

const LAMBDA_0: StepRule = StepRule::Em { lambda: 0.0 };

#[test]
fn coefficients_and_corrected_counts_are_the_golden_ones() {
    let golden = golden_file("baselines/golden.json");
    let matrix = |value: &serde_json::Value| -> Vec<Vec<f64>> {
        value.as_array().unwrap().iter().map(floats).collect()
    };
    for (number, case) in golden["control_variates"].as_array().unwrap().iter().enumerate() {
        let attributions: Vec<Vec<Vec<f64>>> =
            case["attributions"].as_array().unwrap().iter().map(matrix).collect();
        let (rows, q) = (matrix(&case["rows"]), matrix(&case["q"]));
        let (all, batch): (Vec<usize>, Vec<usize>) =
            ((0..rows.len()).collect(), tokens(&case["batch"]).iter().map(|&doc| doc as usize).collect());
        let (phi, residual) = (matrix(&case["phi"]), &case["residual"]);
        let mean = |docs: &[usize], value: &dyn Fn(usize) -> f64| {
            docs.iter().map(|&doc| value(doc)).sum::<f64>() / docs.len() as f64
        };
        for (topic, phi) in phi.iter().enumerate() {
            for token in 0..rows[0].len() {
                let golden = |list: &serde_json::Value| list[topic][token].as_f64().unwrap();
                let close = |what: &str, got: f64, list: &serde_json::Value| {
                    assert_close(
                        &format!("case {number}: {what} of {topic}, {token}"),
                        got,
                        golden(list),
                        F64,
                    )
                };
                let means = |docs: &[usize]| EdgeMeans {
                    n: mean(docs, &|doc| attributions[doc][topic][token]),
                    q: mean(docs, &|doc| q[doc][topic]),
                    joint: mean(docs, &|doc| q[doc][topic] * rows[doc][token]),
                    share: mean(docs, &|doc| rows[doc][token]),
                };
                let (corpus, batch) = (means(&all), means(&batch));
                let (frequency, excess) = (corpus.share, batch.share - corpus.share);
                let inexact = EdgeMeans { n: phi[token] * frequency, ..corpus };
                // Where Q is not divided by, w is 0.
                let a = inexact.coefficient(0.0, frequency);
                close("count corrected by phi", batch.n - a * excess, &case["corrected_a1"]);
                let c = corpus.coefficient(golden(&residual["w"]), frequency);
                close("c", c, &residual["c"]);
                close("numerator", batch.n - c * excess, &residual["numerator"]);
                close("weight", (batch.n - c * excess) / batch.q, &residual["w_corrected"]);
                close("corpus", corpus.corrected(frequency), &case["corpus_mean"]);
            }
        }
    }
}

#[test]
fn to_first_order_counts_are_corrected_by_the_coefficient_of_the_residual() {
    let means = EdgeMeans { n: 0.03, q: 0.2, joint: 0.06, share: 0.1 };
    let slope = |step: f64| (means.corrected(0.1 + step) - means.corrected(0.1 - step)) / (2.0 * step);
    // More documents of the corpus hold the token: the batch holds too few by as much.
    let c = means.coefficient(means.n / means.q, means.share);
    assert_close("slope", slope(1e-5), c, 1e-6);
    assert!(c < means.n / means.share, "the residual gains less than the count");
}

/// Documents one by one at fixed weights.
struct ByDocument {
    data: Data,
    stats: Vec<Stats>,
    has: Vec<Vec<u32>>,
    frequency: Arc<Vec<f64>>,
}

impl ByDocument {
    fn new(n_docs: u32) -> Self {
        let data = Data::sampled(nearly_disjoint(), u64::from(n_docs));
        let docs = data.alignment.docs(&data.corpus);
        let options = EStepOptions::default();
        let stats = (0..n_docs).map(|doc| (*data.stats(&data.network.weights, &[doc], &options)).clone());
        let stats = stats.collect();
        let has = (0..n_docs as usize).map(|doc| docs.tokens(doc).collect()).collect();
        let all: Vec<u32> = (0..n_docs).collect();
        let frequency = Arc::new(token_frequency(&docs, &all, data.network.graph.n_tokens()));
        Self { stats, has, frequency, data }
    }

    /// The sums of some documents, and what corrects them.
    fn batch(&self, docs: &[u32]) -> (StepSums, Control) {
        let mut stats = Stats::new(&self.data.network.graph, true);
        let mut share = vec![0.0; self.frequency.len()];
        for &doc in docs {
            stats.merge(&self.stats[doc as usize]);
            self.has[doc as usize].iter().for_each(|&token| share[token as usize] += 1.0 / docs.len() as f64);
        }
        (sums(&stats), Control { frequency: self.frequency.clone(), share })
    }

    fn stepper(&self, rule: StepRule) -> Stepper {
        Stepper::new(rule, (1e-30, 1e-30, 1e30), self.stats.len(), (10, 10))
    }

    /// Weights after a step from some documents.
    fn stepped(&self, stepper: &Stepper, docs: &[u32], with_control: bool) -> Weights {
        let (sums, control) = self.batch(docs);
        let mut weights = self.data.network.weights.clone();
        let mut stepper = stepper.clone().with_control(with_control.then_some(control));
        stepper.advance(&self.data.network.graph, &mut weights, &sums);
        weights
    }

    /// Variances of token leaks and of edge weights over drawn batches, and whether each mean is within five standard errors of what all
    /// documents ask for.
    fn variances(&self, stepper: &Stepper, with_control: bool) -> ([f64; 2], bool) {
        const N_BATCHES: usize = 400;
        let n_topics = self.data.network.graph.n_topics();
        let mut all: Vec<u32> = (0..self.stats.len() as u32).collect();
        let truth = self.stepped(stepper, &all, false);
        let size = all.len() / 10;
        let rng = &mut ChaCha8Rng::seed_from_u64(5);
        let mut moments = vec![[0.0; 2]; truth.edge.len() + truth.leak.len()];
        for _ in 0..N_BATCHES {
            all.shuffle(rng);
            let got = self.stepped(stepper, &all[..size], with_control);
            let off = got.leak.iter().chain(&got.edge).zip(truth.leak.iter().chain(&truth.edge));
            for (moments, (got, truth)) in moments.iter_mut().zip(off) {
                moments[0] += (got - truth) / N_BATCHES as f64;
                moments[1] += (got - truth).powi(2) / N_BATCHES as f64;
            }
        }
        let variance = |[mean, square]: &[f64; 2]| square - mean * mean;
        let is_near = |moments: &[f64; 2]| {
            moments[0].abs() <= 5.0 * (variance(moments).max(1e-20) / N_BATCHES as f64).sqrt()
        };
        let (leaks, edges) = moments.split_at(truth.leak.len());
        let total = |moments: &[[f64; 2]]| moments.iter().map(variance).sum();
        ([total(&leaks[n_topics..]), total(edges)], moments.iter().all(is_near))
    }
}

/// The variance of a value over documents, without what goes with a token's presence and with it.
fn variances_of(values: &[f64], has: &[bool]) -> [f64; 2] {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let share = has.iter().filter(|has| **has).count() as f64 / n;
    let pairs =
        || values.iter().zip(has).map(|(value, &has)| (value - mean, f64::from(u8::from(has)) - share));
    let (variance, covariance) =
        pairs().fold((0.0, 0.0), |(v, c), (value, y)| (v + value * value, c + value * y));
    let explained = covariance * covariance / (n * share * (1.0 - share));
    [(variance - explained) / n, variance / n]
}

impl ByDocument {
    /// What the ratio of variances should be, to first order and with the best coefficients: of leaks, and of weights (`w`: n / Q) or of the
    /// gradients of edges (w = 1).
    fn expected(&self, has_weights: bool) -> [f64; 2] {
        let Network { graph, weights, .. } = &self.data.network;
        let (mut leaks, mut edges) = ([0.0; 2], [0.0; 2]);
        for token in 0..graph.n_tokens() {
            let node = graph.n_topics() + token;
            let has: Vec<bool> = self.has.iter().map(|tokens| tokens.contains(&(token as u32))).collect();
            let values: Vec<f64> = self.stats.iter().map(|stats| stats.leak[node]).collect();
            let scale = if has_weights { weights.leak[node].powi(2) } else { 1.0 };
            variances_of(&values, &has).iter().zip(&mut leaks).for_each(|(v, sum)| *sum += scale * v);
            for at in graph.edges_into(node) {
                let topic = graph.edge_parents()[at] as usize;
                let total = |of: &dyn Fn(&Stats) -> f64| self.stats.iter().map(of).sum::<f64>();
                let (n, q) = (total(&|stats| stats.edge[at]), total(&|stats| stats.topic_q[topic]));
                let ratio = if has_weights { n / q } else { 1.0 };
                let values: Vec<f64> =
                    self.stats.iter().map(|stats| stats.edge[at] - ratio * stats.topic_q[topic]).collect();
                let scale = if has_weights { (weights.edge[at] / q).powi(2) } else { 1.0 };
                variances_of(&values, &has).iter().zip(&mut edges).for_each(|(v, sum)| *sum += scale * v);
            }
        }
        [leaks[0] / leaks[1], edges[0] / edges[1]]
    }

    /// Compares the ratio of variances over drawn batches with what it should be, and means with those of the corpus.
    fn check(&self, stepper: &Stepper, has_weights: bool) {
        let (plain, plain_is_near) = self.variances(stepper, false);
        let (corrected, is_near) = self.variances(stepper, true);
        assert!(plain_is_near && is_near, "a mean is off: plain {plain_is_near}, corrected {is_near}");
        for (at, expected) in self.expected(has_weights).into_iter().enumerate() {
            let ratio = corrected[at] / plain[at];
            assert!(expected < 0.9, "there is nothing to see: {at}: {expected}");
            // 400 batches tell the variance of one coordinate to 7 %, and there are 50.
            assert!((ratio / expected - 1.0).abs() < 0.1, "{at}: ratio {ratio}, expected {expected}");
        }
    }
}

#[test]
fn weights_of_batches_vary_less_around_those_of_the_corpus() {
    let by_document = ByDocument::new(3_000);
    by_document.check(&by_document.stepper(LAMBDA_0), true);
}

#[test]
fn gradients_of_batches_vary_less_around_those_of_the_corpus() {
    let by_document = ByDocument::new(3_000);
    let rule = StepRule::Paper { rate: 1.0, c: 1.0, schedule: RateSchedule::Constant };
    // Coefficients come from earlier batches: here from every other document.
    let earlier: Vec<u32> = (0..3_000).step_by(2).collect();
    let (sums, control) = by_document.batch(&earlier);
    let mut stepper = by_document.stepper(rule).with_control(Some(control));
    let Network { graph, weights, .. } = &by_document.data.network;
    stepper.advance(graph, &mut weights.clone(), &sums);
    by_document.check(&stepper, false);
}

#[test]
fn a_token_that_a_batch_lacks_keeps_its_leak_and_its_weights() {
    let by_document = ByDocument::new(400);
    let graph = &by_document.data.network.graph;
    let (rare, node) = (0, graph.n_topics());
    let without: Vec<u32> = (0..400).filter(|&doc| !by_document.has[doc as usize].contains(&rare)).collect();
    let with: Vec<u32> = (0..400).filter(|doc| !without.contains(doc)).collect();
    assert!(with.len() > 20 && without.len() > 200);
    let of_token = |weights: &Weights| {
        let edges = graph.edges_into(node);
        let mut list = vec![weights.leak[node]];
        list.extend(&weights.edge[edges]);
        list
    };
    let batches = [&without[..50], &with, &without[50..100]];
    let run = |corrects: bool| {
        let (mut weights, mut stepper) =
            (by_document.data.network.weights.clone(), by_document.stepper(LAMBDA_0));
        batches.map(|docs| {
            let (sums, control) = by_document.batch(docs);
            stepper = stepper.clone().with_control(corrects.then_some(control));
            stepper.advance(graph, &mut weights, &sums);
            weights.clone()
        })
    };
    let start = &by_document.data.network.weights;
    let [first, told, last] = run(true);
    // None has told of it yet.
    assert_eq!(of_token(&first), of_token(start));
    assert_ne!(first.leak[node + 1], start.leak[node + 1]);
    assert_ne!(of_token(&told), of_token(start));
    // Its leak stays what those documents said: the same number, though it is computed anew.
    assert_close("leak", last.leak[node], told.leak[node], 1e-12);
    // Without the correction it falls to the floor, here 0, and EM multiplies.
    assert_eq!(run(false).map(|weights| weights.leak[node]), [0.0; 3]);
}

#[test]
fn a_token_of_no_training_document_falls_to_the_floor() {
    let network = network_of(1, 2, &[(0, 1, 1.0), (0, 2, 0.7)], vec![0.1; 3]);
    let (corpus, alignment) = corpus_of(&network, (0..40).map(|doc| vec![0; doc % 2]));
    let data = Data { network, corpus, alignment };
    let weights = data
        .train(TrainOptions {
            valid: 0.0,
            control_variates: true,
            init: Init::Constant,
            ..options(EM, BatchSize::Docs(10), 3)
        })
        .weights;
    assert_eq!((weights.leak[2], weights.edge[1]), (f64::from(1e-5f32), f64::from(1e-5f32)));
}

#[test]
fn full_batches_are_left_alone_and_others_are_not() {
    let data = Data::tiny(300);
    for rule in [EM, PAPER, ADAM] {
        for (batch, is_same) in [(BatchSize::Full, true), (BatchSize::Docs(60), false)] {
            let run = |control_variates| {
                data.train(TrainOptions { control_variates, ..options(rule, batch, 3) }).weights
            };
            assert_eq!(bits(&run(true)) == bits(&run(false)), is_same, "{rule:?}, {batch:?}");
        }
    }
}

#[test]
fn steps_over_all_documents_are_left_alone_among_others() {
    let by_document = ByDocument::new(200);
    let graph = &by_document.data.network.graph;
    // Those of refinement and of condensing, whatever the shares say.
    let (sums, control) = by_document.batch(&(0..50).collect::<Vec<_>>());
    let run = |control: Option<Control>, n_batches: u64| {
        let mut weights = by_document.data.network.weights.clone();
        let stepper = Stepper::new(EM, (1e-5, 1e-5, 20.0), 200, (n_batches, 8));
        stepper.with_control(control).advance(graph, &mut weights, &sums);
        bits(&weights)
    };
    assert_eq!(run(Some(control.clone()), 1), run(None, 1));
    assert_ne!(run(Some(control), 4), run(None, 4));
}

#[test]
fn frozen_weights_and_those_of_an_older_model_go_with_it() {
    let data = Data::tiny(300);
    let before = &data.network.weights;
    let run = |options: TrainOptions| {
        let options = TrainOptions { init: Init::Graph, control_variates: true, ..options }.check().unwrap();
        let begin = Begin::New(&data.network.graph, Some(before));
        let docs = data.alignment.docs(&data.corpus);
        train(begin, docs, &options, &mut CpuEStep::new(), &Monitor::default(), &mut |_| Ok(())).unwrap()
    };
    let batches = || options(EM, BatchSize::Docs(60), 3);
    let freeze = Freeze { edges: true, ..Freeze::default() };
    let frozen = run(TrainOptions { freeze, ..batches() }).weights;
    assert_eq!(frozen.edge, before.edge);
    assert_ne!(frozen.leak, before.leak);
    // A model of very many documents hardly moves.
    let n_tokens = data.network.graph.n_tokens();
    let prior = |docs: f64| PriorOptions { docs, trained_docs: docs, tokens: n_tokens };
    let moved = |docs: f64| {
        let weights = run(TrainOptions { prior: Some(prior(docs)), ..batches() }).weights;
        let off = weights.leak.iter().zip(&before.leak).map(|(now, before)| (now / before).ln().abs());
        off.sum::<f64>() / before.leak.len() as f64
    };
    assert!(moved(1e7) < 1e-3 && moved(10.0) > 0.05, "{} and {}", moved(1e7), moved(10.0));
}

#[test]
fn unknown_tokens_are_refused() {
    let mut data = Data::tiny(0);
    data.corpus
        .push_state(&mut vec![0], &mut Others { tokens: vec![1], rest_unknown: false }, "", "")
        .unwrap();
    (0..9).for_each(|_| data.corpus.push(&mut vec![1], "", ""));
    let options = TrainOptions { control_variates: true, ..options(EM, BatchSize::Docs(2), 1) };
    let error = data.train_on(options, &Monitor::default(), &mut |_| Ok(())).unwrap_err();
    assert!(error.to_string().contains("1 of 10 documents have unknown values"), "{error}");
    assert!(error.to_string().contains("`control_variates`"), "{error}");
}
