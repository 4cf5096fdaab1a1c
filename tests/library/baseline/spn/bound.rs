//! -F is below log p(rows | alpha), which is a sum over the assignments of rows to induced trees, and never falls under the fixed point.

use super::{Rows, every_row};
use noisyor::Monitor;
use noisyor::baseline::spn::params::{Surrogate, divergence};
use noisyor::baseline::spn::{Evaluator, Node, Program, Structure};
use noisyor::gamma::ln_gamma;
use noisyor::numeric::f64::log_sum_exp;
use std::sync::Arc;

/// A mixture of two components of two tokens: leaves 0, 1 and 3, 4, products 2 and 5, the sum 6.
fn mixture() -> Arc<Program> {
    let leaf = |token| Node::Leaf { token };
    let product = |a, b| Node::Product(vec![a, b]);
    let nodes = [leaf(0), leaf(1), product(0, 1), leaf(0), leaf(1), product(3, 4), Node::Sum(vec![2, 5])];
    Arc::new(Program::new(Structure::new(2, &nodes).unwrap()))
}

/// log of the mean of prod w^n under Dir(alpha).
fn log_moment(alpha: &[f64], n: &[f64]) -> f64 {
    let (a, all): (f64, f64) = (alpha.iter().sum(), n.iter().sum());
    let terms = alpha.iter().zip(n).map(|(&a, n)| ln_gamma(a + n) - ln_gamma(a));
    ln_gamma(a) - ln_gamma(a + all) + terms.sum::<f64>()
}

#[test]
fn the_bound_is_below_and_never_falls() {
    let program = mixture();
    let structure = program.structure();
    let alpha = [0.7, 1.2, 2.0, 0.6, 1.0, 1.0, 0.8, 2.5, 1.5, 0.9];
    // Rows of two tokens: none, first, second, both.
    let chosen = [3, 3, 0, 0, 0, 1, 2];
    let rows = Rows::of(&chosen.map(|at: usize| every_row(2)[at].clone()), 2);
    let truth = log_sum_exp((0..1u32 << chosen.len()).map(|assignment| {
        let mut n = [0.0; 10];
        for (at, row) in chosen.iter().enumerate() {
            let component = (assignment >> at & 1) as usize;
            n[8 + component] += 1.0;
            for token in 0..2 {
                n[4 * component + 2 * token + (row >> token & 1)] += 1.0;
            }
        }
        (0..5).map(|group| log_moment(&alpha[2 * group..][..2], &n[2 * group..][..2])).sum::<f64>()
    }));
    let mut beta = alpha.map(|a| a + 0.5).to_vec();
    beta[0] += 2.0;
    let mut last = f64::INFINITY;
    for _ in 0..200 {
        let evaluator = Evaluator::new(&program, Surrogate::Exact.weights(structure, &beta));
        let sums = evaluator.sums(&rows.docs(), &rows.items(), true, &Monitor::default()).unwrap();
        let f = divergence(structure, &beta, &alpha) - sums.log_v;
        assert!(-f <= truth, "{} above {truth}", -f);
        assert!(f <= last + 1e-12, "{f} after {last}");
        last = f;
        beta = alpha.iter().zip(sums.counts).map(|(a, n)| a + n).collect();
    }
    // Close enough to be of use: what hides which component a row has costs less than a nat a row here.
    assert!(-last > truth - chosen.len() as f64, "{} far below {truth}", -last);
}

#[test]
fn without_hidden_choices_the_bound_is_exact() {
    let nodes = [Node::Leaf { token: 0 }, Node::Leaf { token: 1 }, Node::Product(vec![0, 1])];
    let program = Arc::new(Program::new(Structure::new(2, &nodes).unwrap()));
    let structure = program.structure();
    let alpha = [0.7, 1.2, 2.0, 0.6];
    let rows = Rows::of(&[3usize, 0, 1, 1, 1].map(|at| every_row(2)[at].clone()), 2);
    let n = [1.0, 4.0, 4.0, 1.0];
    let beta: Vec<f64> = alpha.iter().zip(n).map(|(a, n)| a + n).collect();
    let evaluator = Evaluator::new(&program, Surrogate::Exact.weights(structure, &beta));
    let sums = evaluator.sums(&rows.docs(), &rows.items(), true, &Monitor::default()).unwrap();
    let f = divergence(structure, &beta, &alpha) - sums.log_v;
    let truth = log_moment(&alpha[..2], &n[..2]) + log_moment(&alpha[2..], &n[2..]);
    assert!((f + truth).abs() < 1e-10, "{f} and {truth}");
}
