//! The picture for Graphviz.

use super::Picture;
use crate::explain::{Explanation, probability_text};
use crate::markup::dot as quoted;
use crate::network::Network;
use std::fmt::Write as _;

/// One document's local model as a DOT graph: words on the lowest rank, edges as wide as their share.
pub fn dot(network: &Network, explanation: &Explanation) -> String {
    let picture = Picture::new(network, explanation);
    let mut text = String::from("digraph explanation {\n  rankdir=TB;\n  node [fontname=\"sans-serif\"];\n");
    let left_out = picture.left_out();
    if !left_out.is_empty() {
        let _ = writeln!(text, "  label={};", quoted(&left_out));
    }
    for (place, part) in picture.topics.iter().enumerate() {
        let style = if picture.is_on(place) {
            "shape=box, style=filled"
        } else {
            "shape=box, style=dashed, fontcolor=gray50"
        };
        let label = quoted(&format!("{}\n{}", picture.name(part.topic), probability_text(part.q)));
        let _ = writeln!(
            text,
            "  n{} [label={label}, {style}, q={}, log_odds={}];",
            part.topic, part.q, part.log_odds
        );
    }
    text.push_str("  { rank=sink;\n");
    for word in &picture.words {
        let (node, label) = (word.node, quoted(picture.name(word.node)));
        let _ = writeln!(text, "    n{node} [label={label}, shape=plaintext, cost={}];", word.cause.cost);
    }
    text.push_str("  }\n");
    for link in &picture.links {
        let _ = match link.share {
            Some(share) => writeln!(
                text,
                "  n{} -> n{} [share={share}, penwidth={:.2}];",
                link.parent,
                link.child,
                0.5 + 4.0 * share
            ),
            None => writeln!(text, "  n{} -> n{} [style=dotted, color=gray70];", link.parent, link.child),
        };
    }
    text + "}\n"
}
