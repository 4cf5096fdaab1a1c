//! A topic that has the words of two topics or more at once stands for what they have in common: it becomes their parent.
//!
//! Clusterings know no such thing as a cause of topics. Where two topics often come on together, a third takes the words of both. When it is gone,
//! both come on in its documents: so it is known. Its edges to words that they have as well give way to edges to them.

use super::worth::Worth;
use crate::network::{Graph, Weights};
use crate::train::refine::Wired;

/// A topic is another's part if it comes on in this share of its documents when it is gone.
const PART: f64 = 0.5;
/// No topic is certain to switch on another.
const MOST: f64 = 0.95;
/// A word is explained by the parts if one of them has it at this share of the topic's weight.
const EXPLAINED: f64 = 0.2;

/// Weaker edges to words do not come along.
const LEAST: f64 = 0.05;

/// Topics to become parents of others, with these and their shares.
pub(super) fn find(graph: &Graph, worth: &[Worth]) -> Vec<(u32, Vec<(u32, f64)>)> {
    let mut lifts: Vec<(u32, Vec<(u32, f64)>)> = Vec::new();
    let (mut used, levels) = (vec![false; graph.n_topics()], graph.levels());
    for Worth { topic, heirs, .. } in worth {
        // Parts are of the same level or a lower one, so none is above the topic, and no cycle can come of it.
        let is_part =
            |&&(heir, share): &&(u32, f64)| share >= PART && levels[heir as usize] <= levels[*topic as usize];
        let parts: Vec<(u32, f64)> = heirs.iter().filter(is_part).copied().collect();
        let has_topics = graph.children(*topic as usize).iter().any(|&child| graph.is_topic(child as usize));
        // A topic is on one side of one exchange at a time.
        let is_free = !used[*topic as usize] && parts.iter().all(|&(part, _)| !used[part as usize]);
        if parts.len() >= 2 && !has_topics && is_free {
            used[*topic as usize] = true;
            parts.iter().for_each(|&(part, _)| used[part as usize] = true);
            lifts.push((*topic, parts));
        }
    }
    lifts
}

/// The network with these topics above their parts.
pub(super) fn lift(
    mut wired: Wired,
    graph: &Graph,
    weights: &Weights,
    lifts: &[(u32, Vec<(u32, f64)>)],
) -> Wired {
    let weight = |parent: u32, child: u32| {
        let at = graph.parents(child as usize).iter().position(|&other| other == parent);
        at.map_or(0.0, |at| weights.edge[graph.edges_into(child as usize).start + at])
    };
    for (topic, parts) in lifts {
        wired.retain(|(parent, child), w| {
            let by_parts = parts.iter().map(|&(part, _)| weight(part, child)).fold(0.0, f64::max);
            parent != *topic || (w >= LEAST && by_parts < EXPLAINED * w)
        });
        for &(part, share) in parts {
            wired.push((*topic, part), -(-share.min(MOST)).ln_1p());
        }
    }
    wired
}
