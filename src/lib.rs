//! noisyor
pub mod batch;
pub mod corpus;
mod error;
pub mod estep;
pub mod exact;
pub mod files;
pub mod infer;
pub mod local;
pub mod network;
pub mod numeric;
pub mod report;
pub mod rng;
pub mod synth;
pub mod train;
pub use error::{Error, Result};
