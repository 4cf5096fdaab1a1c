//! A run as one self-contained page: what was run, how the bound rose, the topics, the weights, and the documents.
//!
//! The documents are looked at once (`gather`); what the page shows is packed into compressed sections that it decodes when
//! they are wanted (`payload`), less of it where it would be too much ([`Limits`]).

mod about;
mod gather;
mod histogram;
mod html;
mod pack;
mod payload;
mod summary;
mod worst;

pub use about::{About, floor_of_model};
pub use gather::{CorpusPart, Gathered, TopicUse, gather, sample_docs};
pub use histogram::Histogram;
pub use payload::Limits;
pub use worst::WorstDoc;

use crate::corpus::Docs;
use crate::error::Result;
use crate::monitor::Monitor;
use crate::network::Network;
use crate::posterior::calibration::Calibration;
use crate::train::Metrics;

/// What a page is made of.
pub struct Report<'a> {
    /// What stands at the top.
    pub title: String,
    /// What was run.
    pub about: About,
    /// Every evaluation; none for a model alone.
    pub metrics: &'a [Metrics],
    /// Topics of a document that might be clamped for the bounds of the evaluations.
    pub clamp: u32,
    /// The model.
    pub network: &'a Network,
    /// The smallest weight of an edge in training.
    pub floor: f64,
    /// The documents, and what was gathered from them.
    pub docs: Option<(Docs<'a>, Gathered)>,
    /// Why there are none, and what to do; empty where there are.
    pub no_docs: String,
    /// How far q can be trusted, where that was measured.
    pub calibration: Option<Calibration>,
}

/// A page, finished.
#[derive(Debug)]
pub struct Page {
    /// The whole file.
    pub html: String,
    /// What had to be left out, in words; empty if nothing was.
    pub left_out: String,
}

impl Report<'_> {
    /// The page, with less of everything until it is at most so many bytes; the barest may still be larger.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`](crate::Error::Interrupted) where the monitor says stop.
    pub fn page(&self, max_bytes: usize, monitor: &Monitor) -> Result<Page> {
        let mut page = Page { html: String::new(), left_out: String::new() };
        for limits in &Limits::LADDER {
            monitor.go_on()?;
            let payload = payload::pack(self, limits)?;
            page = Page { html: html::assemble(&self.title, &payload)?, left_out: payload.left_out };
            if page.html.len() <= max_bytes {
                break;
            }
        }
        Ok(page)
    }
}
