//! Models to compare with.

mod spn;
