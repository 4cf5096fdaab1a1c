//! Mean field in a network of any depth, in f64, where tokens may be unknown (Eqs. 9-12 of Ji et al. 2019).

use super::Watch;
use super::dag::Dag;
use super::greedy::greedy;
use crate::error::Result;
use crate::numeric::f64::{log1mexp, log1mexp_slope, sigmoid};

/// A lower bound of `log p(y)` and its q.
#[derive(Debug, Clone)]
pub struct MeanFieldBound {
    /// The bound.
    pub log_p: f64,
    /// Of every topic of the [`Dag`].
    pub q: Vec<f64>,
}

const STEPS: usize = 200;
/// The first sweeps are tempered, from this temperature to one: mean field has bad local optima.
const TEMPERED: usize = 12;
const HOTTEST: f64 = 4.0;
/// q of the topics that a greedy search has on.
const LIKELY: f64 = 0.99;

struct Point<'a> {
    dag: &'a Dag,
    topic_children: Vec<Vec<(usize, usize)>>,
    on_children: Vec<Vec<(usize, usize)>>,
    q: Vec<f64>,
    /// r of every topic's edges, then of every node's that is on.
    topic_r: Vec<Vec<f64>>,
    on_r: Vec<Vec<f64>>,
    /// `r (f(w0 + w/r) - f(w0))` of the same edges.
    topic_gain: Vec<Vec<f64>>,
    on_gain: Vec<Vec<f64>>,
}

fn gain(leak: f64, w: f64, r: f64) -> f64 {
    if r > 0.0 { r * (log1mexp(leak + w / r) - log1mexp(leak)) } else { 0.0 }
}

fn by_weight(parents: &[(usize, f64)]) -> Vec<f64> {
    let sum: f64 = parents.iter().map(|&(_, w)| w).sum();
    parents.iter().map(|&(_, w)| w / sum).collect()
}

/// Eq. 10, then the gains.
fn update_r(leak: f64, parents: &[(usize, f64)], q: &[f64], r: &mut [f64], gains: &mut [f64]) {
    let share = |(&(parent, w), &r): (&(usize, f64), &f64)| {
        let slope = if r > 0.0 { w * log1mexp_slope(leak + w / r) } else { 0.0 };
        (q[parent] * (gain(leak, w, r) - slope)).max(0.0)
    };
    let shares: Vec<f64> = parents.iter().zip(r.iter()).map(share).collect();
    let sum: f64 = shares.iter().sum();
    if sum > 0.0 && sum.is_finite() {
        r.iter_mut().zip(shares).for_each(|(r, share)| *r = share / sum);
    }
    for ((gain_of, &(_, w)), &r) in gains.iter_mut().zip(parents).zip(r.iter()) {
        *gain_of = gain(leak, w, r);
    }
}

impl<'a> Point<'a> {
    fn new(dag: &'a Dag, q: Vec<f64>) -> Self {
        let n = dag.n_topics();
        let (mut topic_children, mut on_children) = (vec![Vec::new(); n], vec![Vec::new(); n]);
        for (child, parents) in dag.parents.iter().enumerate() {
            parents
                .iter()
                .enumerate()
                .for_each(|(at, &(parent, _))| topic_children[parent].push((child, at)));
        }
        for (node, (_, parents)) in dag.on.iter().enumerate() {
            parents.iter().enumerate().for_each(|(at, &(parent, _))| on_children[parent].push((node, at)));
        }
        let topic_r: Vec<Vec<f64>> = dag.parents.iter().map(|parents| by_weight(parents)).collect();
        let on_r: Vec<Vec<f64>> = dag.on.iter().map(|(_, parents)| by_weight(parents)).collect();
        let (topic_gain, on_gain) = (topic_r.clone(), on_r.clone());
        let mut point = Self { dag, topic_children, on_children, q, topic_r, on_r, topic_gain, on_gain };
        point.update_shares();
        point
    }

    fn update_shares(&mut self) {
        let dag = self.dag;
        for topic in 0..dag.n_topics() {
            let (r, gains) = (&mut self.topic_r[topic], &mut self.topic_gain[topic]);
            update_r(dag.leak[topic], &dag.parents[topic], &self.q, r, gains);
        }
        for (node, (leak, parents)) in dag.on.iter().enumerate() {
            update_r(*leak, parents, &self.q, &mut self.on_r[node], &mut self.on_gain[node]);
        }
    }

    /// Eq. 12.
    fn log_odds(&self, topic: usize) -> f64 {
        let dag = self.dag;
        let mut g = dag.leak[topic] + log1mexp(dag.leak[topic]) - dag.absent[topic];
        for (&(parent, w), gain) in dag.parents[topic].iter().zip(&self.topic_gain[topic]) {
            g += self.q[parent] * (w + gain);
        }
        for &(child, at) in &self.topic_children[topic] {
            let q = self.q[child];
            g += q * self.topic_gain[child][at] - (1.0 - q) * dag.parents[child][at].1;
        }
        g + self.on_children[topic].iter().map(|&(node, at)| self.on_gain[node][at]).sum::<f64>()
    }

    /// Eq. 9.
    fn bound(&self) -> f64 {
        let dag = self.dag;
        let mut bound = dag.constant;
        for (topic, &q) in self.q.iter().enumerate() {
            let (mut on, mut off) = (log1mexp(dag.leak[topic]) - dag.absent[topic], dag.leak[topic]);
            for (&(parent, w), gain) in dag.parents[topic].iter().zip(&self.topic_gain[topic]) {
                on += self.q[parent] * gain;
                off += self.q[parent] * w;
            }
            let term = |q: f64, log: f64| if q > 0.0 { q * (log - q.ln()) } else { 0.0 };
            bound += term(q, on) + term(1.0 - q, -off);
        }
        for ((leak, parents), gains) in dag.on.iter().zip(&self.on_gain) {
            bound += log1mexp(*leak);
            bound += parents.iter().zip(gains).map(|(&(parent, _), gain)| self.q[parent] * gain).sum::<f64>();
        }
        bound
    }
}

/// Coordinate ascent from several starts; the best bound.
///
/// # Errors
///
/// [`Error::Interrupted`](crate::Error::Interrupted).
pub fn vi(dag: &Dag, watch: &Watch<'_>) -> Result<MeanFieldBound> {
    let n = dag.n_topics();
    let mut best = MeanFieldBound { log_p: f64::NEG_INFINITY, q: vec![0.5; n] };
    let likely = greedy(dag, watch)?.into_iter().map(|is_on| if is_on { LIKELY } else { 1.0 - LIKELY });
    let starts =
        [(likely.collect(), false), (vec![0.5; n], true), (vec![0.1; n], false), (vec![0.9; n], false)];
    for (start, tempered) in starts {
        let mut point = Point::new(dag, start);
        for step in 0..STEPS {
            let share = step as f64 / TEMPERED as f64;
            let temperature = if tempered && share < 1.0 { HOTTEST + (1.0 - HOTTEST) * share } else { 1.0 };
            let mut moved: f64 = 0.0;
            for topic in (0..dag.n_topics()).rev() {
                let q = sigmoid(point.log_odds(topic) / temperature);
                moved = moved.max((q - point.q[topic]).abs());
                point.q[topic] = q;
            }
            point.update_shares();
            if !watch.go_on()? || (temperature == 1.0 && moved < 1e-8) {
                break;
            }
        }
        let log_p = point.bound();
        if log_p > best.log_p {
            best = MeanFieldBound { log_p, q: point.q };
        }
    }
    Ok(best)
}
