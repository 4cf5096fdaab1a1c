//! The header: little-endian, 248 bytes; and in version 2, what stands at the end of the file.

use bytemuck::{Pod, Zeroable};
use twox_hash::XxHash3_64;

#[cfg(target_endian = "big")]
compile_error!("the native corpus is mapped as it is, and its numbers are little-endian");

pub(super) const MAGIC: [u8; 8] = *b"noisyorC";
/// Every token of every document is present or absent.
pub(super) const VERSION: u32 = 1;
/// Tokens may be unknown: there are two more sections, and a [`Trailer`] that says where.
pub(super) const VERSION_UNKNOWN: u32 = 2;
/// Sections begin at multiples of this.
pub(super) const ALIGN: u64 = 64;

/// What the sections are, in their order in the file.
#[derive(Debug, Clone, Copy)]
pub(super) enum Section {
    /// u32: the tokens of all documents, ascending within each.
    Tokens,
    /// u64: where each document's tokens end.
    DocEnds,
    /// u64 and bytes: ids; absent (no ends), or one a document.
    IdEnds,
    Ids,
    /// u64 and bytes: labels; absent, or one a document.
    LabelEnds,
    Labels,
    /// u64 and bytes: names of the tokens; absent, or one a token.
    NameEnds,
    Names,
    /// u32: what documents list beside their present tokens, ascending within each. Version 2.
    Others,
    /// u64: where each document's list ends; the highest bit tells what the list holds. Version 2.
    OtherEnds,
}

impl Section {
    pub(super) const ALL: [Self; 10] = [
        Self::Tokens,
        Self::DocEnds,
        Self::IdEnds,
        Self::Ids,
        Self::LabelEnds,
        Self::Labels,
        Self::NameEnds,
        Self::Names,
        Self::Others,
        Self::OtherEnds,
    ];
}

/// Where a section is, and the XXH3 of its bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Place {
    pub(super) begin: u64,
    pub(super) len: u64,
    pub(super) checksum: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Header {
    pub(super) magic: [u8; 8],
    pub(super) version: u32,
    pub(super) n_tokens: u32,
    pub(super) n_docs: u64,
    pub(super) n_occurrences: u64,
    /// Whether the tokens have names.
    pub(super) named: u64,
    pub(super) file_len: u64,
    pub(super) places: [Place; 8],
    /// XXH3 of the header up to here.
    pub(super) checksum: u64,
}

/// The last bytes of a file of version 2: documents are written before it is known whether any has unknown tokens, so the header
/// has no room for this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Trailer {
    pub(super) places: [Place; 2],
    /// XXH3 of the places.
    pub(super) checksum: u64,
}

impl Trailer {
    pub(super) const LEN: usize = size_of::<Self>();

    pub(super) fn new(places: [Place; 2]) -> Self {
        Self { places, checksum: XxHash3_64::oneshot(bytemuck::bytes_of(&places)) }
    }
}

impl Header {
    pub(super) const LEN: usize = size_of::<Self>();

    pub(super) fn own_checksum(&self) -> u64 {
        XxHash3_64::oneshot(&bytemuck::bytes_of(self)[..Self::LEN - 8])
    }
}
