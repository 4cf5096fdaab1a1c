//! The header: little-endian, 248 bytes.

use bytemuck::{Pod, Zeroable};
use twox_hash::XxHash3_64;

#[cfg(target_endian = "big")]
compile_error!("the native corpus is mapped as it is, and its numbers are little-endian");

pub(super) const MAGIC: [u8; 8] = *b"noisyorC";
pub(super) const VERSION: u32 = 1;
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
}

impl Section {
    pub(super) const ALL: [Self; 8] = [
        Self::Tokens,
        Self::DocEnds,
        Self::IdEnds,
        Self::Ids,
        Self::LabelEnds,
        Self::Labels,
        Self::NameEnds,
        Self::Names,
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

impl Header {
    pub(super) const LEN: usize = size_of::<Self>();

    pub(super) fn own_checksum(&self) -> u64 {
        XxHash3_64::oneshot(&bytemuck::bytes_of(self)[..Self::LEN - 8])
    }
}
