//! Documents: which tokens occur in each. Readers, alignment with a model, splits, identical documents.

mod align;
mod column;
mod corpus;
mod document;
mod groups;
mod ingest;
pub mod read;
mod sample;
mod split;

pub use align::{Alignment, Docs, align, token_frequency};
pub use column::Strings;
pub use corpus::Corpus;
pub use document::{Document, Words};
pub use groups::{Item, group_identical};
pub use ingest::{read, read_from};
pub use read::Format;
pub use sample::{sample_corpus, sample_network};
pub use split::split;
