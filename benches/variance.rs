//! What control variates do to the noise of batches, at fixed weights: variance with them to variance without, summed over coordinates.
//!
//! `cargo bench --bench variance [-- CORPUS MODEL [DOCS [BATCH]]]`, by default the bundled sample under its network, and tiny20 under the
//! trained network of tests/golden/tiny20_peer.json where NOISYOR_TINY20 names its file. The sums of each document are kept (of the first DOCS
//! documents, by default 6,000); then 400 batches of BATCH documents (1,000, at most a sixth) are drawn. Rows on weights are of topics with Q > 60. `mean` is how
//! far the mean over all batches is from the corpus, in standard errors: the root mean square over coordinates, about 1 without bias.

mod common;

use common::Case;
use noisyor::corpus::{Docs, Item, align, read};
use noisyor::estep::{Bound, DocResults, EStep, EStepOptions, Monitor, Params, Work, cpu::CpuEStep};
use noisyor::network::{Graph, load_bytes};
use noisyor::rng::{Stream, rng};
use noisyor::train::control::{EdgeMeans, leak};
use rand::seq::SliceRandom;
use std::path::Path;

/// Batches drawn.
const N_BATCHES: usize = 400;
/// Weights of topics with fewer documents are left out.
const MIN_Q: f64 = 60.0;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let number = |at: usize, usual: usize| arguments.get(at).map_or(usual, |n| n.parse().expect("a number"));
    let cases = match &arguments[..] {
        [] => [Some(Case::sample()), Case::tiny20()].into_iter().flatten().collect(),
        [_] => panic!("give a corpus and a model"),
        [corpus, model, ..] => vec![case_of(Path::new(corpus), Path::new(model))],
    };
    for case in cases {
        let n_docs = number(2, 6_000).min(case.corpus.n_docs());
        table(&case, n_docs, number(3, 1_000).clamp(1, n_docs.div_ceil(6)));
    }
}

fn case_of(corpus: &Path, model: &Path) -> Case {
    let bytes = std::fs::read(model).expect("the model's file");
    let network = load_bytes(model, &bytes).and_then(|loaded| loaded.into_model(model)).expect("a model");
    let tokens = Some(network.names.tokens.as_slice()).filter(|names| !names.is_empty());
    let (corpus_read, _) = read(corpus, &Default::default(), tokens, &Default::default()).expect("a corpus");
    Case { name: corpus.display().to_string(), network, corpus: corpus_read }
}

/// Sums over documents, or their means.
#[derive(Clone)]
struct Sums {
    /// `n_kj` of every edge, `n_0i` of every node, `q_k` of every topic.
    n: Vec<f64>,
    n_0: Vec<f64>,
    q: Vec<f64>,
    /// `y_j` of every token; `q_k y_j` of every edge to one.
    y: Vec<f64>,
    qy: Vec<f64>,
    /// `[k in H_d]` of every topic; `q_k [i in H_d]` of every edge between topics.
    h: Vec<f64>,
    qh: Vec<f64>,
}

impl Sums {
    fn new(graph: &Graph) -> Self {
        let zeros = |n: usize| vec![0.0; n];
        let (n_topics, n_edges) = (graph.n_topics(), graph.n_edges());
        Self {
            n: zeros(n_edges),
            n_0: zeros(graph.n_nodes()),
            q: zeros(n_topics),
            y: zeros(graph.n_tokens()),
            qy: zeros(n_edges),
            h: zeros(n_topics),
            qh: zeros(n_edges),
        }
    }

    fn lists(&mut self) -> [&mut Vec<f64>; 7] {
        [&mut self.n, &mut self.n_0, &mut self.q, &mut self.y, &mut self.qy, &mut self.h, &mut self.qh]
    }
}

/// What one document adds: list, place, value.
type Terms = Vec<(u8, u32, f32)>;

/// The sums of each document by itself, those of the free tail included.
fn of_documents(case: &Case, docs: Docs<'_>, n_docs: usize) -> Vec<Terms> {
    let (graph, weights) = (&case.network.graph, &case.network.weights);
    let options = EStepOptions::default();
    let params = Params::derive(graph, weights, options.bound).expect("good weights");
    let (monitor, mut estep) = (Monitor::default(), CpuEStep::new());
    let is_full = options.bound == Bound::Full;
    let of_doc = |doc_ix: usize| {
        let items = [Item { doc_ix: doc_ix as u32, count: 1 }];
        let mut sums = Sums::new(graph);
        let mut sink = |results: &DocResults<'_>| {
            let (topics, q) = results.doc(0);
            for (&topic, &q) in topics.iter().zip(q) {
                sums.q[topic as usize] = f64::from(q);
                sums.h[topic as usize] = 1.0;
            }
            Ok(())
        };
        let work = Work {
            graph,
            params: &params,
            docs,
            items: &items,
            options: &options,
            gradients: true,
            kept_on: None,
            monitor: &monitor,
        };
        let stats = estep.run(&work, Some(&mut sink)).expect("an E-step").with_tail(&params);
        for token in docs.tokens(doc_ix) {
            sums.y[token as usize] = 1.0;
        }
        for child in 0..graph.n_nodes() {
            for edge in graph.edges_into(child) {
                let q = sums.q[graph.edge_parents()[edge] as usize];
                match child.checked_sub(graph.n_topics()) {
                    Some(token) => sums.qy[edge] = q * sums.y[token],
                    None => sums.qh[edge] = q * sums.h[child],
                }
            }
        }
        sums.q.copy_from_slice(&stats.topic_q);
        let counts = |w: &[f64], sums: &[f64]| w.iter().zip(sums).map(|(w, sum)| w * sum).collect();
        (sums.n, sums.n_0) = (counts(&weights.edge, &stats.edge), counts(&weights.leak, &stats.leak));
        if is_full {
            sums.h.fill(1.0);
        }
        let mut terms = Terms::new();
        for (list, values) in sums.lists().into_iter().enumerate() {
            let some = values.iter().enumerate().filter(|(_, value)| **value != 0.0);
            terms.extend(some.map(|(at, &value)| (list as u8, at as u32, value as f32)));
        }
        terms
    };
    (0..n_docs).map(of_doc).collect()
}

fn mean_of<'a>(graph: &Graph, docs: impl ExactSizeIterator<Item = &'a Terms>) -> Sums {
    let (mut sums, n_docs) = (Sums::new(graph), docs.len() as f64);
    let mut lists = sums.lists();
    for &(list, at, value) in docs.flatten() {
        lists[list as usize][at as usize] += f64::from(value);
    }
    lists.into_iter().flatten().for_each(|sum| *sum /= n_docs);
    sums
}

/// Sums and sums of squares over batches of the estimates of one quantity, coordinate by coordinate.
struct Estimates {
    name: &'static str,
    /// The estimate without correction that it is compared with: the last one before it that is plain.
    is_plain: bool,
    truth: Vec<f64>,
    sum: Vec<f64>,
    squares: Vec<f64>,
}

impl Estimates {
    fn add(&mut self, values: &[f64]) {
        for (at, value) in values.iter().enumerate() {
            let off = value - self.truth[at];
            self.sum[at] += off;
            self.squares[at] += off * off;
        }
    }

    /// Variance summed over coordinates, and how far means are off, in standard errors.
    fn variance(&self) -> (f64, f64) {
        let n = N_BATCHES as f64;
        let (mut total, mut off, mut counted) = (0.0, 0.0, 0.0);
        for (sum, squares) in self.sum.iter().zip(&self.squares) {
            let (mean, variance) = (sum / n, squares / n - (sum / n) * (sum / n));
            total += variance;
            if variance > 0.0 {
                off += mean * mean / (variance / n);
                counted += 1.0;
            }
        }
        (total, (off / f64::max(counted, 1.0)).sqrt())
    }
}

fn table(case: &Case, n_docs: usize, n_batch: usize) {
    let alignment = align(&case.corpus, &case.network.names.tokens);
    let docs = of_documents(case, alignment.docs(&case.corpus), n_docs);
    let graph = &case.network.graph;
    let all = mean_of(graph, docs.iter());
    let mut rows: Vec<Estimates> = Vec::new();
    let mut order: Vec<usize> = (0..n_docs).collect();
    let mut rng = rng(1, Stream::Plan);
    for _ in 0..N_BATCHES {
        order.shuffle(&mut rng);
        let batch = mean_of(graph, order[..n_batch].iter().map(|&doc| &docs[doc]));
        let values = estimates(case, &all, &batch, n_docs);
        if rows.is_empty() {
            let truths = estimates(case, &all, &all, n_docs);
            rows.extend(truths.into_iter().map(|(name, is_plain, truth)| {
                let zeros = vec![0.0; truth.len()];
                Estimates { name, is_plain, truth, sum: zeros.clone(), squares: zeros }
            }));
        }
        rows.iter_mut().zip(&values).for_each(|(row, (_, _, values))| row.add(values));
    }
    let n_weights = rows.last().map_or(0, |row| row.truth.len());
    println!(
        "\n{}: {n_docs} documents, batches of {n_batch}, {n_weights} token edges of topics with Q > {MIN_Q}",
        case.name
    );
    println!("{:<44} {:>8} {:>8}", "quantity", "ratio", "mean");
    let mut plain = f64::NAN;
    for row in &rows {
        let (variance, off) = row.variance();
        plain = if row.is_plain { variance } else { plain };
        println!("{:<44} {:>8.3} {:>8.2}", row.name, variance / plain, off);
    }
}

/// Every quantity as a batch estimates it, with what is known of all documents.
fn estimates(case: &Case, all: &Sums, batch: &Sums, n_docs: usize) -> Vec<(&'static str, bool, Vec<f64>)> {
    let (graph, weights) = (&case.network.graph, &case.network.weights);
    let first = graph.n_topics();
    let tokens = 0..graph.n_tokens();
    let excess = |token: usize| batch.y[token] - all.y[token];
    let given = |n: f64, share: f64| if share > 0.0 { n / share } else { 0.0 };
    // Of token edges: token, edge, topic.
    let mut edges = Vec::new();
    let mut upper = Vec::new();
    for child in 0..graph.n_nodes() {
        for edge in graph.edges_into(child) {
            let topic = graph.edge_parents()[edge] as usize;
            let is_common = all.q[topic] * n_docs as f64 > MIN_Q;
            match child.checked_sub(first) {
                Some(token) if all.y[token] > 0.0 && all.y[token] < 1.0 => {
                    edges.push((token, edge, topic, is_common))
                }
                Some(_) => {}
                None => upper.push((child, edge, topic, is_common)),
            }
        }
    }
    let common: Vec<(usize, usize, usize)> =
        edges.iter().filter(|edge| edge.3).map(|&(token, edge, topic, _)| (token, edge, topic)).collect();
    let of = |values: &dyn Fn(usize, usize, usize) -> f64| -> Vec<f64> {
        common.iter().map(|&(token, edge, topic)| values(token, edge, topic)).collect()
    };
    // h_k: tokens attributed to topic k, by the means of all documents.
    let (mut h, mut h_all) = (vec![0.0; first], vec![0.0; first]);
    for &(token, edge, topic, _) in &edges {
        let m = given(all.n[edge], all.y[token]);
        h[topic] += m * batch.y[token];
        h_all[topic] += m * all.y[token];
    }
    let means = |from: &Sums, token: usize, edge: usize, topic: usize| EdgeMeans {
        n: from.n[edge],
        q: from.q[topic],
        joint: from.qy[edge],
        share: from.y[token],
    };
    // q_k y_j is at least this, and as much where the token has no other parent that is on.
    let least_joint = |from: &Sums, token: usize, edge: usize| {
        let w = weights.edge[edge];
        from.n[edge] / w * -(-w - weights.leak[first + token]).exp_m1()
    };
    let n_post = |token: usize, edge: usize| batch.n[edge] - given(all.n[edge], all.y[token]) * excess(token);
    let mut list: Vec<(&'static str, bool, Vec<f64>)> = Vec::new();
    let mut row = |name, is_plain, values| list.push((name, is_plain, values));
    row("token leaks", true, tokens.clone().map(|token| batch.n_0[first + token]).collect());
    row(
        "  a = 1, means of all documents",
        false,
        tokens
            .clone()
            .map(|token| {
                batch.n_0[first + token] - given(all.n_0[first + token], all.y[token]) * excess(token)
            })
            .collect(),
    );
    row(
        "  as trained, means of the batch alone",
        false,
        tokens.clone().map(|token| leak(batch.n_0[first + token], batch.y[token], all.y[token])).collect(),
    );
    row("token edges, n", true, edges.iter().map(|edge| batch.n[edge.1]).collect());
    row("  a = 1, means of all documents", false, edges.iter().map(|edge| n_post(edge.0, edge.1)).collect());
    row("weights n/Q", true, of(&|_, edge, topic| batch.n[edge] / batch.q[topic]));
    row("  n alone", false, of(&|token, edge, topic| n_post(token, edge) / batch.q[topic]));
    row(
        "  residual, linear",
        false,
        of(&|token, edge, topic| {
            let c = means(all, token, edge, topic).coefficient(all.n[edge] / all.q[topic], all.y[token]);
            (batch.n[edge] - c * excess(token)) / batch.q[topic]
        }),
    );
    row(
        "  as trained, means of the batch alone",
        false,
        of(&|token, edge, topic| means(batch, token, edge, topic).corrected(all.y[token]) / batch.q[topic]),
    );
    row(
        "  the same, least q y by n",
        false,
        of(&|token, edge, topic| {
            let joint = least_joint(batch, token, edge);
            EdgeMeans { joint, ..means(batch, token, edge, topic) }.corrected(all.y[token]) / batch.q[topic]
        }),
    );
    row(
        "  linear, least q y by n",
        false,
        of(&|token, edge, topic| {
            let joint = least_joint(all, token, edge);
            let c = EdgeMeans { joint, ..means(all, token, edge, topic) }
                .coefficient(all.n[edge] / all.q[topic], all.y[token]);
            (batch.n[edge] - c * excess(token)) / batch.q[topic]
        }),
    );
    let h_of = |from: &Sums, child: usize, edge: usize, topic: usize| EdgeMeans {
        n: from.n[edge],
        q: from.q[topic],
        joint: from.qh[edge],
        share: from.h[child],
    };
    let upper_weights = |value: &dyn Fn(usize, usize, usize) -> f64| -> Vec<f64> {
        upper.iter().filter(|edge| edge.3).map(|&(child, edge, topic, _)| value(child, edge, topic)).collect()
    };
    row("topic leaks", true, (0..first).map(|topic| batch.n_0[topic]).collect());
    row(
        "  by [i in H_d]",
        false,
        (0..first).map(|topic| leak(batch.n_0[topic], batch.h[topic], all.h[topic])).collect(),
    );
    row("weights between topics", true, upper_weights(&|_, edge, topic| batch.n[edge] / batch.q[topic]));
    row(
        "  by [i in H_d]",
        false,
        upper_weights(&|child, edge, topic| {
            h_of(batch, child, edge, topic).corrected(all.h[child]) / batch.q[topic]
        }),
    );
    list
}
