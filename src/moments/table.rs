//! What was learned as a table, and in a few numbers.

use super::average::Estimate;
use super::estimate::Learned;
use super::schedule::Schedule;
use crate::error::Result;
use crate::files;
use crate::infer::tsv_field;
use crate::network::{Graph, Names};
use serde::Serialize;
use std::path::Path;

/// Parameters of one depth in a few numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Group {
    /// Number of parameters.
    pub learned: usize,
    /// The middle one of the standard errors; none where it is infinite.
    pub median_se: Option<f64>,
    /// Values that were out of range and clipped.
    pub clipped: usize,
    /// Values of which the documents say nothing.
    pub degenerate: usize,
}

impl Group {
    fn of<'a>(estimates: impl Iterator<Item = &'a Estimate>) -> Self {
        let mut errors = Vec::new();
        let (mut clipped, mut degenerate) = (0, 0);
        for estimate in estimates {
            errors.push(estimate.se);
            clipped += usize::from(estimate.is_clipped());
            degenerate += usize::from(estimate.degenerate);
        }
        errors.sort_unstable_by(f64::total_cmp);
        let median_se = errors.get(errors.len() / 2).copied().filter(|se| se.is_finite());
        Self { learned: errors.len(), median_se, clipped, degenerate }
    }
}

impl Learned {
    /// Failures of edges by depth, then priors, then leaks.
    pub fn groups(&self, schedule: &Schedule) -> (Vec<Group>, Group, Group) {
        let at = |depth: usize| {
            let edges = self.failure.iter().zip(&schedule.edge_round);
            edges
                .filter(move |(_, round)| **round == Some(depth as u32))
                .filter_map(|(edge, _)| edge.as_ref())
        };
        let edges = (0..schedule.n_rounds()).map(|depth| Group::of(at(depth))).collect();
        (edges, Group::of(self.prior.iter().flatten()), Group::of(self.leak_failure.iter().flatten()))
    }

    /// Writes a row for every parameter. Its value is P(topic on) of a prior, and else the probability that the edge or the leak fails
    /// to switch the token on; rows of what was not learned have no value.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](crate::Error::Io) where it cannot be written.
    pub fn write(&self, path: &Path, graph: &Graph, names: &Names, schedule: &Schedule) -> Result<()> {
        let mut text = String::from("kind\ttopic\ttoken\tvalue\tse\tdepth\tsets\tclipped\tdegenerate\n");
        let mut row = |kind: &str,
                       topic: &str,
                       token: &str,
                       estimate: Option<&Estimate>,
                       depth: Option<u32>| {
            let depth = depth.map_or(String::new(), |depth| depth.to_string());
            let values = estimate.map_or("\t\t\t\t\t".to_owned(), |e| {
                format!("{}\t{}\t{depth}\t{}\t{}\t{}", e.value, e.se, e.n_sets, e.is_clipped(), e.degenerate)
            });
            text += &format!("{kind}\t{}\t{}\t{values}\n", tsv_field(topic), tsv_field(token));
        };
        for (topic, estimate) in self.prior.iter().enumerate() {
            row("prior", &names.topics[topic], "", estimate.as_ref(), schedule.prior_round[topic]);
        }
        for (edge, (topic, token)) in graph.edges().enumerate() {
            let depth = schedule.edge_round[edge];
            row("edge", names.of(topic), names.of(token), self.failure[edge].as_ref(), depth);
        }
        for (token, estimate) in self.leak_failure.iter().enumerate() {
            row("leak", "", &names.tokens[token], estimate.as_ref(), None);
        }
        files::replace(path, text.as_bytes())
    }
}
