//! What was run, in rows of a label and a value.

use crate::columns::grouped;
use crate::network::Network;
use crate::run::{NetworkSource, RunRecord};
use crate::train::{BatchSize, StepRule, TrainOptions};
use serde::Serialize;
use serde_json::Value;

/// Longer values are cut: a config is a file like any other, and can hold anything.
const MOST_CHARS: usize = 1000;

/// Groups of rows.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct About(Vec<Group>);

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Group {
    title: &'static str,
    rows: Vec<(&'static str, String)>,
}

impl About {
    /// Of a run, by its config and metrics.
    pub fn of_run(run: &RunRecord) -> Self {
        let facts = &run.config.run;
        let mut data = vec![("Corpus", cut(&run.config.corpus.name().to_string_lossy()))];
        data.push(("Documents", thousands(facts.docs)));
        let parts = [
            (facts.train_docs, "to train on"),
            (facts.valid_docs, "held out"),
            (facts.test_docs, "for the test"),
        ];
        let there = parts.iter().filter_map(|&(docs, what)| Some((docs.filter(|&docs| docs > 0)?, what)));
        let split: Vec<String> =
            there.map(|(docs, what)| format!("{} {what}", thousands(docs as u64))).collect();
        if !split.is_empty() {
            data.push(("Split", split.join(", ")));
        }
        let mut graph = network_rows(&run.network);
        graph.push(("Graph", graph_source(&run.config.network)));
        let mut machine = vec![("Backend", cut(&facts.backend)), ("Version", cut(&run.config.version))];
        if let Some(last) = run.metrics.last() {
            machine.push(("Time", duration(last.seconds)));
            machine.push((
                "Speed",
                format!("{} documents a second at the end", thousands(last.docs_per_s as u64)),
            ));
        }
        if !facts.arguments.is_empty() {
            machine.push(("Command", cut(&format!("noisyor {}", facts.arguments.join(" ")))));
        }
        Self(vec![
            Group { title: "Data", rows: data },
            Group { title: "Network", rows: graph },
            Group { title: "Training", rows: training_rows(run) },
            Group { title: "Machine", rows: machine },
        ])
    }

    /// Of a model alone, given by its file's name.
    pub fn of_model(file: &str, network: &Network) -> Self {
        let training: Value = serde_json::from_str(&network.training).unwrap_or_default();
        let mut rows = vec![("File", cut(file))];
        rows.extend(training["program"].as_str().map(|program| ("Trained by", cut(program))));
        rows.extend(training["docs"].as_u64().map(|docs| ("Documents", thousands(docs))));
        rows.extend(training["epoch"].as_f64().map(|epoch| ("Epochs", format!("{epoch:.2}"))));
        rows.extend(
            training["valid_elbo"].as_f64().map(|elbo| ("Held-out bound", format!("{elbo:.4} nats"))),
        );
        Self(vec![Group { title: "Model", rows }, Group { title: "Network", rows: network_rows(network) }])
    }
}

/// The smallest weight of an edge by what a model says of its training; else the usual one.
pub fn floor_of_model(network: &Network) -> f64 {
    let training: Value = serde_json::from_str(&network.training).unwrap_or_default();
    training["options"]["floor"].as_f64().unwrap_or(TrainOptions::default().floor)
}

fn network_rows(network: &Network) -> Vec<(&'static str, String)> {
    let graph = &network.graph;
    let layers = graph.levels()[..graph.n_topics()].iter().max().copied().unwrap_or(0);
    let count = |n: usize| thousands(n as u64);
    vec![
        ("Topics", format!("{} in {layers} layers", count(graph.n_topics()))),
        ("Tokens", count(graph.n_tokens())),
        ("Edges", count(graph.n_edges())),
    ]
}

fn graph_source(network: &NetworkSource) -> String {
    match network {
        NetworkSource::Learned(_) | NetworkSource::Chosen { .. } => {
            "learned from the training documents".into()
        }
        NetworkSource::Complete { .. } => "every edge between its layers".into(),
        NetworkSource::Model { path, .. } => cut(&format!("of the model {}", path.display())),
        NetworkSource::File(path) => cut(&path.to_string_lossy()),
        NetworkSource::Memory => "given in memory".into(),
    }
}

fn training_rows(run: &RunRecord) -> Vec<(&'static str, String)> {
    let options = &run.config.options;
    let step = match options.step {
        StepRule::Em { .. } if options.smooth => "EM, smoothed as the documents held out ask for".into(),
        StepRule::Em { lambda } => format!("EM, lambda {lambda}"),
        StepRule::Paper { rate, c, .. } => format!("paper, rate {rate}, c {c}"),
        StepRule::Adam { rate, .. } => format!("Adam, rate {rate}"),
        StepRule::Mcmc(mcmc) => format!("MCMC, {} sweeps after {}", mcmc.sweeps, mcmc.burn_in),
    };
    let batch = match options.batch {
        BatchSize::Auto => "chosen by the number of documents".into(),
        BatchSize::Docs(docs) => format!("{} documents", thousands(docs as u64)),
        BatchSize::Full => "all documents".into(),
    };
    let done = run.metrics.last().map_or("none".into(), |last| {
        format!("{:.2} of {} at most, {} steps", last.epoch, options.epochs, thousands(last.step))
    });
    let estep = &options.estep;
    let best = run.metrics.iter().filter_map(|m| m.valid_elbo).max_by(f64::total_cmp);
    let mut rows = vec![
        ("Weight step", step),
        ("Batch", batch),
        ("Epochs", done),
        ("E-step", format!("tolerance {}, at most {} alternations", estep.tolerance, estep.max_alternations)),
        ("Bound", estep.bound_label()),
    ];
    rows.extend(best.map(|elbo| ("Best held-out bound", format!("{elbo:.4} nats a document"))));
    rows.extend(options.refine.as_ref().map(|_| ("Refinement", "the graph was refined".into())));
    rows.extend(options.renew.as_ref().map(|_| ("Renewal", "topics of little worth began anew".into())));
    rows.push(("Seed", options.seed.to_string()));
    rows
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MOST_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A count with commas.
fn thousands(count: u64) -> String {
    grouped(count as f64)
}

fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 60.0 => format!("{s:.1} s"),
        s if s < 3600.0 => format!("{:.0} min {:02.0} s", (s / 60.0).floor(), s % 60.0),
        s => format!("{:.0} h {:02.0} min", (s / 3600.0).floor(), s % 3600.0 / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_times_for_people() {
        let counts = [0, 999, 1000, 1_268_551].map(thousands);
        assert_eq!(counts, ["0", "999", "1,000", "1,268,551"]);
        assert_eq!([0.25, 61.0, 7322.0].map(duration), ["0.2 s", "1 min 01 s", "2 h 02 min"]);
    }
}
