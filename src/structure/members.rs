//! The topics of every item: those whose members are its neighbours.
//!
//! A topic starts as its core. In each round an item's affinity to a topic is what the topic's members have to say:
//! `sum over members j of s_ij m_jk / sqrt(sum over j of m_jk)`, `m_jk` being the share of topic k in item j, so that topics
//! grow along their members, and large ones have no advantage by their size alone.

use super::layer::{Edge, Layer};
use super::neighbours::Neighbours;
use super::options::Constraints;
use rayon::prelude::*;
use rustc_hash::FxHashSet;

/// Rounds after the first, in which only cores are members.
const ROUNDS: usize = 3;
/// Topics of an item that are kept between rounds: more than it may have, as some may be denied to it.
const CANDIDATES: usize = 16;
/// Affinities below this share of an item's best are dropped.
const LEAST: f32 = 0.25;
/// The affinity of a core to its own topic, against its best to others.
const OWN: f32 = 1.5;

/// An item's topics and affinities, best first.
type Affinities = Vec<(u32, f32)>;

/// The edges of a layer; `cores` are the items that each topic starts from.
pub(super) fn members(
    near: &Neighbours,
    cores: &[Vec<u32>],
    most_parents: usize,
    constraints: &Constraints,
) -> Layer {
    let mut own: Vec<Vec<u32>> = vec![Vec::new(); near.n_items()];
    for (topic, core) in cores.iter().enumerate() {
        core.iter().for_each(|&item| own[item as usize].push(topic as u32));
    }
    let mut shares: Vec<Affinities> =
        own.par_iter().map(|topics| normalise(topics.iter().map(|&topic| (topic, 1.0)).collect())).collect();
    for _ in 0..=ROUNDS {
        let mut sizes = vec![0f32; cores.len()];
        shares.iter().flatten().for_each(|&(topic, share)| sizes[topic as usize] += share);
        let scale: Vec<f32> = sizes.iter().map(|&size| 1.0 / size.max(f32::MIN_POSITIVE).sqrt()).collect();
        shares = (0..near.n_items())
            .into_par_iter()
            .map_init(
                || (vec![0f32; cores.len()], Vec::new()),
                |scratch, item| normalise(affinities(near, &shares, &scale, &own[item], item, scratch)),
            )
            .collect();
    }
    let denied = denied(&shares, &own, constraints);
    let parents = shares
        .par_iter()
        .enumerate()
        .map(|(item, shares)| {
            edges(shares, &own[item], most_parents, |topic| denied.contains(&(item as u32, topic)))
        })
        .collect();
    let mut layer = Layer { n_topics: cores.len(), parents, ..Layer::default() };
    pair_up(near, cores, most_parents, constraints, &mut layer);
    layer
}

/// What the members of each topic have to say of an item.
fn affinities(
    near: &Neighbours,
    shares: &[Affinities],
    scale: &[f32],
    own: &[u32],
    item: usize,
    (sums, touched): &mut (Vec<f32>, Vec<u32>),
) -> Affinities {
    for &(other, similarity) in near.of(item) {
        for &(topic, share) in &shares[other as usize] {
            let sum = &mut sums[topic as usize];
            if *sum == 0.0 {
                touched.push(topic);
            }
            *sum += similarity * share * scale[topic as usize];
        }
    }
    let mut list: Affinities =
        touched.drain(..).map(|topic| (topic, std::mem::take(&mut sums[topic as usize]))).collect();
    let best = list.iter().map(|&(_, affinity)| affinity).fold(0.0, f32::max);
    list.retain(|&(topic, affinity)| affinity >= LEAST * best && !own.contains(&topic));
    // Its own topic comes first, whatever the members say.
    list.extend(own.iter().map(|&topic| (topic, if best > 0.0 { OWN * best } else { 1.0 })));
    list.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    list.truncate(CANDIDATES.max(own.len()));
    list
}

fn normalise(mut list: Affinities) -> Affinities {
    let sum: f32 = list.iter().map(|&(_, affinity)| affinity).sum();
    list.iter_mut().for_each(|(_, affinity)| *affinity /= sum.max(f32::MIN_POSITIVE));
    list
}

/// Of tokens that must not share a topic the one with the largest share has it: which tokens are denied which topics.
fn denied(shares: &[Affinities], own: &[Vec<u32>], constraints: &Constraints) -> FxHashSet<(u32, u32)> {
    let mut claims: Vec<(bool, f32, u32, u32)> = constraints
        .groups
        .keys()
        .flat_map(|&item| shares[item as usize].iter().map(move |&(topic, share)| (topic, share, item)))
        .map(|(topic, share, item)| (own[item as usize].contains(&topic), share, item, topic))
        .collect();
    claims.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)).then((a.2, a.3).cmp(&(b.2, b.3))));
    let mut holders: FxHashSet<(u32, u32)> = FxHashSet::default();
    let mut denied = FxHashSet::default();
    for (_, _, item, topic) in claims {
        let groups = &constraints.groups[&item];
        if groups.iter().any(|&group| holders.contains(&(group, topic))) {
            denied.insert((item, topic));
        } else {
            holders.extend(groups.iter().map(|&group| (group, topic)));
        }
    }
    denied
}

/// The best topics that an item may have; those it is the core of are fixed.
fn edges(shares: &[(u32, f32)], own: &[u32], most: usize, is_denied: impl Fn(u32) -> bool) -> Vec<Edge> {
    let edge = |&(topic, share): &(u32, f32)| Edge::new(topic, share, own.contains(&topic));
    let allowed = shares.iter().filter(|&&(topic, _)| !is_denied(topic)).map(edge);
    // Fixed ones first: an item may be in as many anchors as it may have parents.
    let (mut edges, others): (Vec<Edge>, Vec<Edge>) = allowed.partition(|edge| edge.fixed);
    edges.extend(others.into_iter().take(most.saturating_sub(edges.len())));
    let sum: f32 = edges.iter().map(|edge| edge.share).sum();
    edges.iter_mut().for_each(|edge| edge.share /= sum.max(f32::MIN_POSITIVE));
    edges
}

/// A topic with a single child gets the nearest neighbour of that child which may still have a parent more.
fn pair_up(
    near: &Neighbours,
    cores: &[Vec<u32>],
    most_parents: usize,
    constraints: &Constraints,
    layer: &mut Layer,
) {
    let mut n_children = vec![0u32; layer.n_topics];
    layer.edges().for_each(|(_, edge)| n_children[edge.topic as usize] += 1);
    let groups = |item: u32| constraints.groups.get(&item).map_or(&[][..], Vec::as_slice);
    for (topic, core) in cores.iter().enumerate() {
        let &[core] = &core[..] else { continue };
        if n_children[topic] > 1 {
            continue;
        }
        let may = |&&(other, _): &&(u32, f32)| {
            layer.parents[other as usize].len() < most_parents
                && !groups(other).iter().any(|group| groups(core).contains(group))
        };
        let nearest =
            near.of(core as usize).iter().filter(may).max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
        if let Some(&(other, _)) = nearest {
            let parents = &mut layer.parents[other as usize];
            let share = parents.iter().map(|edge| edge.share).fold(1.0, f32::min) * LEAST;
            parents.push(Edge::new(topic as u32, share, false));
        }
    }
}
