//! Ranks by MPI.
//!
//! One thread, the courier, makes all calls of MPI, so the simplest level of thread support is enough. Collective calls do not block: the
//! courier asks again and again whether one is complete, and between the questions it sends and receives beats ([`Watch`]) and messages.
//! So a call that will never be complete, because a rank is lost, does not keep anybody from ending.

use super::Ranks;
use super::members::{MOST, Member, gather, start};
use super::watch::{Limit, SILENCE, Watch};
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use ferrompi::{Communicator, ReduceOp, Request, Source, Tag, scope};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Between two looks at beats and messages.
const LOOK: Duration = Duration::from_millis(100);

/// A call that takes longer is asked for less often, so that computing threads have the cores.
const BUSY: Duration = Duration::from_millis(2);

/// From a lost rank to the end of the job: time to write a checkpoint. A launcher that notices a cut link ends the job by itself
/// meanwhile; one that is asked to end it before it has noticed waits for the lost host.
const TO_END_LOST: Duration = Duration::from_secs(9);

/// From a rank that has failed to the end of the job.
const TO_END_FAILED: Duration = Duration::from_secs(20);

/// From a request to stop to the end of the job: what was computed is written, however large it is.
const TO_END_INTERRUPTED: Duration = Duration::from_secs(600);

/// Ranks that the job's end did not reach end themselves, so much later.
const LATER: Duration = Duration::from_secs(3);

/// A call of MPI that does not block takes no longer.
const STUCK: Duration = Duration::from_secs(20);

/// Bytes of a message at most: short ones are sent without waiting for who receives them.
const MAX_MESSAGE: usize = 2048;

/// First bytes of messages; all others are exit statuses of ranks that failed.
const DONE: u8 = 0;
const LOST: u8 = 254;
const BEAT: u8 = 255;

/// The exit status of processes that are ended because of another rank.
const RANK_STATUS: u8 = 6;

/// The ranks of an MPI job.
pub struct MpiRanks {
    rank: usize,
    asks: Mutex<Sender<Ask>>,
    says: Mutex<Sender<Say>>,
    shared: Arc<Shared>,
}

/// A collective call.
enum Ask {
    Sum(Vec<i64>, SyncSender<Vec<i64>>),
    Gather(Vec<u8>, SyncSender<Vec<Vec<u8>>>),
}

/// What this rank says to the others or to its courier.
enum Say {
    Failed(u8, String),
    Done(SyncSender<()>),
    /// The program is about to end with this status, and has printed what there is to print.
    Leaving(u8),
}

/// What threads of this process share.
struct Shared {
    members: Vec<Member>,
    failure: Mutex<Option<Failure>>,
    monitors: Mutex<Vec<Arc<Monitor>>>,
    /// Whether MPI has ended, with all ranks.
    has_ended: AtomicBool,
    /// Prints a message; the process ends after it.
    last_words: Box<dyn Fn(&str) + Send + Sync>,
}

/// Why the job cannot go on.
#[derive(Clone)]
struct Failure {
    status: u8,
    text: String,
    /// Ranks that are not there to end the job.
    lost: Vec<usize>,
    at: Instant,
}

impl Failure {
    fn error(&self) -> Error {
        match self.status {
            status if status == Error::Interrupted.exit_status() => Error::Interrupted,
            _ => Error::Rank(self.text.clone()),
        }
    }

    fn time_to_end(&self) -> Duration {
        match self.status {
            LOST => TO_END_LOST,
            status if status == Error::Interrupted.exit_status() => TO_END_INTERRUPTED,
            _ => TO_END_FAILED,
        }
    }
}

impl MpiRanks {
    /// Joins the job that a launcher has started. Where this process has to end without its main thread, `last_words` prints the reason.
    ///
    /// # Errors
    /// [`Error::Rank`] where MPI does not start, or finds another number of processes than the launcher started.
    pub fn join(size: usize, last_words: Box<dyn Fn(&str) + Send + Sync>) -> Result<Self> {
        let ((asks, to_ask), (says, to_say)) = (channel(), channel());
        let (joined, joining) = sync_channel(1);
        std::thread::spawn(move || {
            let (mpi, members) = match start(size) {
                Ok(started) => started,
                Err(error) => return drop(joined.send(Err(error))),
            };
            let world = Arc::new(mpi.world());
            let rank = world.rank() as usize;
            let shared = Arc::new(Shared {
                members,
                failure: Mutex::default(),
                monitors: Mutex::default(),
                has_ended: AtomicBool::new(false),
                last_words,
            });
            let of_limit = Arc::clone(&shared);
            let limit = Limit::start(move || {
                let failure = of_limit.failure().map(|failure| failure.text);
                let reason = failure.unwrap_or_else(|| "MPI no longer answers".to_owned());
                (of_limit.last_words)(&reason);
                std::process::exit(i32::from(RANK_STATUS));
            });
            let watch = Watch::start(rank, shared.members.len(), Instant::now());
            let state = Arc::clone(&shared);
            let mut courier = Courier {
                world,
                watch,
                limit,
                shared,
                to_say,
                done: None,
                leaving: None,
                looked: Instant::now(),
            };
            let _ = joined.send(Ok((rank, state)));
            courier.work(&to_ask);
            // Every rank is here: MPI ends with all of them.
            courier.limit.set(Some(Instant::now() + STUCK));
            drop(mpi);
            courier.limit.set(None);
            courier.shared.has_ended.store(true, Ordering::SeqCst);
            if let Some(done) = courier.done {
                let _ = done.send(());
            }
        });
        let joined = joining.recv().unwrap_or_else(|_| Err(Error::Rank("MPI could not be started".into())));
        let (rank, shared) = joined?;
        Ok(Self { rank, asks: Mutex::new(asks), says: Mutex::new(says), shared })
    }

    /// The processes of the job, in the order of their ranks.
    pub fn members(&self) -> &[Member] {
        &self.shared.members
    }

    /// A monitor to stop once the job cannot go on.
    pub fn stops(&self, monitor: &Arc<Monitor>) {
        self.shared.monitors.lock().unwrap_or_else(|e| e.into_inner()).push(Arc::clone(monitor));
        if self.shared.failure().is_some() {
            monitor.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Ends MPI with all ranks, once all have done their work; false where one has more to do after so long.
    ///
    /// # Errors
    /// [`Error::Rank`] where one has failed or is lost.
    pub fn end_within(&self, limit: Duration) -> Result<bool> {
        let (done, all_done) = sync_channel(1);
        self.say(Say::Done(done));
        self.wait_for(&all_done, limit).map(|answer| answer.is_some())
    }

    /// Why the job cannot go on, if it cannot.
    pub fn failure(&self) -> Option<Error> {
        self.shared.failure().map(|failure| failure.error())
    }

    /// Ends this process and the job, which cannot go on, with this exit status. Returns where MPI has ended.
    pub fn leave(&self, status: u8) {
        self.say(Say::Leaving(status));
        while !self.shared.has_ended.load(Ordering::SeqCst) {
            // The courier ends the process.
            std::thread::sleep(LOOK);
        }
    }

    fn say(&self, say: Say) {
        let _ = self.says.lock().unwrap_or_else(|e| e.into_inner()).send(say);
    }

    /// The courier's answer, if it comes so soon. It does not answer once the job cannot go on.
    fn wait_for<T>(&self, answer: &Receiver<T>, limit: Duration) -> Result<Option<T>> {
        let begun = Instant::now();
        while begun.elapsed() < limit {
            match answer.recv_timeout(LOOK) {
                Ok(answer) => return Ok(Some(answer)),
                Err(RecvTimeoutError::Timeout) => self.failure().map_or(Ok(()), Err)?,
                Err(RecvTimeoutError::Disconnected) => return Err(Error::Rank("MPI has ended".into())),
            }
        }
        Ok(None)
    }

    /// What comes of a collective call, however long it takes.
    fn answer_of<T>(&self, call: impl FnOnce(SyncSender<T>) -> Ask) -> Result<T> {
        let (answer, answered) = sync_channel(1);
        let _ = self.asks.lock().unwrap_or_else(|e| e.into_inner()).send(call(answer));
        let answer = self.wait_for(&answered, Duration::MAX)?;
        answer.ok_or_else(|| Error::Rank("MPI does not answer".into()))
    }
}

impl Ranks for MpiRanks {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.shared.members.len()
    }

    fn name(&self, rank: usize) -> String {
        self.shared.name(rank)
    }

    fn on_host(&self) -> usize {
        let members = &self.shared.members;
        members[..self.rank].iter().filter(|member| member.host == members[self.rank].host).count()
    }

    fn sum(&self, numbers: &mut [i64]) -> Result<()> {
        let sums = self.answer_of(|answer| Ask::Sum(numbers.to_vec(), answer))?;
        numbers.copy_from_slice(&sums);
        Ok(())
    }

    fn gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.answer_of(|answer| Ask::Gather(bytes.to_vec(), answer))
    }

    fn fail(&self, error: &Error) {
        let text = format!("{}: {error}", self.name(self.rank));
        self.say(Say::Failed(error.exit_status(), text));
    }
}

impl Shared {
    fn name(&self, rank: usize) -> String {
        let Member { host, process, .. } = &self.members[rank];
        format!("rank {rank} (host {host}, process {process})")
    }

    fn failure(&self) -> Option<Failure> {
        self.failure.lock().unwrap_or_else(|e| e.into_inner()).clone()
    }
}

/// The thread that makes all calls of MPI.
struct Courier {
    world: Arc<Communicator>,
    watch: Watch,
    limit: Limit,
    shared: Arc<Shared>,
    to_say: Receiver<Say>,
    /// Who waits for all ranks to be done.
    done: Option<SyncSender<()>>,
    /// The exit status, once the program is about to end.
    leaving: Option<u8>,
    looked: Instant,
}

impl Courier {
    /// Makes calls until all ranks have done their work.
    fn work(&mut self, to_ask: &Receiver<Ask>) {
        let mut last_call = Instant::now();
        loop {
            // What was sent in the last call may not have left this process yet.
            let wait = if last_call.elapsed() < LOOK { Duration::from_millis(1) } else { LOOK };
            match to_ask.recv_timeout(wait) {
                Ok(ask) => {
                    if let Err(error) = self.answer(ask) {
                        self.find_the_lost(&error);
                    }
                    last_call = Instant::now();
                }
                // All that may ask are gone: the program ends, and says so in another way.
                Err(_) if wait == LOOK => std::thread::sleep(Duration::from_millis(1)),
                Err(_) => {}
            }
            self.look();
            if self.done.is_some() && self.watch.all_ended() {
                return;
            }
        }
    }

    fn answer(&mut self, ask: Ask) -> ferrompi::Result<()> {
        match ask {
            Ask::Sum(mut numbers, answer) => {
                for numbers in numbers.chunks_mut(MOST) {
                    self.sum(bytemuck::cast_slice_mut(numbers))?;
                }
                let _ = answer.send(numbers);
            }
            Ask::Gather(bytes, answer) => {
                let world = Arc::clone(&self.world);
                let all = gather(&world, &bytes, &mut |request| {
                    self.complete(request);
                    Ok(())
                })?;
                let _ = answer.send(all);
            }
        }
        Ok(())
    }

    /// Unsigned numbers wrap around.
    fn sum(&mut self, numbers: &mut [u64]) -> ferrompi::Result<()> {
        let world = Arc::clone(&self.world);
        scope(|s| {
            self.complete(world.iallreduce_inplace(s, numbers, ReduceOp::Sum)?);
            Ok(())
        })
    }

    /// Waits for a call to be complete. Does not return where that will never be: MPI may still write to what the call was given.
    fn complete(&mut self, mut request: Request<'_>) {
        let begun = Instant::now();
        loop {
            match request.test() {
                Ok(Some(_)) => return,
                Ok(None) => {}
                Err(error) => self.find_the_lost(&error),
            }
            match begun.elapsed() < BUSY {
                true => std::thread::yield_now(),
                false => std::thread::sleep(Duration::from_micros(50)),
            }
            self.look();
        }
    }

    /// MPI often fails before it is known which rank is lost.
    fn find_the_lost(&mut self, error: &ferrompi::Error) -> ! {
        let begun = Instant::now();
        loop {
            if begun.elapsed() > SILENCE + LATER {
                self.fail(RANK_STATUS, format!("MPI failed: {error}"), Vec::new());
            }
            self.look();
            std::thread::sleep(LOOK);
        }
    }

    /// Every now and then: beats and messages. Does not return if the job cannot go on.
    fn look(&mut self) {
        if self.looked.elapsed() < LOOK {
            return;
        }
        self.looked = Instant::now();
        self.limit.set(Some(self.looked + STUCK));
        self.speak();
        self.listen();
        let lost = self.watch.lost(Instant::now());
        if !lost.is_empty() {
            self.fail(LOST, self.obituary(&lost), lost);
        }
        if self.shared.failure().is_some() {
            self.end_job();
        }
    }

    /// What this rank has to say; a message that cannot be sent is one to a rank that is lost, which will be noticed.
    fn speak(&mut self) {
        if self.watch.is_due(Instant::now()) {
            self.send(&[BEAT]);
        }
        while let Ok(say) = self.to_say.try_recv() {
            match say {
                Say::Failed(status, text) => self.fail(status, text, Vec::new()),
                Say::Leaving(status) => self.leaving = Some(status),
                Say::Done(done) => {
                    self.send(&[DONE]);
                    self.done = Some(done);
                }
            }
        }
    }

    fn send(&self, message: &[u8]) {
        for rank in self.watch.others() {
            let _ = self.world.send(message, rank as i32, 0);
        }
    }

    fn listen(&mut self) {
        while let Ok(Some(status)) = self.world.iprobe::<u8>(Source::Any, Tag::Any) {
            let mut message = [0; MAX_MESSAGE];
            let Ok(received) = self.world.recv(&mut message, status.source, status.tag) else { return };
            let Source::Rank(rank) = received.source else { return };
            self.watch.hear(rank as usize, Instant::now());
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned();
            match message[0] {
                BEAT => {}
                DONE => self.watch.end(rank as usize),
                status => self.take_over(status, text(&message[1..])),
            }
        }
    }

    fn obituary(&self, lost: &[usize]) -> String {
        let names: Vec<String> = lost.iter().take(8).map(|&rank| self.shared.name(rank)).collect();
        let more = if lost.len() > names.len() { ", and others" } else { "" };
        format!(
            "no sign of life for {} s of {}{more}: the process, its machine or the network has stopped; continue by `resume`",
            SILENCE.as_secs(),
            names.join(", ")
        )
    }

    /// The job cannot go on, and the others are told so.
    fn fail(&mut self, status: u8, text: String, lost: Vec<usize>) {
        if self.shared.failure().is_some() {
            return;
        }
        let mut text = text;
        while text.len() >= MAX_MESSAGE {
            text.pop();
        }
        let message = [&[status], text.as_bytes()].concat();
        for rank in self.watch.others().filter(|rank| !lost.contains(rank)) {
            let _ = self.world.send(&message[..], rank as i32, 0);
        }
        self.record(Failure { status, text, lost, at: Instant::now() });
    }

    /// Another rank says that the job cannot go on.
    fn take_over(&mut self, status: u8, text: String) {
        if self.shared.failure().is_none() {
            self.record(Failure { status, text, lost: self.watch.lost(Instant::now()), at: Instant::now() });
        }
    }

    fn record(&self, failure: Failure) {
        *self.shared.failure.lock().unwrap_or_else(|e| e.into_inner()) = Some(failure);
        for monitor in &*self.shared.monitors.lock().unwrap_or_else(|e| e.into_inner()) {
            monitor.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Ends the job: the first rank that is not lost, once its program has written and printed what it has to, or its time is over. The
    /// others are ended by MPI, or, where its word does not reach them, by themselves.
    fn end_job(&mut self) -> ! {
        let Some(Failure { text, lost, at, status, .. }) = self.shared.failure() else {
            unreachable!("there is one")
        };
        let time = self.shared.failure().map_or(TO_END_LOST, |failure| failure.time_to_end());
        let rank = self.world.rank() as usize;
        let is_first = (0..rank).all(|rank| lost.contains(&rank));
        self.limit.set(Some(at + time + 2 * LATER));
        loop {
            self.speak();
            self.listen();
            let is_over = at.elapsed() > time;
            let is_late = at.elapsed() > time + LATER;
            // Of a rank that is lost the launcher may not know yet.
            let has_left = self.leaving.is_some() && status != LOST;
            if is_first && (has_left || is_over) || is_late {
                if is_first && self.leaving.is_none() {
                    (self.shared.last_words)(&text);
                }
                let status = i32::from(self.leaving.unwrap_or(RANK_STATUS));
                match is_first {
                    true => self.world.abort(status),
                    false => std::process::exit(status),
                }
            }
            std::thread::sleep(LOOK);
        }
    }
}
