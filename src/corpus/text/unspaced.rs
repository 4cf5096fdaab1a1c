//! Scripts that have no spaces between words: Chinese and Japanese, Thai, Lao, Burmese, Khmer.
//!
//! Where text has none of their characters it costs one look at its bytes.

use unicode_segmentation::UnicodeSegmentation;

/// Whether a text has a character of these scripts, or may have: told from its bytes.
pub(super) fn is_in(text: &str) -> bool {
    // E3 to E9 begin characters from U+3000 to U+9FFF, F0 those beyond U+FFFF; E0 and E1 those of many scripts.
    !text.is_ascii() && text.bytes().any(|byte| matches!(byte, 0xE0 | 0xE1 | 0xE3..=0xE9 | 0xF0))
}

fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{0E01}'..='\u{0E4E}' // Thai
        | '\u{0E81}'..='\u{0EDF}' // Lao
        | '\u{1000}'..='\u{109F}' // Burmese
        | '\u{1780}'..='\u{17D3}' // Khmer
        | '\u{3005}'..='\u{3007}' // marks that repeat a character, zero
        | '\u{3041}'..='\u{3096}' | '\u{309D}'..='\u{309F}' // Hiragana
        | '\u{30A1}'..='\u{30FA}' | '\u{30FC}'..='\u{30FF}' // Katakana
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' // Han
        | '\u{20000}'..='\u{323AF}')
}

/// Whether most letters of a text are of these scripts.
#[cfg(not(feature = "cjk"))]
pub(in crate::corpus) fn is_mostly(text: &str) -> bool {
    let (n_unspaced, n_letters) = text
        .chars()
        .filter(|c| c.is_alphabetic())
        .fold((0, 0), |(n, all), c| (n + usize::from(is_unspaced(c)), all + 1));
    is_in(text) && 2 * n_unspaced > n_letters
}

/// Calls `take` with every word of a text and where it begins: by dictionaries in these scripts, elsewhere as Unicode has it.
pub(super) fn split<'a>(text: &'a str, take: &mut impl FnMut(usize, &'a str)) {
    let mut begin = 0;
    while let Some(first) = text[begin..].chars().next() {
        let unspaced = is_unspaced(first);
        let end = text[begin..].find(|c| is_unspaced(c) != unspaced).map_or(text.len(), |at| begin + at);
        let run = &text[begin..end];
        if unspaced {
            split_unspaced(run, |at, word| take(begin + at, word));
        } else {
            run.unicode_word_indices().for_each(|(at, word)| take(begin + at, word));
        }
        begin = end;
    }
}

#[cfg(feature = "cjk")]
fn split_unspaced<'a>(run: &'a str, mut take: impl FnMut(usize, &'a str)) {
    use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed, options::WordBreakInvariantOptions};
    use std::sync::LazyLock;
    static SEGMENTER: LazyLock<WordSegmenterBorrowed<'static>> =
        LazyLock::new(|| WordSegmenter::new_dictionary(WordBreakInvariantOptions::default()));
    let mut begin = 0;
    for end in SEGMENTER.segment_str(run).filter(|&end| end > 0) {
        take(begin, &run[begin..end]);
        begin = end;
    }
}

#[cfg(not(feature = "cjk"))]
fn split_unspaced<'a>(run: &'a str, mut take: impl FnMut(usize, &'a str)) {
    run.unicode_word_indices().for_each(|(at, word)| take(at, word));
}

#[cfg(test)]
mod tests {
    use super::super::{split_words, to_lower_case};
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut text = text.to_owned();
        to_lower_case(&mut text);
        let mut words = Vec::new();
        split_words(&text, |word, _| words.push(word.to_owned()));
        words
    }

    #[cfg(feature = "cjk")]
    #[test]
    fn words_of_scripts_without_spaces() {
        assert_eq!(words("我喜欢机器学习。"), ["我", "喜欢", "机器", "学习"]);
        assert_eq!(words("コンピューターの歴史"), ["コンピューター", "の", "歴史"]);
        assert_eq!(words("ฉันชอบกินข้าว"), ["ฉัน", "ชอบ", "กิน", "ข้าว"]);
        // Other scripts between them are split as ever.
        assert_eq!(
            words("用iPhone 15看电影, don't 机器"),
            ["用", "iphone", "15", "看", "电影", "don't", "机器"]
        );
    }

    #[test]
    fn other_text_is_split_as_unicode_has_it() {
        for text in [
            "",
            "a plain text's words",
            "Ünï “naïve” été—1.5 x",
            "한국어 텍스트 분류",
            "हिन्दी पाठ",
            "ⴰⴱ 🙂 ok ok",
        ] {
            let lower = text.to_lowercase();
            let expected: Vec<&str> = lower.unicode_words().filter(|word| word.len() > 1).collect();
            assert_eq!(words(text), expected, "{text}");
        }
        assert!(!is_in("naïve “quotes” — été 한국어"), "one look at the bytes is enough");
    }

    #[cfg(not(feature = "cjk"))]
    #[test]
    fn text_that_is_mostly_unspaced() {
        assert!(is_mostly("我喜欢机器学习 ok") && !is_mostly("机 machine learning") && !is_mostly("123"));
    }
}
