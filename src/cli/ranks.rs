//! Ranks of a job that a launcher of MPI has started: who joins it, who prints, how it ends.

use super::common::tell;
use anyhow::Result;
use noisyor::ranks::Team;
use noisyor::{Error, Monitor, Result as LibResult};
use std::sync::Arc;
use std::sync::OnceLock;
#[cfg(feature = "mpi")]
use {
    noisyor::ranks::{Member, MpiRanks, Ranks},
    std::io::Write,
    std::time::Duration,
};

/// Variables in which launchers tell a process its rank, and how many there are: Open MPI; MPICH and Intel MPI; MVAPICH; SLURM.
const LAUNCHERS: [[&str; 2]; 4] = [
    ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"],
    ["PMI_RANK", "PMI_SIZE"],
    ["MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"],
    ["SLURM_PROCID", "SLURM_STEP_NUM_TASKS"],
];

/// What a command does in a job of several processes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnRanks {
    /// They share its work.
    Shared,
    /// Each does work of its own.
    Apart,
    /// They would do the same, and write the same files.
    Refused,
}

/// What the launcher says.
#[derive(Clone, Copy)]
struct Launched {
    rank: usize,
    size: usize,
}

impl Launched {
    /// None where there is no launcher, or one process.
    fn find(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let number = |name: &str| variable(name)?.trim().parse::<usize>().ok();
        let found =
            LAUNCHERS.iter().find_map(|[rank, size]| Some(Self { rank: number(rank)?, size: number(size)? }));
        found.filter(|launched| launched.size > 1)
    }

    fn of_this_process() -> Option<Self> {
        Self::find(|name| std::env::var(name).ok())
    }
}

/// Whether this process prints nothing: another one of its job does.
static IS_SILENT: OnceLock<()> = OnceLock::new();

pub(crate) fn is_silent() -> bool {
    IS_SILENT.get().is_some()
}

/// All processes have the same command line: of what is wrong with it one of them tells.
pub(crate) fn refused(error: &clap::Error) -> ! {
    match Launched::of_this_process() {
        Some(Launched { rank: 1.., .. }) => std::process::exit(error.exit_code()),
        _ => error.exit(),
    }
}

/// The job, as one of its processes.
#[derive(Default)]
pub(crate) struct Job {
    pub(crate) team: Team,
    /// Threads that this process should have.
    pub(crate) threads: Option<usize>,
    /// Who there is.
    pub(crate) about: Option<String>,
}

/// Joins the job that a launcher started, if it did.
pub(crate) fn join(command: &str, on_ranks: OnRanks) -> LibResult<Job> {
    let Some(launched) = Launched::of_this_process().filter(|_| on_ranks != OnRanks::Apart) else {
        return Ok(Job::default());
    };
    if launched.rank > 0 {
        let _ = IS_SILENT.set(());
    }
    if on_ranks == OnRanks::Refused {
        let message = format!(
            "{} processes were started, and 'noisyor {command}' runs in one: start it without mpirun or srun",
            launched.size
        );
        return Err(Error::Usage(message));
    }
    start(launched)
}

/// Without the feature there are no ranks.
#[cfg(not(feature = "mpi"))]
fn start(launched: Launched) -> LibResult<Job> {
    Err(Error::Usage(format!(
        "{} processes were started, and noisyor was built without the feature mpi: each would do the same, and write the same \
         files; build it with that (cargo build --release --features mpi, where mpicc of Open MPI or MPICH is installed), or \
         start one process",
        launched.size
    )))
}

#[cfg(feature = "mpi")]
static RANKS: OnceLock<Arc<MpiRanks>> = OnceLock::new();

#[cfg(feature = "mpi")]
fn start(launched: Launched) -> LibResult<Job> {
    let last_words = Box::new(|reason: &str| {
        noisyor::files::remove_unfinished();
        let reason = super::flags::with_flags(reason);
        let _ = writeln!(std::io::stderr(), "noisyor: {}", super::common::tame(&reason));
    });
    let ranks = Arc::new(MpiRanks::join(launched.size, last_words)?);
    let ranks = RANKS.get_or_init(|| ranks);
    // The launcher's numbers may be others than MPI's.
    if ranks.rank() > 0 {
        let _ = IS_SILENT.set(());
    }
    let threads = threads(ranks.members(), ranks.rank());
    Ok(Job {
        team: Team::of(Arc::clone(ranks) as _),
        threads: Some(threads),
        about: Some(about(ranks, threads)),
    })
}

/// Ranks on one host that may use the same cores share them. A launcher may have given each its own.
#[cfg(feature = "mpi")]
fn threads(members: &[Member], rank: usize) -> usize {
    let me = &members[rank];
    let sharing = members.iter().filter(|other| other.host == me.host && other.cores == me.cores).count();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (cores / sharing.max(1)).max(1)
}

/// Who there is, the first few by name.
#[cfg(feature = "mpi")]
fn about(ranks: &MpiRanks, threads: usize) -> String {
    const NAMED: usize = 16;
    let names: Vec<String> = (0..ranks.size()).take(NAMED).map(|rank| ranks.name(rank)).collect();
    let more = if ranks.size() > NAMED { ", ..." } else { "" };
    format!("{} ranks, {threads} threads on the first: {}{more}", ranks.size(), names.join(", "))
}

/// A monitor that is to stop when the job cannot go on.
#[cfg_attr(not(feature = "mpi"), allow(unused_variables))]
pub(crate) fn stops(monitor: &Arc<Monitor>) {
    #[cfg(feature = "mpi")]
    if let Some(ranks) = RANKS.get() {
        ranks.stops(monitor);
    }
}

/// Ranks that stop together do so within this time.
#[cfg(feature = "mpi")]
const TOGETHER: Duration = Duration::from_secs(3);

/// How the command ended for the whole job: well if it did for all ranks.
#[cfg(feature = "mpi")]
pub(crate) fn finish(result: Result<()>) -> Result<()> {
    let Some(ranks) = RANKS.get() else { return result };
    match result {
        Ok(()) => Ok(ranks.end_within(Duration::MAX).map(drop)?),
        Err(error) if crate::is_broken_pipe(&error) => Ok(ranks.end_within(Duration::MAX).map(drop)?),
        Err(error) => {
            let of_this_rank = match error.downcast_ref::<Error>() {
                Some(Error::Rank(_)) => return Err(error),
                // The monitor was stopped because of another rank.
                Some(Error::Interrupted) if ranks.failure().is_some() => {
                    return Err(ranks.failure().map_or(error, Into::into));
                }
                // Where all stop together, as in training, there is nobody to tell.
                Some(Error::Interrupted) if ranks.end_within(TOGETHER)? => return Err(error),
                Some(known) => known,
                None => &Error::Usage(error.to_string()),
            };
            ranks.fail(of_this_rank);
            Err(error)
        }
    }
}

/// One process alone ends as it ends.
#[cfg(not(feature = "mpi"))]
pub(crate) fn finish(result: Result<()>) -> Result<()> {
    result
}

/// Ends the job if this process is one of several, all of which end with it.
#[cfg_attr(not(feature = "mpi"), allow(unused_variables))]
pub(crate) fn leave(status: u8) {
    #[cfg(feature = "mpi")]
    if let Some(ranks) = RANKS.get() {
        ranks.leave(status);
    }
}

/// Tells who takes part.
pub(crate) fn introduce(job: &Job, quiet: bool) {
    if let Some(about) = job.about.as_ref().filter(|_| !quiet) {
        tell(about);
    }
}

#[cfg(test)]
mod tests {
    use super::Launched;

    fn launched(variables: &[(&str, &str)]) -> Option<(usize, usize)> {
        let value = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Launched::find(value).map(|Launched { rank, size }| (rank, size))
    }

    #[test]
    fn launchers_are_known_by_their_variables() {
        assert_eq!(launched(&[]), None);
        assert_eq!(launched(&[("OMPI_COMM_WORLD_RANK", "2"), ("OMPI_COMM_WORLD_SIZE", "4")]), Some((2, 4)));
        assert_eq!(launched(&[("PMI_RANK", "0"), ("PMI_SIZE", "3")]), Some((0, 3)));
        assert_eq!(launched(&[("SLURM_PROCID", "1"), ("SLURM_STEP_NUM_TASKS", "2")]), Some((1, 2)));
        assert_eq!(
            launched(&[("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "1")]),
            None,
            "one process"
        );
        // A script of SLURM's sbatch has tasks to start, and is none.
        assert_eq!(launched(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "4")]), None);
        assert_eq!(launched(&[("PMI_RANK", "x"), ("PMI_SIZE", "3")]), None);
    }
}
