//! Training on several machines: ranks, each with a part of the documents, that add up their sums.
//!
//! A rank is a process that computes the E-step of its share of the documents. The sums of all ranks are added, and every rank takes the
//! same weight step, so that all hold the same weights. [`Ranks`] is what a transport must do; [`Team`] is what the rest of the library
//! uses. Calls are collective: every rank makes the same calls in the same order.

mod agree;
mod estep;
#[cfg(feature = "mpi")]
mod members;
#[cfg(feature = "mpi")]
mod mpi;
mod sparse;
mod team;
mod threads;
#[cfg(feature = "mpi")]
mod watch;

pub use agree::{Said, agree};
pub use estep::RankedEStep;
#[cfg(feature = "mpi")]
pub use members::Member;
#[cfg(feature = "mpi")]
pub use mpi::MpiRanks;
pub use team::{Calling, Spent, Team};
pub use threads::{ThreadRanks, on_threads};

use crate::error::{Error, Result};

/// The ranks of a job, as one of them sees the others.
///
/// A rank that is lost, or that has failed, ends the running and every later call with [`Error::Rank`], which names it, or with
/// [`Error::Interrupted`] where that is what it failed with.
pub trait Ranks: Send + Sync {
    /// The number of this rank, from zero.
    fn rank(&self) -> usize;

    /// How many there are.
    fn size(&self) -> usize;

    /// A rank for people: `rank 2 (host node7, process 4711)`.
    fn name(&self, rank: usize) -> String;

    /// How many lower ranks are on the same host.
    fn on_host(&self) -> usize {
        0
    }

    /// Adds up the numbers of all ranks, place by place; every rank gets the sums. Sums wrap around.
    ///
    /// # Errors
    /// [`Error::Rank`].
    fn sum(&self, numbers: &mut [i64]) -> Result<()>;

    /// Every rank gets the bytes of all ranks, in the order of the ranks; each gives as many as it likes.
    ///
    /// # Errors
    /// [`Error::Rank`].
    fn gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>>;

    /// Tells the other ranks that this one has failed, and with what.
    fn fail(&self, error: &Error);
}
