//! Sums over documents: log V_root(x) and n_kj(x), the same to the bit whatever the number of threads.

use super::evaluate::Scratch;
use super::program::{Logs, Program};
use super::tile::TILE;
use crate::corpus::{Docs, Item};
use crate::error::Result;
use crate::estep::cpu::in_order;
use crate::monitor::Monitor;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

/// Rows whose counts are added up by one thread: counts are as many as weights, so blocks are large.
const BLOCK: usize = 8 * TILE;

/// Sums over documents.
#[derive(Debug, Clone, PartialEq)]
pub struct Sums {
    /// Sum of log V_root(x), which is the log-likelihood where weights are normalised.
    pub log_v: f64,
    /// Sums of n_kj(x), in the order of the weights; none where they were not wanted.
    pub counts: Vec<f64>,
}

/// A network with weights, which need not be normalised, and scratch memory that is used again.
#[derive(Debug)]
pub struct Evaluator {
    program: Arc<Program>,
    weights: Vec<f64>,
    logs: Logs,
    spare: Mutex<Vec<Scratch>>,
}

impl Evaluator {
    /// With weights above zero, as many as the structure has.
    pub fn new(program: &Arc<Program>, weights: Vec<f64>) -> Self {
        let logs = program.logs(&weights);
        Self { program: Arc::clone(program), weights, logs, spare: Mutex::new(Vec::new()) }
    }

    /// The weights.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Runs with scratch memory that was used before, if there is some.
    fn with_scratch<T>(&self, run: impl FnOnce(&mut Scratch) -> T) -> T {
        let spare = || self.spare.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut scratch = spare().pop().unwrap_or_default();
        let result = run(&mut scratch);
        spare().push(scratch);
        result
    }

    /// Sums over these documents; each document counts as often as its item says. Documents are counted in the monitor.
    ///
    /// # Errors
    ///
    /// Cancellation ([`Error::Interrupted`](crate::Error::Interrupted)).
    pub fn sums(&self, docs: &Docs<'_>, items: &[Item], counts: bool, monitor: &Monitor) -> Result<Sums> {
        let n_counts = if counts { self.program.n_params() } else { 0 };
        let mut all = Sums { log_v: 0.0, counts: vec![0.0; n_counts] };
        let work = |items: &[Item]| {
            self.with_scratch(|scratch| {
                let mut sums = Sums { log_v: 0.0, counts: vec![0.0; n_counts] };
                for items in items.chunks(TILE) {
                    monitor.go_on()?;
                    scratch.tile.fill(docs, items, self.program.n_tokens(), None);
                    let log_v = scratch.up(&self.program, &self.logs, counts);
                    let terms = items.iter().zip(log_v).map(|(item, log_v)| f64::from(item.count) * log_v);
                    sums.log_v += terms.sum::<f64>();
                    if counts {
                        scratch.down(&self.program, &self.weights, &mut sums.counts);
                    }
                    let n_docs = items.iter().map(|item| u64::from(item.count)).sum();
                    monitor.docs_done.fetch_add(n_docs, Ordering::Relaxed);
                }
                Ok(sums)
            })
        };
        let ahead = rayon::current_num_threads() + 1;
        in_order(items.chunks(BLOCK), ahead, work, |sums: Sums| {
            all.log_v += sums.log_v;
            all.counts.iter_mut().zip(sums.counts).for_each(|(all, n)| *all += n);
            docs.corpus().release();
            Ok(())
        })?;
        Ok(all)
    }

    /// log V_root of each document; on the calling thread.
    pub fn log_v(&self, docs: &Docs<'_>, doc_ixs: &[u32]) -> Vec<f64> {
        self.log_v_of(docs, doc_ixs, None)
    }

    /// The same where all tokens but the given ones are summed out.
    pub(super) fn log_v_of(&self, docs: &Docs<'_>, doc_ixs: &[u32], given: Option<&[bool]>) -> Vec<f64> {
        let mut log_v = Vec::with_capacity(doc_ixs.len());
        self.each_tile(docs, doc_ixs, given, false, |scratch| {
            let root = scratch.values.last().expect("a network has a root");
            log_v.extend_from_slice(&root[..scratch.tile.n_rows]);
        });
        log_v
    }

    /// Evaluates tile after tile on the calling thread.
    pub(super) fn each_tile(
        &self,
        docs: &Docs<'_>,
        doc_ixs: &[u32],
        given: Option<&[bool]>,
        shares: bool,
        mut take: impl FnMut(&mut Scratch),
    ) {
        self.with_scratch(|scratch| {
            for doc_ixs in doc_ixs.chunks(TILE) {
                scratch.tile.fill(docs, &Item::each(doc_ixs), self.program.n_tokens(), given);
                scratch.up(&self.program, &self.logs, shares);
                take(scratch);
            }
        });
    }

    /// Both where every token is unknown: log V(1), and n_kj(1).
    pub fn all_unknown(&self) -> Sums {
        self.with_scratch(|scratch| {
            scratch.tile.all_unknown(self.program.n_tokens());
            let log_v = scratch.up(&self.program, &self.logs, true)[0];
            let mut counts = vec![0.0; self.program.n_params()];
            scratch.down(&self.program, &self.weights, &mut counts);
            Sums { log_v, counts }
        })
    }
}
