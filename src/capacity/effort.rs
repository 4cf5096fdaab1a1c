//! How much work a choice and the training after it may take, and the sizes that there is time for.

use crate::train::TrainOptions;
use serde::{Deserialize, Serialize};

/// Work to spend. It is counted in edges of documents and not in seconds, so that the same corpus gives the same network on
/// every machine; two cores of a workstation do about as much as is said here in that time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// A minute.
    Quick,
    /// Five minutes.
    Normal,
    /// Half an hour.
    Thorough,
    /// So many minutes.
    Minutes(f64),
}

/// Edges of documents in a minute.
const A_MINUTE: f64 = 3e8;
/// Documents from which on more of them may take longer.
const MANY_DOCS: f64 = 40_000.0;
/// Epochs that a training takes, about.
const EPOCHS: f64 = 6.0;
/// What trials cost, in epochs of the network that is chosen, and epochs that are worth while.
const TRIAL_EPOCHS: u32 = 3;
const LEAST_EPOCHS: u32 = 4;
/// A token has a parent for so many topics, about: for what a size will cost.
const TOPICS_A_PARENT: f64 = 14.0;
/// A topic has so many documents at least, in the mean.
const DOCS_A_TOPIC: usize = 4;
/// Sizes of less than one in so many of the largest that there is sense in, and time for, are not tried.
const LEAST_SHARE: usize = 100;
/// Sizes of the lowest layer to choose from.
const LADDER: [usize; 7] = [10, 32, 100, 316, 1_000, 3_162, 10_000];
/// The same of complete graphs, which are for tables: of few columns, or of which a row fills so large a share. With more tokens, of which
/// a document has few, they were never better.
const COMPLETE: [usize; 5] = [16, 32, 64, 128, 256];
const FEW_TOKENS: usize = 256;
const DENSE: f64 = 0.05;

impl Effort {
    /// Edges that a document may have, in the mean.
    pub(super) fn doc_edges(self, n_docs: usize) -> usize {
        let n_docs = n_docs.max(1) as f64;
        // Who has many documents has more time.
        let more = (n_docs / MANY_DOCS).max(1.0).sqrt();
        let minutes = match self {
            Self::Quick => more,
            Self::Normal => 5.0 * more,
            Self::Thorough => 30.0 * more,
            Self::Minutes(minutes) => minutes,
        };
        (minutes * A_MINUTE / (EPOCHS * n_docs)).ceil().max(1.0) as usize
    }
}

/// Epochs that there is time for, where documents may have `most` edges and have so many.
pub(super) fn epochs(most: usize, doc_edges: f64) -> u32 {
    let affordable = EPOCHS * most as f64 / doc_edges.max(1.0);
    (affordable as u32).saturating_sub(TRIAL_EPOCHS).clamp(LEAST_EPOCHS, TrainOptions::default().epochs)
}

/// Sizes to try, ascending.
pub(super) struct Sizes {
    /// Lowest layers of graphs that are learned.
    pub(super) learned: Vec<usize>,
    /// The largest of them, if there is no time for larger ones.
    pub(super) limit: Option<usize>,
    /// Layers of complete graphs.
    pub(super) complete: Vec<usize>,
}

/// The sizes for documents of so many words in the mean.
pub(super) fn sizes(n_docs: usize, n_tokens: usize, words: f64, effort: Effort) -> Sizes {
    let doc_edges = effort.doc_edges(n_docs) as f64;
    let sensible = n_tokens.min(n_docs / DOCS_A_TOPIC).max(1);
    let affordable = (TOPICS_A_PARENT * doc_edges / words.max(1.0)) as usize;
    let least = sensible.min(affordable) / LEAST_SHARE;
    let mut learned: Vec<usize> =
        LADDER.into_iter().filter(|&size| (least..=sensible).contains(&size)).collect();
    // As many as there may be, where that is more than a little beyond the last.
    if learned.last().is_none_or(|last| 2 * sensible >= 3 * last) && sensible < LADDER[LADDER.len() - 1] {
        learned.push(sensible);
    }
    let (n_possible, first) = (learned.len(), learned[0]);
    learned.retain(|&size| size <= affordable.max(first));
    let limit = learned.last().copied().filter(|_| learned.len() < n_possible);
    let is_table = n_tokens <= FEW_TOKENS || words >= DENSE * n_tokens as f64;
    let fits = |&size: &usize| is_table && size <= n_docs / DOCS_A_TOPIC && size as f64 * words <= doc_edges;
    Sizes { learned, limit, complete: COMPLETE.into_iter().filter(fits).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_documents_tokens_and_effort() {
        let learned = |n_docs, n_tokens, effort| sizes(n_docs, n_tokens, 27.0, effort).learned;
        assert_eq!(learned(38_000, 10_000, Effort::Quick), [10, 32, 100, 316]);
        assert_eq!(learned(38_000, 10_000, Effort::Normal), [100, 316, 1_000, 3_162]);
        assert_eq!(learned(38_000, 10_000, Effort::Thorough), [100, 316, 1_000, 3_162, 9_500]);
        assert_eq!(learned(4_000_000, 200_000, Effort::Quick), [10, 32]);
        assert_eq!(learned(38_000, 50, Effort::Thorough), [10, 32, 50]);
        assert_eq!(learned(50, 10_000, Effort::Thorough), [10]);
        assert_eq!(learned(3, 10_000, Effort::Thorough), [1]);
        assert_eq!(learned(0, 1, Effort::Minutes(1e-9)), [1]);
        // Complete graphs are for few tokens, or documents that have many of them.
        assert!(sizes(38_000, 10_000, 27.0, Effort::Normal).complete.is_empty());
        assert!(sizes(1_500, 1_000, 40.0, Effort::Normal).complete.is_empty());
        assert_eq!(sizes(1_500, 1_000, 80.0, Effort::Normal).complete, COMPLETE);
        assert_eq!(sizes(38_000, 100, 7.0, Effort::Normal).complete, COMPLETE);
        assert_eq!(sizes(38_000, 100, 27.0, Effort::Quick).complete, COMPLETE[..2]);
        assert_eq!([3_000.0, 100.0, 30_000.0].map(|doc_edges| epochs(3_000, doc_edges)), [4, 40, 4]);
        // More documents leave less for each, and take longer.
        let (some, many) = (Effort::Normal.doc_edges(40_000), Effort::Normal.doc_edges(4_000_000));
        assert_eq!(some.div_ceil(10), many);
    }
}
