//! Models and graphs as a list of edges: `parent<TAB>child[<TAB>weight]`, by name.
//!
//! A name that never is a parent is a token. A line with an empty parent gives a leak. Lines that start
//! with `#` are comments, and a first line may name the columns. Nodes are numbered in the order in which they first appear.

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

/// What the columns of parents and children are called in headers.
const PARENT_NAMES: [&str; 6] = ["parent", "source", "src", "from", "topic", "cause"];
const CHILD_NAMES: [&str; 8] = ["child", "target", "dst", "to", "token", "word", "node", "effect"];

/// Whether the fields of a line name the columns of an edge list: parent and child, source and target, and the like, and perhaps
/// a weight.
pub fn is_edge_header(fields: &[&str]) -> bool {
    let is_one =
        |field: &str, names: &[&str]| names.iter().any(|name| field.trim().eq_ignore_ascii_case(name));
    match fields {
        [parent, child] => is_one(parent, &PARENT_NAMES) && is_one(child, &CHILD_NAMES),
        [parent, child, weight] => is_edge_header(&[parent, child]) && weight.trim().parse::<f64>().is_err(),
        _ => false,
    }
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
            let hint = if number == 1 { "; if this line names the columns, begin it with #" } else { "" };
            fault(format!("weight '{}' is not a finite number above zero{hint}", shown(text)))?;
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
    let (mut lines, mut is_first) = (Vec::new(), true);
    for (at, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        let number = at as u64 + 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match std::str::from_utf8(line) {
            Err(_) => faults.add(Some(number), "not UTF-8 text; save the file as UTF-8")?,
            Ok(line) if line.is_empty() || line.starts_with('#') => (),
            Ok(line) if std::mem::take(&mut is_first) && is_header(line, bytes) => {
                faults
                    .notes
                    .push(format!("line {number} names the columns and is no edge: '{}'", shown(line)));
            }
            Ok(line) => lines.extend(parse_line(number, line, faults)?),
        }
    }
    Ok(lines)
}

/// Whether a line is a header; nodes of these names would be in other lines, too.
fn is_header(line: &str, bytes: &[u8]) -> bool {
    let fields: Vec<&str> = line.split('\t').collect();
    let others = || {
        bytes
            .split(|&byte| byte == b'\n')
            .filter(|other| other.trim_ascii_end() != line.trim_end().as_bytes())
    };
    let is_node = |name: &&str| {
        others().any(|other| {
            other.trim_ascii_end().split(|&byte| byte == b'\t').any(|field| field == name.as_bytes())
        })
    };
    is_edge_header(&fields) && !fields[..2].iter().any(is_node)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{check_bytes, load_bytes};

    const EDGES: &str = "sport\tball\t1\nsport\tgoal\t2\n\tsport\t1\n\tball\t1\n\tgoal\t1\n";

    #[test]
    fn a_header_is_no_edge() {
        let path = "graph.tsv".as_ref();
        let plain = load_bytes(path, EDGES.as_bytes()).unwrap();
        for header in
            ["parent\tchild\tweight\n", "# a comment\n\nSource\tTarget\tw\r\n", "\u{feff}topic\tword\n"]
        {
            let text = format!("{header}{EDGES}");
            let loaded = load_bytes(path, text.as_bytes()).unwrap();
            assert_eq!((&loaded.graph, &loaded.names), (&plain.graph, &plain.names), "{header}");
            assert!(loaded.notes[0].contains("names the columns and is no edge"), "{:?}", loaded.notes);
            assert_eq!(check_bytes(path, text.as_bytes()).unwrap().notes[0], loaded.notes[0]);
        }
        assert_eq!(plain.notes, [""; 0]);
    }

    #[test]
    fn nodes_may_be_called_like_columns() {
        for text in ["parent\tchild\nchild\tball\n", "parent\tchild\nparent\tball\n", "a\tb\nparent\tchild\n"]
        {
            let loaded = load_bytes("graph.tsv".as_ref(), text.as_bytes()).unwrap();
            assert_eq!((loaded.graph.n_edges(), loaded.notes.len()), (2, 0), "{text}");
        }
        assert!(!is_edge_header(&["parent", "child", "0.5"]) && !is_edge_header(&["parent"]));
        let unknown = load_bytes("graph.tsv".as_ref(), format!("eltern\tkind\tgewicht\n{EDGES}").as_bytes());
        assert!(unknown.unwrap_err().to_string().ends_with("begin it with #"));
    }
}
