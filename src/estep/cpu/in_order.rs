//! Work on all threads whose results are taken one after another, in order, while the threads go on.

use crate::error::Result;
use rayon::Yield;
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};

/// Runs `work` on every part in rayon's current pool; the calling thread takes the results in the order of the parts.
/// At most `ahead` parts are begun and not taken. The first error ends it.
pub(crate) fn in_order<P: Send, T: Send>(
    parts: impl Iterator<Item = P>,
    ahead: usize,
    work: impl Fn(P) -> Result<T> + Sync,
    mut take: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let work = &work;
    rayon::in_place_scope_fifo(|scope| {
        let mut begun = VecDeque::with_capacity(ahead);
        for part in parts {
            if begun.len() == ahead {
                begun.pop_front().map_or(Ok(()), |result| take_when_done(&result, &mut take))?;
            }
            let (done, result) = sync_channel(1);
            // Nobody takes it after an error.
            scope.spawn_fifo(move |_| drop(done.send(work(part))));
            begun.push_back(result);
        }
        begun.into_iter().try_for_each(|result| take_when_done(&result, &mut take))
    })
}

/// Waits for a result; a thread of the pool works meanwhile, or a pool of one would wait for itself.
fn take_when_done<T>(result: &Receiver<Result<T>>, take: &mut impl FnMut(T) -> Result<()>) -> Result<()> {
    loop {
        let done = match result.try_recv() {
            Err(TryRecvError::Empty) if rayon::yield_now() == Some(Yield::Executed) => continue,
            Err(TryRecvError::Empty) => result.recv().ok(),
            done => done.ok(),
        };
        // Nothing comes from work that panicked: the scope passes that on.
        return done.map_or(Ok(()), |done| done.and_then(&mut *take));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn pool(n_threads: usize) -> rayon::ThreadPool {
        rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap()
    }

    #[test]
    fn results_come_in_order_from_inside_and_outside_a_pool() {
        let run = || {
            let mut taken = Vec::new();
            let work = |part: u64| {
                std::thread::sleep(std::time::Duration::from_micros(part * 7919 % 500));
                Ok(part)
            };
            in_order(0..300, 7, work, |part| {
                taken.push(part);
                Ok(())
            })
            .unwrap();
            assert!(taken.iter().copied().eq(0..300));
        };
        run();
        [1, 3].into_iter().for_each(|n_threads| pool(n_threads).install(run));
    }

    #[test]
    fn no_more_are_ahead_than_allowed_and_an_error_ends_it() {
        let (n_begun, mut n_taken) = (AtomicUsize::new(0), 0);
        let work = |part: usize| {
            n_begun.fetch_add(1, Ordering::Relaxed);
            if part == 50 { Err(Error::Interrupted) } else { Ok(()) }
        };
        let ended = in_order(0..1000, 4, work, |()| {
            n_taken += 1;
            assert!(n_begun.load(Ordering::Relaxed) <= n_taken + 4);
            Ok(())
        });
        assert!(matches!(ended, Err(Error::Interrupted)));
        assert!(n_taken == 50 && n_begun.load(Ordering::Relaxed) <= 54);
    }

    #[test]
    #[should_panic(expected = "a panic of the work")]
    fn a_panic_is_passed_on() {
        let work = |part: u32| if part == 5 { panic!("a panic of the work") } else { Ok(()) };
        let _ = in_order(0..20, 3, work, |()| Ok(()));
    }
}
