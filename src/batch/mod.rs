//! Packed batches: the local models of many documents in flat arrays, the same on CPU and GPU.
//!
//! # How documents are divided
//!
//! From the largest to the smallest. Sums over documents are added in a fixed order on every level, so what a level holds must depend
//! on the documents, the graph and the options alone, never on threads or on what memory there is. Chunks may: they hold whole blocks,
//! and blocks are what is added up.
//!
//! | level | what it is | made in | how large | why |
//! |---|---|---|---|---|
//! | epoch | all training documents | `train::Trainer` | the training part of the corpus | |
//! | batch | the documents of one weight step | `train::Trainer` (`StepDocs`) | `TrainOptions::batch` | weights change sooner than once an epoch |
//! | slice | the items of one [`EStep::run`](crate::estep::EStep::run) | `train`, `infer`, `update` | [`SLICE_DOCS`] documents | lists of items stay short; a batch can be left half done |
//! | chunk | what a device holds at a time | [`Chunks`] | whole blocks up to [`ChunkLimits::chunk_size`] | fits its memory; halved where it does not |
//! | block | what sums are formed over before they are added up in f64 | CPU: `estep::cpu`; devices: [`Chunks`] | [`BLOCK_DOCS`] documents; [`ChunkLimits::block_docs`] or [`ChunkLimits::block_size`] | the same bytes whatever the threads or the chunks |
//! | part | what is packed at once, a [`Batch`] | CPU: `estep::cpu`; devices: [`Chunks`] | nodes and edges: [`CPU_PART_SIZE`]; [`DEVICE_PART_SIZE`] | stays in cache; a block of huge documents does not fill the memory |
//! | document | one local model: H_d and the active tokens | [`Packer`] | | identical documents of a slice are one [`Item`](crate::corpus::Item) |
//!
//! The CPU has no chunks: threads take blocks one by one. A `Batch` is packed documents of any number, most often a part.

mod chunk;
mod chunks;
mod layout;
mod lists;
mod pack;
mod rows;

pub use chunk::{Block, Chunk};
pub use chunks::{ChunkLimits, Chunks};
pub use layout::{Batch, DocRecord, EdgeRecord, NodeRecord, TouchedRecord};
pub use lists::{BATCH_ENTRIES, BATCH_ROWS, BIN_DOCS};
pub use pack::Packer;
pub use rows::{Kind, LONG_ROW, RowSet, Rows, Span};

/// Documents of one run of the E-step at most: lists of documents stay short however large a batch is, and a batch can be left
/// half done. Fixed, because sums are added slice by slice.
pub const SLICE_DOCS: usize = 1 << 17;

/// Documents per reduction block of the CPU. Sums over documents are formed block by block in a fixed order, so that
/// the same seed gives the same bytes whatever the threads or chunk sizes.
pub const BLOCK_DOCS: usize = 128;

/// The CPU packs a block in parts of about this many nodes and edges, so that a part stays in cache and a block of huge
/// documents does not fill the memory.
pub const CPU_PART_SIZE: usize = 1 << 16;

/// A part for a device ends early at so many nodes and edges. Where every document holds all topics a part has fewer documents to
/// begin with.
pub const DEVICE_PART_SIZE: usize = 1 << 17;
