//! Every quantity of the golden files: in f64 to 1e-9, in the fast path to what f32 allows.

#![allow(clippy::unwrap_used)]

use crate::common::*;
use noisyor::estep::oracle::{Oracle, Point};
use noisyor::estep::{Bound, EStepOptions, Monitor, Params, Start, Stats, Temper, cpu::Probe};
use noisyor::network::Weights;
use noisyor::{exact, train::StepRule, train::Stepper};

fn f32s(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&v| v as f32).collect()
}

#[test]
fn f64_bound_tail_gradients_and_updates() {
    for case in golden_cases() {
        let (graph, weights) = (&case.network.graph, &case.network.weights);
        for (number, doc) in case.docs().iter().enumerate() {
            let (name, given, tokens) =
                (format!("{} doc {number}", case.name), &doc["given"], tokens(&doc["tokens"]));
            let oracle = Oracle { graph, weights, tokens: &tokens };
            let inside = oracle.local_topics();
            let local: Vec<u32> = (0..graph.n_topics() as u32).filter(|&t| inside[t as usize]).collect();
            assert_eq!(local, crate::common::tokens(&doc["local_topics"]), "{name}: local topics");
            assert_close(&format!("{name}: tail"), oracle.tail(&inside), doc["tail"].as_f64().unwrap(), F64);

            let point = Point { q: floats(&given["q"]), r: case.by_edge(&given["r"]) };
            assert_close(
                &format!("{name}: bound"),
                oracle.elbo(&point),
                given["elbo"].as_f64().unwrap(),
                F64,
            );
            let sums = oracle.sums(&point);
            for (edge, want) in case.by_edge(&given["grad_edges"]).into_iter().enumerate() {
                let got = sums.edge[edge] - point.q[graph.edge_parents()[edge] as usize];
                assert_close(&format!("{name}: gradient of edge {edge}"), got, want, F64);
            }
            for (node, want) in floats(&given["grad_leak"]).into_iter().enumerate() {
                assert_close(&format!("{name}: gradient of leak {node}"), sums.leak[node] - 1.0, want, F64);
            }
            for (topic, want) in given["q_update"].as_object().unwrap() {
                let mut point = point.clone();
                oracle.update_q(&mut point, topic.parse().unwrap());
                let got = point.q[topic.parse::<usize>().unwrap()];
                assert_close(&format!("{name}: update of q {topic}"), got, want.as_f64().unwrap(), F64);
            }
            let mut best = point.clone();
            oracle.positive_nodes(&inside).into_iter().for_each(|node| oracle.optimise_r(&mut best, node));
            let (got, want) = (oracle.elbo(&best), given["elbo_at_r_optimal"].as_f64().unwrap());
            assert!(
                got >= want - 1e-9 && got <= want + 1e-5,
                "{name}: bound at the best r is {got}, want {want}"
            );
            // r is ill-determined where w / r is above 30 (tests/golden/README.md).
            for (edge, want) in case.by_edge(&given["r_optimal"]).into_iter().enumerate() {
                let flat = |r: f64| weights.edge[edge] / r > 30.0;
                if !flat(best.r[edge]) && !flat(want) {
                    assert_close(&format!("{name}: best r of edge {edge}"), best.r[edge], want, BEST_R);
                }
            }
        }
    }
}

#[test]
fn f64_exact_likelihood() {
    for case in golden_cases() {
        let docs: Vec<Vec<u32>> = case.docs().iter().map(|doc| tokens(&doc["tokens"])).collect();
        let monitor = Monitor::default();
        let got = exact::log_likelihood(&case.network.graph, &case.network.weights, &docs, &monitor).unwrap();
        for (doc, got) in case.docs().iter().zip(got) {
            assert_close(&case.name, got, doc["exact_log_likelihood"].as_f64().unwrap(), F64);
        }
    }
}

#[test]
fn f64_paper_schedule_topic_by_topic() {
    for case in golden_cases() {
        let (graph, weights) = (&case.network.graph, &case.network.weights);
        for doc in case.docs() {
            let tokens = tokens(&doc["tokens"]);
            let oracle = Oracle { graph, weights, tokens: &tokens };
            for (key, inside) in
                [("local_elbo", oracle.local_topics()), ("full_elbo", vec![true; graph.n_topics()])]
            {
                let mut point = oracle.start(&inside);
                let positive = oracle.positive_nodes(&inside);
                for _ in 0..10 {
                    for _ in 0..10 {
                        let topics = (0..graph.n_topics()).filter(|&topic| inside[topic]);
                        topics.for_each(|topic| oracle.update_q(&mut point, topic));
                    }
                    for _ in 0..10 {
                        positive.iter().for_each(|&node| oracle.update_r(&mut point, node));
                    }
                }
                let want = doc["paper_schedule"][key].as_f64().unwrap();
                assert_close(&format!("{} {key}", case.name), oracle.elbo(&point), want, F64);
            }
        }
    }
}

/// The EM step from the four documents' sums at their given points.
fn check_em_step(case: &Golden, stats: &Stats, tolerance: f64) -> Weights {
    let mut weights = case.network.weights.clone();
    let mut stepper = Stepper::new(StepRule::Em { lambda: 0.0 }, (1e-5, 1e-5, 20.0), 4, (1, 1));
    stepper.advance(&case.network.graph, &mut weights, &stats.clone().with_tail(&Params::default()));
    for (edge, want) in case.by_edge(&case.value["em_step"]["edges"]).into_iter().enumerate() {
        assert_close(&format!("{}: EM step of edge {edge}", case.name), weights.edge[edge], want, tolerance);
    }
    for (node, want) in floats(&case.value["em_step"]["leak"]).into_iter().enumerate() {
        assert_close(&format!("{}: EM step of leak {node}", case.name), weights.leak[node], want, tolerance);
    }
    weights
}

fn add(total: &mut Stats, edge: &[f64], leak: &[f64], topic_q: &[f64]) {
    for (sum, terms) in [(&mut total.edge, edge), (&mut total.leak, leak), (&mut total.topic_q, topic_q)] {
        sum.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
    }
    total.n_docs += 1.0;
}

#[test]
fn f64_em_step() {
    for case in golden_cases() {
        let graph = &case.network.graph;
        let points: Vec<(Vec<u32>, Point)> = case
            .docs()
            .iter()
            .map(|doc| {
                let point = Point { q: floats(&doc["given"]["q"]), r: case.by_edge(&doc["given"]["r"]) };
                (tokens(&doc["tokens"]), point)
            })
            .collect();
        let bound = |weights: &Weights| -> f64 {
            points.iter().map(|(tokens, point)| Oracle { graph, weights, tokens }.elbo(point)).sum()
        };
        let mut stats = Stats::new(graph, true);
        for (tokens, point) in &points {
            let sums = Oracle { graph, weights: &case.network.weights, tokens }.sums(point);
            add(&mut stats, &sums.edge, &sums.leak, &sums.topic_q);
        }
        let weights = check_em_step(&case, &stats, F64);
        let want = |key: &str| case.value["em_step"][key].as_f64().unwrap();
        assert_close(&case.name, bound(&case.network.weights), want("bound_before"), F64);
        assert_close(&case.name, bound(&weights), want("bound_after"), F64);
    }
}

#[test]
fn f32_bound_gradients_and_updates() {
    for case in golden_cases() {
        let Golden { network, .. } = &case;
        let docs = case.docs().iter().map(|doc| tokens(&doc["tokens"]));
        let (corpus, alignment) = corpus_of(network, docs);
        let params = Params::derive(&network.graph, &network.weights, Bound::Local).unwrap();
        let mut total = Stats::new(&network.graph, true);
        for (number, doc) in case.docs().iter().enumerate() {
            let (name, given) = (format!("{} doc {number}", case.name), &doc["given"]);
            let (q, r) = (floats(&given["q"]), case.by_edge(&given["r"]));
            let mut probe =
                Probe::new(&network.graph, &alignment.docs(&corpus), number as u32, Bound::Local, &params);
            probe.set(&f32s(&q), &f32s(&r));
            let mut topics = probe.topics();
            topics.sort_unstable();
            assert_eq!(topics, tokens(&doc["local_topics"]), "{name}: local topics");
            assert_close(&format!("{name}: bound"), probe.elbo(), given["elbo"].as_f64().unwrap(), F32_BOUND);
            let stats = probe.stats();
            for (edge, want) in case.by_edge(&given["grad_edges"]).into_iter().enumerate() {
                let got = stats.edge[edge] - stats.topic_q[network.graph.edge_parents()[edge] as usize];
                assert_close(&format!("{name}: gradient of edge {edge}"), got, want, F32_SUMS);
            }
            for (node, want) in floats(&given["grad_leak"]).into_iter().enumerate() {
                assert_close(
                    &format!("{name}: gradient of leak {node}"),
                    stats.leak[node] - 1.0,
                    want,
                    F32_SUMS,
                );
            }
            add(&mut total, &stats.edge, &stats.leak, &stats.topic_q);
            for (at, topic) in probe.topics().into_iter().enumerate() {
                let want = given["q_update"][topic.to_string()].as_f64().unwrap();
                probe.set(&f32s(&q), &f32s(&r));
                probe.update_q(at);
                // dq = q (1 - q) dg: the error of q is at most a quarter of that of the log-odds.
                assert_close(
                    &format!("{name}: update of q {topic}"),
                    f64::from(probe.q()[at]),
                    want,
                    F32_LOG_ODDS,
                );
            }
            // Eq. 10 converges linearly, accelerated or not: in the end the bound is that of the best r.
            for (accelerate, n_iterations) in [(false, 2000), (true, 200)] {
                probe.set(&f32s(&q), &f32s(&r));
                let mut before = probe.elbo();
                for _ in 0..n_iterations {
                    if accelerate {
                        probe.accelerate_r()
                    } else {
                        probe.update_r()
                    }
                    let now = probe.elbo();
                    let slack = F32_BOUND * (1.0 + before.abs());
                    assert!(
                        now >= before - slack,
                        "{name}: an r iteration ({accelerate}): {before} to {now}"
                    );
                    before = now;
                }
                let want = given["elbo_at_r_optimal"].as_f64().unwrap();
                assert_close(&format!("{name}: bound at the best r"), before, want, BEST_R_BOUND);
            }
        }
        check_em_step(&case, &total, F32_SUMS);
    }
}

/// How close one affordable E-step comes to the best of fourteen plain starts, and that no bound is above the likelihood.
#[test]
fn estep_against_best_known_bounds() {
    let options = |bound, start| EStepOptions { bound, start, tolerance: 1e-4, ..EStepOptions::default() };
    let starts = [Start::Greedy, Start::Plain, Start::Tempered(Temper::default()), Start::Best];
    let (mut shortfall, mut papers, mut n_docs) = ([0.0; 4], 0.0, 0.0);
    for case in golden_cases() {
        let docs: Vec<Vec<u32>> = case.docs().iter().map(|doc| tokens(&doc["tokens"])).collect();
        let run = |bound, start| run_docs(&case.network, &docs, &options(bound, start)).elbo;
        let local = starts.map(|start| run(Bound::Local, start));
        let others = [Bound::Tail, Bound::Full].map(|bound| run(bound, EStepOptions::default().start));
        for (number, doc) in case.docs().iter().enumerate() {
            let name = format!("{} doc {number}", case.name);
            let exact = doc["exact_log_likelihood"].as_f64().unwrap();
            for elbo in local.iter().chain(&others).map(|elbo| elbo[number]) {
                assert!(
                    elbo <= exact + F32_BOUND * (1.0 + exact.abs()),
                    "{name}: {elbo} above exact {exact}"
                );
            }
            let tail = others[0][number] - local[0][number];
            assert_close(&name, tail, doc["tail"].as_f64().unwrap(), F32_BOUND);
            let best = doc["best_local_elbo"].as_f64().unwrap();
            shortfall.iter_mut().zip(&local).for_each(|(sum, elbo)| *sum += best - elbo[number]);
            papers += best - doc["paper_schedule"]["local_elbo"].as_f64().unwrap();
            n_docs += 1.0;
        }
    }
    let [greedy, plain, tempered, best] = shortfall.map(|sum| sum / n_docs);
    println!(
        "mean shortfall from the best of 14 plain starts: greedy {greedy:.4}, plain {plain:.4}, tempered {tempered:.4}, \
         best {best:.4}, the paper's schedule {:.4}",
        papers / n_docs
    );
    assert!(greedy < SHORTFALL, "the default E-step falls {greedy:.4} short");
    assert!(best < 0.0, "the best start falls {best:.4} short");
    assert!(tempered < papers / n_docs && tempered < plain, "plain {plain:.4}, tempered {tempered:.4}");
}

#[test]
fn tiny20_bounds_of_the_peer() {
    for case in golden_file("tiny20_peer.json")["cases"].as_array().unwrap() {
        let network = golden_network(&case["model"]);
        let docs: Vec<Vec<u32>> = case["docs"].as_array().unwrap().iter().map(tokens).collect();
        let ours = run_docs(&network, &docs, &EStepOptions::paper(Bound::Full)).stats.elbo_mean();
        let peers = floats(&case["elbo"]).iter().sum::<f64>() / docs.len() as f64;
        println!("{}: mean bound {ours:.6}, the peer's {peers:.6}", case["name"]);
        assert!((ours - peers).abs() < PEER, "{}: {ours} against the peer's {peers}", case["name"]);
    }
}
