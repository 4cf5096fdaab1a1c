//! What runs kernels: a GPU, or their twins on the CPU.

use super::{Args, Array, Kernel, Lanes, Route};
use crate::error::Result;
use std::ops::Range;

/// Where the arrays of a flight are, by number: those of packed documents, which may stay for another flight, and those of its state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    /// Of [`Array::PACKED`].
    pub packed: usize,
    /// Of the others but the network, which is shared by all.
    pub set: usize,
}

/// One dispatch.
#[derive(Debug, Clone, Copy)]
pub struct Dispatch {
    /// The kernel.
    pub kernel: &'static Kernel,
    /// Who works on a row.
    pub lanes: Lanes,
    /// Its arguments.
    pub args: Args,
}

/// Words to read back once the dispatches are done.
#[derive(Debug, Clone)]
pub struct Read {
    /// Of which array.
    pub array: Array,
    /// Which 32-bit words.
    pub words: Range<usize>,
}

/// What can go wrong with a device, and may go right the next time.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Fault {
    /// Too little memory.
    #[error("out of memory: {0}")]
    OutOfMemory(String),
    /// The device is gone.
    #[error("the device was lost: {0}")]
    Lost(String),
    /// The device refused something.
    #[error("the device refused: {0}")]
    Refused(String),
}

/// Seconds and bytes that a machine spent.
#[derive(Debug, Clone, Default)]
pub struct Spent {
    /// Writing to the device (on the host's side).
    pub upload_s: f64,
    /// Handing dispatches over; some drivers make the host wait here for earlier ones.
    pub submit_s: f64,
    /// Waiting for the device.
    pub wait_s: f64,
    /// Copying results out of the device's memory.
    pub readback_s: f64,
    /// Bytes written.
    pub upload_bytes: u64,
    /// Bytes read back.
    pub readback_bytes: u64,
    /// Steps: dispatches of several sets that may run at the same time make one, all others one each.
    pub n_steps: u64,
    /// Kernels run: name, dispatches, seconds on the device where they are known.
    pub kernels: Vec<(&'static str, u64, Option<f64>)>,
}

/// A device with sets of arrays, so that one chunk is loaded while another is computed.
pub trait Machine {
    /// For people.
    fn name(&self) -> String;

    /// The largest array, in bytes.
    fn max_array_bytes(&self) -> u64;

    /// The routes through the kernels that it can take; the first is taken where none was measured.
    fn routes(&self) -> Vec<Route> {
        Route::ALL.to_vec()
    }

    /// Whether it is worth measuring which one is the fastest.
    fn tries_routes(&self) -> bool {
        false
    }

    /// Memory to use at most, in bytes, if there is a limit.
    fn max_bytes(&self) -> Option<u64>;

    /// Makes an array of at least so many bytes; what is in it is anybody's guess.
    fn reserve(&mut self, place: Place, array: Array, n_bytes: usize) -> Result<(), Fault>;

    /// Writes into an array, `at` so many bytes.
    fn write(&mut self, place: Place, array: Array, at: usize, bytes: &[u8]) -> Result<(), Fault>;

    /// Hands over dispatches that go one after another, and reads after them; they wait for [`Self::start`]. One submission a set at a
    /// time.
    fn submit(&mut self, place: Place, dispatches: &[Dispatch], reads: &[Read]) -> Result<(), Fault>;

    /// Starts what was handed over for these sets, step by step: the n-th dispatches of all of them may run at the same time.
    fn start(&mut self, sets: &[usize]) -> Result<(), Fault>;

    /// Waits for a set's submission, which was started; what was read, in order.
    fn wait(&mut self, set: usize) -> Result<Vec<Vec<u32>>, Fault>;

    /// Frees the packed documents of a place.
    fn release(&mut self, packed: usize);

    /// A working device again, with nothing on it.
    fn reopen(&mut self) -> Result<()>;

    /// Frees all arrays.
    fn clear(&mut self);

    /// Takes what was spent since the last call.
    fn take_spent(&mut self) -> Spent;
}

impl Spent {
    /// Counts a dispatch.
    pub fn add_kernel(&mut self, name: &'static str, seconds: Option<f64>) {
        let at = self.kernels.iter().position(|kernel| kernel.0 == name).unwrap_or_else(|| {
            self.kernels.push((name, 0, None));
            self.kernels.len() - 1
        });
        let kernel = &mut self.kernels[at];
        kernel.1 += 1;
        kernel.2 = seconds.map_or(kernel.2, |seconds| Some(kernel.2.unwrap_or(0.0) + seconds));
    }
}
