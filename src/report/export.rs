//! The topic graph for other programs: GraphML and Graphviz's DOT. All topics and all edges between them, and the strongest tokens of
//! each; nodes have names and leaks, edges weights w and the probability 1 - exp(-w) that they alone switch the child on.

use super::topics::{children, probability};
use crate::markup::{dot, xml};
use crate::network::Network;
use std::io::{Result, Write};

/// The graph as GraphML, `top` tokens a topic.
///
/// # Errors
///
/// What `out` fails with.
pub fn write_graphml(network: &Network, top: usize, out: &mut dyn Write) -> Result<()> {
    let exported = Exported::new(network, top);
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(out, r#"<graphml xmlns="http://graphml.graphdrawing.org/xmlns">"#)?;
    for (kind, name, of) in [
        ("string", "name", "node"),
        ("string", "kind", "node"),
        ("double", "leak", "node"),
        ("double", "weight", "edge"),
        ("double", "p", "edge"),
    ] {
        writeln!(out, r#"  <key id="{name}" for="{of}" attr.name="{name}" attr.type="{kind}"/>"#)?;
    }
    writeln!(out, r#"  <graph id="topics" edgedefault="directed">"#)?;
    for &node in &exported.nodes {
        let (name, leak) = (xml(network.names.of(node)), network.weights.leak[node as usize]);
        let kind = if network.graph.is_topic(node as usize) { "topic" } else { "token" };
        writeln!(
            out,
            r#"    <node id="n{node}"><data key="name">{name}</data><data key="kind">{kind}</data><data key="leak">{leak}</data></node>"#
        )?;
    }
    for &(parent, child, weight) in &exported.edges {
        let p = probability(weight);
        writeln!(
            out,
            r#"    <edge source="n{parent}" target="n{child}"><data key="weight">{weight}</data><data key="p">{p}</data></edge>"#
        )?;
    }
    writeln!(out, "  </graph>\n</graphml>")
}

/// The graph as DOT, `top` tokens a topic.
///
/// # Errors
///
/// What `out` fails with.
pub fn write_dot(network: &Network, top: usize, out: &mut dyn Write) -> Result<()> {
    let exported = Exported::new(network, top);
    writeln!(out, "digraph topics {{\n  rankdir=LR;\n  node [shape=box, style=rounded];")?;
    for &node in &exported.nodes {
        let (name, leak) = (dot(network.names.of(node)), network.weights.leak[node as usize]);
        let shape = if network.graph.is_topic(node as usize) { "" } else { ", shape=plaintext" };
        writeln!(out, "  n{node} [label={name}, leak={leak}{shape}];")?;
    }
    for &(parent, child, weight) in &exported.edges {
        let p = probability(weight);
        writeln!(out, "  n{parent} -> n{child} [w={weight}, p={p}, penwidth={:.2}];", 0.5 + 3.0 * p)?;
    }
    writeln!(out, "}}")
}

/// What is exported: topics, then tokens that are among the strongest of any, and edges by parent, strongest first.
struct Exported {
    nodes: Vec<u32>,
    edges: Vec<(u32, u32, f64)>,
}

impl Exported {
    fn new(network: &Network, top: usize) -> Self {
        let graph = &network.graph;
        let (mut edges, mut wanted) = (Vec::new(), vec![false; graph.n_nodes()]);
        wanted[..graph.n_topics()].fill(true);
        for topic in 0..graph.n_topics() {
            let (topics, tokens) = children(network, topic);
            for (weight, child, _) in topics.into_iter().chain(tokens.into_iter().take(top)) {
                wanted[child as usize] = true;
                edges.push((topic as u32, child, weight));
            }
        }
        Self { nodes: (0..graph.n_nodes() as u32).filter(|&node| wanted[node as usize]).collect(), edges }
    }
}
