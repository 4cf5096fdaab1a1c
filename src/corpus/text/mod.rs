//! Text: words, stop words, phrases.

pub(super) mod phrases;
mod stop_words;
mod unspaced;
mod words;

pub use stop_words::StopWords;
#[cfg(not(feature = "cjk"))]
pub(super) use unspaced::is_mostly;
pub use words::{split_words, to_lower_case};
