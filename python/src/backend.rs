//! What computes. Whether there is a GPU is found out once in a process: looking for one takes longer than many a call.

use crate::task::RunObserver;
use noisyor::estep::EStep;
use noisyor::estep::gpu::list_adapters;
use noisyor::run::{Backend, BackendOptions};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// Twice the process that looked last, plus one if there was a GPU; a forked process looks again.
static LOOKED: AtomicU64 = AtomicU64::new(0);

/// Opens what is asked for.
///
/// # Errors
/// As [`BackendOptions::open`].
pub fn open(options: &BackendOptions, observer: &mut RunObserver<'_>) -> noisyor::Result<Box<dyn EStep>> {
    Ok(without_search(options.clone()).open(observer)?.0)
}

/// The same options, where the search for a GPU is over and there is none.
pub fn without_search(options: BackendOptions) -> BackendOptions {
    match options {
        BackendOptions { backend: Backend::Auto, device: None, .. } if !has_gpu() => {
            BackendOptions { backend: Backend::Cpu, device_mb: None, ..options }
        }
        options => options,
    }
}

fn has_gpu() -> bool {
    let mine = 2 * u64::from(process::id());
    let looked = LOOKED.load(Ordering::Relaxed);
    if looked & !1 == mine {
        return looked & 1 == 1;
    }
    let found = list_adapters().iter().any(|adapter| adapter.automatic);
    LOOKED.store(mine | u64::from(found), Ordering::Relaxed);
    found
}
