//! Devices: kernels beside their twins, whole runs beside the CPU's, and what drivers do wrong.

#[path = "../common/mod.rs"]
mod common;
mod faults;
mod layout;
mod parity;
mod poison;
mod portability;
