//! The edges between two layers, from what the topics' documents hold.
//!
//! Every layer is a clustering of the documents of its own, coarser than the one below. A node's parents are the topics in whose documents
//! it is most telling; a topic's core is always its child, so that no topic is without one.

use super::layer::{Edge, Layer};
use super::neighbours::Neighbours;
use super::occurrences::Occurrences;
use super::options::{Constraints, GraphOptions};
use super::settle::{Candidate, Settled};
use super::{Clusters, Links};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

/// Topics that a token is considered for: more than it may have, as some may be denied to it.
const CANDIDATES: usize = 32;
/// A document has one topic of a layer here, and more of them in truth: topics are so many times as frequent.
const TOPICS_A_DOC: f64 = 2.0;
/// The share of a topic's frequency that is its own, where it has parents.
const OWN_SHARE: f64 = 0.5;

/// The edges from every layer to the one below, and the frequencies of topics without their parents.
pub(super) fn links(
    layers: &[Clusters],
    near: &Neighbours,
    token_docs: &Occurrences,
    options: &GraphOptions,
    constraints: &Constraints,
) -> (Vec<Links>, Vec<Vec<f64>>) {
    let n_docs = token_docs.n_docs().max(1) as f64;
    let most = CANDIDATES.max(options.parents);
    let candidates = layers[0].settled.topics_of_tokens(token_docs, options.min_support, most);
    let mut lowest = layer(&candidates, &layers[0].own, &layers[0].settled, options.parents, constraints);
    pair_up(near, &layers[0].own, options.parents, constraints, &mut lowest);
    let mut links = vec![Links { from: 0, to: None, layer: lowest }];
    for (at, pair) in layers.windows(2).enumerate() {
        let (below, above) = (&pair[0].settled, &pair[1].settled);
        let candidates = above.topics_of_topics(below, most);
        let own = first_children(&candidates, above.n_topics, options.topic_parents());
        let layer = layer(&candidates, &own, above, options.topic_parents(), &Constraints::default());
        links.push(Links { from: at + 1, to: Some(at), layer });
    }
    let leaks = layers.iter().enumerate().map(|(at, Clusters { settled, .. })| {
        let above = links.get(at + 1).map(|links| &links.layer.parents);
        let share =
            |topic: usize| above.filter(|parents| !parents[topic].is_empty()).map_or(1.0, |_| OWN_SHARE);
        let n_docs_of = settled.n_docs.iter().enumerate();
        n_docs_of.map(|(topic, &n)| share(topic) * TOPICS_A_DOC * f64::from(n) / n_docs).collect()
    });
    let leaks = leaks.collect();
    (links, leaks)
}

/// The edges from the topics of a layer to items. `own` are, for every item, the topics it must be a child of.
pub(super) fn layer(
    candidates: &[Vec<Candidate>],
    own: &[Vec<u32>],
    settled: &Settled,
    most_parents: usize,
    constraints: &Constraints,
) -> Layer {
    let denied = denied(candidates, own, constraints);
    let parents = (0..candidates.len())
        .into_par_iter()
        .map(|item| {
            let allowed = |topic: u32| !denied.contains(&(item as u32, topic));
            edges(&candidates[item], &own[item], most_parents, allowed)
        })
        .collect();
    Layer { n_topics: settled.n_topics, parents }
}

/// The best topics that an item may have; its own ones are fixed.
fn edges(candidates: &[Candidate], own: &[u32], most: usize, is_allowed: impl Fn(u32) -> bool) -> Vec<Edge> {
    let known = |topic: u32| candidates.iter().find(|candidate| candidate.topic == topic);
    let fixed = own.iter().filter(|&&topic| is_allowed(topic)).map(|&topic| {
        let (p, score) = known(topic).map_or((0.0, 0.0), |candidate| (candidate.p, candidate.score));
        Edge { topic, p, score, fixed: true }
    });
    let mut edges: Vec<Edge> = fixed.collect();
    let others =
        candidates.iter().filter(|candidate| !own.contains(&candidate.topic) && is_allowed(candidate.topic));
    let free = most.saturating_sub(edges.len());
    edges.extend(others.take(free).map(|&Candidate { topic, p, score }| Edge {
        topic,
        p,
        score,
        fixed: false,
    }));
    edges
}

/// A child for every topic of an upper layer: the topic below that most of its documents have. By item, the topics above.
pub(super) fn first_children(
    candidates: &[Vec<Candidate>],
    n_topics: usize,
    most_parents: usize,
) -> Vec<Vec<u32>> {
    let mut best: Vec<Vec<(f32, u32)>> = vec![Vec::new(); n_topics];
    for (item, list) in candidates.iter().enumerate() {
        list.iter().for_each(|candidate| best[candidate.topic as usize].push((candidate.p, item as u32)));
    }
    let mut own: Vec<Vec<u32>> = vec![Vec::new(); candidates.len()];
    for (topic, mut list) in best.into_iter().enumerate() {
        list.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let known = list.into_iter().map(|(_, item)| item as usize);
        // There are no more topics than items, so one is always free.
        let free = known.chain(0..own.len()).find(|&item| own[item].len() < most_parents);
        if let Some(item) = free {
            own[item].push(topic as u32);
        }
    }
    own
}

/// Of tokens that must not share a topic the one that tells most has it: which tokens are denied which topics.
fn denied(
    candidates: &[Vec<Candidate>],
    own: &[Vec<u32>],
    constraints: &Constraints,
) -> FxHashSet<(u32, u32)> {
    let mut claims: Vec<(bool, f32, u32, u32)> = Vec::new();
    for &token in constraints.groups.keys() {
        claims.extend(own[token as usize].iter().map(|&topic| (true, 0.0, token, topic)));
        let others = candidates[token as usize].iter().filter(|c| !own[token as usize].contains(&c.topic));
        claims.extend(others.map(|candidate| (false, candidate.score, token, candidate.topic)));
    }
    claims.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)).then((a.2, a.3).cmp(&(b.2, b.3))));
    let mut holders: FxHashSet<(u32, u32)> = FxHashSet::default();
    let mut denied = FxHashSet::default();
    for (_, _, token, topic) in claims {
        let groups = &constraints.groups[&token];
        if groups.iter().any(|&group| holders.contains(&(group, topic))) {
            denied.insert((token, topic));
        } else {
            holders.extend(groups.iter().map(|&group| (group, topic)));
        }
    }
    denied
}

/// A topic with a single child gets the nearest neighbour of that child which may have a parent more, or which can do without
/// its weakest.
pub(super) fn pair_up(
    near: &Neighbours,
    own: &[Vec<u32>],
    most_parents: usize,
    constraints: &Constraints,
    layer: &mut Layer,
) {
    let mut n_children = vec![0u32; layer.n_topics];
    layer.edges().for_each(|(_, edge)| n_children[edge.topic as usize] += 1);
    let groups = |token: u32| constraints.groups.get(&token).map_or(&[][..], Vec::as_slice);
    for core in 0..own.len() {
        let lonely: Vec<u32> =
            own[core].iter().copied().filter(|&topic| n_children[topic as usize] == 1).collect();
        for topic in lonely {
            let may = |&&(other, _): &&(u32, f32)| {
                let parents = &layer.parents[other as usize];
                let spare = |edge: &Edge| !edge.fixed && n_children[edge.topic as usize] > 2;
                (parents.len() < most_parents || parents.last().is_some_and(spare))
                    && !groups(other).iter().any(|group| groups(core as u32).contains(group))
            };
            let nearer = |a: &&(u32, f32), b: &&(u32, f32)| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0));
            let Some(&(other, _)) = near.of(core).iter().filter(may).max_by(nearer) else { continue };
            let parents = &mut layer.parents[other as usize];
            let weakest = if parents.len() == most_parents { parents.pop() } else { None };
            if let Some(edge) = weakest {
                n_children[edge.topic as usize] -= 1;
            }
            parents.push(Edge { topic, p: 0.0, score: 0.0, fixed: false });
            n_children[topic as usize] += 1;
        }
    }
}
