//! Golden answers (tests/golden/baselines/README.md): the joint probability, conditionals, sums over listed states, exact EM.

use super::*;
use noisyor::corpus::{Corpus, Others, align};
use noisyor::estep::{Params, Stats};
use noisyor::mcmc::sums::DocSums;
use noisyor::network::Weights;
use noisyor::numeric::f64::{log_sum_exp, sigmoid};
use noisyor::train::{StepRule, Stepper};
use serde_json::Value;

/// Probabilities, as the golden file's README has it.
const PROBABILITY: f64 = 1e-12;

fn cases() -> Vec<Golden> {
    let golden = golden_file("baselines/golden.json");
    let cases = golden["noisy_or"].as_array().unwrap();
    assert_eq!(cases.len(), 3);
    (0..3).map(|at| golden_of(&format!("noisy_or {at}"), cases[at].clone())).collect()
}

fn on(state: &Value) -> Vec<bool> {
    floats(&state["x"]).into_iter().map(|x| x == 1.0).collect()
}

#[test]
fn joint_probabilities_and_conditionals() {
    let mut n_states = 0;
    for Golden { network, value, .. } in cases() {
        for (number, state) in value["states"].as_array().unwrap().iter().enumerate() {
            let name = |what: &str| format!("state {number}: {what}");
            let mut case = Case::new(&network, &tokens(&state["tokens"]), Model::Full);
            case.go_to(&on(state));
            let log_joint = state["log_joint"].as_f64().unwrap();
            assert_close(&name("log_joint, flip by flip"), case.x.log_joint, log_joint, F64);
            assert_close(&name("log_joint"), case.joint.log_joint(&case.x.on), log_joint, F64);
            let want = (floats(&state["gibbs_logodds"]), floats(&state["gibbs_p_on"]));
            for (topic, place) in case.places().into_iter().enumerate() {
                assert_close(&name("log-odds"), case.x.gain[place], want.0[topic], F64);
                assert_close(&name("p on"), sigmoid(case.x.gain[place]), want.1[topic], PROBABILITY);
            }
            n_states += 1;
        }
    }
    assert!(n_states >= 50, "{n_states} states");
}

/// `log p(y | x) = log p(x, y) - log p(x)`; the latter is the joint probability where all tokens are unknown.
#[test]
fn the_part_of_the_tokens() {
    for Golden { network, value, .. } in cases() {
        let mut corpus = Corpus::default();
        corpus.set_token_names(&network.names.tokens);
        let mut nothing = Others { tokens: vec![], rest_unknown: true };
        corpus.push_state(&mut vec![], &mut nothing, "", "").unwrap();
        let alignment = align(&corpus, &network.names.tokens);
        let shared = Shared::new(&network.graph, &network.weights);
        let mut prior = Joint::new(&network.graph, Model::Full);
        prior.load(&shared, &alignment.docs(&corpus), Item { doc_ix: 0, count: 1 });
        for state in value["states"].as_array().unwrap() {
            let mut case = Case::new(&network, &tokens(&state["tokens"]), Model::Full);
            case.go_to(&on(state));
            let of_prior: Vec<bool> = (0..prior.n_topics()).map(|at| on(state)[prior.topic(at)]).collect();
            let got = case.x.log_joint - prior.log_joint(&of_prior);
            assert_close("log_token_part", got, state["log_token_part"].as_f64().unwrap(), F64);
        }
    }
}

#[test]
fn sums_over_the_listed_states_of_a_document() {
    let mut n_bounds = 0;
    for Golden { network, value, .. } in cases() {
        for doc in value["docs"].as_array().unwrap() {
            let Some(want) = doc["listed_states_bound"].as_f64() else { continue };
            let listed = value["states"].as_array().unwrap().iter();
            let mut states: Vec<Vec<bool>> =
                listed.filter(|state| state["tokens"] == doc["tokens"]).map(on).collect();
            states.sort();
            states.dedup();
            let case = &mut Case::new(&network, &tokens(&doc["tokens"]), Model::Full);
            let terms: Vec<f64> = states
                .iter()
                .map(|state| {
                    case.go_to(state);
                    case.x.log_joint
                })
                .collect();
            assert_close("listed_states_bound", log_sum_exp(terms), want, F64);
            n_bounds += 1;
        }
    }
    assert!(n_bounds >= 6, "{n_bounds} bounds");
}

/// N, L and Q of documents with exact posteriors.
fn exact_sums(network: &Network, docs: &[Vec<u32>]) -> Stats {
    let mut stats = Stats::new(&network.graph, true);
    for (tokens, exact) in docs.iter().zip(likelihood(network, docs)) {
        let mut case = Case::new(network, tokens, Model::Full);
        let mut sums = DocSums::default();
        sums.clear(&case.joint);
        for state in states(network.graph.n_topics()) {
            case.go_to(&state);
            sums.add(&case.joint, &case.x.on, (case.x.log_joint - exact).exp());
        }
        stats.merge(&sums.stats(&case.joint, &network.graph));
    }
    stats
}

/// One step of EM by exact posteriors.
pub(super) fn em_step(network: &Network, docs: &[Vec<u32>], augmentation: Augmentation) -> Weights {
    let rule = StepRule::Mcmc(McmcOptions { augmentation, ..McmcOptions::default() });
    let mut stepper = Stepper::new(rule, (1e-30, 1e-30, 1e30), docs.len(), (1, 1));
    let mut weights = network.weights.clone();
    let sums = exact_sums(network, docs).with_tail(&Params::default());
    stepper.advance(&network.graph, &mut weights, &sums);
    weights
}

#[test]
fn em_by_exact_posteriors_for_both_augmentations() {
    for case in cases() {
        let (mut network, value) = (case.network.clone(), &case.value);
        let docs: Vec<Vec<u32>> =
            value["docs"].as_array().unwrap().iter().map(|doc| tokens(&doc["tokens"])).collect();
        let start = network.weights.clone();
        for (augmentation, name) in [(Augmentation::Poisson, "poisson"), (Augmentation::Cascade, "cascade")] {
            let want = &value["exact_em_step"][name];
            let sum = |network: &Network| likelihood(network, &docs).iter().sum::<f64>();
            network.weights = start.clone();
            assert_close("before", sum(&network), want["loglik_before"].as_f64().unwrap(), F64);
            network.weights = em_step(&network, &docs, augmentation);
            for (node, want) in floats(&want["leak"]).into_iter().enumerate() {
                assert_close(&format!("{name}: leak {node}"), network.weights.leak[node], want, F64);
            }
            for (edge, want) in case.by_edge(&want["edges"]).into_iter().enumerate() {
                assert_close(&format!("{name}: edge {edge}"), network.weights.edge[edge], want, F64);
            }
            assert_close("after", sum(&network), want["loglik_after"].as_f64().unwrap(), F64);
            for _ in 1..12 {
                network.weights = em_step(&network, &docs, augmentation);
            }
            let want = want["loglik_after_12_steps"].as_f64().unwrap();
            assert_close(&format!("{name}: after 12 steps"), sum(&network), want, F64);
        }
    }
}
