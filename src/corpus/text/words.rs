//! Text to words: Unicode words (UAX 29), lower case; in scripts without spaces by dictionaries.

use super::unspaced;
use unicode_segmentation::UnicodeSegmentation;

/// Calls `on_word` with every word of a text that is in lower case already, and whether it follows the word before it directly:
/// with nothing but white space or a hyphen between, which a phrase may span.
///
/// A single ASCII letter or digit is no word; in scripts where one character can be one, it is.
pub fn split_words<'a>(lower_case: &'a str, mut on_word: impl FnMut(&'a str, bool)) {
    let mut end_before = None;
    let mut take = |begin: usize, word: &'a str| {
        let joins = |c: char| c.is_whitespace() || c == '-';
        let follows = end_before.is_some_and(|end: usize| lower_case[end..begin].chars().all(joins));
        if word.len() > 1 {
            on_word(word, follows);
            end_before = Some(begin + word.len());
        }
    };
    if unspaced::is_in(lower_case) {
        unspaced::split(lower_case, &mut take);
    } else {
        lower_case.unicode_word_indices().for_each(|(begin, word)| take(begin, word));
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
