//! One document as a reader gives it.

use super::Others;
use crate::faults::shown;
use rustc_hash::FxHashSet;

/// A document's present tokens by number, by name or as text: whichever the format has; the others are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// Tokens by number, in any order; a repeated one counts once.
    pub tokens: Vec<u32>,
    /// Tokens by name, in any order; a repeated one counts once.
    pub words: Words,
    /// What it lists beside them, by number.
    pub others: Others,
    /// The tokens of that list by name, where tokens come by name; they are then not in `others`.
    pub other_words: Words,
    /// Text, to be split into words.
    pub text: String,
    /// The id; empty: none.
    pub id: String,
    /// The label; empty: none.
    pub label: String,
}

/// Documents that took more bytes are not expected again.
const GIANT: usize = 1 << 16;

impl Document {
    /// Empties it. Its memory is kept for the next one, unless a giant has been here.
    pub fn clear(&mut self) {
        let Self { tokens, words, others, other_words, text, id, label } = self;
        let n_bytes = 4 * (tokens.capacity() + others.tokens.capacity()) + text.capacity();
        if n_bytes + words.capacity() + other_words.capacity() > GIANT {
            *self = Self::default();
            return;
        }
        tokens.clear();
        words.clear();
        others.clear();
        other_words.clear();
        text.clear();
        id.clear();
        label.clear();
    }

    /// Refuses a name that is both present and in the other list.
    pub(super) fn check_names(&self) -> Result<(), String> {
        let present: FxHashSet<&str> = self.words.iter().collect();
        match self.other_words.iter().find(|name| present.contains(name)) {
            None => Ok(()),
            Some(name) => {
                let (name, kind) = (shown(name), self.others.kind());
                Err(format!("'{name}' is present and {kind} at once; leave it out of one list"))
            }
        }
    }

    /// The first token by number that is both present and in the other list, if there is one. All such tokens are taken off the
    /// other list.
    pub(super) fn drop_conflicts(&mut self) -> Option<u32> {
        if self.others.tokens.is_empty() {
            return None;
        }
        let first = self.others.sort_with(&mut self.tokens);
        if first.is_some() {
            self.others.tokens.retain(|token| self.tokens.binary_search(token).is_err());
        }
        first
    }
}

/// Names in one piece of memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words {
    text: String,
    ends: Vec<usize>,
}

impl Words {
    /// Adds a name; returns its place.
    pub fn push(&mut self, name: &str) -> u32 {
        self.text.push_str(name);
        self.ends.push(self.text.len());
        self.ends.len() as u32 - 1
    }

    /// The names, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, &end)| &self.text[begin..end])
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    fn capacity(&self) -> usize {
        self.text.capacity() + 8 * self.ends.capacity()
    }

    /// Bytes of all names.
    pub fn n_bytes(&self) -> usize {
        self.text.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_giant_leaves_no_memory_behind() {
        let mut document = Document { text: "x".repeat(100), ..Document::default() };
        document.clear();
        assert!(document.text.is_empty() && document.text.capacity() >= 100);
        document.text = "x".repeat(2 * GIANT);
        document.clear();
        assert_eq!(document.text.capacity(), 0);
        document.tokens = vec![1; GIANT];
        document.clear();
        assert_eq!(document.tokens.capacity(), 0);
    }
}
