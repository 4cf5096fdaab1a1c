//! Going on from a model: what is asked for, and the model with the tokens that it lacks.

use crate::cli::Common;
use crate::cli::graph_args::GraphArgs;
use crate::cli::progress::Progress;
use noisyor::corpus::{Alignment, Corpus, align};
use noisyor::estep::{EStep, Monitor};
use noisyor::network::{Network, load_model};
use noisyor::train::{CheckedOptions, PriorOptions, TrainOptions};
use noisyor::update::{Extended, UpdateOptions, extend, joined_tokens};
use noisyor::{Error, Result};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;

/// No model was trained on more documents, whatever its summary says.
const MAX_DOCS: f64 = 1e15;

#[derive(clap::Args)]
#[command(next_help_heading = "Going on from a model")]
pub(in crate::cli) struct UpdateArgs {
    /// Go on from this model with new documents: its topics stay as they are numbered and named, tokens that it lacks are attached
    /// to them as --parents and --min-support say
    #[arg(long, value_name = "MODEL", requires = "corpus", conflicts_with_all = ["graph", "refine"])]
    pub(super) from: Option<PathBuf>,
    /// The model counts as so many documents beside the new ones; 0: it is a start and nothing more, and what the new documents
    /// lack is forgotten [default: those it was trained on, or as many as are new where its file does not say]
    #[arg(long, value_name = "N", requires = "from")]
    from_docs: Option<u64>,
}

impl UpdateArgs {
    /// The model, if there is one; options that are about learning a graph make no sense with it.
    pub(super) fn model(&self, learning: &GraphArgs) -> Result<Option<Network>> {
        let Some(path) = &self.from else { return Ok(None) };
        if let Some(option) = learning.first_given(false, true) {
            return Err(Error::Usage(format!(
                "{option} is about learning a graph, and --from goes on with the model's; leave out one of the two"
            )));
        }
        load_model(path).map(Some)
    }

    /// What the model counts as, as far as is known before anything is read.
    pub(super) fn prior(&self) -> Option<PriorOptions> {
        let docs = self.from_docs.map_or(1.0, |docs| docs as f64);
        self.from.as_ref().filter(|_| docs > 0.0).map(|_| PriorOptions {
            docs,
            trained_docs: docs,
            tokens: 0,
        })
    }

    /// The options with what the model counts as, beside so many new documents.
    pub(super) fn options(
        &self,
        options: CheckedOptions,
        model: Option<&Network>,
        n_new: usize,
    ) -> Result<CheckedOptions> {
        let (Some(_), Some(model)) = (options.prior, model) else { return Ok(options) };
        let trained_docs = trained_docs(model).unwrap_or(n_new as f64);
        let docs = self.from_docs.map_or(trained_docs, |docs| docs as f64);
        let prior = PriorOptions { docs, trained_docs, tokens: model.names.tokens.len() };
        TrainOptions { prior: Some(prior), ..TrainOptions::clone(&options) }.check()
    }
}

/// The documents that a model was trained on, if its summary says so.
fn trained_docs(model: &Network) -> Option<f64> {
    let summary: Value = serde_json::from_str(&model.training).ok()?;
    summary["docs"].as_f64().filter(|docs| (1.0..=MAX_DOCS).contains(docs))
}

/// The tokens of the model and of the corpus, and how the corpus's map to them.
pub(super) fn joined(model: &Network, corpus: &Corpus, common: &Common) -> Result<(Vec<String>, Alignment)> {
    let tokens = joined_tokens(&model.names, corpus)?;
    let alignment = align(corpus, &tokens);
    if let Some(example) = alignment.unknown_example.as_ref() {
        common.warn(format_args!(
            "{} of {} token occurrences are left out: topics of the model have these names (for example {example})",
            alignment.n_unknown,
            corpus.n_occurrences()
        ));
    }
    Ok((tokens, alignment))
}

/// The model with the tokens that it lacks, attached by the documents that are trained on.
#[allow(clippy::too_many_arguments)]
pub(super) fn extended(
    model: &Network,
    corpus: &Corpus,
    tokens: &[String],
    doc_ixs: &[u32],
    options: &UpdateOptions,
    estep: &mut dyn EStep,
    monitor: &Arc<Monitor>,
    common: &Common,
) -> Result<Network> {
    let progress = Progress::start(common, monitor, "attaching new tokens", doc_ixs.len() as u64);
    let extended = extend(model, corpus, tokens, doc_ixs, options, estep, monitor)?;
    drop(progress);
    let Extended { network, n_new, n_attached, n_new_edges } = extended;
    if n_new == 0 {
        common.say("no new tokens");
        return Ok(network);
    }
    common.say(format_args!(
        "{n_new} new tokens, {n_attached} of them attached to topics ({n_new_edges} edges), {} without a topic",
        n_new - n_attached
    ));
    Ok(network)
}
