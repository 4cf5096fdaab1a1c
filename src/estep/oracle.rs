//! The tests' oracle: the same mathematics in plain f64, on dense arrays of the whole network, straight from
//! Eqs. 9-16, with none of the fast path's rearrangements. Slow and simple on purpose.

use crate::network::{Graph, Weights};
use crate::numeric::f64::{log1mexp as f, log1mexp_slope as f_slope, sigmoid};

/// A document under a network, in f64.
#[derive(Debug, Clone, Copy)]
pub struct Oracle<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// The weights.
    pub weights: &'a Weights,
    /// Active tokens (token numbers).
    pub tokens: &'a [u32],
}

/// A point of the variational family: q of every topic (0 outside the model used), r of every edge.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// q of every topic.
    pub q: Vec<f64>,
    /// r of every edge.
    pub r: Vec<f64>,
}

/// N, L and Q of one document.
#[derive(Debug, Clone, PartialEq)]
pub struct Sums {
    /// `N_ki` of every edge.
    pub edge: Vec<f64>,
    /// `L_i` of every node.
    pub leak: Vec<f64>,
    /// `Q_k` of every topic.
    pub topic_q: Vec<f64>,
}

impl Oracle<'_> {
    /// H_d: which topics are ancestors of active tokens.
    pub fn local_topics(&self) -> Vec<bool> {
        let mut inside = vec![false; self.graph.n_nodes()];
        for &token in self.tokens {
            inside[self.graph.n_topics() + token as usize] = true;
        }
        for &topic in self.graph.topic_order().iter().rev() {
            let children = self.graph.children(topic as usize);
            inside[topic as usize] = children.iter().any(|&child| inside[child as usize]);
        }
        inside.truncate(self.graph.n_topics());
        inside
    }

    /// The usual start: q = 0.5 inside, 0 outside; r = w / sum w.
    pub fn start(&self, inside: &[bool]) -> Point {
        let mut r = self.weights.edge.clone();
        for node in 0..self.graph.n_nodes() {
            let edges = self.graph.edges_into(node);
            let sum: f64 = r[edges.clone()].iter().sum();
            r[edges].iter_mut().for_each(|r| *r /= sum);
        }
        Point { q: inside.iter().map(|&inside| if inside { 0.5 } else { 0.0 }).collect(), r }
    }

    /// State of a node: q of a topic, y of a token.
    fn state(&self, point: &Point, node: usize) -> f64 {
        match node.checked_sub(self.graph.n_topics()) {
            None => point.q[node],
            Some(token) => f64::from(self.tokens.contains(&(token as u32))),
        }
    }

    /// `r (f(u) - f(w0))`, with its limit 0 at r = 0.
    fn a(&self, node: usize, edge: usize, r: f64) -> f64 {
        let leak = self.weights.leak[node];
        if r == 0.0 { 0.0 } else { r * (f(leak + self.weights.edge[edge] / r) - f(leak)) }
    }

    /// `u = w0 + w / r`.
    fn u(&self, node: usize, edge: usize, r: f64) -> f64 {
        self.weights.leak[node] + self.weights.edge[edge] / r
    }

    fn parents(&self, node: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.graph
            .edges_into(node)
            .zip(self.graph.parents(node))
            .map(|(edge, &parent)| (edge, parent as usize))
    }

    /// Eq. 9 as the paper has it: every node, on with weight v and off with weight 1 - v.
    pub fn elbo(&self, point: &Point) -> f64 {
        let mut elbo = 0.0;
        for node in 0..self.graph.n_nodes() {
            let v = self.state(point, node);
            let (mut on, mut off) = (f(self.weights.leak[node]), self.weights.leak[node]);
            for (edge, parent) in self.parents(node) {
                on += point.q[parent] * self.a(node, edge, point.r[edge]);
                off += point.q[parent] * self.weights.edge[edge];
            }
            elbo -= (1.0 - v) * off;
            if v > 0.0 {
                elbo += v * on;
            }
        }
        let entropy =
            |q: f64| if q <= 0.0 || q >= 1.0 { 0.0 } else { -q * q.ln() - (1.0 - q) * (1.0 - q).ln() };
        elbo + point.q.iter().map(|&q| entropy(q)).sum::<f64>()
    }

    /// The log-odds of a topic, all else held (Eq. 12): the slope of the bound in q, entropy aside.
    pub fn log_odds(&self, point: &Point, topic: usize) -> f64 {
        let mut g = f(self.weights.leak[topic]) + self.weights.leak[topic];
        for (edge, parent) in self.parents(topic) {
            g += point.q[parent] * (self.a(topic, edge, point.r[edge]) + self.weights.edge[edge]);
        }
        for (&child, &edge) in self.graph.children(topic).iter().zip(self.graph.child_edges(topic)) {
            let (child, edge) = (child as usize, edge as usize);
            let v = self.state(point, child);
            g += v * self.a(child, edge, point.r[edge]) - (1.0 - v) * self.weights.edge[edge];
        }
        g
    }

    /// Eq. 11.
    pub fn update_q(&self, point: &mut Point, topic: usize) {
        point.q[topic] = sigmoid(self.log_odds(point, topic));
    }

    /// One iteration of Eq. 10 at a node; r stays where the sum is not positive.
    pub fn update_r(&self, point: &mut Point, node: usize) {
        let gain = |edge: usize, parent: usize| {
            let r = point.r[edge];
            let slope = if r == 0.0 { 0.0 } else { self.weights.edge[edge] * f_slope(self.u(node, edge, r)) };
            (point.q[parent] * (self.a(node, edge, r) - slope)).max(0.0)
        };
        let gains: Vec<f64> = self.parents(node).map(|(edge, parent)| gain(edge, parent)).collect();
        let sum: f64 = gains.iter().sum();
        if sum > 0.0 {
            for (edge, gain) in self.graph.edges_into(node).zip(gains) {
                point.r[edge] = gain / sum;
            }
        }
    }

    /// The best r of a node, q held. The problem is concave and separable: at the optimum
    /// `q_k d/dr [r (f(u) - f(w0))] = mu` wherever r > 0; mu and each r are found by bisection.
    pub fn optimise_r(&self, point: &mut Point, node: usize) {
        let leak = self.weights.leak[node];
        let slope = |edge: usize, r: f64| {
            let u = self.u(node, edge, r);
            f(u) - f(leak) - if u > 700.0 { 0.0 } else { (u - leak) * f_slope(u) }
        };
        let r_at = |edge: usize, q: f64, mu: f64| -> f64 {
            if q * -f(leak) <= mu {
                return 0.0;
            }
            let (mut lo, mut hi) = (0.0, 1.0);
            for _ in 0..100 {
                let mid = 0.5 * (lo + hi);
                if q * slope(edge, mid) > mu { lo = mid } else { hi = mid }
            }
            0.5 * (lo + hi)
        };
        let edges: Vec<(usize, f64)> =
            self.parents(node).map(|(edge, parent)| (edge, point.q[parent])).collect();
        let most = edges.iter().map(|&(_, q)| q).fold(0.0, f64::max);
        if edges.len() < 2 || most == 0.0 {
            return;
        }
        let (mut lo, mut hi) = (0.0, most * -f(leak));
        for _ in 0..200 {
            let mu = 0.5 * (lo + hi);
            let sum: f64 = edges.iter().map(|&(edge, q)| r_at(edge, q, mu)).sum();
            if sum > 1.0 { lo = mu } else { hi = mu }
        }
        // Where w / r is large the slope is flat and r jumps between lo and hi: the two are mixed to sum to one.
        let shares = |mu: f64| edges.iter().map(|&(edge, q)| r_at(edge, q, mu)).collect::<Vec<f64>>();
        let (more, less) = (shares(lo), shares(hi));
        let (sum_more, sum_less) = (more.iter().sum::<f64>(), less.iter().sum::<f64>());
        let mix = if sum_more > sum_less { (1.0 - sum_less) / (sum_more - sum_less) } else { 0.0 };
        for ((&(edge, _), more), less) in edges.iter().zip(more).zip(less) {
            point.r[edge] = less + mix.clamp(0.0, 1.0) * (more - less);
        }
    }

    /// Nodes of the model used that can be on: topics inside and active tokens.
    pub fn positive_nodes(&self, inside: &[bool]) -> Vec<usize> {
        let topics = (0..self.graph.n_topics()).filter(|&topic| inside[topic]);
        topics.chain(self.tokens.iter().map(|&token| self.graph.n_topics() + token as usize)).collect()
    }

    /// N, L and Q (Eqs. 13-16 are N - Q and L - 1).
    pub fn sums(&self, point: &Point) -> Sums {
        let mut sums = Sums {
            edge: vec![0.0; self.graph.n_edges()],
            leak: vec![0.0; self.graph.n_nodes()],
            topic_q: point.q.clone(),
        };
        for node in 0..self.graph.n_nodes() {
            let (v, leak) = (self.state(point, node), self.weights.leak[node]);
            let mut slope = 1.0 + f_slope(leak);
            for (edge, parent) in self.parents(node) {
                let (q, r) = (point.q[parent], point.r[edge]);
                let u_slope = if r == 0.0 { 0.0 } else { f_slope(self.u(node, edge, r)) };
                slope += q * r * (u_slope - f_slope(leak));
                sums.edge[edge] = v * q * (1.0 + u_slope);
            }
            sums.leak[node] = v * slope;
        }
        sums
    }

    /// The free tail: what topics outside H_d add when each takes its best q given nothing.
    pub fn tail(&self, inside: &[bool]) -> f64 {
        let outside = (0..self.graph.n_topics()).filter(|&topic| !inside[topic]);
        outside
            .map(|topic| {
                let leak = self.weights.leak[topic];
                let children: f64 =
                    self.graph.child_edges(topic).iter().map(|&e| self.weights.edge[e as usize]).sum();
                (leak + f(leak) - children).exp().ln_1p()
            })
            .sum()
    }
}
