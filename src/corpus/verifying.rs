//! The check of a mapped corpus beside the work that is done on it.

use super::Corpus;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

/// Compares a mapped corpus with its checksums while the work goes on; nothing may be reported before it is done.
#[derive(Debug)]
pub struct Verifying(Option<JoinHandle<Result<()>>>);

impl Verifying {
    /// Starts to compare; damage that is found stops the work.
    pub fn start(corpus: &Corpus, monitor: &Arc<Monitor>) -> Self {
        if corpus.is_verified() {
            return Self(None);
        }
        let (corpus, monitor) = (corpus.clone(), Arc::clone(monitor));
        Self(Some(std::thread::spawn(move || {
            let verified = corpus.verify_while(&monitor);
            if verified.is_err() {
                monitor.stop.store(true, Ordering::SeqCst);
            }
            verified
        })))
    }

    /// The result of the work, unless the corpus it was done on is damaged.
    ///
    /// # Errors
    /// The damage, or else the error of the work.
    pub fn finish<T>(self, result: Result<T>) -> Result<T> {
        match self.0.map(JoinHandle::join) {
            None | Some(Ok(Ok(()))) => result,
            Some(Ok(Err(damage))) => Err(damage),
            Some(Err(_)) => Err(Error::Usage(
                "the corpus could not be verified; check it for what is wrong with it".into(),
            )),
        }
    }
}
