//! GPU, twins and CPU compute the same: kernel by kernel, E-step by E-step, and over a whole training.

#![cfg(feature = "gpu")]
#![allow(clippy::unwrap_used)]

mod clamp;
mod estep;
mod independence;
mod kept;
pub mod kernels;
mod resident;
mod routes;
mod shapes;
mod tails;
mod training;

use crate::common::backends::*;
use crate::common::gpu::gpu_machine;
use crate::common::*;
use noisyor::batch::{Chunk, ChunkLimits};
use noisyor::corpus::Item;
use noisyor::estep::device::twin::TwinMachine;
use noisyor::estep::device::{DeviceEStep, DeviceOptions, Lanes, MAX_GROUPS};
use noisyor::estep::gpu::{GpuMachine, GpuOptions};
use noisyor::estep::{Bound, EStepOptions, Start, Temper};
use noisyor::network::Network;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The GPU as a backend.
fn gpu_estep(options: &DeviceOptions) -> Option<DeviceEStep<GpuMachine>> {
    Some(untroubled(gpu_machine(GpuOptions::default())?, options))
}

/// Twins and GPU agree with the CPU; what the CPU gives.
fn assert_parity(case: &Case) -> Ran {
    let cpu = case.on_cpu();
    assert_agree(&format!("{}, twins", case.name), &cpu, &case.on_twins());
    if let Some(mut gpu) = gpu_estep(&case.device) {
        assert_agree(&format!("{}, GPU", case.name), &cpu, &case.on(&mut gpu));
    }
    cpu
}
