//! What the training of a baseline prints at its end.

use crate::cli::Common;
use crate::cli::common::print;
use crate::cli::figures::grouped;
use anyhow::Result;
use noisyor::baseline::{BaselineConfig, BaselineOutcome, Score};
use serde_json::json;
use std::path::Path;

/// What a score is, in words.
pub(in crate::cli) fn score_in_words(score: Score, of: Option<&str>) -> String {
    let what = match score {
        Score::Exact => "exact log-likelihood",
        Score::Bound => "lower bound of the log-likelihood",
        Score::Estimate => "estimated log-likelihood",
    };
    of.map_or_else(|| what.to_owned(), |of| format!("{what} of {of}"))
}

pub(super) fn report(
    outcome: &BaselineOutcome,
    config: &BaselineConfig,
    folder: &Path,
    common: &Common,
) -> Result<()> {
    let BaselineOutcome { model, evaluation, ended, test_score, independent: [of_valid, of_test] } = outcome;
    let facts = &config.run;
    let (valid, train) = (evaluation.valid_score, evaluation.train_score);
    // Independent words are a model of the same thing only where every token is scored.
    let comparable = model.score_of().is_none();
    if common.json {
        let result = json!({
            "run": folder, "model": folder.join("model.safetensors"), "baseline": model.name(), "ended": ended.in_words(),
            "score": model.score(), "score_of": model.score_of(), "parameters": model.n_parameters(), "metrics": evaluation,
            "held_out_docs": facts.valid_docs, "test_docs": facts.test_docs, "test_score": test_score,
            "baseline_mean": of_valid.filter(|_| comparable).map(|independent| independent.mean),
            "test_baseline_mean": of_test.filter(|_| comparable).map(|independent| independent.mean),
        });
        return print(format_args!("{result}\n"));
    }
    let what = score_in_words(model.score(), model.score_of());
    let mut text = format!("{}: {} parameters\n", model.name(), grouped(model.n_parameters() as f64));
    if let Some(valid) = valid {
        text +=
            &format!("held out: {what} {valid:.4} nats a document, over {} documents\n", facts.valid_docs);
        text += &of_valid.filter(|_| comparable).map_or(String::new(), |of| of.describe(valid) + "\n");
    }
    if let Some(train) = train {
        text += &format!("training documents, each as the model was when it met it: {train:.4}\n");
    }
    if let Some(test) = *test_score {
        let n_test = facts.test_docs;
        text += &format!(
            "test: {what} {test:.4} nats a document, over {n_test} documents that training never saw\n"
        );
        text += &of_test.filter(|_| comparable).map_or(String::new(), |of| of.describe(test) + "\n");
    }
    text += &format!("{}; best after {:.0} epochs\n", ended.in_words(), evaluation.epoch);
    print(text + &format!("run folder: {}\n", folder.display()))
}
