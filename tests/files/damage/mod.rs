//! Damaged and faulty files: none is taken for a sound one, none ends in a panic, and every fault is listed.

#![cfg(all(feature = "cli", feature = "parquet"))]
#![allow(clippy::unwrap_used)] // helpers of tests are tests too

mod check;
mod corpus;
mod limits;
mod models;
