//! What goes into taking files in, and what comes out.

use crate::corpus::Others;
use crate::corpus::read::ReadOptions;
use crate::corpus::vocabulary::WordOptions;
use crate::error::Result;

/// What takes documents in: a corpus in memory, or the writer of a native one.
pub trait Sink {
    /// Adds a document; tokens may come in any order and repeat. Empty id, empty label: none.
    ///
    /// # Errors
    ///
    /// What the sink fails with.
    fn push(&mut self, tokens: &mut Vec<u32>, id: &str, label: &str) -> Result<()> {
        self.push_state(tokens, &mut Others::default(), id, label)
    }
    /// Adds a document whose tokens are in three states.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`](crate::Error::Usage) where a token is in both lists, and what the sink fails with.
    fn push_state(
        &mut self,
        present: &mut Vec<u32>,
        others: &mut Others,
        id: &str,
        label: &str,
    ) -> Result<()>;
    /// Names the tokens, in the order of their numbers.
    ///
    /// # Errors
    ///
    /// What the sink fails with.
    fn set_names(&mut self, names: &mut dyn Iterator<Item = &str>) -> Result<()>;
    /// There are at least so many tokens.
    fn set_n_tokens(&mut self, n_tokens: u32);
}

/// How to take files in.
#[derive(Debug, Clone, Default)]
pub struct IngestOptions {
    /// How to read them.
    pub read: ReadOptions,
    /// The vocabulary; without one it is made from the documents.
    pub vocab: Option<Vec<String>>,
    /// How text becomes tokens.
    pub words: WordOptions,
}

/// What came in.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Ingested {
    /// Documents.
    pub n_docs: u64,
    /// Documents in which no token is left.
    pub n_empty: u64,
    /// Documents in which tokens are unknown, neither present nor absent.
    pub n_docs_unknown: u64,
    /// Occurrences of words that are in the given vocabulary or in the one that was made, repeats included.
    pub n_known: u64,
    /// Occurrences of words that the given vocabulary lacks.
    pub n_unknown: u64,
    /// One of those.
    pub unknown_example: Option<String>,
    /// The first hundred of those, with repeats.
    #[serde(skip)]
    pub unknown_words: Vec<String>,
    /// Occurrences of stop words, which were left out.
    pub n_stop: u64,
    /// Different words before the vocabulary was chosen.
    pub n_words: u64,
    /// Tokens in the vocabulary.
    pub n_tokens: u64,
    /// Phrases among them.
    pub n_phrases: u64,
    /// Whether the file names its columns, as tables do: what is no column of it is in no document.
    pub named_columns: bool,
    /// What may not be meant, a line each.
    pub notes: Vec<String>,
}
