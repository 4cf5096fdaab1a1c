//! The edges between two layers.
//!
//! Every layer is a clustering of the tokens of its own, coarser than the one below. A topic's parents are the topics above that
//! its tokens are in: affinity `sum over tokens i of c_i m_ik M_il / sqrt(sum over i of c_i M_il)`, with m and M the shares below
//! and above, and c what a token counts.

use super::layer::{Edge, Layer};
use super::members::{LEAST, Shares, Sums, best_shares};
use super::neighbours::Neighbours;
use super::options::Constraints;
use rayon::prelude::*;
use rustc_hash::FxHashSet;

/// The edges of the lowest layer: from its topics to tokens.
pub(super) fn to_tokens(
    near: &Neighbours,
    shares: &[Shares],
    own: &[Vec<u32>],
    n_topics: usize,
    most_parents: usize,
    constraints: &Constraints,
) -> Layer {
    let denied = denied(shares, own, constraints);
    let allowed = |token: usize, topic: u32| !denied.contains(&(token as u32, topic));
    let mut layer = layer(shares, own, n_topics, most_parents, allowed);
    pair_up(near, own, most_parents, constraints, &mut layer);
    layer
}

/// The edges from topics to the topics below; `cores` are the tokens that the topics above start from.
pub(super) fn to_topics(
    below: &[Shares],
    n_below: usize,
    above: &[Shares],
    cores: &[Vec<u32>],
    worth: &[f32],
    most_parents: usize,
) -> Layer {
    let n_topics = cores.len();
    let own = first_children(below, n_below, cores, most_parents);
    let mut tokens: Vec<Vec<(u32, f32)>> = vec![Vec::new(); n_below];
    let mut sizes = vec![0f32; n_topics];
    for (token, worth) in worth.iter().enumerate() {
        below[token]
            .iter()
            .for_each(|&(topic, share)| tokens[topic as usize].push((token as u32, worth * share)));
        above[token].iter().for_each(|&(topic, share)| sizes[topic as usize] += worth * share);
    }
    let scale: Vec<f32> = sizes.iter().map(|&size| 1.0 / size.max(f32::MIN_POSITIVE).sqrt()).collect();
    let shares: Vec<Shares> = (0..n_below)
        .into_par_iter()
        .map_init(
            || Sums::new(n_topics),
            |sums, item| {
                for &(token, amount) in &tokens[item] {
                    for &(topic, share) in &above[token as usize] {
                        sums.add(topic, amount * share * scale[topic as usize]);
                    }
                }
                best_shares(sums.take(), &own[item])
            },
        )
        .collect();
    layer(&shares, &own, n_topics, most_parents, |_, _| true)
}

/// A child for every topic: the topic below that has most of its core. By item, the topics above.
fn first_children(
    below: &[Shares],
    n_below: usize,
    cores: &[Vec<u32>],
    most_parents: usize,
) -> Vec<Vec<u32>> {
    let mut own: Vec<Vec<u32>> = vec![Vec::new(); n_below];
    for (topic, core) in cores.iter().enumerate() {
        let of_core = core.iter().flat_map(|&token| &below[token as usize]).map(|&(item, _)| item as usize);
        // There are no more topics than items, so one is always free.
        let free = of_core.chain(0..n_below).find(|&item| own[item].len() < most_parents);
        if let Some(item) = free {
            own[item].push(topic as u32);
        }
    }
    own
}

fn layer(
    shares: &[Shares],
    own: &[Vec<u32>],
    n_topics: usize,
    most_parents: usize,
    is_allowed: impl Fn(usize, u32) -> bool + Sync,
) -> Layer {
    let parents = (0..shares.len())
        .into_par_iter()
        .map(|item| edges(&shares[item], &own[item], most_parents, |topic| is_allowed(item, topic)))
        .collect();
    Layer { n_topics, parents, ..Layer::default() }
}

/// The best topics that an item may have; its own ones are fixed.
fn edges(shares: &[(u32, f32)], own: &[u32], most: usize, is_allowed: impl Fn(u32) -> bool) -> Vec<Edge> {
    let edge = |&(topic, share): &(u32, f32)| Edge::new(topic, share, own.contains(&topic));
    let allowed = shares.iter().filter(|&&(topic, _)| is_allowed(topic)).map(edge);
    // Fixed ones first: an item may be in as many anchors as it may have parents.
    let (mut edges, others): (Vec<Edge>, Vec<Edge>) = allowed.partition(|edge| edge.fixed);
    edges.extend(others.into_iter().take(most.saturating_sub(edges.len())));
    let sum: f32 = edges.iter().map(|edge| edge.share).sum();
    edges.iter_mut().for_each(|edge| edge.share /= sum.max(f32::MIN_POSITIVE));
    edges
}

/// Of tokens that must not share a topic the one with the largest share has it: which tokens are denied which topics.
fn denied(shares: &[Shares], own: &[Vec<u32>], constraints: &Constraints) -> FxHashSet<(u32, u32)> {
    let mut claims: Vec<(bool, f32, u32, u32)> = Vec::new();
    for &token in constraints.groups.keys() {
        let claim =
            |&(topic, share): &(u32, f32)| (own[token as usize].contains(&topic), share, token, topic);
        claims.extend(shares[token as usize].iter().map(claim));
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
fn pair_up(
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
            let share = parents.iter().map(|edge| edge.share).fold(1.0, f32::min) * LEAST;
            parents.push(Edge::new(topic, share, false));
            n_children[topic as usize] += 1;
        }
    }
}
