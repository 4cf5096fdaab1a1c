//! Given topics put into a network, exact inference in the place of an E-step, and reasons.

#![allow(clippy::unwrap_used)]

use super::random::{by_hand, random_case, random_network};
use crate::common::assert_close;
use noisyor::corpus::{Corpus, Others, align};
use noisyor::estep::cpu::CpuEStep;
use noisyor::estep::{DocResults, EStep, EStepOptions};
use noisyor::posterior::{Case, Engine, ExactEStep, Options};
use noisyor::{Error, Monitor, Network, exact, infer};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The case as a corpus of one document; what is neither present nor absent is unknown.
fn corpus_of(case: &Case, n_tokens: usize) -> Corpus {
    let mut corpus = Corpus::default();
    let mut others = Others { tokens: case.absent.clone(), rest_unknown: true };
    corpus.push_state(&mut case.present.clone(), &mut others, "", "").unwrap();
    corpus.set_token_names((0..n_tokens).map(|token| format!("w{token}")));
    corpus
}

/// q of every topic and the bound, of a corpus of one document.
fn infer_one(network: &Network, docs: noisyor::corpus::Docs<'_>, estep: &mut dyn EStep) -> (Vec<f32>, f64) {
    let mut found = (vec![0.0; network.graph.n_topics()], 0.0);
    let mut sink = |results: &DocResults<'_>| {
        let (topics, q) = results.doc(0);
        topics.iter().zip(q).for_each(|(&topic, &q)| found.0[topic as usize] = q);
        found.1 = results.elbo[0];
        Ok(())
    };
    let (options, monitor) = (EStepOptions::default(), Monitor::default());
    infer::run(network, docs, &[0], &options, estep, &monitor, Some(&mut sink)).unwrap();
    found
}

#[test]
fn networks_with_given_topics_have_their_joint_probability() {
    let rng = &mut ChaCha8Rng::seed_from_u64(31);
    for number in 0..300 {
        let layers: &[usize] = if number % 2 == 0 { &[5, 6] } else { &[2, 4, 6] };
        let network = random_network(rng, layers);
        let mut given: Vec<(u32, bool)> = Vec::new();
        for topic in 0..network.graph.n_topics() as u32 {
            if rng.random::<f64>() < 0.4 {
                given.push((topic, rng.random()));
            }
        }
        let case = Case { given: given.clone(), ..random_case(rng, &network) };
        let with_given = network.with_given(&given).unwrap();
        assert_eq!(with_given.network.names.topics, network.names.topics);
        let corpus = corpus_of(&case, network.graph.n_tokens());
        let alignment = align(&corpus, &network.names.tokens);
        let docs =
            alignment.docs(&corpus).with_given(with_given.network.graph.n_tokens(), &with_given.present);
        let conditioned = &with_given.network;
        let monitor = Monitor::default();
        let found =
            exact::log_likelihood_of(&conditioned.graph, &conditioned.weights, &docs, &monitor).unwrap()[0];
        let (log_p, _) = by_hand(&network, &case);
        assert_close("log p", found, log_p, 1e-9);
        // A bound, for the E-step too, in which unknown tokens have shadows behind those that stand for given topics.
        let (_, elbo) = infer_one(conditioned, docs, &mut CpuEStep::new());
        assert!(elbo <= log_p + 1e-4 * (1.0 + log_p.abs()), "{number}: {elbo} above {log_p}");
    }
}

#[test]
fn given_topics_that_make_no_sense_are_refused() {
    let network = random_network(&mut ChaCha8Rng::seed_from_u64(3), &[3, 4]);
    for given in [&[(3, true)][..], &[(0, true), (0, true)]] {
        assert!(matches!(network.with_given(given), Err(Error::Usage(_))), "{given:?}");
    }
}

#[test]
fn exact_inference_takes_the_place_of_an_estep() {
    let rng = &mut ChaCha8Rng::seed_from_u64(32);
    for number in 0..100 {
        let network = random_network(rng, if number % 2 == 0 { &[5, 6] } else { &[2, 3, 6] });
        let case = random_case(rng, &network);
        let corpus = corpus_of(&case, network.graph.n_tokens());
        let alignment = align(&corpus, &network.names.tokens);
        let engine = Engine::new(&network).unwrap();
        let mut estep = ExactEStep::new(engine, &case.given, 22);
        let (q, log_p) = infer_one(&network, alignment.docs(&corpus), &mut estep);
        let (want, marginals) = by_hand(&network, &case);
        assert_close("log p", log_p, want, 1e-9);
        for (q, p) in q.iter().zip(marginals) {
            assert!((f64::from(*q) - p).abs() < 1e-6, "{number}: {q} {p}");
        }
    }
}

#[test]
fn reasons_are_what_is_missing_without_a_finding() {
    let rng = &mut ChaCha8Rng::seed_from_u64(33);
    for _ in 0..30 {
        let network = random_network(rng, &[4, 6]);
        let case = Case { given: Vec::new(), ..random_case(rng, &network) };
        let (engine, options, monitor) =
            (Engine::new(&network).unwrap(), Options::default(), Monitor::default());
        let topics = [2, 0];
        let reasons = engine.why(&case, 0, &topics, &options, &monitor).unwrap();
        for (topic, reasons) in topics.iter().zip(&reasons) {
            assert!(reasons.is_sorted_by(|a, b| a.log_odds.abs() >= b.log_odds.abs()));
            let p = |case: &Case| by_hand(&network, case).1[*topic as usize].clamp(1e-6, 1.0 - 1e-6);
            let logit = |p: f64| (p / (1.0 - p)).ln();
            for (present, token) in case
                .present
                .iter()
                .map(|&token| (true, token))
                .chain(case.absent.iter().map(|&token| (false, token)))
            {
                let mut without = case.clone();
                let list = if present { &mut without.present } else { &mut without.absent };
                list.retain(|&other| other != token);
                let (with, without) = (p(&case), p(&without));
                let want = logit(with) - logit(without);
                let reason = reasons.iter().find(|reason| reason.token == token);
                if let Some(reason) = reason {
                    assert!(reason.present == present && (reason.log_odds - want).abs() < 1e-3, "{reason:?}");
                }
                // Absent findings that the topic does not cause are not tried.
                assert!(!present || want.abs() < 1e-2 || reason.is_some(), "{token}: {want}");
            }
        }
    }
}
