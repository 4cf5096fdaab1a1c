//! Words that are left out, of several languages or from a file.

use crate::error::{Error, Result};
use crate::files;
use rustc_hash::FxHashSet;
use std::path::Path;

/// Words that say nothing by themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StopWords(FxHashSet<Box<str>>);

/// A larger file is no list of stop words.
const MAX_FILE: u64 = 1 << 26;

/// Languages by name and by their codes of ISO 639-1 and 639-3, with their words.
const LANGUAGES: [([&str; 3], &str); 9] = [
    (["english", "en", "eng"], include_str!("stop_words/english.txt")),
    (["german", "de", "deu"], include_str!("stop_words/german.txt")),
    (["french", "fr", "fra"], include_str!("stop_words/french.txt")),
    (["spanish", "es", "spa"], include_str!("stop_words/spanish.txt")),
    (["italian", "it", "ita"], include_str!("stop_words/italian.txt")),
    (["portuguese", "pt", "por"], include_str!("stop_words/portuguese.txt")),
    (["dutch", "nl", "nld"], include_str!("stop_words/dutch.txt")),
    (["russian", "ru", "rus"], include_str!("stop_words/russian.txt")),
    (["swedish", "sv", "swe"], include_str!("stop_words/swedish.txt")),
];

impl StopWords {
    /// The names of the languages that [`StopWords::of_language`] knows.
    pub fn languages() -> impl Iterator<Item = &'static str> {
        LANGUAGES.iter().map(|([name, ..], _)| *name)
    }

    /// Articles, pronouns, prepositions, conjunctions, auxiliary verbs and their contractions, in a language that is given by its
    /// English name or its ISO 639 code, in any case.
    ///
    /// ```
    /// use noisyor::corpus::text::StopWords;
    /// assert!(StopWords::of_language("de").is_some_and(|words| words.contains("und")));
    /// assert_eq!(StopWords::of_language("klingon"), None);
    /// ```
    pub fn of_language(language: &str) -> Option<Self> {
        let is_called = |names: &[&str; 3]| names.iter().any(|name| name.eq_ignore_ascii_case(language));
        LANGUAGES.iter().find(|(names, _)| is_called(names)).map(|(_, words)| Self::from_lines(words))
    }

    /// Those of English.
    pub fn english() -> Self {
        Self::from_lines(LANGUAGES[0].1)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_is_of_words_as_text_gives_them() {
        for (names, list) in LANGUAGES {
            let words = StopWords::of_language(names[1]).unwrap();
            assert!(words.len() > 200, "{}: {}", names[0], words.len());
            assert_eq!(StopWords::of_language(&names[0].to_uppercase()), Some(words.clone()));
            for word in words.0.iter().filter(|word| !word.ends_with('.') && word.len() > 1) {
                let mut found = Vec::new();
                crate::corpus::text::split_words(word, |word, _| found.push(word));
                assert_eq!(found, [&**word], "{}", names[0]);
            }
            assert!(list.starts_with('#'));
        }
        assert!(StopWords::of_language("ru").unwrap().contains("и"));
    }
}
