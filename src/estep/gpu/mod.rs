//! The GPU: adapters and a machine that runs kernels on wgpu.

mod adapter;
mod buffers;
mod machine;
mod open;
mod timing;

pub use adapter::{AdapterSummary, list_adapters};
pub use buffers::{grown, grown_args, grown_staging};
pub use machine::GpuMachine;
pub use open::GpuOptions;
