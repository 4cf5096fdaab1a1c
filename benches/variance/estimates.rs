//! Every quantity as a batch estimates it, alone and with what is known of all documents.

use crate::sums::{Sums, Terms};
use noisyor::Network;
use noisyor::train::control::{EdgeMeans, corrected_leak, least_joint};

/// Weights of topics with fewer documents are left out.
const MIN_Q: f64 = 60.0;

/// Estimates of one quantity, coordinate by coordinate.
pub struct Estimate {
    pub name: &'static str,
    pub values: Vec<f64>,
}

impl Estimate {
    /// Whether it is the one without correction, which those behind it are compared with.
    pub fn is_plain(&self) -> bool {
        !self.name.starts_with(' ')
    }
}

/// An edge to a token.
struct Edge {
    token: usize,
    at: usize,
    topic: usize,
}

fn ratio(n: f64, share: f64) -> f64 {
    if share > 0.0 { n / share } else { 0.0 }
}

/// h_k, the tokens attributed to topic k by the means of all documents: its best coefficient for Q_k, and what each token adds.
pub struct Attributed {
    a: f64,
    adds: Vec<(usize, f64)>,
}

impl Attributed {
    /// Of every topic.
    pub fn of_topics(network: &Network, docs: &[Terms], all: &Sums) -> Vec<Self> {
        let (graph, n_docs) = (&network.graph, docs.len() as f64);
        let n_topics = graph.n_topics();
        let edges = |token: usize| graph.edges_into(n_topics + token);
        let parent = |edge: usize| graph.edge_parents()[edge] as usize;
        let mut moments = vec![[0.0; 3]; n_topics]; // h, h^2, h q
        for terms in docs {
            let (mut h, mut q) = (vec![0.0; n_topics], vec![0.0; n_topics]);
            for &(list, at, value) in terms {
                let at = at as usize;
                match list {
                    2 => q[at] = f64::from(value),
                    3 => edges(at).for_each(|edge| h[parent(edge)] += ratio(all.n[edge], all.y[at])),
                    _ => {}
                }
            }
            for (moments, (h, q)) in moments.iter_mut().zip(h.iter().zip(&q)) {
                [*h, h * h, h * q].iter().zip(moments).for_each(|(term, sum)| *sum += term / n_docs);
            }
        }
        let best = |(topic, [h, hh, hq]): (usize, &[f64; 3])| Self {
            a: ratio(hq - h * all.q[topic], hh - h * h),
            adds: Vec::new(),
        };
        let mut list: Vec<Self> = moments.iter().enumerate().map(best).collect();
        for token in 0..graph.n_tokens() {
            edges(token)
                .for_each(|edge| list[parent(edge)].adds.push((token, ratio(all.n[edge], all.y[token]))));
        }
        list
    }
}

pub fn estimates(
    network: &Network,
    attributed: &[Attributed],
    all: &Sums,
    batch: &Sums,
    n_docs: usize,
) -> Vec<Estimate> {
    let (graph, weights) = (&network.graph, &network.weights);
    let first = graph.n_topics();
    let is_common = |topic: usize| all.q[topic] * n_docs as f64 > MIN_Q;
    let (mut edges, mut upper) = (Vec::new(), Vec::new());
    for child in 0..graph.n_nodes() {
        for at in graph.edges_into(child) {
            let topic = graph.edge_parents()[at] as usize;
            match child.checked_sub(first) {
                Some(token) if all.y[token] > 0.0 && all.y[token] < 1.0 => {
                    edges.push(Edge { token, at, topic })
                }
                None if is_common(topic) => upper.push((child, at, topic)),
                _ => {}
            }
        }
    }
    let excess = |token: usize| batch.y[token] - all.y[token];
    let token_leaks = |value: &dyn Fn(usize) -> f64| (0..all.y.len()).map(value).collect();
    let of_edges = |value: &dyn Fn(&Edge) -> f64| edges.iter().map(value).collect();
    let common = |value: &dyn Fn(&Edge) -> f64| {
        edges.iter().filter(|edge| is_common(edge.topic)).map(value).collect::<Vec<f64>>()
    };
    let of_upper = |value: &dyn Fn(usize, usize, usize) -> f64| -> Vec<f64> {
        upper.iter().map(|&(child, at, topic)| value(child, at, topic)).collect()
    };
    let n_alone =
        |edge: &Edge| batch.n[edge.at] - ratio(all.n[edge.at], all.y[edge.token]) * excess(edge.token);
    let q_corrected = |(topic, Attributed { a, adds }): (usize, &Attributed)| {
        batch.q[topic] - a * adds.iter().map(|&(token, m)| m * excess(token)).sum::<f64>()
    };
    let q_corrected: Vec<f64> = attributed.iter().enumerate().map(q_corrected).collect();
    let means = |of: &Sums, edge: &Edge| EdgeMeans {
        n: of.n[edge.at],
        q: of.q[edge.topic],
        joint: of.qy[edge.at],
        share: of.y[edge.token],
    };
    // As training has it, where E-steps do not sum q y.
    let with_least = |of: &Sums, edge: &Edge| {
        let w = weights.edge[edge.at];
        let joint = least_joint(of.n[edge.at] / w, w, weights.leak[first + edge.token]);
        EdgeMeans { joint, ..means(of, edge) }
    };
    let residual = |edge: &Edge, means: EdgeMeans| {
        let c = means.coefficient(all.n[edge.at] / all.q[edge.topic], all.y[edge.token]);
        (batch.n[edge.at] - c * excess(edge.token)) / batch.q[edge.topic]
    };
    // A token that the batch lacks keeps what it has.
    let strata = |edge: &Edge, means: EdgeMeans| match batch.y[edge.token] > 0.0 {
        true => means.corrected(all.y[edge.token]) / batch.q[edge.topic],
        false => all.n[edge.at] / all.q[edge.topic],
    };
    let kept_leak = |n: f64, share: f64, frequency: f64, kept: f64| {
        if share > 0.0 { corrected_leak(n, share, frequency) } else { kept }
    };
    let n_0 = |of: &Sums, token: usize| of.n_0[first + token];
    let by_h = |child: usize, at: usize, topic: usize| {
        let (n, q) = (batch.n[at], batch.q[topic]);
        EdgeMeans { n, q, joint: batch.qh[at], share: batch.h[child] }.corrected(all.h[child]) / q
    };
    let topic_leaks = |value: &dyn Fn(usize) -> f64| (0..first).map(value).collect();
    let rows: Vec<(&'static str, Vec<f64>)> = vec![
        ("token leaks", token_leaks(&|token| n_0(batch, token))),
        (
            "  a = 1",
            token_leaks(&|token| n_0(batch, token) - ratio(n_0(all, token), all.y[token]) * excess(token)),
        ),
        (
            "  as trained, from the batch alone",
            token_leaks(&|token| kept_leak(n_0(batch, token), batch.y[token], all.y[token], n_0(all, token))),
        ),
        ("token edges, n", of_edges(&|edge| batch.n[edge.at])),
        ("  a = 1", of_edges(&n_alone)),
        ("Q", batch.q.clone()),
        ("  h_k: tokens attributed to the topic", q_corrected.clone()),
        ("weights n/Q", common(&|edge| batch.n[edge.at] / batch.q[edge.topic])),
        ("  n alone", common(&|edge| n_alone(edge) / batch.q[edge.topic])),
        ("  Q alone", common(&|edge| batch.n[edge.at] / q_corrected[edge.topic])),
        ("  both", common(&|edge| n_alone(edge) / q_corrected[edge.topic])),
        ("  residual", common(&|edge| residual(edge, means(all, edge)))),
        ("  residual, q y from n", common(&|edge| residual(edge, with_least(all, edge)))),
        ("  from the batch alone", common(&|edge| strata(edge, means(batch, edge)))),
        ("  as trained: the same, q y from n", common(&|edge| strata(edge, with_least(batch, edge)))),
        ("topic leaks", topic_leaks(&|topic| batch.n_0[topic])),
        (
            "  by [i in H_d]",
            topic_leaks(&|topic| kept_leak(batch.n_0[topic], batch.h[topic], all.h[topic], all.n_0[topic])),
        ),
        ("weights between topics", of_upper(&|_, at, topic| batch.n[at] / batch.q[topic])),
        ("  by [i in H_d]", of_upper(&by_h)),
    ];
    rows.into_iter().map(|(name, values)| Estimate { name, values }).collect()
}
