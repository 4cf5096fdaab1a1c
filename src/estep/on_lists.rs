//! Which topics were on in each of many documents: a few bytes a document, so that the E-steps of the next epoch can begin there.

use crate::batch::BLOCK_DOCS;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Topics that are on in each of consecutive documents, by their places in the document's local model. Places are of one graph
/// and one bound.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OnLists {
    /// For every document the number of topics, then the distances between their places, 7 bits a byte.
    bytes: Vec<u8>,
    /// Where the first document of every block begins.
    blocks: Vec<u64>,
    n_docs: usize,
}

impl OnLists {
    /// Adds a document, by the q of its topics: those above 1/2 are on.
    pub fn push(&mut self, q: &[f32]) {
        self.push_places((0u32..).zip(q).filter(|(_, q)| **q > 0.5).map(|(place, _)| place));
    }

    /// Adds a document, by the places of the topics that are on, ascending.
    pub(crate) fn push_places(&mut self, on: impl Iterator<Item = u32> + Clone) {
        if self.n_docs.is_multiple_of(BLOCK_DOCS) {
            self.blocks.push(self.bytes.len() as u64);
        }
        self.n_docs += 1;
        self.write(on.clone().count() as u32);
        // Places of a damaged list may be in any order.
        let mut next = 0u32;
        for place in on {
            self.write(place.wrapping_sub(next));
            next = place.wrapping_add(1);
        }
    }

    /// Number of documents.
    pub fn n_docs(&self) -> usize {
        self.n_docs
    }

    /// The lists of the documents from one on.
    pub fn from(&self, first_doc: usize) -> OnListsReader<'_> {
        let begin = self.blocks.get(first_doc / BLOCK_DOCS).map_or(self.bytes.len(), |&at| at as usize);
        let mut reader = OnListsReader { rest: self.bytes.get(begin..).unwrap_or_default() };
        let mut passed_over = Vec::new();
        for _ in 0..first_doc % BLOCK_DOCS {
            reader.next_into(&mut passed_over);
        }
        reader
    }

    /// The lists of some of the documents.
    pub fn part(&self, docs: Range<usize>) -> Self {
        let (mut part, mut reader, mut places) = (Self::default(), self.from(docs.start), Vec::new());
        for _ in docs {
            reader.next_into(&mut places);
            part.push_places(places.iter().copied());
        }
        part
    }

    /// Adds the documents of other lists.
    pub(crate) fn append(&mut self, other: &Self) {
        let (mut reader, mut places) = (other.from(0), Vec::new());
        for _ in 0..other.n_docs {
            reader.next_into(&mut places);
            self.push_places(places.iter().copied());
        }
    }

    fn write(&mut self, mut number: u32) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }
}

/// Reads one list after another.
#[derive(Debug, Clone, Copy)]
pub struct OnListsReader<'a> {
    rest: &'a [u8],
}

impl OnListsReader<'_> {
    /// Puts the next list in the place of what is there; nothing is on where there are no more.
    pub fn next_into(&mut self, places: &mut Vec<u32>) {
        places.clear();
        let mut next = 0u32;
        for _ in 0..self.number() {
            if self.rest.is_empty() {
                return;
            }
            next = next.wrapping_add(self.number());
            places.push(next);
            next = next.wrapping_add(1);
        }
    }

    fn number(&mut self) -> u32 {
        let (mut number, mut shift) = (0u32, 0);
        while let Some((&byte, rest)) = self.rest.split_first() {
            self.rest = rest;
            number |= u32::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                break;
            }
            shift += 7;
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn lists_come_back_from_any_document_on() {
        let rng = &mut ChaCha8Rng::seed_from_u64(1);
        let (mut lists, mut expected) = (OnLists::default(), Vec::new());
        for _ in 0..3 * BLOCK_DOCS + 5 {
            let n_topics = [0, 1, 3, 300, 40_000][rng.random_range(0..5)];
            let q: Vec<f32> = (0..n_topics).map(|_| rng.random_range(0.0f32..0.51)).collect();
            lists.push(&q);
            let on = (0u32..).zip(&q).filter(|(_, q)| **q > 0.5).map(|(place, _)| place);
            expected.push(on.collect::<Vec<u32>>());
        }
        assert_eq!(lists.n_docs(), expected.len());
        let mut places = vec![7];
        for first in [0, 1, BLOCK_DOCS - 1, BLOCK_DOCS, 2 * BLOCK_DOCS + 3] {
            let mut reader = lists.from(first);
            for list in &expected[first..] {
                reader.next_into(&mut places);
                assert_eq!(places, *list);
            }
            reader.next_into(&mut places);
            assert!(places.is_empty(), "nothing is on behind the end");
        }
        let (part, mut places) = (lists.part(BLOCK_DOCS - 3..BLOCK_DOCS + 9), Vec::new());
        assert_eq!(part.n_docs(), 12);
        let mut reader = part.from(5);
        reader.next_into(&mut places);
        assert_eq!(places, expected[BLOCK_DOCS + 2]);
    }

    #[test]
    fn damaged_lists_are_read_without_harm() {
        let rng = &mut ChaCha8Rng::seed_from_u64(2);
        for _ in 0..2000 {
            let bytes: Vec<u8> = (0..rng.random_range(0..40)).map(|_| rng.random()).collect();
            let blocks = vec![rng.random_range(0..60), rng.random()];
            let lists = OnLists { bytes, blocks, n_docs: 200 };
            for first in [0, 5, BLOCK_DOCS, 10 * BLOCK_DOCS] {
                let (mut reader, mut places) = (lists.from(first), Vec::new());
                (0..100).for_each(|_| reader.next_into(&mut places));
                assert_eq!(lists.part(first..first + 20).n_docs(), 20);
            }
        }
    }
}
