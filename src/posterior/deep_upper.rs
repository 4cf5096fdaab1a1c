//! An upper bound of `log p(y)` in a network of any depth: topics are summed out one by one, children first.
//!
//! Every topic carries a tilt s, the factor `exp(s x)` that its children have left. With `a` the topic's input,
//!
//! ```text
//! s >= 0:  sum over x = exp(s) (1 - exp(-(a + tau))),  tau = -log(1 - exp(-s)): bounded by a tangent, as a node that is on
//! s <  0:  log of the sum, h(a) = log(exp(s) + (1 - exp(s)) exp(-a)), is convex: bounded by its chord from w0 to w0 + sum of w
//! ```
//!
//! Each bound is linear in the parents' states and goes into their tilts. It holds for all slopes lambda > 0 of the tangents; the gradient
//! is taken backward, parents first.

use super::dag::{Dag, log_mix};
use super::minimise::minimise;
use crate::numeric::f64::{log1mexp, log1mexp_slope};

/// Tilts below this count as a factor of `exp(s)` at once.
const SMALL_TILT: f64 = 1e-9;

fn tangent(lambda: f64, leak: f64) -> f64 {
    lambda * leak - lambda.ln_1p() - lambda * (1.0 / lambda).ln_1p()
}

/// h(a) and its slope in s.
fn convex(s: f64, a: f64) -> (f64, f64) {
    // With 1 - exp(-a) = sigmoid(logit): h = log(exp(-a) + (1 - exp(-a)) exp(s)).
    let logit = a + log1mexp(a);
    let h = log_mix(logit, s);
    (h, (log1mexp(a) + s - h).exp())
}

/// The chord of h from the leak to all parents' being on: its value at the leak, and its slope.
fn chord(s: f64, leak: f64, parents: &[(usize, f64)]) -> (f64, f64) {
    let range: f64 = parents.iter().map(|&(_, w)| w).sum();
    let (low, high) = (convex(s, leak).0, convex(s, leak + range).0);
    (low, (high - low) / range)
}

struct Elimination<'a> {
    dag: &'a Dag,
    /// Tilt of every topic.
    s: Vec<f64>,
    /// Slope of the bound in the tilt.
    s_slope: Vec<f64>,
}

impl Elimination<'_> {
    /// The bound at `u = log lambda`: of the nodes that are on, then of the topics.
    fn bound(&mut self, u: &[f64], gradient: &mut [f64]) -> f64 {
        let dag = self.dag;
        let (on, topics) = u.split_at(dag.on.len());
        let mut bound = dag.constant;
        self.s.iter_mut().zip(&dag.absent).for_each(|(s, absent)| *s = -absent);
        for ((leak, parents), u) in dag.on.iter().zip(on) {
            let lambda = u.exp();
            bound += tangent(lambda, *leak);
            parents.iter().for_each(|&(parent, w)| self.s[parent] += lambda * w);
        }
        for topic in (0..dag.n_topics()).rev() {
            let (s, leak, parents) = (self.s[topic], dag.leak[topic], &dag.parents[topic]);
            if parents.is_empty() {
                bound += log_mix(leak + log1mexp(leak), s);
            } else if s > SMALL_TILT {
                let lambda = topics[topic].exp();
                bound += s + tangent(lambda, leak - log1mexp(s));
                parents.iter().for_each(|&(parent, w)| self.s[parent] += lambda * w);
            } else if s > 0.0 {
                bound += s;
            } else {
                let (low, slope) = chord(s, leak, parents);
                bound += low;
                parents.iter().for_each(|&(parent, w)| self.s[parent] += w * slope);
            }
        }
        self.slopes(u, gradient);
        bound
    }

    /// Slopes in `u`, parents first.
    fn slopes(&mut self, u: &[f64], gradient: &mut [f64]) {
        let dag = self.dag;
        let (on, topics) = u.split_at(dag.on.len());
        let (on_gradient, topic_gradient) = gradient.split_at_mut(dag.on.len());
        let above = |s_slope: &[f64], parents: &[(usize, f64)]| -> f64 {
            parents.iter().map(|&(parent, w)| w * s_slope[parent]).sum()
        };
        for topic in 0..dag.n_topics() {
            let (s, leak, parents) = (self.s[topic], dag.leak[topic], &dag.parents[topic]);
            topic_gradient[topic] = 0.0;
            self.s_slope[topic] = if parents.is_empty() {
                convex(s, leak).1
            } else if s > SMALL_TILT {
                let lambda = topics[topic].exp();
                let input = leak - log1mexp(s) + above(&self.s_slope, parents);
                topic_gradient[topic] = lambda * (input - (1.0 / lambda).ln_1p());
                1.0 - lambda * log1mexp_slope(s)
            } else if s > 0.0 {
                1.0
            } else {
                let range: f64 = parents.iter().map(|&(_, w)| w).sum();
                let (low, high) = (convex(s, leak).1, convex(s, leak + range).1);
                low + above(&self.s_slope, parents) * (high - low) / range
            };
        }
        for (((leak, parents), u), slope) in dag.on.iter().zip(on).zip(on_gradient) {
            let lambda = u.exp();
            *slope = lambda * (leak + above(&self.s_slope, parents) - (1.0 / lambda).ln_1p());
        }
    }
}

/// A smaller network whose `p(y)` is at least as large: topics that are no ancestors of a node that is on are summed out.
///
/// Their tilts are never positive, so each is bounded by its chord, which has no slope to search for: once is enough.
pub fn without_outside(dag: &Dag) -> Dag {
    let mut is_inside = vec![false; dag.n_topics()];
    dag.on.iter().for_each(|(_, parents)| parents.iter().for_each(|&(parent, _)| is_inside[parent] = true));
    let (mut constant, mut absent) = (dag.constant, dag.absent.clone());
    for topic in (0..dag.n_topics()).rev() {
        let (s, leak, parents) = (-absent[topic], dag.leak[topic], &dag.parents[topic]);
        if is_inside[topic] {
            parents.iter().for_each(|&(parent, _)| is_inside[parent] = true);
        } else if parents.is_empty() {
            constant += convex(s, leak).0;
        } else {
            let (low, slope) = chord(s, leak, parents);
            constant += low;
            parents.iter().for_each(|&(parent, w)| absent[parent] -= w * slope);
        }
    }
    let mut place = vec![usize::MAX; dag.n_topics()];
    let mut inside = Dag { constant, settled: dag.settled.clone(), ..Dag::default() };
    let moved = |parents: &[(usize, f64)], place: &[usize]| {
        parents.iter().map(|&(parent, w)| (place[parent], w)).collect::<Vec<_>>()
    };
    for topic in (0..dag.n_topics()).filter(|&topic| is_inside[topic]) {
        place[topic] = inside.topics.len();
        inside.topics.push(dag.topics[topic]);
        inside.leak.push(dag.leak[topic]);
        inside.absent.push(absent[topic]);
        inside.parents.push(moved(&dag.parents[topic], &place));
    }
    inside.on = dag.on.iter().map(|(leak, parents)| (*leak, moved(parents, &place))).collect();
    inside
}

/// The least bound found, from slopes at the inputs that marginals `q` give.
pub fn deep_upper(dag: &Dag, q: &[f64]) -> f64 {
    let input = |leak: f64, parents: &[(usize, f64)]| {
        leak + parents.iter().map(|&(parent, w)| w * q[parent]).sum::<f64>()
    };
    let log_slope = |a: f64| log1mexp_slope(a).ln().clamp(-50.0, 50.0);
    let on = dag.on.iter().map(|(leak, parents)| log_slope(input(*leak, parents)));
    let topics =
        (0..dag.n_topics()).map(|topic| log_slope(input(dag.leak[topic], &dag.parents[topic]).max(1e-3)));
    let mut u: Vec<f64> = on.chain(topics).collect();
    let n = dag.n_topics();
    let mut elimination = Elimination { dag, s: vec![0.0; n], s_slope: vec![0.0; n] };
    minimise(&mut u, 200, |u, gradient| {
        if u.iter().any(|u| u.abs() > 600.0) {
            return f64::INFINITY;
        }
        elimination.bound(u, gradient)
    })
}
