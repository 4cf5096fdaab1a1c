//! The E-step on a device: chunks of packed documents go through a fixed sequence of kernels. The sequence is written once;
//! a [`Machine`] runs it: a GPU, or the kernels' twins on the CPU.

mod arrays;
mod cache;
mod flight;
mod kernel;
mod landing;
mod machine;
mod run;

pub use arrays::{Args, Array, EdgeState, Slot};
pub use flight::{Plan, network_words};
pub use kernel::{
    Access, DOC_BOUND, EDGE_SUMS, GRADIENT, INIT_R, KERNELS, Kernel, Lanes, MAX_GROUPS, NODE_BOUND,
    NODE_SUMS, Q_UPDATE, R_UPDATE, WORKGROUP,
};
pub use machine::{Dispatch, Fault, Machine, Read, Spent};
pub use run::{DeviceEStep, DeviceOptions, HostSpent};
