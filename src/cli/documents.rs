//! The documents that a command looks at: those of a run, read again, or any.

use noisyor::corpus::{Alignment, Corpus, Docs, Parts};
use noisyor::run::RunDocs;

pub(crate) enum Documents {
    OfRun(RunDocs),
    Given(Corpus, Alignment),
}

impl Documents {
    pub(crate) fn docs(&self) -> Docs<'_> {
        match self {
            Self::OfRun(run) => run.docs(),
            Self::Given(corpus, alignment) => alignment.docs(corpus),
        }
    }

    /// The parts of the run.
    pub(crate) fn parts(&self) -> Option<Parts> {
        match self {
            Self::OfRun(run) => Some(run.parts.clone()),
            Self::Given(..) => None,
        }
    }
}
