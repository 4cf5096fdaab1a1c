//! What the library holds of the ranks: collective calls, in part while it computes, and what they cost.

use super::{Ranks, sparse};
use crate::error::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The ranks of a job; a team of one where there is one process, which costs nothing.
#[derive(Clone, Default)]
pub struct Team {
    joined: Option<Arc<Joined>>,
}

struct Joined {
    ranks: Arc<dyn Ranks>,
    calls: Mutex<Sender<Call>>,
    spent: Arc<Mutex<Spent>>,
}

/// What communication has cost this rank.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spent {
    /// Collective calls.
    pub n_calls: u64,
    /// Bytes that this rank gave.
    pub bytes: u64,
    /// Bytes of sums that were sent sparsely, of those.
    pub sparse_bytes: u64,
    /// Seconds in which calls were under way, waiting for slower ranks included.
    pub busy: Duration,
    /// Seconds of those in which nothing was computed.
    pub waited: Duration,
}

impl Spent {
    /// What was spent since an earlier look.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            n_calls: self.n_calls - before.n_calls,
            bytes: self.bytes - before.bytes,
            sparse_bytes: self.sparse_bytes - before.sparse_bytes,
            busy: self.busy - before.busy,
            waited: self.waited - before.waited,
        }
    }
}

/// A collective call, made by a thread of its own: one after another, in the order in which they were asked for.
enum Call {
    Sum(Vec<i64>, SyncSender<Result<Vec<i64>>>),
    Gather(Vec<u8>, SyncSender<Result<Vec<Vec<u8>>>>),
}

/// A call under way.
pub struct Calling<'a, T> {
    team: &'a Team,
    state: State<T>,
}

enum State<T> {
    Here(T),
    Coming(Receiver<Result<T>>),
}

impl std::fmt::Debug for Team {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Team({} of {})", self.rank(), self.size())
    }
}

impl Team {
    /// The team of these ranks.
    pub fn of(ranks: Arc<dyn Ranks>) -> Self {
        if ranks.size() == 1 {
            return Self::default();
        }
        let (calls, to_make) = channel();
        let spent = Arc::new(Mutex::new(Spent::default()));
        let courier = Courier { ranks: Arc::clone(&ranks), spent: Arc::clone(&spent) };
        std::thread::spawn(move || to_make.into_iter().for_each(|call| courier.make(call)));
        Self { joined: Some(Arc::new(Joined { ranks, calls: Mutex::new(calls), spent })) }
    }

    /// The number of this rank.
    pub fn rank(&self) -> usize {
        self.joined.as_ref().map_or(0, |joined| joined.ranks.rank())
    }

    /// How many ranks there are.
    pub fn size(&self) -> usize {
        self.joined.as_ref().map_or(1, |joined| joined.ranks.size())
    }

    /// Whether there are others.
    pub fn has_others(&self) -> bool {
        self.joined.is_some()
    }

    /// Whether this is the rank that writes files and shows progress.
    pub fn is_first(&self) -> bool {
        self.rank() == 0
    }

    /// A rank for people.
    pub fn name(&self, rank: usize) -> String {
        self.joined.as_ref().map_or_else(|| "rank 0".to_owned(), |joined| joined.ranks.name(rank))
    }

    /// How many lower ranks are on the same host.
    pub fn on_host(&self) -> usize {
        self.joined.as_ref().map_or(0, |joined| joined.ranks.on_host())
    }

    /// What communication has cost so far.
    pub fn spent(&self) -> Spent {
        let of = |joined: &Arc<Joined>| *joined.spent.lock().unwrap_or_else(|e| e.into_inner());
        self.joined.as_ref().map(of).unwrap_or_default()
    }

    /// Begins to add up numbers, place by place.
    pub fn start_sum(&self, numbers: Vec<i64>) -> Calling<'_, Vec<i64>> {
        let state = match &self.joined {
            Some(joined) => State::Coming(joined.ask(|answer| Call::Sum(numbers, answer))),
            None => State::Here(numbers),
        };
        Calling { team: self, state }
    }

    /// Begins to gather the bytes of every rank.
    pub fn start_gather(&self, bytes: Vec<u8>) -> Calling<'_, Vec<Vec<u8>>> {
        let state = match &self.joined {
            Some(joined) => State::Coming(joined.ask(|answer| Call::Gather(bytes, answer))),
            None => State::Here(vec![bytes]),
        };
        Calling { team: self, state }
    }

    /// The bytes of every rank.
    ///
    /// # Errors
    /// [`Error::Rank`].
    pub fn gather(&self, bytes: Vec<u8>) -> Result<Vec<Vec<u8>>> {
        self.start_gather(bytes).wait()
    }

    /// The bytes of the first rank; those of the others are not looked at.
    ///
    /// # Errors
    /// [`Error::Rank`].
    pub fn first(&self, bytes: Vec<u8>) -> Result<Vec<u8>> {
        let mine = if self.is_first() { bytes } else { Vec::new() };
        Ok(self.gather(mine)?.swap_remove(0))
    }

    /// A list of what every place of a range has, of which every rank makes a share.
    ///
    /// # Errors
    /// [`Error::Rank`].
    pub fn share<T: Serialize + DeserializeOwned>(
        &self,
        range: Range<usize>,
        make: impl FnOnce(Range<usize>) -> Vec<T>,
    ) -> Result<Vec<T>> {
        if !self.has_others() {
            return Ok(make(range));
        }
        let begin = |rank: usize| range.start + range.len() * rank / self.size();
        let mine = make(begin(self.rank())..begin(self.rank() + 1));
        let bytes = postcard::to_allocvec(&mine).map_err(|e| Error::Rank(e.to_string()))?;
        let mut all = Vec::with_capacity(range.len());
        for (rank, bytes) in self.gather(bytes)?.iter().enumerate() {
            let share: Vec<T> = postcard::from_bytes(bytes)
                .map_err(|_| Error::Rank(format!("{} has sent a list that is none", self.name(rank))))?;
            all.extend(share);
        }
        Ok(all)
    }

    /// Tells the others of an error of this rank, unless they told of it.
    ///
    /// # Errors
    /// That error.
    pub fn share_error<T>(&self, result: Result<T>) -> Result<T> {
        if let (Err(error), Some(joined)) = (&result, &self.joined)
            && !matches!(error, Error::Rank(_))
        {
            joined.ranks.fail(error);
        }
        result
    }
}

impl Joined {
    fn ask<T>(&self, call: impl FnOnce(SyncSender<T>) -> Call) -> Receiver<T> {
        let (answer, coming) = sync_channel(1);
        // Where nobody takes the call, nobody answers, and whoever waits is told.
        let _ = self.calls.lock().unwrap_or_else(|e| e.into_inner()).send(call(answer));
        coming
    }
}

impl<T> Calling<'_, T> {
    /// What came of it.
    ///
    /// # Errors
    /// [`Error::Rank`].
    pub fn wait(self) -> Result<T> {
        let coming = match self.state {
            State::Here(answer) => return Ok(answer),
            State::Coming(coming) => coming,
        };
        let begun = Instant::now();
        let answer = coming.recv();
        if let Some(joined) = &self.team.joined {
            joined.spent.lock().unwrap_or_else(|e| e.into_inner()).waited += begun.elapsed();
        }
        answer
            .unwrap_or_else(|_| Err(Error::Rank("the thread that speaks with other ranks has ended".into())))
    }
}

/// Makes the calls.
struct Courier {
    ranks: Arc<dyn Ranks>,
    spent: Arc<Mutex<Spent>>,
}

impl Courier {
    fn make(&self, call: Call) {
        let begun = Instant::now();
        let mut spent = Spent { n_calls: 1, ..Spent::default() };
        // Nobody waits for the answer after an error.
        match call {
            Call::Sum(numbers, answer) => {
                let sums = self.sum(numbers, &mut spent);
                self.count(&spent, begun);
                drop(answer.send(sums));
            }
            Call::Gather(bytes, answer) => {
                spent.bytes += bytes.len() as u64;
                let gathered = self.ranks.gather(&bytes);
                self.count(&spent, begun);
                drop(answer.send(gathered));
            }
        }
    }

    fn count(&self, spent: &Spent, begun: Instant) {
        let mut sum = self.spent.lock().unwrap_or_else(|e| e.into_inner());
        sum.n_calls += spent.n_calls;
        sum.bytes += spent.bytes;
        sum.sparse_bytes += spent.sparse_bytes;
        sum.busy += begun.elapsed();
    }

    /// Sums are sent sparsely, as the places and values of those that are not zero, where that is less. All ranks must do the same, so
    /// they first add up how many bytes that would be. What a rank receives of the others counts: sparsely, that is all they send; densely,
    /// by the usual algorithm (a reduction, then a gathering, each in parts), two times the numbers, but for its own part.
    fn sum(&self, mut numbers: Vec<i64>, spent: &mut Spent) -> Result<Vec<i64>> {
        let size = self.ranks.size();
        let dense_bytes = 2 * size_of_val(&numbers[..]) * (size - 1) / size;
        let sparse = sparse::encode(&numbers, dense_bytes);
        let mut header =
            [numbers.len() as i64, sparse.as_ref().map_or(dense_bytes, |sparse| sparse.len()) as i64];
        self.ranks.sum(&mut header)?;
        spent.bytes += size_of_val(&header) as u64;
        let [len, sparse_bytes] = header;
        if len != (numbers.len() * size) as i64 {
            return Err(Error::Rank(
                "ranks have sums of different lengths, so they work on different things".into(),
            ));
        }
        let Some(sparse) = sparse.filter(|_| sparse_bytes < dense_bytes as i64) else {
            self.ranks.sum(&mut numbers)?;
            spent.bytes += dense_bytes as u64;
            return Ok(numbers);
        };
        let all = self.ranks.gather(&sparse)?;
        spent.bytes += sparse.len() as u64;
        spent.sparse_bytes += sparse.len() as u64;
        numbers.fill(0);
        for (rank, sparse) in all.iter().enumerate() {
            sparse::add(sparse, &mut numbers).ok_or_else(|| {
                Error::Rank(format!("{} has sent sums that are none", self.ranks.name(rank)))
            })?;
        }
        Ok(numbers)
    }
}
