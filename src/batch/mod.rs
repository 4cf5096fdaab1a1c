//! Packed batches: the local models of many documents in flat arrays, the same on CPU and GPU.

mod chunk;
mod chunks;
mod layout;
mod pack;
mod rows;

pub use chunk::{Block, Chunk};
pub use chunks::{ChunkLimits, Chunks};
pub use layout::{Batch, DocRecord, EdgeRecord, NodeRecord, TouchedRecord};
pub use pack::Packer;
pub use rows::{LONG_ROW, Rows, Span, Spans};

/// Documents per reduction block. Sums over documents are formed block by block in a fixed order, so that
/// the same seed gives the same bytes whatever the threads or chunk sizes.
pub const BLOCK_DOCS: usize = 128;
