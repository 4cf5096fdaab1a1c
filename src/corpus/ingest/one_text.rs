//! One text under a given vocabulary, split as texts of a corpus are; what is left out is told.

use super::token_map::TokenMap;
use crate::corpus::text::{split_words, to_lower_case};
use crate::corpus::vocabulary::{BREAK, Interner, WordOptions};
use crate::error::Result;

/// The tokens of a text, and the words that are none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextTokens {
    /// Token numbers, ascending, each once.
    pub tokens: Vec<u32>,
    /// Words that the vocabulary lacks, in the order of the text, each once.
    pub unknown: Vec<String>,
    /// Stop words that the vocabulary lacks, likewise.
    pub stop_words: Vec<String>,
}

/// Splits a text into words and phrases of a vocabulary.
///
/// # Errors
///
/// As [`ingest_reader`](super::ingest_reader).
pub fn tokens_of_text(text: &str, vocab: &[String]) -> Result<TextTokens> {
    let mut stop_words = WordOptions::default().stop_words;
    stop_words.remove(vocab.iter().flat_map(|name| name.split(' ')));
    let mut interner = Interner::default();
    let plan = TokenMap::given(vocab, &mut interner)?;
    let mut lower_case = text.to_owned();
    to_lower_case(&mut lower_case);
    let (mut sequence, mut result) = (Vec::new(), TextTokens::default());
    let mut missing = Interner::default();
    let mut split = Ok(0);
    split_words(&lower_case, |word, follows| {
        if !follows {
            sequence.push(BREAK);
        }
        let number = interner.get(word).filter(|_| !stop_words.contains(word));
        sequence.push(number.unwrap_or(BREAK));
        if number.is_none() && missing.get(word).is_none() {
            let list = if stop_words.contains(word) { &mut result.stop_words } else { &mut result.unknown };
            list.push(word.to_owned());
            if split.is_ok() {
                split = missing.intern(word);
            }
        }
    });
    split?;
    let mut joined = Vec::new();
    plan.apply(&sequence, &mut joined, &mut result.tokens);
    let names = interner.names();
    for word in plan.lost(&joined) {
        let name = names[word as usize];
        if missing.get(name).is_none() {
            missing.intern(name)?;
            result.unknown.push(name.to_owned());
        }
    }
    result.tokens.sort_unstable();
    result.tokens.dedup();
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::read::open_stream;
    use crate::corpus::{Corpus, IngestOptions, ingest_reader};
    use crate::monitor::Monitor;

    fn split(text: &str, vocab: &[&str]) -> (Vec<String>, Vec<String>, Vec<String>) {
        let vocab: Vec<String> = vocab.iter().map(|name| (*name).to_owned()).collect();
        let TextTokens { tokens, unknown, stop_words } = tokens_of_text(text, &vocab).unwrap();
        (tokens.iter().map(|&token| vocab[token as usize].clone()).collect(), unknown, stop_words)
    }

    #[test]
    fn words_phrases_unknown_and_stop_words() {
        let vocab = ["new york", "york", "rain", "the who", "new"];
        let (tokens, unknown, stop) = split("Rain in NEW York, snow; the York of snow and rain", &vocab);
        assert_eq!(tokens, ["new york", "york", "rain"]);
        assert_eq!(
            (unknown, stop),
            (vec!["snow".into(), "the".into()], vec!["in".into(), "of".into(), "and".into()])
        );
        // A stop word that is part of a phrase comes through, and a full stop parts two words.
        assert_eq!(split("The Who. New. York", &vocab).0, ["york", "the who", "new"]);
        assert_eq!(split("", &vocab), Default::default());
    }

    #[test]
    fn a_text_is_split_as_a_corpus_is() {
        let texts = [
            "New York's rain, New-York the Who",
            "the new the york new new york",
            "",
            "Ünï rain—new york RAIN",
            "new. York, new; the. who",
        ];
        let vocab: Vec<String> = ["new york", "york", "rain", "the who", "ünï"].map(str::to_owned).to_vec();
        let options = IngestOptions { vocab: Some(vocab.clone()), ..IngestOptions::default() };
        let lines: String =
            texts.iter().map(|text| serde_json::json!({"text": text}).to_string() + "\n").collect();
        let stream = std::io::Cursor::new(lines.into_bytes());
        let reader = open_stream("texts.jsonl".as_ref(), stream, &options.read).unwrap();
        let mut corpus = Corpus::default();
        let name = "texts.jsonl".as_ref();
        ingest_reader(name, reader, &options, &mut corpus, &Monitor::default()).unwrap();
        for (doc_ix, text) in texts.iter().enumerate() {
            assert_eq!(tokens_of_text(text, &vocab).unwrap().tokens, corpus.tokens(doc_ix), "{text}");
        }
    }
}
