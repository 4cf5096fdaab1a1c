//! Models and graphs as a list of edges: `parent<TAB>child[<TAB>weight]`, by name.
//!
//! A name that never is a parent is a token. A line with an empty parent gives a leak. Lines that start
//! with `#` are comments. Nodes are numbered in the order in which they first appear.

use super::{Names, Network, file::Parts};
use rustc_hash::FxHashMap;
use std::fmt::Write as _;

struct Line<'a> {
    number: u64,
    parent: &'a str,
    child: &'a str,
    weight: Option<f64>,
}

fn parse_line(number: u64, line: &str) -> Result<Line<'_>, String> {
    let mut fields = line.split('\t');
    let (parent, child) = match (fields.next(), fields.next()) {
        (Some(parent), Some(child)) if !child.is_empty() => (parent, child),
        _ => return Err(format!("'{line}' is not parent<TAB>child[<TAB>weight]")),
    };
    let weight = match fields.next() {
        None => None,
        Some(text) => match text.trim().parse::<f64>() {
            Ok(weight) if weight.is_finite() && weight > 0.0 => Some(weight),
            _ => return Err(format!("weight '{text}' is not a finite number above zero")),
        },
    };
    if fields.next().is_some() {
        return Err(format!("'{line}' has more than three fields"));
    }
    if parent.is_empty() && weight.is_none() {
        return Err(format!("the leak of '{child}' has no value"));
    }
    Ok(Line { number, parent, child, weight })
}

/// Parses an edge list; the error is (line, message).
pub(super) fn parse(bytes: &[u8]) -> Result<Parts, (Option<u64>, String)> {
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let line = bytes[..e.valid_up_to()].iter().filter(|&&b| b == b'\n').count() as u64 + 1;
        (Some(line), "not UTF-8 text; save the file as UTF-8".to_owned())
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let number = at as u64 + 1;
        if !line.is_empty() && !line.starts_with('#') {
            lines.push(parse_line(number, line).map_err(|message| (Some(number), message))?);
        }
    }
    let parents: FxHashMap<&str, ()> =
        lines.iter().filter(|line| !line.parent.is_empty()).map(|line| (line.parent, ())).collect();
    let mut names = Names::default();
    let mut number_of: FxHashMap<&str, u32> = FxHashMap::default();
    for name in lines.iter().flat_map(|line| [line.parent, line.child]).filter(|name| !name.is_empty()) {
        let list = if parents.contains_key(name) { &mut names.topics } else { &mut names.tokens };
        number_of.entry(name).or_insert_with(|| {
            list.push(name.to_owned());
            list.len() as u32 - 1
        });
    }
    let n_topics = names.topics.len() as u32;
    let node = |name: &str| number_of[name] + if parents.contains_key(name) { 0 } else { n_topics };

    let mut leaks = vec![None; names.topics.len() + names.tokens.len()];
    let (mut edges, mut edge_lines, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for line in &lines {
        let child = node(line.child);
        if line.parent.is_empty() {
            if leaks[child as usize].is_some() {
                return Err((Some(line.number), format!("'{}' has a second leak", line.child)));
            }
            leaks[child as usize] = line.weight;
        } else {
            edges.push((node(line.parent), child));
            edge_lines.push(line.number);
            weights.extend(line.weight);
        }
    }
    if !weights.is_empty() && weights.len() < edges.len() {
        let line = lines.iter().find(|line| line.weight.is_none()).map(|line| line.number);
        return Err((line, "this edge has no weight but others have: give all or none".to_owned()));
    }
    let any_leak = leaks.iter().any(Option::is_some);
    if let Some(missing) = leaks.iter().position(Option::is_none).filter(|_| any_leak) {
        let name = names.of(missing as u32);
        return Err((
            None,
            format!("'{name}' has no leak but others have: add a line '<TAB>{name}<TAB>leak'"),
        ));
    }
    Ok(Parts {
        edge_weights: (weights.len() == edges.len() && (any_leak || !edges.is_empty())).then_some(weights),
        leak: any_leak.then(|| leaks.into_iter().flatten().collect()),
        names,
        edges,
        training: String::new(),
        checksum: None,
        edge_lines,
    })
}

/// The model as an edge list. Fails on names that the format cannot hold, and on topics without children,
/// which would read back as tokens.
pub(super) fn format(network: &Network) -> Result<Vec<u8>, String> {
    let Network { graph, weights, names, .. } = network;
    let all_names = || names.topics.iter().chain(&names.tokens);
    if let Some(name) =
        all_names().find(|name| name.is_empty() || name.starts_with('#') || name.contains(['\t', '\n', '\r']))
    {
        return Err(format!("name '{}' cannot stand in an edge list; use .json", name.escape_debug()));
    }
    if let Some(topic) = (0..graph.n_topics()).find(|&topic| graph.children(topic).is_empty()) {
        return Err(format!(
            "topic '{}' has no children and would read back as a token; use .json",
            names.topics[topic]
        ));
    }
    let mut text = String::new();
    for (name, leak) in all_names().zip(&weights.leak) {
        let _ = writeln!(text, "\t{name}\t{leak}");
    }
    for ((parent, child), weight) in graph.edges().zip(&weights.edge) {
        let _ = writeln!(text, "{}\t{}\t{weight}", names.of(parent), names.of(child));
    }
    Ok(text.into_bytes())
}
