//! Bad input is harmless: tables of files, one a format, and what the program says about each. A fault has the status 2, its line,
//! the value and what to do; what is odd but legal works; nothing is left behind, printed raw, or held in memory without bound.

#![cfg(all(feature = "cli", feature = "parquet"))]
#![allow(clippy::unwrap_used)] // helpers of tests are tests too

mod bombs;
mod csv;
mod dense;
mod jsonl;
mod matrix_market;
mod names;
mod npz;
mod parquet;
mod support;
mod svmlight;
#[cfg(target_os = "linux")]
mod system;
mod text;
mod tsv;
mod uci;
