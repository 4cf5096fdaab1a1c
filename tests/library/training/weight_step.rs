//! The weight step.

use super::*;

#[test]
fn one_batch_of_the_whole_corpus_is_a_full_batch() {
    let data = Data::tiny(500);
    let train = |batch| data.train(TrainOptions { valid: 0.0, ..options(EM, batch, 4) }).weights;
    assert_eq!(train(BatchSize::Docs(500)), train(BatchSize::Full));
    assert_ne!(train(BatchSize::Docs(100)), train(BatchSize::Full));
}

/// Random sums of a batch, as an E-step might give them.
pub(super) fn random_stats(network: &Network, seed: u64, n_docs: f64) -> Stats {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let mut stats = Stats::new(&network.graph, true);
    stats.n_docs = n_docs;
    for sums in [&mut stats.edge, &mut stats.leak, &mut stats.topic_q] {
        sums.iter_mut().for_each(|sum| *sum = n_docs * rng.random_range(0.1..1.0));
    }
    stats
}

#[test]
fn stepwise_em_averages_counts() {
    const LAMBDA: f64 = 2.0;
    let network = nearly_disjoint();
    let (graph, start) = (&network.graph, &network.weights);
    let batches = [random_stats(&network, 1, 10.0), random_stats(&network, 2, 30.0)];
    let mut stepper = Stepper::new(StepRule::Em { lambda: LAMBDA }, (1e-5, 1e-5, 20.0), 40, (2, 2));
    let mut first = start.clone();
    stepper.advance(graph, &mut first, &sums(&batches[0]));
    let mut second = first.clone();
    stepper.advance(graph, &mut second, &sums(&batches[1]));
    // The second batch has weight (1 + 2)^-0.55; counts are per document.
    let new = 3f64.powf(-0.55);
    let mean = |a: f64, b: f64| (1.0 - new) * a / 10.0 + new * b / 30.0;
    for (edge, &parent) in graph.edge_parents().iter().enumerate() {
        let q = [0, 1].map(|batch| batches[batch].topic_q[parent as usize]);
        let n = [start.edge[edge] * batches[0].edge[edge], first.edge[edge] * batches[1].edge[edge]];
        assert_close("the first step", first.edge[edge], n[0] / (q[0] + LAMBDA * 10.0 / 40.0), F64);
        let want = mean(n[0], n[1]) / (mean(q[0], q[1]) + LAMBDA / 40.0);
        assert_close("the second step", second.edge[edge], want, F64);
    }
    for node in 0..graph.n_nodes() {
        let n = [start.leak[node] * batches[0].leak[node], first.leak[node] * batches[1].leak[node]];
        assert_close("the first leak", first.leak[node], n[0] / 10.0, F64);
        assert_close("the second leak", second.leak[node], mean(n[0], n[1]), F64);
    }
}

/// A stepper whose two batches an epoch are large, whatever their sums say.
fn large_batches() -> Stepper {
    Stepper::new(StepRule::Em { lambda: 2.0 }, (1e-30, 1e-30, 20.0), 40_000, (2, 8))
}

#[test]
fn a_step_of_large_batches_is_that_of_all_of_them_as_far_as_they_are_new() {
    let network = nearly_disjoint();
    let (graph, start) = (&network.graph, &network.weights);
    let batches = [random_stats(&network, 1, 10_000.0), random_stats(&network, 2, 30_000.0)];
    // Batch 1 is one step old in the second epoch.
    let mut all = batches[1].clone();
    let sums = [&mut all.edge, &mut all.leak, &mut all.topic_q];
    sums.into_iter().flatten().chain([&mut all.n_docs]).for_each(|sum| *sum *= 1.0 - 0.7 / 2.0);
    all.merge(&batches[0]);
    let mut full = start.clone();
    Stepper::new(StepRule::Em { lambda: 2.0 }, (1e-30, 1e-30, 20.0), 40_000, (1, 8)).advance(
        graph,
        &mut full,
        &super::sums(&all),
    );
    // Two epochs; the second in another order, and all sums as if weights had never changed.
    let (mut stepper, mut weights) = (large_batches(), start.clone());
    for batch_ix in [0, 1, 1, 0] {
        weights = start.clone();
        stepper = stepper.of_batch(batch_ix);
        stepper.advance(graph, &mut weights, &super::sums(&batches[batch_ix]));
    }
    let pairs = weights.edge.iter().zip(&full.edge).chain(weights.leak.iter().zip(&full.leak));
    pairs.for_each(|(now, full)| assert_close("a weight", *now, *full, KEPT_COUNTS));
}

#[test]
fn what_the_first_large_batch_lacks_is_not_lost() {
    let network = nearly_disjoint();
    let (graph, start) = (&network.graph, &network.weights);
    let mut first = random_stats(&network, 1, 20_000.0);
    first.edge[0] = 0.0;
    let mut weights = start.clone();
    let mut stepper = large_batches();
    stepper.advance(graph, &mut weights, &sums(&first));
    // One of two batches is missing: m = 0.02.
    assert_close("an edge without evidence", weights.edge[0], start.edge[0] * 0.02 / 1.02, KEPT_COUNTS);
    // Once all were seen the evidence decides alone, with the first batch's worth 0.3 of what it was.
    let mut second = random_stats(&network, 2, 20_000.0);
    second.edge[0] = 0.0;
    let before = weights.clone();
    stepper = stepper.of_batch(1);
    stepper.advance(graph, &mut weights, &sums(&second));
    assert_eq!(weights.edge[0], 0.0);
    for node in 0..graph.n_nodes() {
        let n = [start.leak[node] * first.leak[node], before.leak[node] * second.leak[node]];
        let want = (0.3 * n[0] + n[1]) / 20_000.0 / 1.3;
        assert_close("a leak", weights.leak[node], want, KEPT_COUNTS);
    }
}

#[test]
fn the_paper_and_adam_step_along_the_mean_gradient() {
    let network = nearly_disjoint();
    let (graph, start, stats) = (&network.graph, &network.weights, random_stats(&network, 1, 10.0));
    let advance = |rule| {
        let mut weights = start.clone();
        Stepper::new(rule, (1e-5, 1e-5, 20.0), 10, (1, 1)).advance(graph, &mut weights, &sums(&stats));
        weights
    };
    let paper = advance(StepRule::Paper { rate: 0.01, c: 50.0, schedule: RateSchedule::Constant });
    // Adam's first step is the rate, in the gradient's direction, and no more than a factor of two.
    let adam_first = |w: f64, gradient: f64| (w + 0.01 * gradient.signum()).clamp(w / 2.0, w * 2.0);
    let adam = advance(StepRule::Adam { rate: 0.01, schedule: RateSchedule::Constant });
    for (edge, &parent) in graph.edge_parents().iter().enumerate() {
        let gradient = (stats.edge[edge] - stats.topic_q[parent as usize]) / 10.0;
        assert_close("paper", paper.edge[edge], start.edge[edge] + 0.5 * gradient, F64);
        assert_close("adam", adam.edge[edge], adam_first(start.edge[edge], gradient), ADAM_FIRST);
    }
    for node in 0..graph.n_nodes() {
        let gradient = stats.leak[node] / 10.0 - 1.0;
        assert_close("paper", paper.leak[node], start.leak[node] + 0.01 * gradient, F64);
        assert_close("adam", adam.leak[node], adam_first(start.leak[node], gradient), ADAM_FIRST);
    }
}

#[test]
fn the_floors_and_the_cap_hold() {
    let data = Data::tiny(500);
    for step in [EM, PAPER, ADAM] {
        let options = TrainOptions {
            floor: 0.05,
            leak_floor: Some(0.01),
            cap: 0.5,
            patience: 0,
            ..options(step, BatchSize::Auto, 20)
        };
        let weights = data.train(options).weights;
        // Weights are rounded to f32 last, and so are their ends.
        let (floor, leak_floor) = (f64::from(0.05f32), f64::from(0.01f32));
        assert!(weights.edge.iter().all(|w| (floor..=0.5).contains(w)), "{step:?}");
        assert!(weights.leak.iter().all(|w| (leak_floor..=0.5).contains(w)), "{step:?}");
        assert!(
            weights.edge.contains(&floor) && weights.edge.contains(&0.5),
            "{step:?}: the ends are not met"
        );
        assert!(weights.leak.contains(&leak_floor), "{step:?}: the leak floor is not met");
    }
}

#[test]
fn a_topic_that_is_never_on_keeps_its_weights() {
    // Topic 1 causes only token 1, which never occurs.
    let network = network_of(2, 2, &[(0, 2, 1.0), (1, 3, 0.7)], vec![0.1; 4]);
    let (corpus, alignment) = corpus_of(&network, [vec![0], vec![], vec![0]]);
    let data = Data { network, corpus, alignment };
    let estep = EStepOptions { bound: Bound::Local, ..EStepOptions::default() };
    let stats = data.stats(&data.network.weights, &[0, 1, 2], &estep);
    assert_eq!(stats.topic_q[1], 0.0);
    for n_batches in [1, 3] {
        let mut weights = data.network.weights.clone();
        let mut stepper = Stepper::new(EM, (1e-5, 1e-6, 20.0), 3, (n_batches, 9));
        for _ in 0..3 {
            stepper.step(&data.network.graph, &mut weights, &stats).unwrap();
        }
        assert_eq!(weights.edge[1], f64::from(0.7f32));
        // Its leak is what the M-step says: it is never on, so it has none.
        assert_eq!(weights.leak[1], f64::from(1e-6f32));
        assert!(weights.edge[0] != 1.0);
    }
}

#[test]
fn a_batch_without_documents_changes_nothing() {
    let network = nearly_disjoint();
    for rule in [EM, PAPER, ADAM] {
        let mut weights = network.weights.clone();
        let mut stepper = Stepper::new(rule, (1e-5, 1e-6, 20.0), 3, (1, 1));
        stepper.step(&network.graph, &mut weights, &sums(&Stats::new(&network.graph, true))).unwrap();
        assert_eq!(weights, network.weights, "{rule:?}");
    }
}
