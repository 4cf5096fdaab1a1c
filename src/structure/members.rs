//! The topics of every token: those whose members are its neighbours.
//!
//! A topic starts as its core. In each round a token's affinity to a topic is what the topic's members have to say:
//! `sum over members j of s_ij m_jk / sqrt(sum over j of m_jk)`, `m_jk` being the share of topic k in token j, so that topics
//! grow along their members, and large ones have no advantage by their size alone.

use super::neighbours::Neighbours;
use rayon::prelude::*;

/// Rounds after the first, in which only cores are members.
const ROUNDS: usize = 3;
/// Topics of an item that are kept.
const CANDIDATES: usize = 16;
/// Affinities below this share of an item's best are dropped.
const LEAST: f32 = 0.25;
/// The affinity of a core to its own topic, against its best to others.
const OWN: f32 = 1.5;

/// Topics of an item with their shares, best first.
pub(super) type Shares = Vec<(u32, f32)>;

/// The shares of topics in every token; `own` are the topics that it is a core of.
pub(super) fn members(near: &Neighbours, own: &[Vec<u32>], n_topics: usize) -> Vec<Shares> {
    let cores = |topics: &Vec<u32>| normalise(topics.iter().map(|&topic| (topic, 1.0)).collect());
    let mut shares: Vec<Shares> = own.par_iter().map(cores).collect();
    for _ in 0..=ROUNDS {
        let mut sizes = vec![0f32; n_topics];
        shares.iter().flatten().for_each(|&(topic, share)| sizes[topic as usize] += share);
        let scale: Vec<f32> = sizes.iter().map(|&size| 1.0 / size.max(f32::MIN_POSITIVE).sqrt()).collect();
        shares = (0..near.n_items())
            .into_par_iter()
            .map_init(
                || Sums::new(n_topics),
                |sums, token| {
                    for &(other, similarity) in near.of(token) {
                        for &(topic, share) in &shares[other as usize] {
                            sums.add(topic, similarity * share * scale[topic as usize]);
                        }
                    }
                    best_shares(sums.take(), &own[token])
                },
            )
            .collect();
    }
    shares
}

/// The best topics of an item by affinity, as shares; those that are its own come first, whatever the others say.
fn best_shares(mut affinities: Shares, own: &[u32]) -> Shares {
    let best = affinities.iter().map(|&(_, affinity)| affinity).fold(0.0, f32::max);
    affinities.retain(|&(topic, affinity)| affinity >= LEAST * best && !own.contains(&topic));
    let own_affinity = if best > 0.0 { OWN * best } else { 1.0 };
    affinities.extend(own.iter().map(|&topic| (topic, own_affinity)));
    affinities.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    affinities.truncate(CANDIDATES.max(own.len()));
    normalise(affinities)
}

fn normalise(mut shares: Shares) -> Shares {
    let sum: f32 = shares.iter().map(|&(_, affinity)| affinity).sum();
    shares.iter_mut().for_each(|(_, share)| *share /= sum.max(f32::MIN_POSITIVE));
    shares
}

/// A sparse sum over topics.
pub(super) struct Sums {
    sums: Vec<f32>,
    touched: Vec<u32>,
}

impl Sums {
    pub(super) fn new(n_topics: usize) -> Self {
        Self { sums: vec![0.0; n_topics], touched: Vec::new() }
    }

    pub(super) fn add(&mut self, topic: u32, amount: f32) {
        let sum = &mut self.sums[topic as usize];
        if *sum == 0.0 {
            self.touched.push(topic);
        }
        *sum += amount;
    }

    /// The sums, which start again from zero.
    pub(super) fn take(&mut self) -> Shares {
        let sums = &mut self.sums;
        // A topic may have come twice, the first time with nothing.
        let drained = self.touched.drain(..).map(|topic| (topic, std::mem::take(&mut sums[topic as usize])));
        drained.filter(|&(_, sum)| sum > 0.0).collect()
    }
}
