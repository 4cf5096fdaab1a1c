//! A comparison as text.

use super::documents::{Compared, Example};
use super::side::Figures;
use super::{Comparison, WORDS};
use crate::cli::figures::{grouped, short_time};
use noisyor::compare::{Bin, Matching, SAME};
use noisyor::network::{Network, top_words};
use serde_json::Value;

/// Characters of a value, name or list of words that are shown.
const VALUE: usize = 36;
const NAME: usize = 24;
const LIST: usize = 60;
/// Characters of the longest bar.
const BAR: usize = 30;

pub(super) fn of(comparison: &Comparison, top: usize) -> String {
    let Comparison { a, b, settings, notes, documents, topics } = comparison;
    let mut text = format!(
        "A: {}\nB: {}\n",
        one_line(&a.path().display().to_string()),
        one_line(&b.path().display().to_string())
    );
    notes.iter().for_each(|note| text += &format!("note: {note}\n"));
    if a.trial().is_some() && b.trial().is_some() {
        let shown = |value: &Option<Value>| match value {
            None => "-".to_owned(),
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
        };
        let mut rows = vec![["options that differ".into(), "A".into(), "B".into()]];
        rows.extend(
            settings.iter().map(|setting| [setting.key.clone(), shown(&setting.a), shown(&setting.b)]),
        );
        text += "\n";
        text += &if settings.is_empty() { "all options are the same\n".into() } else { table(&rows) };
    }
    text += "\n";
    text += &table(&figure_rows(&a.figures(), &b.figures()));
    if let Some(documents) = documents {
        text += "\n";
        text += &document_text(documents, top);
    }
    if let (Some(topics), Some(a), Some(b)) = (topics, a.network(), b.network()) {
        text += &topic_text(topics, a, b, top);
    }
    text
}

fn topic_text(topics: &Matching, a: &Network, b: &Network, top: usize) -> String {
    let (n_a, n_b, n_pairs) = (a.graph.n_topics(), b.graph.n_topics(), topics.pairs.len());
    let mut text =
        format!("\n{n_pairs} of {n_a} topics in A and {n_b} in B are the same (similarity {SAME} to 1)\n");
    for pair in topics.pairs.iter().take(top) {
        text +=
            &format!("  {:.3}  A {}\n         B {}\n", pair.similarity, topic(a, pair.a), topic(b, pair.b));
    }
    for (name, network, only) in [("A", a, &topics.only_a), ("B", b, &topics.only_b)] {
        if !only.is_empty() {
            text += &format!("only in {name}: {}\n", only.len());
            only.iter().take(top).for_each(|&at| text += &format!("  {}\n", topic(network, at)));
        }
    }
    text
}

/// A topic's name and words.
fn topic(network: &Network, topic: u32) -> String {
    let words = top_words(network, topic as usize, WORDS).join(", ");
    format!("{}: {}", cut(network.names.of(topic), NAME), cut(&words, LIST))
}

/// Figures of both, a row each; those that neither has are left out.
fn figure_rows(a: &Figures, b: &Figures) -> Vec<[String; 3]> {
    type Show = fn(&Figures) -> Option<String>;
    let rows: [(&str, Show); 14] = [
        ("bound", |side| side.bound.clone()),
        ("best held-out bound", |side| {
            side.best.as_ref().and_then(|m| m.valid_elbo).map(|e| format!("{e:.4}"))
        }),
        ("  after epochs", |side| side.best.as_ref().map(|m| format!("{:.2}", m.epoch))),
        ("last held-out bound", |side| {
            side.last.as_ref().and_then(|m| m.valid_elbo).map(|e| format!("{e:.4}"))
        }),
        ("last training bound", |side| {
            side.last.as_ref().and_then(|m| m.train_elbo).map(|e| format!("{e:.4}"))
        }),
        ("test bound", |side| side.test_elbo.map(|e| format!("{e:.4}"))),
        ("epochs", |side| side.last.as_ref().map(|m| format!("{:.2}", m.epoch))),
        ("ended", |side| side.ended.clone()),
        ("time", |side| side.seconds.map(short_time)),
        ("documents/s", |side| side.docs_per_s.map(grouped)),
        ("topics", |side| Some(grouped(side.topics as f64))),
        ("tokens", |side| Some(grouped(side.tokens as f64))),
        ("edges", |side| side.edges.map(|edges| grouped(edges as f64))),
        ("parameters", |side| Some(grouped(side.parameters as f64))),
    ];
    let mut text = vec![["figures".to_owned(), "A".into(), "B".into()]];
    for (name, show) in rows {
        let (of_a, of_b) = (show(a), show(b));
        if of_a.is_some() || of_b.is_some() {
            let or_none = |shown: Option<String>| shown.unwrap_or_else(|| "-".into());
            text.push([name.into(), or_none(of_a), or_none(of_b)]);
        }
    }
    text
}

fn document_text(documents: &Compared, top: usize) -> String {
    let Some(found) = &documents.differences else { return String::new() };
    let (n, share) = (found.docs, |part: usize| 100.0 * part as f64 / found.docs as f64);
    let mut text = format!(
        "{} {}, {}{}: A {:.4}, B {:.4} nats a document\n",
        grouped(n as f64),
        documents.what,
        documents.bound,
        if documents.has_baseline { "" } else { " bound" },
        found.mean_a,
        found.mean_b
    );
    let error = found.standard_error.map_or(String::new(), |error| format!(", standard error {error:.4}"));
    text += &format!(
        "A - B: {:+.4}{error}; A better on {:.1} % of the documents, B on {:.1} %\n",
        found.mean,
        share(found.a_better),
        share(found.b_better)
    );
    text += &histogram(&found.histogram);
    let [best_a, best_b] = documents.examples(top);
    for (name, list) in [("A", best_a), ("B", best_b)] {
        if !list.is_empty() {
            text += &format!("better under {name} by most: difference, A, B\n");
            list.iter().for_each(|example| text += &example_line(example));
        }
    }
    text
}

fn example_line(example: &Example) -> String {
    let Example { id, elbo_a, elbo_b, words } = example;
    let difference = elbo_a - elbo_b;
    let (id, words) = (cut(id, NAME), cut(&words.join(" "), LIST));
    format!("  {difference:+9.3} {elbo_a:9.3} {elbo_b:9.3}  {id}: {words}\n")
}

/// A bar for every bin, labelled by its range.
fn histogram(bins: &[Bin]) -> String {
    let most = bins.iter().map(|bin| bin.docs).max().unwrap_or(0).max(1);
    // As many decimals as tell the edges apart.
    let width = bins.iter().find_map(|bin| Some(bin.to? - bin.from?)).unwrap_or(1.0);
    let decimals = (-width.log10().floor()).clamp(0.0, 9.0) as usize;
    let number = |edge: f64| format!("{:+.decimals$}", if edge == 0.0 { 0.0 } else { edge });
    let label = |bin: &Bin| match (bin.from, bin.to) {
        (None, None) => "all".to_owned(),
        (None, Some(to)) => format!("below {}", number(to)),
        (Some(from), None) => format!("from {}", number(from)),
        (Some(from), Some(to)) => format!("{} to {}", number(from), number(to)),
    };
    let label_width = bins.iter().map(|bin| label(bin).len()).max().unwrap_or(0);
    let row = |bin: &Bin| {
        let length = (BAR * bin.docs).div_ceil(most);
        format!(
            "  {:>label_width$} {}{}{}\n",
            label(bin),
            "█".repeat(length),
            if length > 0 { " " } else { "" },
            bin.docs
        )
    };
    bins.iter().map(row).collect()
}

/// Columns side by side; values that are too long are cut.
fn table(rows: &[[String; 3]]) -> String {
    let cells: Vec<[String; 3]> = rows.iter().map(|row| [0, 1, 2].map(|at| cut(&row[at], VALUE))).collect();
    let width = |at: usize| cells.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let (first, second) = (width(0), width(1));
    let row =
        |[key, a, b]: &[String; 3]| format!("{key:<first$}  {a:<second$}  {b}").trim_end().to_owned() + "\n";
    cells.iter().map(row).collect()
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\t', '\r'], " ")
}

/// At most so many characters, on one line. Of paths and other long values the end tells more than the beginning.
fn cut(text: &str, most: usize) -> String {
    let text = one_line(text);
    let n = text.chars().count();
    if n <= most {
        return text;
    }
    if text.starts_with('/') {
        return "…".chars().chain(text.chars().skip(n + 1 - most)).collect();
    }
    text.chars().take(most - 1).chain("…".chars()).collect()
}
