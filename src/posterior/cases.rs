//! The documents of a corpus as cases: computed in parallel, handed on in their order.

use super::{Case, Engine, Options, Posterior};
use crate::corpus::Docs;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Cases that are computed before they are handed on.
const SLICE_CASES: usize = 256;

/// The documents of a corpus, each a case.
#[derive(Debug, Clone, Copy)]
pub struct Cases<'a> {
    /// The network.
    pub engine: Engine<'a>,
    /// The documents.
    pub docs: Docs<'a>,
    /// Topics whose state is given in all of them.
    pub given: &'a [(u32, bool)],
    /// How to infer.
    pub options: &'a Options,
}

impl Cases<'_> {
    /// What is known of one document.
    pub fn case(&self, doc_ix: usize) -> Case {
        let mut absent = Vec::new();
        self.docs.absent(doc_ix, &mut absent);
        let mut present: Vec<u32> = self.docs.tokens(doc_ix).collect();
        present.sort_unstable();
        Case { present, absent, given: self.given.to_vec() }
    }

    /// The posterior of one document.
    ///
    /// # Errors
    ///
    /// As [`Engine::run`].
    pub fn run(&self, case: &Case, doc_ix: usize, monitor: &Monitor) -> Result<Posterior> {
        self.engine.run(case, doc_ix as u64, self.options, monitor)
    }

    /// Computes something of every document of a range; `sink` gets their numbers, cases and answers in order. The monitor counts them.
    ///
    /// # Errors
    ///
    /// What `compute` fails with, with the id of the document, and what `sink` fails with; [`Error::Interrupted`].
    pub fn each<T: Send>(
        &self,
        range: Range<usize>,
        monitor: &Monitor,
        compute: impl Fn(&Case, usize) -> Result<T> + Sync,
        mut sink: impl FnMut(usize, &Case, T) -> Result<()>,
    ) -> Result<()> {
        let of_doc = |doc_ix: usize| {
            monitor.go_on()?;
            let case = self.case(doc_ix);
            let answer = compute(&case, doc_ix).map_err(|e| match e {
                Error::Usage(message) => {
                    Error::Usage(format!("case {}: {message}", self.docs.corpus().id(doc_ix)))
                }
                other => other,
            })?;
            monitor.docs_done.fetch_add(1, Ordering::Relaxed);
            Ok((doc_ix, case, answer))
        };
        for begin in range.clone().step_by(SLICE_CASES) {
            let slice = begin..range.end.min(begin + SLICE_CASES);
            let answers: Vec<_> = slice.into_par_iter().map(of_doc).collect::<Result<_>>()?;
            answers.into_iter().try_for_each(|(doc_ix, case, answer)| sink(doc_ix, &case, answer))?;
            self.docs.corpus().release();
        }
        Ok(())
    }
}
