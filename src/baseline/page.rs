//! The run of a baseline as one self-contained page: figures, curves, and the tokens of its features.

use super::{BaselineRecord, Model};
use crate::columns::grouped;
use crate::markup::{PAGE_END, page_begin, xml};
use crate::train::Metrics;
use std::fmt::Write as _;

/// Features that are listed, and tokens of each.
const MOST_FEATURES: usize = 200;
const TOKENS: usize = 12;
/// The plot, in pixels.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 240.0;

/// The page.
pub fn baseline_page(run: &BaselineRecord, title: &str) -> String {
    let (model, config) = (run.trained.model.as_ref(), &run.config);
    let mut text = page_begin(
        title,
        "A baseline: another model of the same documents, to compare a network with. Scores are means over documents, in nats.",
    );
    text += "<section><h2>Figures</h2>\n<table>\n";
    let mut row = |name: &str, value: String| {
        let _ = writeln!(text, "<tr><th>{name}</th><td><bdi>{}</bdi></td></tr>", xml(&value));
    };
    let best = run.metrics.iter().filter(|metrics| metrics.valid_elbo.is_some());
    let best = best.reduce(|best, next| if next.valid_elbo > best.valid_elbo { next } else { best });
    let facts = &config.run;
    row("Model", model.name().to_owned());
    row("Parameters", grouped(model.n_parameters() as f64));
    row(
        "Score",
        model.score_of().map_or(model.score().to_string(), |of| format!("{} of {of}", model.score())),
    );
    if let Some((best, valid)) = best.and_then(|best| Some((best, best.valid_elbo?))) {
        row("Held out", format!("{valid:.4}, after {:.0} epochs", best.epoch));
        row("Training documents", best.train_elbo.map_or("-".into(), |train| format!("{train:.4}")));
    }
    row("Test", facts.test_score.map_or("-".into(), |test| format!("{test:.4}")));
    row("Corpus", config.corpus.name().to_string_lossy().into_owned());
    let (train, valid, test) = (facts.train_docs, facts.valid_docs, facts.test_docs);
    row("Documents", format!("{train} to train on, {valid} held out, {test} for the test"));
    row("Tokens", grouped(facts.tokens as f64));
    row("Seed", config.seed.to_string());
    row("Ended", facts.ended.clone().unwrap_or_else(|| "not yet".into()));
    row("Command", format!("noisyor {}", facts.arguments.join(" ")));
    text += "</table></section>\n";
    text += &plot(&run.metrics);
    text += &features(model, &run.trained.names.tokens);
    text + PAGE_END
}

/// Training and held-out scores against epochs.
fn plot(metrics: &[Metrics]) -> String {
    let series = |score: fn(&Metrics) -> Option<f64>| -> Vec<(f64, f64)> {
        metrics.iter().filter_map(|metrics| Some((metrics.epoch, score(metrics)?))).collect()
    };
    let (train, valid) = (series(|metrics| metrics.train_elbo), series(|metrics| metrics.valid_elbo));
    let last = metrics.last().map_or(0.0, |metrics| metrics.epoch);
    // The first passes are far below all others.
    let late =
        || train.iter().chain(&valid).filter(|(epoch, _)| *epoch >= last / 4.0).map(|(_, score)| *score);
    let (low, high) = (late().fold(f64::INFINITY, f64::min), late().fold(f64::NEG_INFINITY, f64::max));
    if !(high > low && last > 1.0) {
        return String::new();
    }
    let point = |&(epoch, score): &(f64, f64)| {
        let (x, y) = (WIDTH * (epoch - 1.0) / (last - 1.0), HEIGHT * (high - score) / (high - low));
        format!("{x:.1},{y:.1}")
    };
    let line = |points: &[(f64, f64)], class: &str| {
        let inside: Vec<String> = points.iter().filter(|(_, score)| *score >= low).map(point).collect();
        format!("<polyline class=\"{class}\" points=\"{}\"/>", inside.join(" "))
    };
    format!(
        "<section><h2>Training</h2>\n<p class=\"quiet\">Scores against epochs, from {low:.3} to {high:.3}: held out (thick), training \
         documents (thin).</p>\n<svg role=\"img\" aria-label=\"Scores against epochs\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         viewBox=\"-2 -2 {} {}\">{}{}</svg></section>\n",
        WIDTH + 4.0,
        HEIGHT + 4.0,
        line(&train, "thin"),
        line(&valid, "thick")
    )
}

/// The tokens that tell each feature, where a model has such.
fn features(model: &dyn Model, tokens: &[String]) -> String {
    let names = model.feature_names();
    let told = |feature: usize| {
        let top = model.top_tokens(feature, TOKENS);
        let words = top.iter().filter_map(|&(token, value)| Some((tokens.get(token as usize)?, value)));
        words.map(|(name, value)| format!("{} {value:.2}", xml(name))).collect::<Vec<String>>().join(", ")
    };
    let rows: String =
        names.iter().take(MOST_FEATURES).enumerate().fold(String::new(), |mut rows, (at, name)| {
            let told = told(at);
            if !told.is_empty() {
                let _ = writeln!(rows, "<tr><th>{}</th><td><bdi>{told}</bdi></td></tr>", xml(name));
            }
            rows
        });
    if rows.is_empty() {
        return String::new();
    }
    let cut = match names.len() {
        n if n > MOST_FEATURES => format!(", the first {MOST_FEATURES} of {n}"),
        _ => String::new(),
    };
    format!(
        "<section><h2>Features</h2>\n<p class=\"quiet\">The tokens that tell each feature from the others, and their \
         probabilities{cut}.</p>\n<table>\n{rows}</table></section>\n"
    )
}
