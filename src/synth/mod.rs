//! Synthetic data: random networks of given sizes, and documents sampled from a network.

mod preset;
mod sample;

pub use preset::{Preset, random_network};
pub use sample::{Sampled, Sampler, unknown_tokens};
