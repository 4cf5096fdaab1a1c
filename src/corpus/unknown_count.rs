//! How many values of a corpus are unknown, counted document by document while the number of tokens is not known yet.

use super::Others;
use rustc_hash::{FxHashMap, FxHashSet};

#[derive(Default)]
pub(super) struct UnknownCount {
    /// Documents in which tokens are unknown.
    pub(super) n_docs: u64,
    /// Documents whose unlisted tokens are absent, and those whose unlisted tokens are unknown.
    n_rest_absent: u64,
    n_rest_unknown: u64,
    /// Unknown tokens that the first list, and tokens that the second list.
    n_listed_unknown: u64,
    n_listed_known: u64,
    /// By token, in how many documents more or fewer it is known than unlisted tokens are.
    more_known: FxHashMap<u32, i64>,
}

impl UnknownCount {
    pub(super) fn add(&mut self, present: &[u32], others: &Others) {
        let n_listed = others.tokens.len() as u64;
        self.n_docs += u64::from(!others.is_none());
        if others.rest_unknown {
            self.n_rest_unknown += 1;
            self.n_listed_known += present.len() as u64 + n_listed;
            present.iter().chain(&others.tokens).for_each(|&token| self.count(token, 1));
        } else {
            self.n_rest_absent += 1;
            self.n_listed_unknown += n_listed;
            others.tokens.iter().for_each(|&token| self.count(token, -1));
        }
    }

    fn count(&mut self, token: u32, more: i64) {
        *self.more_known.entry(token).or_default() += more;
    }

    /// How many different tokens there are, present or listed otherwise.
    pub(super) fn n_tokens(&self, present: &FxHashSet<u32>) -> usize {
        present.len() + self.more_known.keys().filter(|token| !present.contains(token)).count()
    }

    /// Unknown values, where there are so many tokens.
    pub(super) fn n_values(&self, n_tokens: usize) -> u64 {
        let of_rest = self.n_rest_unknown.saturating_mul(n_tokens as u64);
        self.n_listed_unknown + of_rest.saturating_sub(self.n_listed_known)
    }

    /// Tokens that are known in no document: how many of so many, and the first.
    pub(super) fn never_known(&self, n_tokens: usize) -> (usize, Option<u32>) {
        let n_rest_absent = self.n_rest_absent as i64;
        if self.n_docs == 0 {
            return (0, None);
        }
        if n_rest_absent == 0 {
            // Known tokens are those that are counted.
            let first = (0..n_tokens as u32).find(|token| !self.more_known.contains_key(token));
            return (n_tokens.saturating_sub(self.more_known.len()), first);
        }
        let never = || self.more_known.iter().filter(|(_, more)| n_rest_absent + **more == 0);
        (never().count(), never().map(|(&token, _)| token).min())
    }
}
