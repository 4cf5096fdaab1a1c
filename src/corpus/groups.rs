//! Identical documents share one E-step: an item is a document and how often it counts.

use super::{Docs, RELEASE_DOCS};
use rayon::prelude::*;
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// Documents compared with others after which pages are given back: they lie all over the file.
const RELEASE_COMPARED: usize = RELEASE_DOCS / 8;

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
            let (rest_unknown, listed) = docs.listed(doc_ix as usize);
            hash.write_u8(rest_unknown.into());
            listed.for_each(|token| hash.write_u32(token));
            hash.finish()
        };
        // In the order of the file, so that little of a mapped one is wanted at a time.
        let mut doc_ixs = doc_ixs.to_vec();
        doc_ixs.par_sort_unstable();
        let mut hashed: Vec<(u64, u32)> = Vec::with_capacity(doc_ixs.len());
        for some in doc_ixs.chunks(RELEASE_DOCS) {
            hashed.par_extend(some.par_iter().map(|&doc_ix| (hash(doc_ix), doc_ix)));
            docs.corpus().release();
        }
        hashed.par_sort_unstable();
        let mut items: Vec<Self> = Vec::with_capacity(hashed.len());
        let mut n_read = 0;
        for alike in hashed.chunk_by(|a, b| a.0 == b.0) {
            // Documents with one hash may still differ.
            let first = items.len();
            n_read += alike.len() - 1;
            if n_read >= RELEASE_COMPARED {
                docs.corpus().release();
                n_read = 0;
            }
            for &(_, doc_ix) in alike {
                let same = |item: &&mut Self| identical(docs, item.doc_ix as usize, doc_ix as usize);
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

/// Whether every token of the model is in the same state in two documents.
fn identical(docs: &Docs<'_>, a: usize, b: usize) -> bool {
    let ((rest_of_a, listed_in_a), (rest_of_b, listed_in_b)) = (docs.listed(a), docs.listed(b));
    docs.tokens(a).eq(docs.tokens(b)) && rest_of_a == rest_of_b && listed_in_a.eq(listed_in_b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::{Corpus, Others, align};

    #[test]
    fn documents_that_differ_in_what_is_unknown_are_not_identical() {
        let mut corpus = Corpus::default();
        for (tokens, rest_unknown) in [
            (&[][..], false),
            (&[1], false),
            (&[1], true),
            (&[], true),
            (&[1], true),
            (&[], false),
            (&[3], false),
        ] {
            let mut others = Others { tokens: tokens.to_vec(), rest_unknown };
            corpus.push_state(&mut vec![0], &mut others, "", "").unwrap();
        }
        // The model does not know token 3, so that the last document is as the first.
        let model: Vec<String> = ["0", "1", "2"].map(str::to_owned).to_vec();
        let alignment = align(&corpus, &model);
        let items = Item::shared(&alignment.docs(&corpus), &[0, 1, 2, 3, 4, 5, 6]);
        let counts: Vec<(u32, u32)> = items.iter().map(|item| (item.doc_ix, item.count)).collect();
        assert_eq!(counts, [(0, 3), (1, 1), (2, 2), (3, 1)]);
    }
}
