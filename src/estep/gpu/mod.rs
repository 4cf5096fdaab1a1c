//! The GPU: adapters and a machine that runs kernels on wgpu.
//!
//! ```no_run
//! use noisyor::estep::gpu::{DeviceOptions, GpuEStep, GpuMachine, GpuOptions, list_adapters};
//!
//! for adapter in list_adapters() {
//!     println!("{} ({})", adapter.name, adapter.kind);
//! }
//! let estep = GpuEStep::new(GpuMachine::open(GpuOptions::default())?, DeviceOptions::default());
//! # Ok::<(), noisyor::Error>(())
//! ```

mod adapter;
mod bandwidth;
mod buffers;
mod machine;
mod open;
mod submission;
mod timing;

#[doc(inline)]
pub use crate::estep::device::{DeviceEStep, DeviceOptions};
pub use adapter::{AdapterSummary, list_adapters};
pub use machine::GpuMachine;
pub use open::GpuOptions;

/// The E-step on a GPU.
pub type GpuEStep = DeviceEStep<GpuMachine>;
