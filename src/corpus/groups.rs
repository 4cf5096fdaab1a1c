//! Identical documents share one E-step: an item is a document and how often it counts.

use super::Docs;
use rayon::prelude::*;
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// A document to run, standing for `count` identical ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item {
    /// The document's number in the corpus.
    pub doc_ix: u32,
    /// How many documents it stands for.
    pub count: u32,
}

impl Item {
    /// The given documents as items, one each.
    pub fn each(doc_ixs: &[u32]) -> Vec<Self> {
        doc_ixs.iter().map(|&doc_ix| Self { doc_ix, count: 1 }).collect()
    }

    /// The given documents as items by number; the first of identical ones stands for them.
    pub fn shared(docs: &Docs<'_>, doc_ixs: &[u32]) -> Vec<Self> {
        let hash = |doc_ix: u32| {
            let mut hash = FxHasher::default();
            docs.tokens(doc_ix as usize).for_each(|token| hash.write_u32(token));
            hash.finish()
        };
        let mut hashed: Vec<(u64, u32)> = doc_ixs.par_iter().map(|&doc_ix| (hash(doc_ix), doc_ix)).collect();
        hashed.par_sort_unstable();
        let mut items: Vec<Self> = Vec::with_capacity(hashed.len());
        for alike in hashed.chunk_by(|a, b| a.0 == b.0) {
            // Documents with one hash may still differ.
            let first = items.len();
            for &(_, doc_ix) in alike {
                let same =
                    |item: &&mut Self| docs.tokens(item.doc_ix as usize).eq(docs.tokens(doc_ix as usize));
                match items[first..].iter_mut().find(same) {
                    Some(item) => item.count += 1,
                    None => items.push(Self { doc_ix, count: 1 }),
                }
            }
        }
        items.sort_unstable_by_key(|item| item.doc_ix);
        items
    }
}
