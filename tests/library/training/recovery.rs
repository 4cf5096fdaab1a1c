//! The right weights.

use super::*;

/// Mean and maximum of the absolute differences.
fn errors(got: &[f64], want: &[f64]) -> (f64, f64) {
    let errors = got.iter().zip(want).map(|(got, want)| (got - want).abs());
    (errors.clone().sum::<f64>() / got.len() as f64, errors.fold(0.0, f64::max))
}

#[test]
fn training_recovers_the_weights_that_documents_were_sampled_from() {
    let data = Data::sampled(nearly_disjoint(), 20_000);
    let n_topics = data.network.graph.n_topics();
    for (batch, epochs) in [(BatchSize::Full, 60), (BatchSize::Auto, 40)] {
        let step = StepRule::Em { lambda: 0.0 };
        let got = data.train(TrainOptions { valid: 0.0, ..options(step, batch, epochs) }).weights;
        let want = &data.network.weights;
        let edge = errors(&got.edge, &want.edge);
        let topic = errors(&got.leak[..n_topics], &want.leak[..n_topics]);
        let token = errors(&got.leak[n_topics..], &want.leak[n_topics..]);
        println!(
            "{batch:?}: (mean, maximum) error of edges {edge:?}, topic leaks {topic:?}, token leaks {token:?}"
        );
        for (what, got, most) in [
            ("edges", edge, RECOVERED_EDGES),
            ("topic leaks", topic, RECOVERED_TOPIC_LEAKS),
            ("token leaks", token, RECOVERED_TOKEN_LEAKS),
        ] {
            assert!(got.0 < most.0 && got.1 < most.1, "{batch:?}: {what} {got:?}");
        }
    }
}

#[test]
fn every_step_raises_the_held_out_bound() {
    let data = Data::tiny(3_000);
    for step in [EM, PAPER, ADAM] {
        for batch in [BatchSize::Full, BatchSize::Auto] {
            let options = options(step, batch, 15);
            let outcome = data.train(options.clone());
            let valid = options.split(data.corpus.n_docs()).valid;
            let before = data.stats(&data.start(&options), &valid, &options.estep).elbo_mean();
            let after = data.stats(&outcome.weights, &valid, &options.estep).elbo_mean();
            assert!(after > before + 0.1, "{step:?} {batch:?}: from {before} to {after}");
        }
    }
}
