//! What becomes of words once the vocabulary is known.

use super::spill::Spill;
use crate::corpus::text::phrases::join;
use crate::corpus::vocabulary::{BREAK, Interner};
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use rustc_hash::FxHashMap;

/// From the numbers of words, as they came, to the tokens of the vocabulary.
#[derive(Default)]
pub(super) struct TokenMap {
    pub(super) phrases: FxHashMap<(u32, u32), u32>,
    /// The token of every word and phrase; [`BREAK`] where it has none.
    pub(super) token_of: Vec<u32>,
}

impl TokenMap {
    /// For a given vocabulary. A name with one space is a phrase; its words get numbers of their own beyond the vocabulary.
    pub(super) fn given(vocab: &[String], interner: &mut Interner) -> Result<Self> {
        for (at, name) in vocab.iter().enumerate() {
            if interner.intern(name)? != at as u32 {
                return Err(Error::Usage(format!(
                    "the vocabulary has '{name}' twice, the second time at {}",
                    at + 1
                )));
            }
        }
        let mut map = Self { phrases: FxHashMap::default(), token_of: (0..vocab.len() as u32).collect() };
        for (at, name) in vocab.iter().enumerate() {
            if let Some((first, second)) = name.split_once(' ').filter(|(_, second)| !second.contains(' ')) {
                map.phrases.insert((interner.intern(first)?, interner.intern(second)?), at as u32);
            }
        }
        map.token_of.resize(interner.len(), BREAK);
        Ok(map)
    }

    /// Words that stand alone but are no tokens, only parts of phrases; in a document as [`TokenMap::apply`] left it.
    pub(super) fn lost<'a>(&'a self, joined: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
        let lost = |&word: &u32| word != BREAK && self.token_of.get(word as usize) == Some(&BREAK);
        joined.iter().copied().filter(lost)
    }

    pub(super) fn apply(&self, sequence: &[u32], joined: &mut Vec<u32>, tokens: &mut Vec<u32>) {
        let sequence = if self.phrases.is_empty() {
            sequence
        } else {
            join(sequence, &self.phrases, joined);
            joined
        };
        tokens.clear();
        tokens.extend(sequence.iter().filter_map(|&word| self.token(word)));
    }

    /// The token of a word, if it has one.
    pub(super) fn token(&self, word: u32) -> Option<u32> {
        self.token_of.get(word as usize).copied().filter(|&token| token != BREAK)
    }
}

/// In how many documents every word and phrase is.
pub(super) fn document_frequency(
    spill: &mut Spill,
    map: &TokenMap,
    n_all: usize,
    monitor: &Monitor,
) -> Result<Vec<u64>> {
    let (mut df, mut last_doc) = (vec![0u64; n_all], vec![0u32; n_all]);
    let (mut doc, mut joined) = (0, Vec::new());
    spill.replay(|sequence, _, _, _| {
        doc += 1;
        join(sequence, &map.phrases, &mut joined);
        for &word in joined.iter().filter(|&&word| word != BREAK) {
            if std::mem::replace(&mut last_doc[word as usize], doc) != doc {
                df[word as usize] += 1;
            }
        }
        monitor.go_on()
    })?;
    Ok(df)
}
