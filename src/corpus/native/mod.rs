//! The native corpus: one file that is mapped into memory, so that opening it takes no time and no memory whatever its size.
//!
//! A header, then sections of numbers and bytes, each aligned to 64 bytes with zeros between. The header's checksum is verified
//! on opening, the sections' by [`Corpus::verify`](super::Corpus::verify).

mod layout;
mod open;
mod write;

pub use open::{is_native, open};
pub(super) use open::{open_unverified, release, verify};
pub use write::NativeWriter;
