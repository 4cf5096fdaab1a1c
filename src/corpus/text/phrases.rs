//! Two-word phrases: neighbours that stand together far more often than chance has it.

use super::super::vocabulary::BREAK;
use rustc_hash::FxHashMap;

/// Neighbours are counted up to so many different pairs (about 150 MB); past that the rarest are forgotten.
const MAX_PAIRS: usize = 1 << 22;
/// A phrase occurs at least so often.
const MIN_COUNT: u32 = 5;
/// Words that always stand together have a score of one, but for this.
const ROUNDING: f64 = 1e-9;

/// Counts of words and of neighbours, by number.
#[derive(Default)]
pub(crate) struct Neighbours {
    n_words: u64,
    words: Vec<u32>,
    pairs: FxHashMap<(u32, u32), u32>,
    /// Pairs with a count up to this one have been forgotten on the way.
    forgotten: u32,
}

impl Neighbours {
    /// Counts a document: words in order, [`BREAK`] where two do not follow each other directly.
    pub(crate) fn count(&mut self, sequence: &[u32]) {
        for (at, &word) in sequence.iter().enumerate().filter(|&(_, &word)| word != BREAK) {
            if self.words.len() <= word as usize {
                self.words.resize(word as usize + 1, 0);
            }
            self.words[word as usize] += 1;
            self.n_words += 1;
            match sequence.get(at + 1) {
                Some(&next) if next != BREAK && next != word => {
                    *self.pairs.entry((word, next)).or_insert(0) += 1;
                }
                _ => {}
            }
        }
        while self.pairs.len() > MAX_PAIRS {
            self.forgotten += 1;
            self.pairs.retain(|_, &mut count| count > self.forgotten);
        }
    }

    /// Pairs whose normalised pointwise mutual information, ln(p(ab) / (p(a) p(b))) / -ln p(ab), is at least `min_score`,
    /// in the order of their words' numbers.
    pub(crate) fn phrases(&self, min_score: f64) -> Vec<(u32, u32)> {
        let p = |count: u32| f64::from(count) / self.n_words as f64;
        let score = |(a, b): (u32, u32), count: u32| {
            let chance = p(self.words[a as usize]) * p(self.words[b as usize]);
            (p(count) / chance).ln() / -p(count).ln()
        };
        let good = |&(&pair, &count): &(&(u32, u32), &u32)| {
            count >= MIN_COUNT.max(self.forgotten + 1) && score(pair, count) + ROUNDING >= min_score
        };
        let mut phrases: Vec<(u32, u32)> = self.pairs.iter().filter(good).map(|(&pair, _)| pair).collect();
        phrases.sort_unstable();
        phrases
    }
}

/// Joins phrases in a document, from left to right: a word is part of one at most.
pub(crate) fn join(sequence: &[u32], phrases: &FxHashMap<(u32, u32), u32>, joined: &mut Vec<u32>) {
    joined.clear();
    let mut at = 0;
    while at < sequence.len() {
        let pair = sequence.get(at + 1).map(|&next| (sequence[at], next));
        let phrase = pair.and_then(|pair| phrases.get(&pair));
        joined.push(phrase.copied().unwrap_or(sequence[at]));
        at += if phrase.is_some() { 2 } else { 1 };
    }
}
