//! Pools of threads. Rayon's global pool does not live on in a forked process, where work for it would wait for ever: each process has
//! pools of its own.

use noisyor::Error;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::collections::HashMap;
use std::process;
use std::sync::{Arc, Mutex};

/// Pools by process and number of threads.
type Pools = HashMap<(u32, usize), Arc<ThreadPool>>;

static POOLS: Mutex<Option<Pools>> = Mutex::new(None);

/// The pool of so many threads; 0: as many as there are cores. To be called with the GIL held, which a fork holds too: then nobody else has
/// the lock in that moment.
///
/// # Errors
/// Threads that cannot be started.
pub fn pool(n_threads: usize) -> noisyor::Result<Arc<ThreadPool>> {
    let mut pools = POOLS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let pools = pools.get_or_insert_default();
    let key = (process::id(), n_threads);
    if let Some(pool) = pools.get(&key) {
        return Ok(Arc::clone(pool));
    }
    // Pools of the process that this one was forked from have no threads here; ending them would wait for those.
    let forked = pools.keys().any(|&(process, _)| process != key.0);
    if forked {
        std::mem::forget(std::mem::take(pools));
    }
    let name = |at| format!("noisyor-{at}");
    let pool = ThreadPoolBuilder::new().num_threads(n_threads).thread_name(name).build();
    let pool = Arc::new(pool.map_err(|e| Error::Usage(format!("cannot start threads: {e}")))?);
    pools.insert(key, Arc::clone(&pool));
    Ok(pool)
}
