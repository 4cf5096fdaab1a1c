//! The same seed.

use super::*;

#[test]
fn the_same_seed_gives_the_same_bits_on_1_2_and_8_threads() {
    // More items than one round of one thread takes: identical documents do not share.
    let data = Data::tiny(3_000);
    for step in [EM, PAPER, ADAM, MCMC] {
        for batch in [BatchSize::Full, BatchSize::Docs(500)] {
            let run = |n_threads| {
                let outcome = on_threads(n_threads, || {
                    data.train(TrainOptions { share_identical: false, ..options(step, batch, 3) })
                });
                (bits(&outcome.weights), outcome.metrics.unwrap().valid_elbo.unwrap().to_bits())
            };
            let one = run(1);
            assert_eq!(one, run(2), "{step:?} {batch:?}: 2 threads");
            assert_eq!(one, run(8), "{step:?} {batch:?}: 8 threads");
            let other = data.train(TrainOptions { seed: 1, ..options(step, batch, 3) });
            assert_ne!(one.0, bits(&other.weights), "{step:?} {batch:?}: another seed");
        }
    }
}

#[test]
fn corrected_sums_have_the_same_bits_on_1_and_8_threads() {
    let data = Data::tiny(3_000);
    for step in [EM, ADAM] {
        let run = |n_threads| {
            let options = TrainOptions { control_variates: true, ..options(step, BatchSize::Docs(500), 3) };
            bits(&on_threads(n_threads, || data.train(options)).weights)
        };
        assert_eq!(run(1), run(8), "{step:?}");
    }
}

#[test]
fn identical_documents_may_share_an_e_step() {
    let data = Data::tiny(1_000);
    // A fixed number of alternations: rounding must not decide when a document stops.
    let estep = EStepOptions { tolerance: 0.0, max_alternations: 15, ..EStepOptions::default() };
    for batch in [BatchSize::Full, BatchSize::Docs(200)] {
        let run = |share_identical| {
            let estep = estep.clone();
            data.train(TrainOptions { share_identical, estep, valid: 0.0, ..options(EM, batch, 2) }).weights
        };
        let (shared, apart) = (run(true), run(false));
        assert_ne!(shared, data.start(&options(EM, batch, 2)));
        for (a, b) in shared.edge.iter().chain(&shared.leak).zip(apart.edge.iter().chain(&apart.leak)) {
            assert_close(&format!("{batch:?}"), *a, *b, F32_SUMS);
        }
    }
}
