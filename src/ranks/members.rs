//! The start of an MPI job: who takes part, which every rank tells all others.

use crate::error::{Error, Result};
use ferrompi::{Communicator, Mpi, Request, ThreadLevel, scope};

/// Numbers summed, bytes gathered by one call of MPI: MPI counts in 32 bits.
pub(super) const MOST: usize = 1 << 28;

/// A process of the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its machine.
    pub host: String,
    /// Its number there.
    pub process: u32,
    /// The cores that it may use, as the system lists them; empty where it does not say.
    pub cores: String,
}

/// Starts MPI, and asks every rank who it is.
pub(super) fn start(size: usize) -> Result<(Mpi, Vec<Member>)> {
    let failed = |error| Error::Rank(format!("MPI could not be started: {error}"));
    let mpi = Mpi::init_thread(ThreadLevel::Funneled).map_err(failed)?;
    let world = mpi.world();
    if world.size() as usize != size {
        let message = format!(
            "the launcher has started {size} processes, but MPI knows of {}: they are of different MPIs; start noisyor by the \
             launcher of the MPI that it was built with (under SLURM, by srun with the kind of that MPI)",
            world.size()
        );
        return Err(Error::Usage(message));
    }
    let member = |world: &Communicator| -> ferrompi::Result<Vec<Vec<u8>>> {
        let me = [world.processor_name()?, std::process::id().to_string(), allowed_cores()].join("\n");
        gather(world, me.as_bytes(), &mut |request| request.wait().map(drop))
    };
    let members = member(&world).map_err(failed)?.iter().map(|bytes| Member::of(bytes)).collect();
    Ok((mpi, members))
}

impl Member {
    fn of(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = text.lines();
        let mut next = || lines.next().unwrap_or_default().to_owned();
        let (host, process, cores) = (next(), next(), next());
        Self { host, process: process.parse().unwrap_or(0), cores }
    }
}

/// The cores that this process may use, in words of the system.
fn allowed_cores() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let cores = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    cores.unwrap_or_default().trim().to_owned()
}

/// Gathers bytes of any length of all ranks; `complete` completes a request.
pub(super) fn gather(
    world: &Communicator,
    bytes: &[u8],
    complete: &mut dyn FnMut(Request<'_>) -> ferrompi::Result<()>,
) -> ferrompi::Result<Vec<Vec<u8>>> {
    let size = world.size() as usize;
    let (own, mut lengths) = ([bytes.len() as u64], vec![0; size]);
    scope(|s| complete(world.iallgather(s, &own, &mut lengths)?))?;
    let lengths: Vec<usize> = lengths.iter().map(|&length| length as usize).collect();
    let longest = lengths.iter().copied().max().unwrap_or(0);
    let mut all: Vec<Vec<u8>> = vec![Vec::new(); size];
    // As many rounds as the longest needs, so that no round has more bytes than MPI can count.
    let piece = MOST / size;
    for begin in (0..longest).step_by(piece.max(1)) {
        let part = |length: usize| begin.min(length)..(begin + piece).min(length);
        let counts: Vec<i32> = lengths.iter().map(|&length| part(length).len() as i32).collect();
        let ends = counts.iter().scan(0, |end, &count| {
            *end += count;
            Some(*end)
        });
        let begins: Vec<i32> = ends.zip(&counts).map(|(end, count)| end - count).collect();
        let mut received = vec![0; counts.iter().map(|&count| count as usize).sum()];
        let sent = &bytes[part(bytes.len())];
        scope(|s| complete(world.iallgatherv(s, sent, &mut received, &counts, &begins)?))?;
        for (all, (&begin, &count)) in all.iter_mut().zip(begins.iter().zip(&counts)) {
            all.extend_from_slice(&received[begin as usize..][..count as usize]);
        }
    }
    Ok(all)
}
