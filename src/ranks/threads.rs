//! Ranks that are threads of one process: for tests, and for programs that try something on ranks.

use super::{Ranks, Team};
use crate::error::{Error, Result};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// One of several threads that are ranks.
#[derive(Debug, Clone)]
pub struct ThreadRanks {
    rank: usize,
    size: usize,
    shared: Arc<Shared>,
}

/// What the ranks have in common.
#[derive(Debug, Default)]
struct Shared {
    round: Mutex<Round>,
    changed: Condvar,
}

/// A collective call: ranks bring what they give, and once all have, take what all gave.
#[derive(Debug, Default)]
struct Round {
    given: Vec<Vec<u8>>,
    n_given: usize,
    /// Given by all, and how many have yet to take it.
    taken: Arc<Vec<Vec<u8>>>,
    n_to_take: usize,
    /// Who has failed, and with what; no message where it was interrupted.
    failed: Option<Option<String>>,
}

impl Round {
    fn error(&self) -> Option<Error> {
        let message = self.failed.as_ref()?;
        Some(message.as_ref().map_or(Error::Interrupted, |message| Error::Rank(message.clone())))
    }
}

impl ThreadRanks {
    /// So many ranks, one for each thread.
    pub fn new(size: usize) -> Vec<Self> {
        let shared = Arc::new(Shared::default());
        (0..size).map(|rank| Self { rank, size, shared: Arc::clone(&shared) }).collect()
    }

    /// Waits until something is so; an error if it is not, and a rank has failed.
    fn wait_until(&self, is_done: impl Fn(&Round) -> bool) -> Result<MutexGuard<'_, Round>> {
        let round = self.shared.round.lock().unwrap_or_else(|e| e.into_inner());
        let waits = |round: &mut Round| round.failed.is_none() && !is_done(round);
        let round = self.shared.changed.wait_while(round, waits).unwrap_or_else(|e| e.into_inner());
        // What all have given is there for all, whatever one of them did with it.
        match round.error().filter(|_| !is_done(&round)) {
            Some(error) => Err(error),
            None => Ok(round),
        }
    }

    fn exchange(&self, bytes: Vec<u8>) -> Result<Arc<Vec<Vec<u8>>>> {
        // The round before may not be taken by all.
        let mut round = self.wait_until(|round| round.n_to_take == 0)?;
        if let Some(error) = round.error() {
            return Err(error);
        }
        round.given.resize(self.size, Vec::new());
        round.given[self.rank] = bytes;
        round.n_given += 1;
        if round.n_given == self.size {
            round.taken = Arc::new(std::mem::take(&mut round.given));
            (round.n_given, round.n_to_take) = (0, self.size);
            self.shared.changed.notify_all();
        }
        drop(round);
        let mut round = self.wait_until(|round| round.n_to_take > 0)?;
        round.n_to_take -= 1;
        if round.n_to_take == 0 {
            self.shared.changed.notify_all();
        }
        Ok(Arc::clone(&round.taken))
    }
}

impl Ranks for ThreadRanks {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn name(&self, rank: usize) -> String {
        format!("rank {rank} (a thread of process {})", std::process::id())
    }

    fn sum(&self, numbers: &mut [i64]) -> Result<()> {
        let all = self.exchange(bytemuck::cast_slice(numbers).to_vec())?;
        numbers.fill(0);
        for given in &*all {
            let terms = given.chunks_exact(8).map(bytemuck::pod_read_unaligned::<i64>);
            numbers.iter_mut().zip(terms).for_each(|(sum, term)| *sum = sum.wrapping_add(term));
        }
        Ok(())
    }

    fn gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        Ok(self.exchange(bytes.to_vec())?.to_vec())
    }

    fn fail(&self, error: &Error) {
        let mut round = self.shared.round.lock().unwrap_or_else(|e| e.into_inner());
        let message = || format!("{}: {error}", self.name(self.rank));
        round.failed.get_or_insert_with(|| (!matches!(error, Error::Interrupted)).then(message));
        self.shared.changed.notify_all();
    }
}

/// Tells the others when its thread panics: they would wait for it.
struct Watch(ThreadRanks);

impl Drop for Watch {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail(&Error::Rank("it panicked".into()));
        }
    }
}

/// Runs the same on so many ranks, each a thread; what they return, in the order of the ranks.
///
/// # Panics
/// Where one of them does.
pub fn on_threads<T: Send>(size: usize, run: impl Fn(Team) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let run = &run;
        let start = |ranks: ThreadRanks| {
            scope.spawn(move || {
                let _watch = Watch(ranks.clone());
                run(Team::of(Arc::new(ranks)))
            })
        };
        let threads: Vec<_> = ThreadRanks::new(size).into_iter().map(start).collect();
        threads.into_iter().map(|thread| thread.join().expect("a rank panicked")).collect()
    })
}
