//! The E-step on a device: chunks of packed documents go through a fixed sequence of kernels. The sequence is written once;
//! a [`Machine`] runs it: a GPU, or the kernels' twins on the CPU.

mod arrays;
mod cache;
mod choose;
mod clamp;
mod flight;
mod kernel;
mod landing;
mod machine;
pub mod marks;
mod pass;
mod recover;
mod resident;
mod run;
mod schedule;
mod sequence;
pub mod twin;
mod wgsl;

pub use arrays::{Args, Array, EdgeState, grown, grown_args, grown_staging};
pub use flight::BURST;
pub use kernel::{
    ALTERNATE, Access, DOC_BOUND, EDGE_SUMS, FLIP_BEST, FLIP_CHAIN, FLIP_GAIN, FLIP_TERMS, GRADIENT, INIT_Q,
    INIT_R, KEEP, KERNELS, Kernel, Lanes, MAX_GROUPS, NODE_BOUND, NODE_SUMS, Q_UPDATE, R_UPDATE, RESTORE,
    SEARCH_BIN, WORKGROUP,
};
pub use machine::{Dispatch, Fault, Machine, Place, Read, Spent};
pub use resident::{fitting_sets, flight_bytes, packed_bytes};
pub use run::{DeviceEStep, DeviceOptions, HostSpent, N_FILLING, N_SETS};
pub use sequence::{DispatchPlan, Route, network_words};
