//! Kept starts: searches begin where the last epoch's ended, so that full-batch EM does not lose what they would miss.

use super::*;

/// Full-batch EM without a penalty: what its E-step begins at decides whether it ever loses.
fn climbing(keep_starts: bool, seed: u64) -> TrainOptions {
    let rule = StepRule::Em { lambda: 0.0 };
    TrainOptions { keep_starts, seed, patience: 0, ..options(rule, BatchSize::Full, 30) }
}

/// The most that one epoch lost of the training bound, over all seeds, and the mean bound in the end.
fn losses(data: &Data, keep_starts: bool) -> (f64, f64) {
    let (mut lost, mut ends) = (0.0f64, 0.0);
    for seed in 0..6 {
        let (_, seen) = data.evaluations(climbing(keep_starts, seed));
        let bounds: Vec<f64> = seen.iter().filter_map(|(metrics, ..)| metrics.train_elbo).collect();
        let falls = bounds.windows(2).map(|pair| pair[0] - pair[1]);
        lost = falls.fold(lost, f64::max);
        ends += bounds[bounds.len() - 1] / 6.0;
    }
    (lost, ends)
}

#[test]
fn full_batch_em_does_not_lose_where_starts_are_kept() {
    // Every topic is a parent of every token, so configurations compete.
    let rng = &mut ChaCha8Rng::seed_from_u64(5);
    let (n_topics, n_tokens) = (16, 40);
    let mut edges = Vec::new();
    for topic in 0..n_topics as u32 {
        edges.extend((0..n_tokens as u32).map(|token| {
            (topic, n_topics as u32 + token, rng.random_range(0.0f64..1.0).powi(4) * 3.0 + 0.001)
        }));
    }
    let mut leak: Vec<f64> = (0..n_topics).map(|_| rng.random_range(0.05..0.3)).collect();
    leak.extend((0..n_tokens).map(|_| rng.random_range(0.001..0.05)));
    let data = Data::sampled(network_of(n_topics, n_tokens, &edges, leak), 500);
    let ((lost_cold, end_cold), (lost_kept, end_kept)) = (losses(&data, false), losses(&data, true));
    println!(
        "from nothing: an epoch loses up to {lost_cold:.5}, ends at {end_cold:.4}; kept: {lost_kept:.5}, {end_kept:.4}"
    );
    assert!(lost_kept <= 1e-4, "an epoch lost {lost_kept} nats a document");
    assert!(end_kept > end_cold - 0.1, "kept starts end at {end_kept}, others at {end_cold}");
    assert_ne!(end_kept, end_cold, "nothing was kept");
}

#[test]
fn kept_starts_are_for_searches() {
    let estep = EStepOptions { start: noisyor::estep::Start::Plain, ..EStepOptions::default() };
    let refused = TrainOptions { estep, keep_starts: true, ..TrainOptions::default() }.check();
    assert!(refused.unwrap_err().to_string().contains("greedy"));
    let estep = EStepOptions { clamp: 2, ..EStepOptions::default() };
    let refused = TrainOptions { estep, keep_starts: true, ..TrainOptions::default() }.check();
    assert!(refused.unwrap_err().to_string().contains("`clamp`"));
}
