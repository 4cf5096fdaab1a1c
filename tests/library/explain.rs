//! Explanations against the oracle and the fast path: the q and the bound that inference finds, and terms that add up.

#![allow(clippy::unwrap_used)]

use crate::common::*;
use noisyor::corpus::{align, sample_corpus, sample_network};
use noisyor::estep::oracle::Point;
use noisyor::estep::{Bound, EStepOptions, Start, Temper};
use noisyor::explain::{Explainer, Explanation, Piece, Source, TermKind};
use noisyor::network::Network;
use noisyor::numeric::f64::{beta, log_sum_exp, log1mexp, sigmoid};

/// q of an explanation and of the fast path are sigmoids of one number, in f64 and in f32 (src/numeric.rs), and f32 has steps of 6e-8
/// below 1.
const F32_Q: f64 = 4e-7;

/// Networks with documents: the golden ones, and random ones with skip edges.
fn cases() -> impl Iterator<Item = (String, Network, Vec<Vec<u32>>)> {
    let golden = golden_cases().into_iter().map(|case| {
        let docs = case.docs().iter().map(|doc| tokens(&doc["tokens"])).collect();
        (case.name, case.network, docs)
    });
    golden
        .chain(random_cases(60, 25, 40).map(|(seed, network, docs)| (format!("seed {seed}"), network, docs)))
}

/// The optimum as the oracle has points.
fn point_of(network: &Network, explanation: &Explanation) -> Point {
    let graph = &network.graph;
    let mut point = Point { q: vec![0.0; graph.n_topics()], r: vec![0.0; graph.n_edges()] };
    let causes = explanation.topics.iter().map(|part| (part.topic, &part.cause));
    for (node, cause) in causes.chain(explanation.tokens.iter().map(|part| (part.node, &part.cause))) {
        let parents = graph.edges_into(node as usize).zip(&cause.parents);
        parents.for_each(|(edge, parent)| point.r[edge] = parent.r);
    }
    explanation.topics.iter().for_each(|part| point.q[part.topic as usize] = part.q);
    point
}

fn explainer(network: &Network, bound: Bound) -> Explainer<'_> {
    Explainer::new(network, &EStepOptions { bound, ..EStepOptions::default() }).unwrap()
}

fn logit(q: f64) -> f64 {
    (q / (1.0 - q)).ln()
}

#[test]
fn terms_add_up_to_the_log_odds_of_the_oracle() {
    for (name, network, docs) in cases() {
        for bound in [Bound::Tail, Bound::Local, Bound::Full] {
            let explainer = explainer(&network, bound);
            for tokens in &docs {
                let explanation = explainer.explain(tokens).unwrap();
                let mut most: f64 = 0.0;
                let (oracle, point) = (oracle(&network, tokens), point_of(&network, &explanation));
                for part in &explanation.topics {
                    let (name, why) =
                        (format!("{name}: topic {}", part.topic), explainer.why(&explanation, part.topic));
                    assert!(why.considered && why.q == part.q && why.log_odds == part.log_odds, "{name}");
                    let sum: f64 = why.terms.iter().map(|term| term.value).sum();
                    assert_close(&name, sum, part.log_odds, F64);
                    assert_close(&name, sum, oracle.log_odds(&point, part.topic as usize), F64);
                    most = most.max((sigmoid(part.log_odds) - part.q).abs());
                    let n_children: usize = why
                        .terms
                        .iter()
                        .filter(|term| term.kind > TermKind::Parent)
                        .map(|term| term.n_nodes)
                        .sum();
                    assert_eq!(n_children, network.graph.children(part.topic as usize).len(), "{name}");
                }
                assert_eq!(most, explanation.last_move);
            }
        }
    }
}

#[test]
fn bound_costs_and_shares_are_the_oracles() {
    for (name, network, docs) in cases() {
        let (graph, leak) = (&network.graph, &network.weights.leak);
        let explainer = explainer(&network, Bound::Tail);
        for tokens in &docs {
            let explanation = explainer.explain(tokens).unwrap();
            let (oracle, point) = (oracle(&network, tokens), point_of(&network, &explanation));
            let inside = oracle.local_topics();
            let in_model: Vec<usize> = explanation.topics.iter().map(|part| part.topic as usize).collect();
            assert!((0..graph.n_topics()).filter(|&topic| inside[topic]).eq(in_model), "{name}");
            assert_close(&name, explanation.elbo, oracle.elbo(&point) + oracle.tail(&inside), F64);
            let sums = oracle.sums(&point);
            for token in &explanation.tokens {
                let (node, cause) = (token.node as usize, &token.cause);
                let contributions: f64 = cause.parents.iter().map(|parent| parent.contribution).sum();
                assert_close(&name, -cause.cost, log1mexp(leak[node]) + contributions, F64);
                let counts: Vec<f64> =
                    graph.edges_into(node).map(|edge| network.weights.edge[edge] * sums.edge[edge]).collect();
                let all = counts.iter().sum::<f64>() + leak[node] * sums.leak[node];
                for (parent, count) in cause.parents.iter().zip(&counts) {
                    assert_close(&name, parent.share, count / all, F64);
                }
                let shares: f64 = cause.parents.iter().map(|parent| parent.share).sum();
                assert_close(&name, shares + cause.leak_share, 1.0, F64);
            }
        }
    }
}

/// E-steps of every start, schedule and bound.
fn esteps() -> Vec<EStepOptions> {
    let tempered = Start::Tempered(Temper { from: 3.0, alternations: 8 });
    let starts = [Start::Greedy, Start::Plain, Start::Tempered(Temper::default()), tempered, Start::Best];
    let default = EStepOptions::default;
    let mut esteps: Vec<EStepOptions> = starts.map(|start| EStepOptions { start, ..default() }).to_vec();
    esteps.extend([Bound::Local, Bound::Full].map(|bound| EStepOptions { bound, ..default() }));
    esteps.push(EStepOptions::paper(Bound::Local));
    esteps.push(EStepOptions { tolerance: 1e-6, max_alternations: 1_000, ..default() });
    esteps.push(EStepOptions { max_alternations: 1, ..default() });
    esteps
}

/// Explanations against the fast path, document by document: q, the bound, and the alternations in all.
fn assert_inferred(name: &str, network: &Network, docs: &[Vec<u32>], options: &EStepOptions) {
    let ran = run_docs(network, docs, options);
    let explainer = Explainer::new(network, options).unwrap();
    let mut n_alternations = 0;
    for (doc, tokens) in docs.iter().enumerate() {
        let name = format!("{name}, {options:?}: {tokens:?}");
        let explanation = explainer.explain(tokens).unwrap();
        let rounding = F32_TERMS * bound_size(&oracle(network, tokens), &point_of(network, &explanation));
        let error = (explanation.elbo - ran.elbo[doc]).abs();
        assert!(error <= rounding, "{name}: the bound is {error:e} off, {rounding:e} allowed");
        for part in &explanation.topics {
            let inferred = f64::from(ran.q[doc][part.topic as usize]);
            assert!((part.q - inferred).abs() <= F32_Q, "{name}: topic {} {inferred}", part.topic);
        }
        n_alternations += u64::from(explanation.n_alternations);
    }
    assert_eq!(n_alternations, ran.stats.n_alternations, "{name}, {options:?}");
}

#[test]
fn q_and_bound_are_those_that_inference_finds() {
    for (name, mut network, docs) in cases() {
        network.weights.round_to_f32();
        esteps().iter().for_each(|options| assert_inferred(&name, &network, &docs, options));
    }
}

#[test]
fn documents_of_the_sample_are_explained_as_inferred() {
    let (mut network, corpus) = (sample_network().unwrap(), sample_corpus().unwrap());
    network.weights.round_to_f32();
    let alignment = align(&corpus, &network.names.tokens);
    let docs: Vec<Vec<u32>> = (0..1_000).map(|doc| alignment.docs(&corpus).tokens(doc).collect()).collect();
    esteps().iter().for_each(|options| assert_inferred("sample", &network, &docs, options));
}

/// The structured bound with so many topics clamped.
fn clamped(clamp: u32, bound: Bound) -> EStepOptions {
    EStepOptions { clamp, bound, ..EStepOptions::default() }
}

#[test]
fn a_mixtures_q_and_bound_are_those_that_inference_finds() {
    for (name, mut network, docs) in cases() {
        network.weights.round_to_f32();
        for bound in [Bound::Tail, Bound::Local, Bound::Full] {
            assert_inferred(&name, &network, &docs, &clamped(4, bound));
        }
        let best = EStepOptions { start: Start::Best, ..clamped(8, Bound::Tail) };
        assert_inferred(&name, &network, &docs, &best);
    }
}

/// Two pieces must not both hold: some topic is on in one and off in the other.
fn are_disjoint(a: &Piece, b: &Piece) -> bool {
    a.clamped.iter().any(|&(topic, on)| b.clamped.contains(&(topic, !on)))
}

#[test]
fn pieces_are_disjoint_and_what_adds_up_in_each_adds_up_in_their_mean() {
    let mut n_split = 0;
    for (name, network, docs) in cases() {
        let explainer = Explainer::new(&network, &clamped(4, Bound::Tail)).unwrap();
        for tokens in &docs {
            let explanation = explainer.explain(tokens).unwrap();
            let Explanation { pieces, topics, tokens, elbo, .. } = &explanation;
            n_split += usize::from(explanation.is_split());
            assert!(pieces.windows(2).all(|pair| pair[0].weight >= pair[1].weight), "{name}");
            assert_close(&name, pieces.iter().map(|piece| piece.weight).sum(), 1.0, F64);
            let bounds: Vec<f64> = pieces.iter().map(|piece| piece.bound).collect();
            assert_close(&name, *elbo, log_sum_exp(bounds.iter().copied()), F64);
            for (at, piece) in pieces.iter().enumerate() {
                assert!(pieces[..at].iter().all(|other| are_disjoint(piece, other)), "{name}: {pieces:?}");
                for &(topic, on) in &piece.clamped {
                    assert_eq!(piece.on.contains(&(topic, 1.0)), on, "{name}: {piece:?}");
                }
            }
            let causes = topics.iter().map(|part| &part.cause).chain(tokens.iter().map(|part| &part.cause));
            for cause in causes {
                let sum = |figure: &dyn Fn(&Source) -> f64| cause.parents.iter().map(figure).sum::<f64>();
                assert_close(&name, sum(&|source| source.share) + cause.leak_share, 1.0, F64);
                assert_close(&name, cause.leak_cost - sum(&|source| source.contribution), cause.cost, F64);
                if !cause.parents.is_empty() {
                    assert_close(&name, sum(&|source| source.r), 1.0, F64);
                }
                for source in &cause.parents {
                    assert_eq!(Some(source.q), explanation.topic(source.topic).map(|part| part.q), "{name}");
                }
            }
            if explanation.is_split() {
                topics.iter().for_each(|part| assert_close(&name, sigmoid(part.log_odds), part.q, F64));
            }
        }
    }
    println!("{n_split} documents were split");
    assert!(n_split > 50, "{n_split} documents were split");
}

/// What speaks for a topic is told in the heaviest piece, where Eq. 12 holds.
#[test]
fn terms_are_those_of_the_heaviest_piece() {
    let (mut n_clamped, mut n_free) = (0, 0);
    let tight = EStepOptions { tolerance: 1e-6, max_alternations: 5_000, ..clamped(4, Bound::Tail) };
    for (name, network, docs) in cases() {
        let explainer = Explainer::new(&network, &tight).unwrap();
        for explanation in docs.iter().map(|tokens| explainer.explain(tokens).unwrap()) {
            let heaviest = &explanation.pieces[0];
            for part in &explanation.topics {
                let why = explainer.why(&explanation, part.topic);
                let name = format!("{name}: topic {}", part.topic);
                assert_eq!((why.weight, why.mean_q), (heaviest.weight, part.q), "{name}");
                assert_eq!(why.place().is_some(), explanation.is_split(), "{name}");
                assert_close(&name, why.terms.iter().map(|term| term.value).sum(), why.log_odds, F64);
                let setting = heaviest.clamped.iter().find(|setting| setting.0 == part.topic);
                assert_eq!(why.clamped, setting.is_some(), "{name}");
                match setting {
                    Some(&(_, on)) => assert_eq!(why.q, f64::from(u8::from(on)), "{name}"),
                    None => {
                        let error = (sigmoid(why.log_odds) - why.q).abs();
                        assert!(error <= explanation.last_move, "{name}: {error:e}");
                    }
                }
                *(if why.clamped { &mut n_clamped } else { &mut n_free }) += usize::from(why.n_pieces > 1);
            }
        }
    }
    assert!(n_clamped > 50 && n_free > 50, "{n_clamped} topics clamped, {n_free} free");
}

/// Two topics that explain the same word equally well, and nothing else: the posterior is by hand, and mean field has one of them.
#[test]
fn two_topics_that_compete_are_two_explanations() {
    let network = network_of(
        2,
        3,
        &[(0, 2, 3.0), (1, 2, 3.0), (0, 3, 0.3), (1, 4, 0.2)],
        vec![0.05, 0.05, 0.001, 0.01, 0.01],
    );
    let explainer = Explainer::new(&network, &clamped(2, Bound::Full)).unwrap();
    let explanation = explainer.explain(&[0]).unwrap();
    // p(topics, the word alone on) up to a factor: the word by its rate, the other words stay off.
    let joint = |a: u32, b: u32| {
        let (x, y) = (f64::from(a), f64::from(b));
        let on = [(x, 0.05f64), (y, 0.05)]
            .map(|(on, leak)| if on > 0.0 { -(-leak).exp_m1() } else { (-leak).exp() });
        on[0] * on[1] * -(-(0.001 + 3.0 * (x + y))).exp_m1() * (-0.3 * x - 0.2 * y).exp()
    };
    let all = joint(0, 0) + joint(0, 1) + joint(1, 0) + joint(1, 1);
    let exact = [(joint(1, 0) + joint(1, 1)) / all, (joint(0, 1) + joint(1, 1)) / all];
    for (part, exact) in explanation.topics.iter().zip(exact) {
        assert!((part.q - exact).abs() < 1e-5, "{} by hand, {}", exact, part.q);
    }
    assert_close("elbo", explanation.elbo, likelihood(&network, &[vec![0]])[0], 1e-5);
    let (shown, n_others, _) = explanation.competing();
    let own: Vec<&[u32]> = shown.iter().map(|view| view.own.as_slice()).collect();
    assert_eq!((&own[..2], n_others), (&[[1].as_slice(), &[0]][..], 0), "{:?}", explanation.pieces);
    // Each has the word where it is on alone: its share is about its weight.
    let cause = &explanation.tokens[0].cause;
    for (source, part) in cause.parents.iter().zip(&explanation.topics) {
        assert!((source.share - part.q).abs() < 0.03, "share {}, q {}", source.share, part.q);
    }
    // Neither is the cause of the other.
    assert!(explanation.topics.iter().all(|part| (part.cause.leak_share - 1.0).abs() < F64));
}

/// Who switched a topic on is asked where it is on. A word that a topic and its parent both have: each makes the other less likely, and the
/// parent is on less often where the topic is.
#[test]
fn a_topic_is_explained_by_the_pieces_in_which_it_is_on() {
    let (w, leak) = (0.2, 0.1);
    let network = network_of(2, 1, &[(0, 1, w), (0, 2, 3.0), (1, 2, 3.0)], vec![0.1, leak, 0.001]);
    let explanation = Explainer::new(&network, &clamped(2, Bound::Full)).unwrap().explain(&[0]).unwrap();
    let p = |states: u32| log_joint(&network, &[0], states).exp();
    let parent_where_on = p(3) / (p(2) + p(3));
    let parent = (p(1) + p(3)) / (0..4).map(p).sum::<f64>();
    let cause = &explanation.topic(1).unwrap().cause;
    // Where both are on, counts of rates w and leak share the topic.
    let exact = parent_where_on * w / (w + leak);
    assert!((cause.parents[0].share - exact).abs() < 1e-3, "{exact} by hand, {cause:?}");
    assert!(
        (cause.parents[0].q - parent).abs() < 1e-3 && parent > 2.0 * parent_where_on,
        "{parent} {cause:?}"
    );
}

/// With all topics clamped nothing is left to mean field but what splits of little weight leave.
#[test]
fn with_all_topics_clamped_q_is_near_the_posterior() {
    let (mut error, mut plain_error, mut n) = (0.0, 0.0, 0.0);
    for (_, network, docs) in random_cases(40, 5, 8) {
        let explainers = [0, 5].map(|n| Explainer::new(&network, &clamped(n, Bound::Full)).unwrap());
        for tokens in &docs {
            let [plain, mixture] = explainers.each_ref().map(|explainer| explainer.explain(tokens).unwrap());
            for (topic, exact) in posterior(&network, tokens).into_iter().enumerate() {
                plain_error += (plain.topics[topic].q - exact).abs();
                error += (mixture.topics[topic].q - exact).abs();
                n += 1.0;
            }
        }
    }
    println!("mean |q - p|: {:.5}, mean field {:.5}", error / n, plain_error / n);
    assert!(error / n < 0.02 && error < 0.3 * plain_error, "{} of {}", error / n, plain_error / n);
}

#[test]
fn a_document_that_stays_whole_is_explained_as_without_clamping() {
    let mut n_whole = 0;
    for (name, network, docs) in cases() {
        let explainers = [0, 4].map(|n| Explainer::new(&network, &clamped(n, Bound::Tail)).unwrap());
        for tokens in &docs {
            let [plain, mut whole] =
                explainers.each_ref().map(|explainer| explainer.explain(tokens).unwrap());
            assert_eq!(plain.pieces.len(), 1);
            if whole.pieces.len() == 1 {
                n_whole += 1;
                assert_eq!(whole.bound_label(), "tail, clamp 4");
                // Splits that were tried and undone.
                (whole.clamp, whole.n_alternations) = (0, plain.n_alternations);
                whole.n_unconverged = plain.n_unconverged;
                assert_eq!(whole, plain, "{name}");
            }
        }
    }
    assert!(n_whole > 20, "{n_whole} documents stayed whole");
}

#[test]
fn a_tight_tolerance_brings_q_and_its_log_odds_together() {
    let tight = EStepOptions { tolerance: 1e-6, max_alternations: 5_000, ..EStepOptions::default() };
    for (name, network, docs) in cases() {
        let explainer = Explainer::new(&network, &tight).unwrap();
        for explanation in docs.iter().map(|tokens| explainer.explain(tokens).unwrap()) {
            let (moved, n) = (explanation.last_move, explanation.n_alternations);
            assert!(moved < 1e-5 || n == tight.max_alternations, "{name}: {moved:e} after {n}");
        }
    }
}

#[test]
fn nothing_to_explain_is_explained_too() {
    let network = network_of(2, 2, &[(0, 1, 1.0), (0, 2, 2.0), (1, 3, 0.5)], vec![0.3, 0.1, 0.01, 0.02]);
    let (explainer, without_tail) = (explainer(&network, Bound::Tail), explainer(&network, Bound::Local));
    let empty = explainer.explain(&[]).unwrap();
    let inside = vec![false; 2];
    let (oracle, nothing) = (oracle(&network, &[]), Point { q: vec![0.0; 2], r: vec![0.0; 3] });
    assert!(empty.topics.is_empty() && empty.tokens.is_empty() && empty.last_move == 0.0);
    assert_close("empty", empty.elbo, oracle.elbo(&nothing) + oracle.tail(&inside), F64);
    assert_eq!(
        explainer.explain(&[7, 7]).unwrap(),
        empty,
        "tokens that the network does not have are left out"
    );
    // Topics outside the local model: the leak against all that is not there.
    let why = explainer.why(&empty, 0);
    let values: Vec<f64> = why.terms.iter().map(|term| term.value).collect();
    assert_eq!(values, [beta(0.3), -2.0, -1.0]);
    assert!(!why.considered && (logit(why.q) - (beta(0.3) - 3.0)).abs() < 1e-12);
    assert_eq!(without_tail.why(&empty, 0).q, 0.0);

    let bare = network_of(0, 2, &[], vec![0.5, 0.7]);
    let explained = Explainer::new(&bare, &EStepOptions::default()).unwrap().explain(&[1]).unwrap();
    let cause = &explained.tokens[0].cause;
    assert_eq!((cause.leak_share, cause.cost), (1.0, cause.leak_cost));
    assert_close("bare", explained.elbo, log1mexp(0.7) - 0.5, F64);
}

#[test]
fn faulty_weights_are_named() {
    let network = network_of(1, 1, &[(0, 1, f64::NAN)], vec![0.1, 0.1]);
    let message = Explainer::new(&network, &EStepOptions::default()).unwrap_err().to_string();
    assert!(message.contains("t0") && message.contains("w0"), "{message}");
}

/// `report` shows explanations, so `explain` must do without it.
#[test]
fn no_module_of_explain_uses_report() {
    let mut folders = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/explain")];
    let mut n_files = 0;
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let source = std::fs::read_to_string(&path).unwrap();
            assert!(!source.contains("crate::report"), "{}", path.display());
            n_files += 1;
        }
    }
    assert!(n_files > 5, "{n_files}");
}
