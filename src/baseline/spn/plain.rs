//! One row, node by node, as the mathematics has it: values, derivatives and marginals with zeros in any place.
//!
//! ```text
//! d_k = log dV_root/dV_k, d_root = 0:   a sum parent p adds d_p + log w_pk,   a product parent p adds d_p + sum of l_j over its other children
//! ```
//!
//! where "adds" is logaddexp. Of a product that has children of value zero, only the finite part and the number of zeros are kept, so
//! infinity is never subtracted from infinity.

use super::structure::{Kind, Structure};
use crate::numeric::f64::log_sum_exp;

/// The state of a token in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    /// Not in the document.
    #[default]
    Absent,
    /// In the document.
    Present,
    /// Not known: summed out.
    Unknown,
}

/// log V of every node.
pub fn log_values(structure: &Structure, weights: &[f64], row: &[State]) -> Vec<f64> {
    let mut l = Vec::with_capacity(structure.n_nodes());
    for node in 0..structure.n_nodes() {
        let w = &weights[structure.params(node)];
        let children = structure.children(node).iter();
        l.push(match structure.kind(node) {
            Kind::Leaf(token) => match row[token as usize] {
                State::Absent => w[0].ln(),
                State::Present => w[1].ln(),
                State::Unknown => (w[0] + w[1]).ln(),
            },
            Kind::Indicator(token, present) => match (row[token as usize], present) {
                (State::Unknown, _) | (State::Present, true) | (State::Absent, false) => 0.0,
                _ => f64::NEG_INFINITY,
            },
            Kind::Product => children.map(|&child| l[child as usize]).sum(),
            Kind::Sum => log_sum_exp(children.zip(w).map(|(&child, w)| w.ln() + l[child as usize])),
        });
    }
    l
}

/// log dV_root/dV of every node, from the values of all.
pub fn log_derivatives(structure: &Structure, weights: &[f64], l: &[f64]) -> Vec<f64> {
    let n_nodes = structure.n_nodes();
    let mut d = vec![f64::NEG_INFINITY; n_nodes];
    d[n_nodes - 1] = 0.0;
    for node in (0..n_nodes).rev() {
        let children = structure.children(node);
        let own = d[node];
        if own == f64::NEG_INFINITY {
            continue;
        }
        match structure.kind(node) {
            Kind::Sum => {
                for (&child, w) in children.iter().zip(&weights[structure.params(node)]) {
                    let child = child as usize;
                    d[child] = log_sum_exp([d[child], own + w.ln()]);
                }
            }
            Kind::Product => {
                let of = |child: u32| l[child as usize];
                let n_zero = children.iter().filter(|&&child| of(child) == f64::NEG_INFINITY).count();
                let finite: f64 = children.iter().map(|&child| of(child)).filter(|l| l.is_finite()).sum();
                for &child in children {
                    let others = match (n_zero, of(child) == f64::NEG_INFINITY) {
                        (0, _) => finite - of(child),
                        (1, true) => finite,
                        _ => continue,
                    };
                    d[child as usize] = log_sum_exp([d[child as usize], own + others]);
                }
            }
            Kind::Leaf(_) | Kind::Indicator(..) => {}
        }
    }
    d
}

/// p(token is present | the states of the others), of every token: its own state is left out, so of an unknown token it is the
/// probability given all that is known. NaN where the others have no probability.
pub fn marginals(structure: &Structure, weights: &[f64], row: &[State]) -> Vec<f64> {
    let l = log_values(structure, weights, row);
    let d = log_derivatives(structure, weights, &l);
    // log of V with the token absent, and with it present.
    let mut parts = vec![[f64::NEG_INFINITY; 2]; structure.n_tokens()];
    let mut add = |token: u32, is_present: bool, x: f64| {
        let part = &mut parts[token as usize][usize::from(is_present)];
        *part = log_sum_exp([*part, x]);
    };
    for node in 0..structure.n_nodes() {
        match structure.kind(node) {
            Kind::Leaf(token) => {
                let w = &weights[structure.params(node)];
                add(token, false, d[node] + w[0].ln());
                add(token, true, d[node] + w[1].ln());
            }
            Kind::Indicator(token, present) => add(token, present, d[node]),
            Kind::Sum | Kind::Product => {}
        }
    }
    parts.into_iter().map(|part| (part[1] - log_sum_exp(part)).exp()).collect()
}
