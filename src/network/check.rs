//! Every fault of a model or graph file, what is odd about it, and what it holds.

use super::file::{MAX_BYTES, format_of, read};
use super::summary::{Checksum, DEAD, Summary};
use super::{Graph, Loaded};
use crate::error::Result;
use crate::faults::{Check, Faults, shown};
use crate::files;
use std::path::Path;

/// Lists the faults of a model or graph. Where [`super::load`] stops at the first, this goes on.
///
/// An error only where there is nothing to look at: the file cannot be read, or its name has another ending.
///
/// # Errors
///
/// [`Error::Io`](crate::Error::Io) where it cannot be read, [`Error::Usage`](crate::Error::Usage) for another extension.
pub fn check(path: &Path) -> Result<Check<Summary>> {
    format_of(path)?;
    check_bytes(path, &files::read(path, MAX_BYTES)?)
}

/// Lists the faults of a model or graph that is already in memory; `path` gives the format and the name in faults.
///
/// # Errors
///
/// [`Error::Usage`](crate::Error::Usage) for another extension.
pub fn check_bytes(path: &Path, bytes: &[u8]) -> Result<Check<Summary>> {
    let mut faults = Faults::collecting(path);
    let (loaded, has_checksum) = read(path, bytes, &mut faults)?;
    let Faults { kept, count, mut notes, .. } = faults;
    match &loaded {
        Some(loaded) => notes.extend(oddities(loaded)),
        // What is missing may be missing by a fault.
        None => notes.clear(),
    }
    let checksum = if has_checksum { Checksum::Right } else { Checksum::None };
    let summary = loaded.map(|loaded| Summary::of(&loaded, checksum));
    Ok(Check { faults: kept, n_faults: count, notes, summary })
}

/// What a graph may hold but hardly should.
fn oddities(loaded: &Loaded) -> Vec<String> {
    let Loaded { graph, names, weights, .. } = loaded;
    let topics = || 0..graph.n_topics();
    let barren = wordless(graph);
    let childless = |&topic: &usize| graph.children(topic).is_empty();
    let mut notes = Vec::new();
    let mut note = |nodes: Vec<usize>, what: &str| {
        if !nodes.is_empty() {
            let first: Vec<String> =
                nodes.iter().take(3).map(|&node| format!("'{}'", shown(names.of(node as u32)))).collect();
            let more = if nodes.len() > 3 { ", ..." } else { "" };
            notes.push(format!("{} {what}: {}{more}", nodes.len(), first.join(", ")));
        }
    };
    note(topics().filter(childless).collect(), "topics without children");
    note(
        topics().filter(|topic| barren[*topic] && !childless(topic)).collect(),
        "topics with children but no tokens below",
    );
    note(
        (graph.n_topics()..graph.n_nodes()).filter(|&token| graph.parents(token).is_empty()).collect(),
        "tokens without parents, which no topic explains",
    );
    if let Some(weights) = weights {
        let dead = topics().filter(|&topic| weights.is_dead(graph, topic)).collect();
        note(dead, &format!("topics whose weights are all below {DEAD}, which explain nothing"));
    }
    notes
}

/// Which topics have no token below them.
fn wordless(graph: &Graph) -> Vec<bool> {
    let mut barren = vec![true; graph.n_topics()];
    for &topic in graph.topic_order().iter().rev() {
        let has_words = |&child: &u32| !graph.is_topic(child as usize) || !barren[child as usize];
        barren[topic as usize] = !graph.children(topic as usize).iter().any(has_words);
    }
    barren
}
