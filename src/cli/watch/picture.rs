//! A run as a picture: a chart of its bounds, and its figures below.

use super::run::Watched;
use crate::cli::common::tame;
use crate::cli::figures::{grouped, short_time};
use noisyor::report::{Series, chart};
use noisyor::train::Metrics;

/// The run in so many columns and rows; where there is not room for all, the chart is left out.
pub(super) fn draw(run: &Watched, columns: usize, rows: usize) -> String {
    let points = |of: fn(&Metrics) -> Option<f64>| -> Vec<(f64, f64)> {
        run.metrics().iter().filter_map(|metrics| Some((metrics.epoch, of(metrics)?))).collect()
    };
    let (valid, train) = (points(|metrics| metrics.valid_elbo), points(|metrics| metrics.train_elbo));
    // Where nothing is held out the line is that of the training documents.
    let (line, marks, legend) = match valid.is_empty() {
        false => (&valid, &train[..], "held out ⠤⠒, training ·"),
        true => (&train, &[][..], "training ⠤⠒"),
    };
    let mut above = vec![tame(&run.path.display().to_string()).replace(['\n', '\t'], " ")];
    if let Some(metrics) = run.metrics().last() {
        above.push(format!("{}, nats a document: {legend}", metrics.bound));
    }
    let (above, below) = (wrap(&above, columns), wrap(&figures(run), columns));
    let rows_left = rows.saturating_sub(above.len() + below.len());
    let drawn = chart(Series { line, marks }, columns, rows_left);
    [above, drawn, below].concat().join("\n")
}

/// Lines broken between words where they are longer than the columns there are.
fn wrap(lines: &[String], columns: usize) -> Vec<String> {
    let mut wrapped = Vec::new();
    for line in lines {
        let (mut row, mut n) = (String::new(), 0);
        for word in line.split_inclusive(' ') {
            let length = word.trim_end().chars().count();
            if n > 0 && n + length > columns {
                wrapped.push(std::mem::take(&mut row).trim_end().to_owned());
                n = 0;
            }
            // A word that is longer than a line is cut off.
            row.extend(word.chars().take(columns));
            n += word.chars().count();
        }
        wrapped.push(row.trim_end().to_owned());
    }
    wrapped
}

/// The last figures, the best ones, the pace, and whether it goes on.
fn figures(run: &Watched) -> Vec<String> {
    let standing = tame(&run.standing_line()).replace(['\n', '\t'], " ");
    let Some(last) = run.metrics().last() else {
        return vec!["no evaluation yet".into(), standing];
    };
    let epochs = run.n_epochs().map_or(String::new(), |epochs| format!(" of {epochs:.0}"));
    let mut now = format!("epoch {:.2}{epochs}, step {}", last.epoch, last.step);
    if let Some(train) = last.train_elbo {
        now += &format!("  train {train:.4}");
    }
    if let Some(valid) = last.valid_elbo {
        now += &format!("  held out {valid:.4}");
        let before = run.metrics().len().checked_sub(2).and_then(|at| run.metrics()[at].valid_elbo);
        now += &before.map_or(String::new(), |before| format!(" ({:+.4})", valid - before));
    }
    let mut lines = vec![now];
    if let Some((best, bound)) = run.best().and_then(|best| Some((best, best.valid_elbo?))) {
        lines.push(format!("best held out {bound:.4} at epoch {:.2}, step {}", best.epoch, best.step));
    }
    let (docs, edges) = (grouped(last.docs_per_s), grouped(last.edges_per_s));
    lines.push(match last.n_edges {
        // A baseline has no graph.
        0 => format!("{docs} documents/s"),
        n => format!("{docs} documents/s, {edges} edges/s; {} edges", grouped(n as f64)),
    });
    let left = run.left().map_or(String::new(), |left| format!(", {left}"));
    lines.push(format!("{standing}; trained for {}{left}", short_time(last.seconds)));
    lines
}
