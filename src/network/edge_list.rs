//! Models and graphs as a list of edges: `parent<TAB>child[<TAB>weight]`, by name.
//!
//! A name that never is a parent is a token. A line with an empty parent gives a leak. Lines that start
//! with `#` are comments. Nodes are numbered in the order in which they first appear.

use super::file::{ANY_WEIGHT, Parts, Places};
use super::{Names, Network};
use crate::error::Result;
use crate::faults::{Faults, shown};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Write as _;

struct Line<'a> {
    number: u64,
    parent: &'a str,
    child: &'a str,
    weight: Option<f64>,
}

/// A line; none where it is not even known which nodes it is about.
fn parse_line<'a>(number: u64, line: &'a str, faults: &mut Faults) -> Result<Option<Line<'a>>> {
    let mut fault = |message: String| faults.add(Some(number), message);
    let mut fields = line.split('\t');
    let (parent, child) = match (fields.next(), fields.next()) {
        (Some(parent), Some(child)) if !child.is_empty() => (parent, child),
        _ => {
            fault(format!("'{}' is not parent<TAB>child[<TAB>weight]", shown(line)))?;
            return Ok(None);
        }
    };
    let mut weight = None;
    if let Some(text) = fields.next() {
        weight = text.trim().parse::<f64>().ok().filter(|&weight| weight.is_finite() && weight > 0.0);
        if weight.is_none() {
            fault(format!("weight '{}' is not a finite number above zero", shown(text)))?;
            weight = Some(ANY_WEIGHT);
        }
    }
    if fields.next().is_some() {
        fault(format!("'{}' has more than three fields", shown(line)))?;
    }
    if parent.is_empty() && weight.is_none() {
        fault(format!("the leak of '{}' has no value", shown(child)))?;
        weight = Some(ANY_WEIGHT);
    }
    Ok(Some(Line { number, parent, child, weight }))
}

fn parse_lines<'a>(bytes: &'a [u8], faults: &mut Faults) -> Result<Vec<Line<'a>>> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut lines = Vec::new();
    for (at, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        let number = at as u64 + 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match std::str::from_utf8(line) {
            Err(_) => faults.add(Some(number), "not UTF-8 text; save the file as UTF-8")?,
            Ok(line) if line.is_empty() || line.starts_with('#') => (),
            Ok(line) => lines.extend(parse_line(number, line, faults)?),
        }
    }
    Ok(lines)
}

/// Parses an edge list.
pub(super) fn parse(bytes: &[u8], faults: &mut Faults) -> Result<Parts> {
    let lines = parse_lines(bytes, faults)?;
    let parents: FxHashSet<&str> =
        lines.iter().map(|line| line.parent).filter(|parent| !parent.is_empty()).collect();
    let mut names = Names::default();
    let mut number_of: FxHashMap<&str, u32> = FxHashMap::default();
    for name in lines.iter().flat_map(|line| [line.parent, line.child]).filter(|name| !name.is_empty()) {
        let list = if parents.contains(name) { &mut names.topics } else { &mut names.tokens };
        number_of.entry(name).or_insert_with(|| {
            list.push(name.to_owned());
            list.len() as u32 - 1
        });
    }
    let n_topics = names.topics.len() as u32;
    let node = |name: &str| number_of[name] + if parents.contains(name) { 0 } else { n_topics };

    // The line and the value of every leak.
    let mut leaks: Vec<Option<(u64, f64)>> = vec![None; names.topics.len() + names.tokens.len()];
    let (mut edges, mut edge_lines, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for line in &lines {
        let child = node(line.child);
        if !line.parent.is_empty() {
            edges.push((node(line.parent), child));
            edge_lines.push(line.number);
            weights.push(line.weight);
        } else if let Some((first, _)) = leaks[child as usize] {
            let message = format!("'{}' has a second leak; the first is in line {first}", shown(line.child));
            faults.add(Some(line.number), message)?;
        } else {
            leaks[child as usize] = line.weight.map(|weight| (line.number, weight));
        }
    }
    let any_weight = weights.iter().any(Option::is_some);
    if any_weight {
        for line in lines.iter().filter(|line| line.weight.is_none()) {
            faults.add(Some(line.number), "this edge has no weight but others have: give all or none")?;
        }
    }
    let any_leak = leaks.iter().any(Option::is_some);
    let missing = (0..leaks.len() as u32).filter(|&node| any_leak && leaks[node as usize].is_none());
    for node in missing {
        let name = shown(names.of(node));
        faults
            .add(None, format!("'{name}' has no leak but others have: add a line '<TAB>{name}<TAB>leak'"))?;
    }
    // What is missing was told above; the rest is still to be checked.
    let has_weights = any_weight || (edges.is_empty() && any_leak);
    Ok(Parts {
        edge_weights: has_weights
            .then(|| weights.iter().map(|weight| weight.unwrap_or(ANY_WEIGHT)).collect()),
        leak: any_leak.then(|| leaks.iter().map(|leak| leak.map_or(ANY_WEIGHT, |leak| leak.1)).collect()),
        names,
        edges,
        training: String::new(),
        checksum: None,
        malformed: Vec::new(),
        lines: Places {
            names: Vec::new(),
            leaks: leaks.iter().map(|leak| leak.map_or(0, |leak| leak.0)).collect(),
            edges: edge_lines,
        },
    })
}

/// The model as an edge list. Fails on names that the format cannot hold, and on topics without children,
/// which would read back as tokens.
pub(super) fn format(network: &Network) -> Result<Vec<u8>, String> {
    let Network { graph, weights, names, .. } = network;
    check(network)?;
    let mut text = String::new();
    for (name, leak) in names.topics.iter().chain(&names.tokens).zip(&weights.leak) {
        let _ = writeln!(text, "\t{name}\t{leak}");
    }
    for ((parent, child), weight) in graph.edges().zip(&weights.edge) {
        let _ = writeln!(text, "{}\t{}\t{weight}", names.of(parent), names.of(child));
    }
    Ok(text.into_bytes())
}

/// The graph without weights. Fails on tokens without parents, too, of which nothing would be left; the others keep their order.
pub(super) fn format_graph(network: &Network) -> Result<Vec<u8>, String> {
    let Network { graph, names, .. } = network;
    check(network)?;
    if let Some(token) = (graph.n_topics()..graph.n_nodes()).find(|&token| graph.parents(token).is_empty()) {
        let name = names.of(token as u32);
        return Err(format!(
            "token '{name}' has no parents and would be lost; use .json, or write the weights, too"
        ));
    }
    let mut text = String::new();
    for (parent, child) in graph.edges() {
        let _ = writeln!(text, "{}\t{}", names.of(parent), names.of(child));
    }
    Ok(text.into_bytes())
}

fn check(network: &Network) -> Result<(), String> {
    let Network { graph, names, .. } = network;
    let mut all_names = names.topics.iter().chain(&names.tokens);
    if let Some(name) =
        all_names.find(|name| name.is_empty() || name.starts_with('#') || name.contains(['\t', '\n', '\r']))
    {
        return Err(format!("name '{}' cannot stand in an edge list; use .json", name.escape_debug()));
    }
    match (0..graph.n_topics()).find(|&topic| graph.children(topic).is_empty()) {
        Some(topic) => Err(format!(
            "topic '{}' has no children and would read back as a token; use .json",
            names.topics[topic]
        )),
        None => Ok(()),
    }
}
