//! Text: words, stop words, phrases.

pub(super) mod phrases;
mod words;

pub use words::{StopWords, split_words, to_lower_case};
