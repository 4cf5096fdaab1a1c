//! Words of a batch of documents, in parallel: each part numbers its own words, so that only different ones meet the common
//! table.

use crate::corpus::text::{StopWords, split_words, to_lower_case};
use crate::corpus::vocabulary::BREAK;
use crate::corpus::{Document, Words};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// Documents of a part.
const PART_DOCS: usize = 256;

/// The words of consecutive documents, by number within this part.
pub(super) struct Tokenised {
    pub(super) words: Words,
    /// Numbers of the words of all documents, in order; [`BREAK`] where two do not follow each other directly.
    sequence: Vec<u32>,
    ends: Vec<usize>,
    /// Numbers of what documents list beside their present words.
    others: Vec<u32>,
    other_ends: Vec<usize>,
    pub(super) n_stop: u64,
    pub(super) any_text: bool,
    /// Documents in scripts without spaces between words, where these cannot be told.
    pub(super) n_unspaced: u64,
}

impl Tokenised {
    /// The words of each document.
    pub(super) fn sequences(&self) -> impl Iterator<Item = &[u32]> {
        slices(&self.sequence, &self.ends)
    }

    /// What each document lists beside them.
    pub(super) fn others(&self) -> impl Iterator<Item = &[u32]> {
        slices(&self.others, &self.other_ends)
    }
}

fn slices<'a>(numbers: &'a [u32], ends: &'a [usize]) -> impl Iterator<Item = &'a [u32]> {
    let begins = std::iter::once(0).chain(ends.iter().copied());
    begins.zip(ends).map(|(begin, &end)| &numbers[begin..end])
}

/// Splits texts and takes lists of words as they are; breaks are noted if phrases are wanted.
pub(super) fn tokenise(documents: &mut [Document], stop_words: &StopWords, phrases: bool) -> Vec<Tokenised> {
    let parts = documents.par_chunks_mut(PART_DOCS);
    parts.map(|documents| tokenise_part(documents, stop_words, phrases)).collect()
}

fn tokenise_part(documents: &mut [Document], stop_words: &StopWords, phrases: bool) -> Tokenised {
    documents.iter_mut().for_each(|document| to_lower_case(&mut document.text));
    let mut listed: FxHashMap<&str, u32> = FxHashMap::default();
    // Words of text; none for stop words, so that each is looked up but once.
    let mut in_text: FxHashMap<&str, Option<u32>> = FxHashMap::default();
    let mut part = Tokenised {
        words: Words::default(),
        sequence: Vec::new(),
        ends: Vec::new(),
        others: Vec::new(),
        other_ends: Vec::new(),
        n_stop: 0,
        any_text: false,
        n_unspaced: 0,
    };
    for document in documents.iter() {
        let Tokenised { words, sequence, others, n_stop, .. } = &mut part;
        for word in document.words.iter() {
            sequence.push(*listed.entry(word).or_insert_with(|| words.push(word)));
            if phrases {
                sequence.push(BREAK);
            }
        }
        let number = |word| *listed.entry(word).or_insert_with(|| words.push(word));
        others.extend(document.other_words.iter().map(number));
        split_words(&document.text, |word, follows| {
            let number =
                in_text.entry(word).or_insert_with(|| (!stop_words.contains(word)).then(|| words.push(word)));
            *n_stop += u64::from(number.is_none());
            if phrases && !(follows && number.is_some()) {
                sequence.push(BREAK);
            }
            sequence.extend(*number);
        });
        part.any_text |= !document.text.is_empty();
        #[cfg(not(feature = "cjk"))]
        {
            part.n_unspaced += u64::from(crate::corpus::text::is_mostly(&document.text));
        }
        part.ends.push(part.sequence.len());
        part.other_ends.push(part.others.len());
    }
    part
}
