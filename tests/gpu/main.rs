//! Devices: kernels beside their twins, whole runs beside the CPU's, and what drivers do wrong.

mod accuracy;
#[path = "../common/mod.rs"]
mod common;
mod faults;
mod interpreter;
mod layout;
mod meter;
mod parity;
mod poison;
mod portability;
mod traffic;
