//! Memory traffic of the kernels, counted without a card: the interpreter that runs their WGSL, the model of coalescing and caches, and
//! what both say about the kernels.
#![cfg(feature = "gpu")]
#![allow(clippy::unwrap_used)]

mod counts;
mod kernels;
mod model;
mod per_unit;
mod shaders;

use crate::common::backends::*;
use crate::meter::MeterMachine;
use noisyor::estep::{EStepOptions, Start};
