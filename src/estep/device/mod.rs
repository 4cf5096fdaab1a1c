//! The E-step on a device: chunks of packed documents go through a fixed sequence of kernels. The sequence is written once;
//! a [`Machine`] runs it: a GPU, or the kernels' twins on the CPU.

mod arrays;
mod cache;
mod clamp;
mod flight;
mod kernel;
mod landing;
mod machine;
mod run;
mod sequence;

pub use arrays::{Args, Array, EdgeState, Slot, grown};
pub use kernel::{
    Access, DOC_BOUND, EDGE_SUMS, FLIP_BEST, FLIP_CHAIN, FLIP_GAIN, FLIP_TERMS, GRADIENT, INIT_Q, INIT_R,
    KEEP, KERNELS, Kernel, Lanes, MAX_GROUPS, NODE_BOUND, NODE_SUMS, Q_UPDATE, R_UPDATE, RESTORE, WORKGROUP,
};
pub use machine::{Dispatch, Fault, Machine, Read, Spent};
pub use run::{DeviceEStep, DeviceOptions, HostSpent};
pub use sequence::{Plan, network_words};
