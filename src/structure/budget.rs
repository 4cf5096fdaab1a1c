//! Pruning edges to a budget.

use super::Links;

/// Leaves at most `most` edges: the weakest go first, a node's last parent only when nothing else is left, and the edge from a
/// topic to its core never, so that every topic keeps a child.
pub(super) fn prune(links: &mut [Links], most: usize) {
    let n_edges: usize = links.iter().map(|links| links.layer.n_edges()).sum();
    let Some(too_many) = n_edges.checked_sub(most).filter(|&more| more > 0) else { return };
    // Weakest first: last parents after all others, then by what they tell, then by place.
    let mut candidates: Vec<(bool, f32, usize, u32, u32)> = Vec::new();
    for (at, links) in links.iter().enumerate() {
        for (item, edges) in links.layer.parents.iter().enumerate() {
            // Where a fixed edge remains, none of the others is the last.
            let last = if edges.iter().any(|edge| edge.fixed) { None } else { edges.first() };
            for edge in edges.iter().filter(|edge| !edge.fixed) {
                let is_last = last.is_some_and(|last| last.topic == edge.topic);
                candidates.push((is_last, edge.score, at, item as u32, edge.topic));
            }
        }
    }
    candidates.sort_unstable_by(|a, b| {
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then((b.2, b.3, b.4).cmp(&(a.2, a.3, a.4)))
    });
    for &(_, _, at, item, topic) in candidates.iter().take(too_many) {
        links[at].layer.parents[item as usize].retain(|edge| edge.topic != topic);
    }
}
