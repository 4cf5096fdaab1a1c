//! What is unknown, given, or wrong.

#![allow(clippy::unwrap_used)]

use super::random::{by_hand, random_case, random_network};
use crate::common::{assert_close, network_of};
use noisyor::posterior::{Case, Engine, Method, Options};
use noisyor::{Error, Monitor, Network};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

fn run(network: &Network, case: &Case, method: Method) -> noisyor::Result<noisyor::posterior::Posterior> {
    Engine::new(network)?.run(case, 0, &Options { method, ..Options::default() }, &Monitor::default())
}

fn usage(network: &Network, case: &Case, method: Method) -> String {
    match run(network, case, method) {
        Err(Error::Usage(message)) => message,
        other => panic!("{method}: {other:?}"),
    }
}

/// The network without some tokens.
fn without_tokens(network: &Network, kept: &[u32]) -> Network {
    let (graph, n) = (&network.graph, network.graph.n_topics());
    let place = |node: u32| match (node as usize).checked_sub(n) {
        None => Some(node),
        Some(token) => kept.iter().position(|&kept| kept as usize == token).map(|at| (n + at) as u32),
    };
    let edges: Vec<(u32, u32, f64)> = graph
        .edges()
        .zip(&network.weights.edge)
        .filter_map(|((parent, child), &w)| place(child).map(|child| (parent, child, w)))
        .collect();
    let leaks = network.weights.leak.iter().enumerate().filter(|&(node, _)| place(node as u32).is_some());
    network_of(n, kept.len(), &edges, leaks.map(|(_, &leak)| leak).collect())
}

#[test]
fn unknown_tokens_are_as_if_they_were_not_there() {
    let rng = &mut ChaCha8Rng::seed_from_u64(11);
    for number in 0..200 {
        let network = random_network(rng, if number % 2 == 0 { &[5, 7] } else { &[2, 3, 7] });
        let case = Case { given: Vec::new(), ..random_case(rng, &network) };
        let mut known: Vec<u32> = case.present.iter().chain(&case.absent).copied().collect();
        known.sort_unstable();
        let smaller = without_tokens(&network, &known);
        let place = |tokens: &[u32]| tokens.iter().map(|t| known.binary_search(t).unwrap() as u32).collect();
        let same = Case { present: place(&case.present), absent: place(&case.absent), given: Vec::new() };
        let (all, few) =
            (run(&network, &case, Method::Exact).unwrap(), run(&smaller, &same, Method::Exact).unwrap());
        assert_close("log p", all.log_p.lower, few.log_p.lower, 1e-11);
        for (a, b) in all.marginals.iter().zip(&few.marginals) {
            assert_close("marginal", a.p, b.p, 1e-11);
        }
    }
}

#[test]
fn given_topics_are_conditioned_on() {
    let rng = &mut ChaCha8Rng::seed_from_u64(12);
    for number in 0..200 {
        let network = random_network(rng, if number % 2 == 0 { &[5, 6] } else { &[3, 3, 6] });
        let free = Case { given: Vec::new(), ..random_case(rng, &network) };
        let (log_p, marginals) = by_hand(&network, &free);
        for topic in 0..2 {
            let on = Case { given: vec![(topic, true)], ..free.clone() };
            let off = Case { given: vec![(topic, false)], ..free.clone() };
            let (on, off) =
                (run(&network, &on, Method::Exact).unwrap(), run(&network, &off, Method::Exact).unwrap());
            let p = marginals[topic as usize];
            assert_close("on", on.log_p.lower, log_p + p.ln(), 1e-9);
            assert_close("off", off.log_p.lower, log_p + (-p).ln_1p(), 1e-9);
            assert_eq!((on.marginals[topic as usize].p, off.marginals[topic as usize].upper), (1.0, 0.0));
            for (other, want) in marginals.iter().enumerate() {
                let mixed = p * on.marginals[other].p + (1.0 - p) * off.marginals[other].p;
                assert_close("mixed", mixed, *want, 1e-9);
            }
        }
    }
}

#[test]
fn nothing_known_gives_the_priors() {
    let rng = &mut ChaCha8Rng::seed_from_u64(13);
    let network = random_network(rng, &[6, 5]);
    let found = run(&network, &Case::default(), Method::Auto).unwrap();
    for (marginal, leak) in found.marginals.iter().zip(&network.weights.leak) {
        assert_close("prior", marginal.p, -(-leak).exp_m1(), 1e-12);
    }
    assert!(found.meets && found.log_p.lower <= 0.0 && found.log_p.upper >= 0.0 && found.log_p.upper < 1e-9);
    let deep = random_network(rng, &[3, 5, 5]);
    let found = run(&deep, &Case::default(), Method::Auto).unwrap();
    let (_, marginals) = by_hand(&deep, &Case::default());
    found
        .marginals
        .iter()
        .zip(marginals)
        .for_each(|(got, want)| assert_close("deep prior", got.p, want, 1e-10));
    // Too many topics to enumerate: samples of the prior all count the same.
    let deep = random_network(rng, &[10, 20, 5]);
    assert_eq!(run(&deep, &Case::default(), Method::Auto).unwrap().method, "sample");
    let found = run(&deep, &Case::default(), Method::Sample).unwrap();
    assert_close("ess", found.ess.unwrap(), 15_000.0, 1e-6);
}

#[test]
fn bad_cases_are_refused() {
    let rng = &mut ChaCha8Rng::seed_from_u64(14);
    let network = random_network(rng, &[4, 5]);
    let both = Case { present: vec![1], absent: vec![0, 1], given: vec![] };
    assert!(usage(&network, &both, Method::Auto).contains("token 1"));
    let twice = Case { given: vec![(2, true), (2, false)], ..Case::default() };
    assert!(usage(&network, &twice, Method::Auto).contains("topic 2"));
    let same = Case { given: vec![(2, true), (2, true)], present: vec![1, 1], ..Case::default() };
    assert!(run(&network, &same, Method::Auto).is_ok());
    for case in [
        Case { present: vec![5], ..Case::default() },
        Case { absent: vec![u32::MAX], ..Case::default() },
        Case { given: vec![(4, true)], ..Case::default() },
    ] {
        usage(&network, &case, Method::Auto);
    }
    let options = Options { within: f64::NAN, ..Options::default() };
    assert!(matches!(
        Engine::new(&network).unwrap().run(&Case::default(), 0, &options, &Monitor::default()),
        Err(Error::Usage(message)) if message.contains("`within`")
    ));
    let options = Options { samples: 1 << 40, ..Options::default() };
    assert!(matches!(options.check(), Err(Error::Usage(message)) if message.contains("`samples`")));
}

#[test]
fn methods_that_a_deep_network_cannot_have_are_refused_by_name() {
    let rng = &mut ChaCha8Rng::seed_from_u64(15);
    let network = random_network(rng, &[3, 3, 5]);
    let case = Case { present: vec![0, 1], ..Case::default() };
    for method in [Method::Quickscore, Method::Hybrid, Method::Jj, Method::MeanField(2), Method::Ks] {
        assert!(usage(&network, &case, method).contains(&method.to_string()));
    }
    let large = random_network(rng, &[12, 18, 5]);
    let message = usage(&large, &case, Method::Exact);
    assert!(
        message.contains("sample") && message.contains("vi") && message.contains("`max_exact`"),
        "{message}"
    );
    for method in [Method::Vi, Method::Sample, Method::Auto] {
        assert!(run(&large, &case, method).is_ok());
    }
}

#[test]
fn extreme_weights_give_finite_answers() {
    for (leak, w) in [(1e-300, 1e-300), (1e-300, 1e6), (1e6, 1e6), (1e-30, 1.0), (1e-5, 1e-12), (1e6, 1e-300)]
    {
        for topic_leak in [1e-300, 1e-5, 1e6] {
            let edges: Vec<(u32, u32, f64)> = (0..4)
                .flat_map(|topic| {
                    (4..10).filter(move |token| (topic + token) % 3 != 0).map(move |token| (topic, token, w))
                })
                .collect();
            let mut leaks = vec![topic_leak; 4];
            leaks.extend([leak; 8]);
            // Tokens 6 and 7 have no cause.
            let network = network_of(4, 8, &edges, leaks);
            let case = Case { present: vec![0, 1, 2, 3, 6], absent: vec![4, 7], given: vec![] };
            for method in Method::ALL {
                let found = run(&network, &case, method).unwrap();
                let name = format!("{method} {leak:e} {w:e} {topic_leak:e}: {found:?}");
                assert!(found.marginals.iter().all(|m| m.lower <= m.p && m.p <= m.upper), "{name}");
                assert!(!found.log_p.lower.is_nan() && found.log_p.lower <= found.log_p.upper, "{name}");
                if method == Method::Exact {
                    assert!(found.log_p.lower.is_finite() && found.log_p.upper.is_finite(), "{name}");
                }
            }
        }
    }
}

#[test]
fn certificates_and_time() {
    let rng = &mut ChaCha8Rng::seed_from_u64(16);
    let network = random_network(rng, &[8, 10]);
    let case = Case { present: (0..8).collect(), absent: vec![8], given: vec![] };
    let engine = Engine::new(&network).unwrap();
    let monitor = Monitor::default();
    let (log_p, _) = by_hand(&network, &case);
    for method in [Method::Auto, Method::Hybrid] {
        let options = Options { method, certify: Some(0.01), ..Options::default() };
        let found = engine.run(&case, 0, &options, &monitor).unwrap();
        assert!(found.meets && found.log_p.lower <= log_p && log_p <= found.log_p.upper, "{found:?}");
    }
    // Without time the answer is not worse than the bounds that take none.
    let jj = engine.run(&case, 0, &Options { method: Method::Jj, ..Options::default() }, &monitor).unwrap();
    for method in [Method::Auto, Method::Hybrid] {
        let (certify, seconds) = (Some(1e-9), Some(1e-9));
        let options = Options { method, certify, seconds, ..Options::default() };
        let found = engine.run(&case, 0, &options, &monitor).unwrap();
        assert!(
            found.log_p.lower >= jj.log_p.lower && found.log_p.upper <= jj.log_p.upper.min(0.0),
            "{found:?}"
        );
        for (marginal, of_jj) in found.marginals.iter().zip(&jj.marginals) {
            assert!(marginal.lower >= of_jj.lower && marginal.upper <= of_jj.upper);
        }
    }
    let hasty = Options { certify: Some(1e-9), seconds: Some(1e-9), ..Options::default() };
    let found = engine.run(&case, 0, &hasty, &monitor).unwrap();
    assert!(!found.meets && found.log_p.lower <= log_p && log_p <= found.log_p.upper, "{found:?}");
    monitor.stop.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(matches!(engine.run(&case, 0, &Options::default(), &monitor), Err(Error::Interrupted)));
}

#[test]
fn methods_have_names() {
    for method in Method::ALL {
        assert_eq!(method.to_string().parse::<Method>().unwrap(), method);
    }
    assert!("magic".parse::<Method>().unwrap_err().to_string().contains("quickscore"));
}
