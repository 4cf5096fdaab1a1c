//! Documents: which tokens occur in each. Readers, alignment with a model, splits, identical documents.

mod align;
mod check;
mod column;
mod csr;
mod document;
mod documents;
mod for_model;
mod gathered;
mod groups;
mod independent;
mod ingest;
pub mod native;
pub mod read;
mod sample;
mod source;
mod split;
mod state;
#[cfg(test)]
mod tests;
pub mod text;
mod unknown_count;
mod verifying;
mod vocabulary;

pub use align::{Alignment, Docs, align, align_checked, known_share, token_frequency};
pub use check::{Lengths, Summary, check, check_for};
pub use column::{Numbers, Strings};
pub use document::{Document, Words};
pub use documents::{Corpus, RELEASE_DOCS};
pub use for_model::{matching_warnings, missing_words, reading_warnings};
pub use groups::Item;
pub use independent::Baseline;
pub use ingest::{IngestOptions, Ingested, Sink, TextTokens, ingest, ingest_reader, read, tokens_of_text};
pub use read::{Format, ReadOptions, Unlisted};
pub use sample::{sample_corpus, sample_network};
pub use source::{CorpusSource, Place, WordRequest};
pub use split::{Parts, split};
pub use state::{DocState, Listed, Others};
pub use verifying::Verifying;
pub use vocabulary::{Df, VocabFile, WordOptions, load_vocab};
