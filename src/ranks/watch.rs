//! Signs of life: who was heard last, and a limit for this process itself.
//!
//! A collective call waits for as long as the slowest rank takes, so a rank that hangs, or whose link is cut, would stop all others for
//! ever. Every rank sends the others a beat each second; who is not heard for [`SILENCE`] is lost.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Between two beats.
const BEAT: Duration = Duration::from_secs(1);

/// A rank that is not heard for so long is lost.
pub(super) const SILENCE: Duration = Duration::from_secs(10);

/// When the other ranks were heard.
pub(super) struct Watch {
    rank: usize,
    heard: Vec<Instant>,
    /// Ranks that have done their work, and still answer.
    ended: Vec<bool>,
    next_beat: Instant,
}

impl Watch {
    /// All are heard now.
    pub(super) fn start(rank: usize, size: usize, now: Instant) -> Self {
        Self { rank, heard: vec![now; size], ended: vec![false; size], next_beat: now }
    }

    /// The other ranks.
    pub(super) fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let rank = self.rank;
        (0..self.heard.len()).filter(move |&other| other != rank)
    }

    /// Whether a beat is to be sent.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        let due = now >= self.next_beat;
        if due {
            self.next_beat = now + BEAT;
        }
        due
    }

    /// A rank was heard.
    pub(super) fn hear(&mut self, rank: usize, now: Instant) {
        self.heard[rank] = now;
    }

    /// A rank has said that it has done its work.
    pub(super) fn end(&mut self, rank: usize) {
        self.ended[rank] = true;
    }

    /// Whether all others have done their work.
    pub(super) fn all_ended(&self) -> bool {
        self.others().all(|rank| self.ended[rank])
    }

    /// Ranks that are lost.
    pub(super) fn lost(&self, now: Instant) -> Vec<usize> {
        self.others().filter(|&rank| now.duration_since(self.heard[rank]) > SILENCE).collect()
    }
}

/// Ends this process when its time is over: for threads that hang in a call that nobody can interrupt.
#[derive(Clone)]
pub(super) struct Limit(Arc<Mutex<Option<Instant>>>);

impl Limit {
    /// Looks each half second whether the time is over, and then calls `end`, which does not return.
    pub(super) fn start(end: impl Fn() + Send + 'static) -> Self {
        let limit = Self(Arc::default());
        let watched = limit.clone();
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(BEAT / 2);
                // The lock is not held while the process ends.
                let is_over = watched.lock().is_some_and(|limit| Instant::now() > limit);
                if is_over {
                    end();
                }
            }
        });
        limit
    }

    /// Sets the time, or none.
    pub(super) fn set(&self, limit: Option<Instant>) {
        *self.lock() = limit;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::{BEAT, Limit, SILENCE, Watch};
    use std::sync::mpsc::channel;
    use std::time::{Duration, Instant};

    #[test]
    fn who_is_silent_for_too_long_is_lost() {
        let begin = Instant::now();
        let mut watch = Watch::start(1, 4, begin);
        assert_eq!(watch.others().collect::<Vec<_>>(), [0, 2, 3]);
        assert!(watch.lost(begin + SILENCE).is_empty());
        watch.hear(2, begin + BEAT);
        let late = begin + SILENCE + Duration::from_millis(1);
        assert_eq!(watch.lost(late), [0, 3], "never this rank itself");
        assert_eq!(watch.lost(late + BEAT), [0, 2, 3]);
    }

    #[test]
    fn a_beat_is_due_each_second() {
        let begin = Instant::now();
        let mut watch = Watch::start(0, 2, begin);
        assert!(watch.is_due(begin));
        assert!(!watch.is_due(begin + BEAT / 2));
        assert!(watch.is_due(begin + BEAT));
    }

    #[test]
    fn the_end_comes_when_all_others_have_ended() {
        let mut watch = Watch::start(0, 3, Instant::now());
        watch.end(2);
        assert!(!watch.all_ended());
        watch.end(1);
        assert!(watch.all_ended());
    }

    #[test]
    fn a_limit_that_has_passed_ends_the_process() {
        let (ended, end) = channel();
        let limit = Limit::start(move || drop(ended.send(())));
        limit.set(Some(Instant::now()));
        end.recv_timeout(Duration::from_secs(20)).expect("the limit has passed");
        limit.set(None);
    }
}
