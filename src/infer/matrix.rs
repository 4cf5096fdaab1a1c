//! Batch inference into memory: a sparse matrix with a row per document.

use super::Task;
use super::output::log_odds;
use super::records::Selection;
use crate::corpus::Docs;
use crate::error::Result;
use crate::estep::{DocResults, EStep, EStepOptions, Monitor, Params};
use crate::network::Network;

/// Topic probabilities of documents, as compressed sparse rows, and their bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct TopicMatrix {
    /// The bound of every document.
    pub elbo: Vec<f64>,
    /// Where the row of each document begins, and where the last one ends.
    pub indptr: Vec<i64>,
    /// Topics, ascending in a row.
    pub topics: Vec<i32>,
    /// Their probabilities.
    pub q: Vec<f32>,
}

impl TopicMatrix {
    /// Topics of all documents, those at or above the threshold: what [`Inference`](super::Inference) writes to a file.
    ///
    /// # Errors
    ///
    /// As [`run`](super::run).
    pub fn infer(
        network: &Network,
        docs: Docs<'_>,
        options: &EStepOptions,
        threshold: f32,
        estep: &mut dyn EStep,
        monitor: &Monitor,
    ) -> Result<Self> {
        let params = Params::derive(&network.graph, &network.weights, options.bound)?;
        let mut selection = Selection::new(threshold, &params, network.graph.n_topics(), &[]);
        let n_docs = docs.n_docs();
        let mut matrix = Self {
            elbo: Vec::with_capacity(n_docs),
            indptr: Vec::with_capacity(n_docs + 1),
            topics: Vec::new(),
            q: Vec::new(),
        };
        matrix.indptr.push(0);
        let mut row = Vec::new();
        let mut sink = |results: &DocResults<'_>| {
            for at in 0..results.n_docs() {
                row.clear();
                row.extend_from_slice(selection.select(results, at));
                row.sort_unstable_by_key(|entry| entry.topic);
                matrix.elbo.push(results.elbo[at]);
                matrix.topics.extend(row.iter().map(|entry| entry.topic as i32));
                matrix.q.extend(row.iter().map(|entry| entry.q));
                matrix.indptr.push(matrix.topics.len() as i64);
            }
            Ok(())
        };
        let task = Task { network, params: &params, docs, options, monitor };
        task.run_range(0..n_docs, estep, Some(&mut sink))?;
        Ok(matrix)
    }

    /// Log-odds in the place of probabilities.
    pub fn to_log_odds(&mut self) {
        self.q.iter_mut().for_each(|q| *q = log_odds(*q));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::{Corpus, align, sample_corpus, sample_network};
    use crate::estep::cpu::CpuEStep;
    use crate::infer;

    #[test]
    fn rows_are_the_topics_at_or_above_the_threshold() {
        let (network, sample) = (sample_network().unwrap(), sample_corpus().unwrap());
        let mut corpus = Corpus::from_tokens((0..200).map(|doc_ix| sample.tokens(doc_ix).to_vec()));
        corpus.set_token_names(sample.token_names().unwrap().iter());
        let alignment = align(&corpus, &network.names.tokens);
        let (docs, options, monitor) = (alignment.docs(&corpus), EStepOptions::default(), Monitor::default());
        let infer = |threshold| {
            TopicMatrix::infer(&network, docs, &options, threshold, &mut CpuEStep::new(), &monitor).unwrap()
        };
        let (all, some) = (infer(0.0), infer(0.5));
        let mut n_seen = 0;
        let mut sink = |results: &DocResults<'_>| {
            for at in 0..results.n_docs() {
                let doc_ix = results.first_item + at;
                let (topics, q) = results.doc(at);
                assert_eq!(all.elbo[doc_ix], results.elbo[at]);
                let row = some.indptr[doc_ix] as usize..some.indptr[doc_ix + 1] as usize;
                let likely = topics.iter().zip(q).filter(|(_, q)| **q >= 0.5);
                let row: Vec<(u32, f32)> = some.topics[row.clone()]
                    .iter()
                    .map(|&topic| topic as u32)
                    .zip(some.q[row].iter().copied())
                    .collect();
                let mut likely: Vec<(u32, f32)> = likely.map(|(&topic, &q)| (topic, q)).collect();
                likely.sort_unstable_by_key(|entry| entry.0);
                assert_eq!(row, likely, "{doc_ix}");
                n_seen += 1;
            }
            Ok(())
        };
        let doc_ixs: Vec<u32> = (0..corpus.n_docs() as u32).collect();
        infer::run(&network, docs, &doc_ixs, &options, &mut CpuEStep::new(), &monitor, Some(&mut sink))
            .unwrap();
        assert_eq!(n_seen, corpus.n_docs());
        // Outside of its local model a topic still has a small probability.
        assert_eq!(all.topics.len(), corpus.n_docs() * network.graph.n_topics());
        let mut odds = all.clone();
        odds.to_log_odds();
        assert!(odds.q.iter().zip(&all.q).all(|(&odds, &q)| (odds > 0.0) == (q > 0.5)));
    }
}
