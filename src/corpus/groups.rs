//! Identical documents share one E-step: an item is a document and how often it counts.

use super::Docs;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;

/// A document to run, standing for `count` identical ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item {
    /// The document's number in the corpus.
    pub doc_ix: u32,
    /// How many documents it stands for.
    pub count: u32,
}

/// For every document, the first one in the corpus with the same tokens.
pub fn group_identical(docs: &Docs<'_>) -> Vec<u32> {
    let mut first_with: FxHashMap<u64, Vec<u32>> = FxHashMap::default();
    let (mut tokens, mut group) = (Vec::new(), Vec::with_capacity(docs.n_docs()));
    for doc_ix in 0..docs.n_docs() {
        tokens.clear();
        tokens.extend(docs.tokens(doc_ix));
        let firsts = first_with.entry(FxBuildHasher.hash_one(&tokens)).or_default();
        let same = firsts.iter().find(|&&first| docs.tokens(first as usize).eq(tokens.iter().copied()));
        group.push(same.copied().unwrap_or_else(|| {
            firsts.push(doc_ix as u32);
            doc_ix as u32
        }));
    }
    group
}

impl Item {
    /// The given documents as items, one each.
    pub fn each(doc_ixs: &[u32]) -> Vec<Self> {
        doc_ixs.iter().map(|&doc_ix| Self { doc_ix, count: 1 }).collect()
    }

    /// The given documents as items, identical ones joined, in the order of their groups.
    pub fn shared(doc_ixs: &[u32], group: &[u32]) -> Vec<Self> {
        let mut firsts: Vec<u32> = doc_ixs.iter().map(|&doc_ix| group[doc_ix as usize]).collect();
        firsts.sort_unstable();
        firsts.chunk_by(|a, b| a == b).map(|run| Self { doc_ix: run[0], count: run.len() as u32 }).collect()
    }
}
