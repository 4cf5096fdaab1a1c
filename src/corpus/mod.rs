//! Documents: which tokens occur in each. Readers, alignment with a model, splits, identical documents.

mod align;
mod document;
mod groups;
mod jsonl;
mod read;
mod sample;
mod split;
mod svmlight;

pub use align::{Alignment, Docs, align, token_frequency};
pub use document::{Corpus, Document};
pub use groups::{Item, group_identical};
pub use read::{Format, Reader, read, read_from};
pub use sample::{sample_corpus, sample_network};
pub use split::split;
