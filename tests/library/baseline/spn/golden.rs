//! tests/golden/baselines, to the tolerances of its README.

use super::Rows;
use crate::common::golden_file;
use noisyor::Monitor;
use noisyor::baseline::spn::params::{Surrogate, ascent_step, divergence, em_step, means, normalised};
use noisyor::baseline::spn::plain::{State, log_derivatives, log_values};
use noisyor::baseline::spn::{Evaluator, Node, Program, Structure, Sums, online_step};
use noisyor::corpus::Item;
use serde_json::Value;
use std::sync::Arc;

/// Relative to the number itself, as the README asks; of numbers below one, absolute.
const EXACT: f64 = 1e-9;
const DIGAMMA: f64 = 1e-8;

struct Golden {
    kind: String,
    value: Value,
    program: Arc<Program>,
    states: Vec<Vec<State>>,
    rows: Rows,
}

fn goldens() -> Vec<Golden> {
    golden_file("baselines/golden.json")["spn"].as_array().unwrap().iter().map(golden).collect()
}

fn golden(value: &Value) -> Golden {
    let number = |value: &Value| value.as_u64().unwrap() as u32;
    let children = |node: &Value| node["children"].as_array().unwrap().iter().map(number).collect();
    let node = |node: &Value| match node["type"].as_str().unwrap() {
        "leaf" => Node::Leaf { token: number(&node["var"]) },
        "ind" => Node::Indicator { token: number(&node["var"]), present: node["value"] == 1 },
        "sum" => Node::Sum(children(node)),
        "prod" => Node::Product(children(node)),
        other => panic!("{other}"),
    };
    let nodes: Vec<Node> = value["nodes"].as_array().unwrap().iter().map(node).collect();
    let n_tokens = number(&value["variables"]) as usize;
    let state = |x: &Value| match x.as_i64().unwrap() {
        0 => State::Absent,
        1 => State::Present,
        _ => State::Unknown,
    };
    let row = |row: &Value| row.as_array().unwrap().iter().map(state).collect();
    let states: Vec<Vec<State>> = value["rows"].as_array().unwrap().iter().map(row).collect();
    Golden {
        kind: value["kind"].as_str().unwrap().to_owned(),
        value: value.clone(),
        program: Arc::new(Program::new(Structure::new(n_tokens, &nodes).unwrap())),
        rows: Rows::of(&states, n_tokens),
        states,
    }
}

/// Numbers of the nodes that have some, one after another; null is minus infinity.
fn flat(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(values) => values.iter().flat_map(flat).collect(),
        Value::Null => vec![],
        number => vec![number.as_f64().unwrap()],
    }
}

fn with_zeros(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap_or(f64::NEG_INFINITY)).collect()
}

impl Golden {
    fn structure(&self) -> &Structure {
        self.program.structure()
    }

    fn list(&self, key: &str) -> Vec<f64> {
        flat(&self.value[key])
    }

    fn evaluator(&self, weights: Vec<f64>) -> Evaluator {
        Evaluator::new(&self.program, weights)
    }

    fn sums(&self, weights: Vec<f64>, items: &[Item]) -> Sums {
        self.evaluator(weights).sums(&self.rows.docs(), items, true, &Monitor::default()).unwrap()
    }

    fn all(&self, weights: Vec<f64>) -> Sums {
        self.sums(weights, &self.rows.items())
    }

    fn f(&self, beta: &[f64], surrogate: Surrogate) -> f64 {
        let sums = self.all(surrogate.weights(self.structure(), beta));
        divergence(self.structure(), beta, &self.list("alpha")) - sums.log_v
    }

    fn close(&self, what: &str, got: &[f64], want: &[f64], tolerance: f64) {
        assert_eq!(got.len(), want.len(), "{} {what}", self.kind);
        for (at, (got, want)) in got.iter().zip(want).enumerate() {
            let same = got == want || (got - want).abs() <= tolerance * want.abs().max(1.0);
            assert!(same, "{} {what} {at}: got {got}, want {want}", self.kind);
        }
    }

    /// Five steps from `start`, compared after the first and the fifth.
    fn steps(
        &self,
        key: &str,
        start: &str,
        mut step: impl FnMut(&[f64], u64) -> Vec<f64>,
        objective: impl Fn(&[f64]) -> f64,
        tolerance: f64,
    ) {
        let mut params = self.list(start);
        for number in 1..=5 {
            params = step(&params, number);
            if let Some(want) = self.value[key].get(number.to_string()) {
                self.close(&format!("{key} {number}"), &params, &flat(&want["param"]), tolerance);
                self.close(
                    &format!("{key} {number}"),
                    &[objective(&params)],
                    &flat(&want["objective"]),
                    tolerance,
                );
            }
        }
    }
}

#[test]
fn there_are_five() {
    let kinds: Vec<String> = goldens().into_iter().map(|golden| golden.kind).collect();
    assert_eq!(kinds, ["mixture", "shared", "indicators", "tree", "deep"]);
}

#[test]
fn values_derivatives_and_counts() {
    for golden in goldens() {
        let weights = golden.list("weights");
        let evaluator = golden.evaluator(weights.clone());
        golden.close(
            "loglik",
            &evaluator.log_v(&golden.rows.docs(), &golden.rows.all()),
            &golden.list("loglik"),
            EXACT,
        );
        golden.close("counts", &golden.all(weights.clone()).counts, &golden.list("counts"), EXACT);
        let (values, slopes) = (&golden.value["log_values"], &golden.value["log_derivatives"]);
        for (at, row) in golden.states.iter().enumerate() {
            let column = |table: &Value| -> Vec<f64> {
                table.as_array().unwrap().iter().map(|of_node| with_zeros(of_node)[at]).collect()
            };
            let l = log_values(golden.structure(), &weights, row);
            let d = log_derivatives(golden.structure(), &weights, &l);
            golden.close("log_values", &l, &column(values), EXACT);
            golden.close("log_derivatives", &d, &column(slopes), EXACT);
        }
    }
}

#[test]
fn surrogates_objectives_and_gradients() {
    for golden in goldens() {
        let (beta, alpha) = (golden.list("beta"), golden.list("alpha"));
        for (surrogate, w, f, g) in [
            (Surrogate::Exact, "w_exact", "F", "gradient"),
            (Surrogate::Approximate, "w_approx", "F_approx", "gradient_approx"),
        ] {
            let weights = surrogate.weights(golden.structure(), &beta);
            golden.close(w, &weights, &golden.list(w), DIGAMMA);
            golden.close(f, &[golden.f(&beta, surrogate)], &golden.list(f), DIGAMMA);
            let n = golden.all(weights).counts;
            golden.close(
                g,
                &surrogate.gradient(golden.structure(), &beta, &alpha, &n),
                &golden.list(g),
                DIGAMMA,
            );
        }
        let evaluator = golden.evaluator(means(golden.structure(), &beta));
        let got = evaluator.log_v(&golden.rows.docs(), &golden.rows.all());
        golden.close("posterior_mean_loglik", &got, &golden.list("posterior_mean_loglik"), EXACT);
    }
}

#[test]
fn steps_of_variational_bayes() {
    for golden in goldens() {
        let alpha = golden.list("alpha");
        let structure = golden.structure();
        let weights = |beta: &[f64]| Surrogate::Exact.weights(structure, beta);
        let f = |beta: &[f64]| golden.f(beta, Surrogate::Exact);
        let fixed_point = |beta: &[f64], _| {
            alpha.iter().zip(golden.all(weights(beta)).counts).map(|(a, n)| a + n).collect()
        };
        golden.steps("cvb_fixed_point", "beta", fixed_point, f, DIGAMMA);
        for (key, surrogate) in [("cvb_pgd", Surrogate::Exact), ("cvb_pgd_approx", Surrogate::Approximate)] {
            let descend = |beta: &[f64], _| {
                let n = golden.all(surrogate.weights(structure, beta)).counts;
                let slope = surrogate.gradient(structure, beta, &alpha, &n);
                beta.iter().zip(slope).map(|(b, g)| (b - 0.02 * g).max(surrogate.floor())).collect()
            };
            golden.steps(key, "beta", descend, |beta| golden.f(beta, surrogate), DIGAMMA);
        }
        let items = golden.rows.items();
        let online = |beta: &[f64], step: u64| {
            let n = golden.sums(weights(beta), &items[2 * step as usize - 2..2 * step as usize]).counts;
            let mut beta = beta.to_vec();
            online_step(&mut beta, &alpha, &n, items.len() as f64 / 2.0, step);
            beta
        };
        golden.steps("cvb_online", "beta", online, f, DIGAMMA);
        let stream = |beta: &[f64], step: u64| {
            let n = golden.sums(weights(beta), &items[step as usize - 1..step as usize]).counts;
            beta.iter().zip(n).map(|(b, n)| b + n).collect()
        };
        golden.steps("cvb_stream", "beta", stream, f, DIGAMMA);
    }
}

#[test]
fn steps_of_likelihood() {
    for golden in goldens() {
        let n_docs = golden.states.len() as f64;
        let objective = |weights: &[f64]| {
            let evaluator = golden.evaluator(weights.to_vec());
            golden.all(weights.to_vec()).log_v - n_docs * evaluator.all_unknown().log_v
        };
        let em = |w: &[f64], _| em_step(golden.structure(), w, &golden.all(w.to_vec()).counts, 0.1);
        golden.steps("mle_em", "weights", em, objective, EXACT);
        let ascent = |w: &[f64], _| {
            let one = golden.evaluator(w.to_vec()).all_unknown();
            ascent_step(w, &golden.all(w.to_vec()).counts, n_docs, &one.counts, 0.1, 0.01)
        };
        golden.steps("mle_pgd", "weights", ascent, objective, EXACT);
        // The same distribution with sums of one.
        let free = flat(&golden.value["mle_pgd"]["5"]["param"]);
        let weights = normalised(golden.structure(), &free);
        let sums = golden.all(weights.clone());
        golden.close("normalised", &[sums.log_v], &flat(&golden.value["mle_pgd"]["5"]["objective"]), EXACT);
        golden.close("V(1)", &[golden.evaluator(weights).all_unknown().log_v], &[0.0], EXACT);
    }
}

#[test]
fn em_without_smoothing_never_falls() {
    for golden in goldens() {
        let mut weights = golden.list("weights");
        let mut last = f64::NEG_INFINITY;
        for _ in 0..20 {
            let sums = golden.all(weights.clone());
            assert!(sums.log_v >= last - 1e-9, "{}: {} after {last}", golden.kind, sums.log_v);
            last = sums.log_v;
            weights = em_step(golden.structure(), &weights, &sums.counts, 0.0);
        }
    }
}
