//! Text to words: Unicode words (UAX 29), lower case.

use crate::error::{Error, Result};
use crate::files;
use rustc_hash::FxHashSet;
use std::path::Path;
use unicode_segmentation::UnicodeSegmentation;

/// Words that say nothing by themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StopWords(FxHashSet<Box<str>>);

/// A larger file is no list of stop words.
const MAX_FILE: u64 = 1 << 26;
const ENGLISH: &str = include_str!("english.txt");

impl StopWords {
    /// Articles, pronouns, prepositions, conjunctions, auxiliary verbs and their contractions.
    pub fn english() -> Self {
        Self::from_lines(ENGLISH)
    }

    /// From a file, as in [`StopWords::from_lines`].
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where it cannot be read, [`Error::Input`] where it is not UTF-8.
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = files::read(path, MAX_FILE)?;
        let text = std::str::from_utf8(&bytes).map_err(|e| {
            let line = bytes[..e.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count() as u64 + 1;
            Error::input(path, Some(line), "not UTF-8 text; save the file as UTF-8")
        })?;
        Ok(Self::from_lines(text.strip_prefix('\u{feff}').unwrap_or(text)))
    }

    /// Words separated by white space or line ends; the rest of a line after `#` is comment.
    pub fn from_lines(text: &str) -> Self {
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or(""));
        Self(lines.flat_map(str::split_whitespace).map(|word| word.to_lowercase().into()).collect())
    }

    /// Whether a lower-case word is one.
    #[inline]
    pub fn contains(&self, word: &str) -> bool {
        self.0.contains(word)
    }

    /// Words that are not stop words after all.
    pub fn remove<'a>(&mut self, words: impl IntoIterator<Item = &'a str>) {
        words.into_iter().for_each(|word| {
            self.0.remove(word);
        });
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Calls `on_word` with every word of a text that is in lower case already, and whether it follows the word before it directly:
/// with nothing but white space or a hyphen between, which a phrase may span.
///
/// A single ASCII letter or digit is no word; in scripts where one character can be one, it is.
pub fn split_words<'a>(lower_case: &'a str, mut on_word: impl FnMut(&'a str, bool)) {
    let mut end_before = None;
    for (begin, word) in lower_case.unicode_word_indices() {
        let joins = |c: char| c.is_whitespace() || c == '-';
        let follows = end_before.is_some_and(|end: usize| lower_case[end..begin].chars().all(joins));
        if word.len() > 1 {
            on_word(word, follows);
            end_before = Some(begin + word.len());
        }
    }
}

/// Lower case; text in ASCII alone stays in place.
pub fn to_lower_case(text: &mut String) {
    if text.is_ascii() {
        text.make_ascii_lowercase();
    } else {
        *text = text.to_lowercase();
    }
}
