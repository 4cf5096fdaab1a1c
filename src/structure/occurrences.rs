//! Which items occur in which documents, both ways.

use crate::corpus::Docs;

/// Sparse lists of items by document and of documents by item, each ascending.
#[derive(Debug, Default)]
pub(super) struct Occurrences {
    doc_offsets: Vec<usize>,
    items: Vec<u32>,
    item_offsets: Vec<usize>,
    docs: Vec<u32>,
}

impl Occurrences {
    /// The tokens of the given documents, which are numbered anew.
    pub(super) fn of_docs(docs: &Docs<'_>, doc_ixs: &[u32], n_tokens: usize) -> Self {
        let (mut doc_offsets, mut items) = (vec![0], Vec::new());
        for &doc_ix in doc_ixs {
            let begin = items.len();
            items.extend(docs.tokens(doc_ix as usize).filter(|&token| (token as usize) < n_tokens));
            // Names are matched, not numbers: a model's tokens may have another order.
            items[begin..].sort_unstable();
            doc_offsets.push(items.len());
        }
        Self::new(doc_offsets, items, n_tokens)
    }

    /// From the lists by document.
    pub(super) fn new(doc_offsets: Vec<usize>, items: Vec<u32>, n_items: usize) -> Self {
        let mut item_offsets = vec![0; n_items + 1];
        items.iter().for_each(|&item| item_offsets[item as usize + 1] += 1);
        for item in 0..n_items {
            item_offsets[item + 1] += item_offsets[item];
        }
        let (mut next, mut docs) = (item_offsets.clone(), vec![0; items.len()]);
        for doc in 0..doc_offsets.len() - 1 {
            for &item in &items[doc_offsets[doc]..doc_offsets[doc + 1]] {
                docs[next[item as usize]] = doc as u32;
                next[item as usize] += 1;
            }
        }
        Self { doc_offsets, items, item_offsets, docs }
    }

    pub(super) fn n_docs(&self) -> usize {
        self.doc_offsets.len() - 1
    }

    pub(super) fn n_items(&self) -> usize {
        self.item_offsets.len() - 1
    }

    pub(super) fn n_occurrences(&self) -> usize {
        self.items.len()
    }

    /// Where a document's items are among all occurrences.
    pub(super) fn range(&self, doc: usize) -> std::ops::Range<usize> {
        self.doc_offsets[doc]..self.doc_offsets[doc + 1]
    }

    /// The items of a document.
    pub(super) fn items(&self, doc: usize) -> &[u32] {
        &self.items[self.range(doc)]
    }

    /// The documents of an item.
    pub(super) fn docs(&self, item: usize) -> &[u32] {
        &self.docs[self.item_offsets[item]..self.item_offsets[item + 1]]
    }

    /// In how many documents an item occurs.
    pub(super) fn df(&self, item: usize) -> usize {
        self.docs(item).len()
    }
}
