//! One document's E-step in f64: the default start and schedule (q = 0.5, r = w / sum w, a q sweep by colours and an accelerated
//! r iteration in turn, as `estep::cpu` has them), but on to a tight fixed point.

use super::Explainer;
use crate::batch::{Batch, Packer};
use crate::corpus::{Corpus, Item, align};
use crate::estep::{Bound, cpu::GROWTH};
use crate::numeric::{R_MIN, f64::log1mexp_slope, f64::sigmoid, f64::softplus};
use std::ops::Range;

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub(super) struct Precision {
    /// Alternations end when no q moved more than this.
    tolerance: f64,
    /// Or after so many: where two parents that are on are nearly as good, r creeps from one to the other for ever.
    max_alternations: u32,
    /// Last sweeps, r held, bring q and its log-odds together to this.
    last_tolerance: f64,
    /// Or there were so many of them.
    max_last_sweeps: u32,
}

impl Precision {
    pub(super) const TIGHT: Self =
        Self { tolerance: 1e-10, max_alternations: 2_000, last_tolerance: 1e-14, max_last_sweeps: 1_000 };
    /// As the E-step has it by default, and a last sweep.
    pub(super) const ROUGH: Self =
        Self { tolerance: 1e-3, max_alternations: 100, last_tolerance: 1e-3, max_last_sweeps: 1 };
}

/// Where one document's E-step ends.
pub(super) struct Optimum {
    /// The document, packed: topics by colour, then tokens.
    pub(super) batch: Batch,
    /// q of every node of the batch; 1 for tokens.
    pub(super) q: Vec<f64>,
    /// The log-odds of every topic at the q of its neighbours.
    pub(super) log_odds: Vec<f64>,
    pub(super) edges: Vec<Edge>,
    pub(super) n_alternations: u32,
    /// The largest |dq| of the last alternation.
    pub(super) last_move: f64,
    /// The edge of every slot: a topic's edges to its positive children.
    slot_edges: Vec<usize>,
    bias: Vec<f64>,
}

/// A positive edge. With `x = w / r` and `t = f'(w0) (1 - exp(-x))`, all follows without cancellation (src/numeric.rs).
#[derive(Clone, Copy, Default)]
pub(super) struct Edge {
    pub(super) w: f64,
    pub(super) r: f64,
    /// `f(u) - f(w0) = log1p(t)`.
    pub(super) log: f64,
    /// `m = w + r (f(u) - f(w0))`.
    m: f64,
    /// The slope of `r (f(u) - f(w0))` in r: Eq. 10's numerator without q and r.
    gain: f64,
    /// That function's relative curvature, kappa.
    curve: f64,
    /// `1 / (1 - exp(-u))`.
    pub(super) count: f64,
    /// `f'(w0)` of the child.
    slope: f64,
}

impl Edge {
    fn update(&mut self) {
        let x = self.w / self.r.max(f64::from(R_MIN));
        let t = self.slope * -(-x).exp_m1();
        let u_slope = self.slope * (-x).exp() / (1.0 + t);
        self.log = t.ln_1p();
        self.m = self.w + self.r * self.log;
        // Far out x is large and the slope nothing, and their product must not be NaN or noise below zero.
        let x_slope = if u_slope > 0.0 { x * u_slope } else { 0.0 };
        self.gain = (self.log - x_slope).max(0.0);
        self.curve = if x_slope > 0.0 { x * x_slope * (1.0 + u_slope) / self.gain.max(1e-300) } else { 0.0 };
        self.count = (1.0 + self.slope) / (1.0 + t);
    }
}

impl Optimum {
    /// Runs the E-step of a document, tokens by number; those that the network does not have are left out.
    pub(super) fn find(explainer: &Explainer<'_>, tokens: &[u32]) -> Self {
        let mut optimum = Self::start(explainer, tokens);
        let (colours, stop) = (optimum.colours(), explainer.precision);
        while optimum.n_alternations < stop.max_alternations && optimum.last_move > stop.tolerance {
            optimum.n_alternations += 1;
            optimum.last_move = optimum.sweep(&colours);
            optimum.update_r();
        }
        for _ in 0..stop.max_last_sweeps {
            if optimum.sweep(&colours) <= stop.last_tolerance {
                break;
            }
        }
        optimum.log_odds = optimum.topics().map(|topic| optimum.log_odds_of(topic)).collect();
        optimum
    }

    fn start(explainer: &Explainer<'_>, tokens: &[u32]) -> Self {
        let (graph, weights) = (&explainer.network.graph, &explainer.network.weights);
        let corpus = Corpus::from_tokens([tokens.to_vec()]);
        let alignment = align(&corpus, &explainer.network.names.tokens);
        let (mut batch, item) = (Batch::default(), Item { doc_ix: 0, count: 1 });
        let mut packer = Packer::new(graph, explainer.bound == Bound::Full);
        packer.pack(graph, &alignment.docs(&corpus), &[item], usize::MAX, &mut batch);
        let mut edges = Vec::with_capacity(batch.n_edges());
        for node in &batch.nodes[..batch.n_nodes()] {
            let into = graph.edges_into(node.id as usize);
            let sum: f64 = weights.edge[into.clone()].iter().sum();
            let slope = log1mexp_slope(explainer.leak(node.id as usize));
            edges.extend(into.map(|edge| {
                let w = weights.edge[edge];
                let mut edge = Edge { w, r: w / sum, slope, ..Edge::default() };
                edge.update();
                edge
            }));
        }
        let mut slot_edges = vec![0; batch.n_edges()];
        batch.edges.iter().enumerate().for_each(|(edge, record)| slot_edges[record.slot as usize] = edge);
        let mut q = vec![0.5; batch.n_nodes()];
        q[batch.topics(0).end..].fill(1.0);
        let bias =
            batch.nodes[..batch.n_nodes()].iter().map(|node| explainer.bias[node.id as usize]).collect();
        let (log_odds, n_alternations, last_move) = (Vec::new(), 0, f64::INFINITY);
        Self { batch, q, log_odds, edges, n_alternations, last_move, slot_edges, bias }
    }

    pub(super) fn topics(&self) -> Range<usize> {
        self.batch.topics(0)
    }

    /// The edges into a node of the batch.
    pub(super) fn edges_into(&self, node: usize) -> Range<usize> {
        self.batch.nodes[node].edge_begin as usize..self.batch.nodes[node + 1].edge_begin as usize
    }

    fn colours(&self) -> Vec<Range<usize>> {
        let ends = self.batch.colour_ends.iter().map(|&end| end as usize);
        ends.scan(0, |begin, end| Some(std::mem::replace(begin, end)..end)).collect()
    }

    /// Eq. 12.
    fn log_odds_of(&self, topic: usize) -> f64 {
        let from_parents =
            self.edges_into(topic).map(|edge| self.edges[edge].m * self.q[self.parent_of(edge)]).sum::<f64>();
        let slots =
            self.batch.nodes[topic].slot_begin as usize..self.batch.nodes[topic + 1].slot_begin as usize;
        let from_children = slots
            .map(|slot| self.edges[self.slot_edges[slot]].m * self.q[self.batch.slot_children[slot] as usize])
            .sum::<f64>();
        self.bias[topic] + from_parents + from_children
    }

    pub(super) fn parent_of(&self, edge: usize) -> usize {
        self.batch.edges[edge].parent as usize
    }

    /// One sweep (Eq. 11). Topics of a colour do not see each other, so one after another is all at once. Returns the largest |dq|.
    fn sweep(&mut self, colours: &[Range<usize>]) -> f64 {
        let mut moved = 0.0f64;
        for topic in colours.iter().cloned().flatten() {
            let next = sigmoid(self.log_odds_of(topic));
            moved = moved.max((next - self.q[topic]).abs());
            self.q[topic] = next;
        }
        moved
    }

    /// One r iteration at every node, accelerated as in `estep/cpu/r_update.rs`.
    fn update_r(&mut self) {
        for node in 0..self.batch.n_nodes() {
            let range = self.edges_into(node);
            let gains: Vec<f64> =
                range.clone().map(|edge| self.q[self.parent_of(edge)] * self.edges[edge].gain).collect();
            let edges = &mut self.edges[range];
            // One parent has r = 1 for good.
            if edges.len() > 1 {
                share_out(edges, &gains);
                edges.iter_mut().for_each(Edge::update);
            }
        }
    }

    /// Eq. 9.
    pub(super) fn elbo(&self, explainer: &Explainer<'_>) -> f64 {
        let mut elbo = explainer.constant;
        for node in 0..self.batch.n_nodes() {
            let parents = self.edges_into(node).map(|edge| self.edges[edge].m * self.q[self.parent_of(edge)]);
            elbo += self.q[node] * (self.bias[node] + parents.sum::<f64>());
        }
        for topic in self.topics() {
            let g = self.log_odds[topic];
            elbo += softplus(g) - sigmoid(g) * g - explainer.tail(self.batch.nodes[topic].id as usize);
        }
        elbo
    }
}

/// `r <- r g^p / sum r g^p` with the largest p of 4, 2, 1, 1/2 that kappa and the growth of a share allow.
fn share_out(edges: &mut [Edge], gains: &[f64]) {
    let (least, growth) = (f64::from(R_MIN), f64::from(GROWTH));
    let sum =
        |power: fn(f64) -> f64| edges.iter().zip(gains).map(|(edge, &g)| edge.r * power(g)).sum::<f64>();
    let kappa = edges.iter().map(|edge| edge.curve).fold(0.0, f64::max);
    let largest = gains.iter().copied().fold(0.0, f64::max);
    let may_raise = |power: fn(f64) -> f64| {
        let sum = sum(power);
        sum > least && power(largest) <= growth * sum
    };
    let power: fn(f64) -> f64 = if kappa <= 0.25 && may_raise(|g| (g * g) * (g * g)) {
        |g| (g * g) * (g * g)
    } else if kappa <= 0.5 && may_raise(|g| g * g) {
        |g| g * g
    } else if kappa > 1.0 {
        f64::sqrt
    } else {
        |g| g
    };
    let sum = sum(power);
    // Every parent off, or every gain noise: r stays.
    if sum > least {
        for (edge, &g) in edges.iter_mut().zip(gains) {
            let next = edge.r * power(g) / sum;
            edge.r = if next < least { 0.0 } else { next };
        }
    }
}
