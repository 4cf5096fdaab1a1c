//! What the shaders share with Rust, printed: constants, and the arrays of a kernel. Each stands once, on the Rust side.

use super::marks::{CHAIN, CLAMPED, CLAMPED_OFF, CLAMPED_ON, GONE, KEPT_ON, ON_TRIAL, TRIED};
use super::twin::NOWHERE;
use super::{Access, Array, Lanes, WORKGROUP};
use crate::batch::{BATCH_ENTRIES, BATCH_ROWS, BIN_DOCS};
use crate::estep::PULL;
use crate::estep::cpu::{GROWTH, HOPE, MIN_GAIN, Q_ON};
use crate::numeric::{G_MIN, LN2_HI, LN2_LO, LOG2_E, R_MIN, X_CAP};
use std::fmt::Write;

/// Prints constants under their own names. Rust writes as many digits as it takes to read the same number again.
macro_rules! print_constants {
    ($text:ident, $type:literal, $suffix:literal, $($name:ident)*) => {
        $(let _ = writeln!($text, concat!("const ", stringify!($name), ": ", $type, " = {:?}", $suffix, ";"), $name);)*
    };
}

/// The row of an entry that nobody works on.
const NOBODY: u32 = u32::MAX;
/// Infinity's bits.
const INFINITY_BITS: u32 = f32::INFINITY.to_bits();
/// With a number below it, the bits of a normal f32: some devices flush others to zero.
pub(super) const NORMAL: u32 = 1 << 30;

/// The constants, of all kernels.
pub(super) fn constants(lanes: Lanes) -> String {
    let mut text = String::new();
    print_constants!(text, "u32", "u", WORKGROUP BATCH_ROWS BATCH_ENTRIES BIN_DOCS NOBODY INFINITY_BITS NORMAL);
    let (bin_words, bin_threads) = (lanes.bin_words(), lanes.n_threads());
    let _ = writeln!(text, "const BIN_WORDS: u32 = {bin_words}u;\nconst BIN_THREADS: u32 = {bin_threads}u;");
    // Numbers (src/numeric.rs) and steps (src/estep/cpu).
    print_constants!(text, "f32", "f", X_CAP R_MIN G_MIN LOG2_E LN2_HI LN2_LO GROWTH MIN_GAIN HOPE Q_ON PULL NOWHERE);
    // Marks of a topic.
    print_constants!(text, "u32", "u", KEPT_ON TRIED ON_TRIAL GONE CHAIN CLAMPED_ON CLAMPED_OFF CLAMPED);
    text
}

/// The declarations of arrays; binding 0 holds the arguments.
pub(super) fn bindings(arrays: &[(Array, Access)]) -> String {
    let mut text = String::new();
    for (binding, (array, access)) in (1..).zip(arrays) {
        let (name, element) = (array.name(), array.element());
        let (access, element) = match access {
            Access::Read => ("read", element.to_owned()),
            Access::Write => ("read_write", element.to_owned()),
            Access::Share => ("read_write", format!("atomic<{element}>")),
        };
        let _ =
            writeln!(text, "@group(0) @binding({binding}) var<storage, {access}> {name}: array<{element}>;");
    }
    text
}
