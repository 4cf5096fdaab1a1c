//! Packed batches: the local models of many documents in flat arrays, the same on CPU and GPU.

mod layout;
mod pack;

pub use layout::{Batch, DocRecord, EdgeRecord, NodeRecord};
pub use pack::Packer;

/// Documents per reduction block. Sums over documents are formed block by block in a fixed order, so that
/// the same seed gives the same bytes whatever the threads or chunk sizes.
pub const BLOCK_DOCS: usize = 128;
