//! A look at the documents: how they are dealt out to weight steps, how many of them differ, and a sample to rehearse on.

use crate::batch::SLICE_DOCS;
use crate::corpus::{Docs, Item};
use crate::rng::{Stream, rng};
use crate::train::{BatchSize, TrainOptions};
use rand::seq::SliceRandom;

/// Documents of a part that are looked at, about: whole slices, evenly spread over the part.
const SURVEY_DOCS: usize = 2 * SLICE_DOCS;

/// What training would find.
#[derive(Debug, Clone)]
pub(super) struct Survey {
    pub(super) train: SurveyedPart,
    pub(super) valid: SurveyedPart,
    pub(super) n_test: usize,
    /// Weight steps an epoch.
    pub(super) n_batches: usize,
    /// Documents to train on, some of them if there are many: initial weights depend on their tokens.
    pub(super) train_docs: Vec<u32>,
}

/// One part of the corpus.
#[derive(Debug, Clone, Default)]
pub(super) struct SurveyedPart {
    pub(super) n_docs: usize,
    /// E-steps of a pass; identical documents of a slice share one.
    pub(super) n_items: usize,
    /// Some of these, in random order.
    pub(super) items: Vec<Item>,
    /// Those of the first slice, in the order in which they are run.
    pub(super) first_slice: Vec<Item>,
}

impl Survey {
    /// Deals the documents out as training does.
    pub(super) fn of(docs: &Docs<'_>, options: &TrainOptions) -> Self {
        let mut parts = options.split(docs.n_docs());
        let n_batches = options.n_batches(parts.train.len());
        if options.batch != BatchSize::Full {
            parts.train.shuffle(&mut rng(options.seed, Stream::Shuffle(0)));
        }
        let n_test = parts.test.len();
        let train = SurveyedPart::of(docs, &parts.train, n_batches, options);
        let valid = SurveyedPart::of(docs, &parts.valid, 1, options);
        parts.train.truncate(SURVEY_DOCS);
        Self { train, valid, n_test, n_batches, train_docs: parts.train }
    }
}

impl SurveyedPart {
    fn of(docs: &Docs<'_>, doc_ixs: &[u32], n_batches: usize, options: &TrainOptions) -> Self {
        let begin = |batch: usize| batch * doc_ixs.len() / n_batches;
        let batches = (0..n_batches).map(|batch| &doc_ixs[begin(batch)..begin(batch + 1)]);
        let slices = batches.flat_map(|batch| batch.chunks(SLICE_DOCS));
        let stride = doc_ixs.len().div_ceil(SURVEY_DOCS).max(1);
        let (mut items, mut first_slice, mut n_seen) = (Vec::new(), Vec::new(), 0);
        for slice in slices.step_by(stride) {
            n_seen += slice.len();
            let of_slice =
                if options.share_identical { Item::shared(docs, slice) } else { Item::each(slice) };
            if first_slice.is_empty() {
                first_slice.clone_from(&of_slice);
            }
            items.extend(of_slice);
        }
        let n_items = (items.len() as f64 / n_seen.max(1) as f64 * doc_ixs.len() as f64).round() as usize;
        items.shuffle(&mut rng(options.seed, Stream::Plan));
        Self { n_docs: doc_ixs.len(), n_items, items, first_slice }
    }
}
