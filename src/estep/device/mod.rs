//! The E-step on a device: chunks of packed documents go through a fixed sequence of kernels. The sequence is written once;
//! a [`Machine`] runs it: a GPU, or the kernels' twins on the CPU.

mod arrays;
mod cache;
mod clamp;
mod flight;
mod kernel;
mod landing;
mod machine;
pub mod marks;
mod run;
mod sequence;
pub mod twin;
mod wgsl;

pub use arrays::{Args, Array, EdgeState, Slot, grown, grown_args, grown_staging};
pub use flight::BURST;
pub use kernel::{
    Access, DOC_BOUND, EDGE_SUMS, FLIP_BEST, FLIP_CHAIN, FLIP_GAIN, FLIP_TERMS, GRADIENT, INIT_Q, INIT_R,
    KEEP, KERNELS, Kernel, Lanes, MAX_GROUPS, NODE_BOUND, NODE_SUMS, Q_UPDATE, R_UPDATE, RESTORE, WORKGROUP,
};
pub use machine::{Dispatch, Fault, Machine, Read, Spent};
pub use run::{DeviceEStep, DeviceOptions, HostSpent, N_SETS};
pub use sequence::{DispatchPlan, network_words};
