//! The exact log-likelihood, by enumeration of all topic states. For checking bounds on small networks.

use crate::corpus::Docs;
use crate::error::{Error, Result};
use crate::estep::Monitor;
use crate::network::{Graph, Weights};
use crate::numeric::f64::{LogSum, log1mexp};
use rayon::prelude::*;
use std::sync::atomic::Ordering;

/// More topics than this are refused: 2^22 states take about a tenth of a second per document and core, and
/// every further topic doubles that.
pub const MAX_TOPICS: usize = 22;

/// Documents that share one pass over the states.
const CHUNK_DOCS: usize = 32;

/// What was seen of a document: tokens that are present, and tokens that nobody looked at.
#[derive(Debug, Clone, Default)]
struct Seen {
    present: Vec<u32>,
    unknown: Vec<u32>,
}

/// `log p(y)` of every document (lists of token numbers).
pub fn log_likelihood(
    graph: &Graph,
    weights: &Weights,
    docs: &[Vec<u32>],
    monitor: &Monitor,
) -> Result<Vec<f64>> {
    let seen = |present: &Vec<u32>| Seen { present: present.clone(), unknown: Vec::new() };
    of_seen(graph, weights, &docs.iter().map(seen).collect::<Vec<_>>(), monitor)
}

/// The same of a corpus; unknown tokens are left out.
pub fn log_likelihood_of(
    graph: &Graph,
    weights: &Weights,
    docs: &Docs<'_>,
    monitor: &Monitor,
) -> Result<Vec<f64>> {
    let seen = |doc_ix: usize| {
        let mut unknown = Vec::new();
        docs.unknown(doc_ix, &mut unknown);
        Seen { present: docs.tokens(doc_ix).collect(), unknown }
    };
    of_seen(graph, weights, &(0..docs.n_docs()).map(seen).collect::<Vec<_>>(), monitor)
}

fn of_seen(graph: &Graph, weights: &Weights, docs: &[Seen], monitor: &Monitor) -> Result<Vec<f64>> {
    check_size(graph)?;
    let mut exact = Vec::with_capacity(docs.len());
    for chunk in docs.chunks(CHUNK_DOCS) {
        exact.extend(chunk_likelihood(graph, weights, chunk, monitor)?);
        monitor.docs_done.fetch_add(chunk.len() as u64, Ordering::Relaxed);
    }
    Ok(exact)
}

/// Refuses networks of too many topics.
pub fn check_size(graph: &Graph) -> Result<()> {
    let n_topics = graph.n_topics();
    if n_topics > MAX_TOPICS {
        return Err(Error::Usage(format!(
            "the exact likelihood sums over 2^{n_topics} states of {n_topics} topics; at most {MAX_TOPICS} topics \
             are possible: leave out `exact`, the bound is then the answer"
        )));
    }
    Ok(())
}

/// The states are split by their high bits into parts that are summed on their own, then in order: the result
/// does not depend on the number of threads.
fn chunk_likelihood(graph: &Graph, weights: &Weights, docs: &[Seen], monitor: &Monitor) -> Result<Vec<f64>> {
    let n_parts = 1usize << graph.n_topics().min(6);
    let part_states = (1usize << graph.n_topics()) / n_parts;
    let run_part = |part: usize| {
        let mut sums = vec![LogSum::default(); docs.len()];
        let mut terms = StateTerms::default();
        for state in part * part_states..(part + 1) * part_states {
            if state % 4096 == 0 && monitor.stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            terms.set(graph, weights, state);
            sums.iter_mut().zip(docs).for_each(|(sum, doc)| sum.add(terms.log_joint(doc)));
        }
        Ok(sums)
    };
    let parts: Vec<Vec<LogSum>> = (0..n_parts).into_par_iter().map(run_part).collect::<Result<_>>()?;
    let total = |doc_ix: usize| {
        let mut total = LogSum::default();
        parts.iter().for_each(|part| total.add(part[doc_ix].log()));
        total.log()
    };
    Ok((0..docs.len()).map(total).collect())
}

/// Terms of one state of all topics.
#[derive(Default)]
struct StateTerms {
    /// `w0 + sum_k w x` of every node.
    activation: Vec<f64>,
    /// log p(topics), plus log p(all tokens off).
    base: f64,
    /// log p(on) - log p(off) of every token.
    log_odds: Vec<f64>,
    n_topics: usize,
}

impl StateTerms {
    fn set(&mut self, graph: &Graph, weights: &Weights, state: usize) {
        let is_on = |topic: usize| state >> topic & 1 == 1;
        self.n_topics = graph.n_topics();
        self.activation.clone_from(&weights.leak);
        for topic in (0..graph.n_topics()).filter(|&topic| is_on(topic)) {
            for (&child, &edge) in graph.children(topic).iter().zip(graph.child_edges(topic)) {
                self.activation[child as usize] += weights.edge[edge as usize];
            }
        }
        let (topics, tokens) = self.activation.split_at(graph.n_topics());
        let log_p = |(topic, &a): (usize, &f64)| if is_on(topic) { log1mexp(a) } else { -a };
        self.base = topics.iter().enumerate().map(log_p).sum::<f64>() - tokens.iter().sum::<f64>();
        self.log_odds.clear();
        self.log_odds.extend(tokens.iter().map(|&a| a + log1mexp(a)));
    }

    fn log_joint(&self, doc: &Seen) -> f64 {
        let present = doc.present.iter().map(|&token| self.log_odds[token as usize]);
        // Off until seen: what was not looked at is taken back.
        let unknown = doc.unknown.iter().map(|&token| self.activation[self.n_topics + token as usize]);
        self.base + present.sum::<f64>() + unknown.sum::<f64>()
    }
}
