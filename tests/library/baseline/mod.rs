//! Models to compare with.
#![allow(clippy::unwrap_used)]

mod spn;
