//! Documents whose tokens are present, absent or unknown.
//!
//! Beside the present tokens a document lists the absent or the unknown ones, whichever are fewer in its format; the rest is
//! the other of the two.

use super::Corpus;
use crate::error::{Error, Result};

/// In an end of a list: the rest of the vocabulary is unknown, and the list holds absent tokens.
pub(super) const REST_UNKNOWN: u64 = 1 << 63;

/// A document's tokens in three states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocState<'a> {
    /// Tokens that are present, ascending.
    pub present: &'a [u32],
    /// The others.
    pub other: Listed<'a>,
}

/// Tokens that are not present, ascending; the rest of the vocabulary is in the state that is not listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listed<'a> {
    /// These are unknown, the rest is absent.
    Unknown(&'a [u32]),
    /// These are absent, the rest is unknown.
    Absent(&'a [u32]),
}

impl DocState<'_> {
    /// Whether any token may be unknown.
    pub fn has_unknown(&self) -> bool {
        self.other != Listed::Unknown(&[])
    }
}

/// What a document lists beside its present tokens, as it is read or written. The default: nothing is unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Others {
    /// Unknown tokens, or absent ones where the rest is unknown; in any order.
    pub tokens: Vec<u32>,
    /// The rest of the vocabulary is unknown, not absent.
    pub rest_unknown: bool,
}

impl Others {
    /// Whether every token is present or absent.
    pub fn is_none(&self) -> bool {
        self.tokens.is_empty() && !self.rest_unknown
    }

    /// Empties it: nothing is unknown.
    pub fn clear(&mut self) {
        self.tokens.clear();
        self.rest_unknown = false;
    }

    /// Takes what a document of a corpus lists.
    pub fn copy(&mut self, listed: Listed<'_>) {
        self.clear();
        let (Listed::Unknown(tokens) | Listed::Absent(tokens)) = listed;
        self.tokens.extend_from_slice(tokens);
        self.rest_unknown = matches!(listed, Listed::Absent(_));
    }

    /// What the listed tokens are, in a word.
    pub fn kind(&self) -> &'static str {
        if self.rest_unknown { "absent" } else { "unknown" }
    }

    /// The end of the list as a corpus stores it.
    pub(super) fn end(&self, n_listed: u64) -> u64 {
        n_listed | if self.rest_unknown { REST_UNKNOWN } else { 0 }
    }

    /// Sorts both lists and drops repeats; returns the first token that is in both.
    pub(super) fn sort_with(&mut self, present: &mut Vec<u32>) -> Option<u32> {
        for tokens in [&mut *present, &mut self.tokens] {
            tokens.sort_unstable();
            tokens.dedup();
        }
        first_common(present, &self.tokens)
    }

    /// The same, where a token in both lists is an error.
    pub(super) fn check_with(&mut self, present: &mut Vec<u32>) -> Result<()> {
        match self.sort_with(present) {
            None => Ok(()),
            Some(token) => {
                let kind = self.kind();
                Err(Error::Usage(format!("token {token} of a document is present and {kind} at once")))
            }
        }
    }
}

/// The first number that is in both of two ascending lists.
pub(super) fn first_common(a: &[u32], b: &[u32]) -> Option<u32> {
    let (few, many) = if a.len() < b.len() { (a, b) } else { (b, a) };
    few.iter().copied().find(|token| many.binary_search(token).is_ok())
}

impl Corpus {
    /// Whether any document may have unknown tokens. Takes no time.
    #[inline]
    pub fn has_unknown(&self) -> bool {
        !self.other_ends.is_empty()
    }

    /// How many documents have unknown tokens.
    pub fn n_docs_unknown(&self) -> usize {
        (0..self.other_ends.len()).filter(|&doc_ix| self.state(doc_ix).has_unknown()).count()
    }

    /// How many values are unknown, over all documents and tokens.
    pub fn n_unknown(&self) -> u64 {
        let of_doc = |doc_ix| match self.state(doc_ix) {
            DocState { other: Listed::Unknown(unknown), .. } => unknown.len(),
            DocState { present, other: Listed::Absent(absent) } => {
                self.n_tokens().saturating_sub(present.len() + absent.len())
            }
        };
        (0..self.other_ends.len()).map(|doc_ix| of_doc(doc_ix) as u64).sum()
    }

    /// Refuses documents with unknown tokens, for what does not take them; `what` is what would.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] where there are such documents.
    pub fn all_known(&self, what: &str) -> Result<()> {
        match self.n_docs_unknown() {
            0 => Ok(()),
            n => Err(Error::Usage(format!(
                "{n} of {} documents have unknown values, which '{what}' does not take yet; give them as absent: 0 in a table, \
                 'tokens' in JSON lines, `unlisted` absent elsewhere",
                self.n_docs()
            ))),
        }
    }

    /// The tokens of one document by state. A document that has nothing unknown lists nothing. Where a mapped file is damaged,
    /// lists are empty.
    ///
    /// ```
    /// use noisyor::corpus::{Corpus, Listed, Others};
    /// let mut corpus = Corpus::from_tokens([vec![0, 2]]);
    /// let mut absent = Others { tokens: vec![1], rest_unknown: true };
    /// corpus.push_state(&mut vec![0], &mut absent, "", "")?;
    /// assert_eq!(corpus.state(0).other, Listed::Unknown(&[]));
    /// assert_eq!((corpus.state(1).present, corpus.state(1).other), (&[0][..], Listed::Absent(&[1])));
    /// # Ok::<(), noisyor::Error>(())
    /// ```
    pub fn state(&self, doc_ix: usize) -> DocState<'_> {
        let present = self.tokens(doc_ix);
        let Some(&end) = self.other_ends.get(doc_ix) else {
            return DocState { present, other: Listed::Unknown(&[]) };
        };
        let begin = if doc_ix == 0 { 0 } else { self.other_ends[doc_ix - 1] & !REST_UNKNOWN };
        let listed = self.others.get(begin as usize..(end & !REST_UNKNOWN) as usize).unwrap_or(&[]);
        let other = if end & REST_UNKNOWN == 0 { Listed::Unknown(listed) } else { Listed::Absent(listed) };
        DocState { present, other }
    }

    /// Adds a document whose tokens are in three states; both lists are sorted and repeats dropped. Empty id, empty label: none.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] where a token is in both lists; then nothing is added.
    pub fn push_state(
        &mut self,
        present: &mut Vec<u32>,
        others: &mut Others,
        id: &str,
        label: &str,
    ) -> Result<()> {
        others.check_with(present)?;
        if self.has_unknown() || !others.is_none() {
            // Before the first document with unknown tokens there are no lists.
            let ends = self.other_ends.to_mut();
            ends.resize(self.doc_ends.len(), 0);
            self.others.to_mut().extend(&others.tokens);
            ends.push(others.end(self.others.len() as u64));
            let n_tokens = others.tokens.last().map_or(0, |last| last.saturating_add(1));
            self.n_tokens = self.n_tokens.max(n_tokens);
        }
        self.push_present(present, id, label);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn others(tokens: &[u32], rest_unknown: bool) -> Others {
        Others { tokens: tokens.to_vec(), rest_unknown }
    }

    #[test]
    fn documents_keep_their_states_and_ordinary_ones_list_nothing() {
        let mut corpus = Corpus::from_tokens([vec![1], vec![]]);
        let ordinary = (corpus.fingerprint(), corpus.n_bytes());
        corpus.push_state(&mut vec![2, 0], &mut others(&[], false), "", "").unwrap();
        assert!(!corpus.has_unknown() && corpus.others.is_empty(), "nothing is unknown so far");
        corpus.push_state(&mut vec![0], &mut others(&[5, 3, 5], false), "", "").unwrap();
        corpus.push_state(&mut vec![1], &mut others(&[], true), "x", "").unwrap();
        corpus.push(&mut vec![4], "", "y");
        corpus.push_state(&mut vec![], &mut others(&[2], true), "", "").unwrap();
        let expected = [
            Listed::Unknown(&[]),
            Listed::Unknown(&[]),
            Listed::Unknown(&[]),
            Listed::Unknown(&[3, 5]),
            Listed::Absent(&[]),
            Listed::Unknown(&[]),
            Listed::Absent(&[2]),
        ];
        let listed: Vec<_> = (0..7).map(|doc_ix| corpus.state(doc_ix).other).collect();
        assert_eq!(listed, expected);
        assert_eq!((corpus.n_tokens(), corpus.n_docs_unknown(), corpus.n_unknown()), (6, 3, 2 + 5 + 5));
        assert_eq!((corpus.tokens(5), corpus.label(5)), (&[4][..], Some("y")));
        let plain = Corpus::from_tokens([vec![1], vec![]]);
        assert_eq!((plain.fingerprint(), plain.n_bytes()), ordinary);
    }

    #[test]
    fn what_is_unknown_tells_corpora_apart() {
        let with = |tokens: &[u32], rest_unknown| {
            let mut corpus = Corpus::from_tokens([vec![9]]);
            corpus.push_state(&mut vec![0], &mut others(tokens, rest_unknown), "", "").unwrap();
            corpus
        };
        let all = [with(&[], false), with(&[], true), with(&[1], false), with(&[1], true), with(&[2], true)];
        for (at, one) in all.iter().enumerate() {
            for (other_at, other) in all.iter().enumerate() {
                assert_eq!(one == other, at == other_at);
                assert_eq!(one.fingerprint() == other.fingerprint(), at == other_at);
            }
        }
    }

    #[test]
    fn a_token_is_in_one_state() {
        let mut corpus = Corpus::default();
        let told = corpus.push_state(&mut vec![3, 1], &mut others(&[2, 3], true), "", "").unwrap_err();
        assert!(told.to_string().contains("token 3 of a document is present and absent at once"), "{told}");
        let told = corpus.push_state(&mut vec![3, 1], &mut others(&[1], false), "", "").unwrap_err();
        assert!(told.to_string().contains("token 1 of a document is present and unknown"), "{told}");
        assert_eq!(corpus.n_docs(), 0);
    }
}
