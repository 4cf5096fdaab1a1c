//! Runs compute shaders in WGSL on the CPU such that every access to memory is seen: all invocations of a workgroup go through the
//! shader together, statement by statement. naga reads the shader; what is not supported is refused by name.
//!
//! It also finds what drivers keep to themselves: indices outside of an array, two invocations that use one word with no barrier
//! between, barriers that not all invocations reach, workgroup memory that is read before it is written, and loops that lavapipe
//! would end early.

mod access;
mod expressions;
mod lower;
mod mask;
mod math;
mod memory;
mod ops;
mod pointers;
mod races;
mod run;
mod statements;
mod steps;
mod types;

pub use memory::{Access, Buffer, Kind, Watch};
pub use steps::Program;

impl Program {
    /// Makes the only entry point of a shader ready to run.
    ///
    /// # Errors
    ///
    /// naga's message, or what is not supported.
    pub fn new(source: &str) -> Result<Self, String> {
        lower::program(source)
    }
}
