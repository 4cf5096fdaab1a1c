//! Topics that explain too little begin anew, at tokens that occur together and that no topic explains.

use super::edges::{Levels, Wired};
use super::evidence::{Evidence, Unexplained};
use crate::network::{Graph, keep};
use crate::train::trainer::{MIN_NEW_LEAK, Trainer};
use rustc_hash::FxHashMap;

/// Seed tokens looked at for every dead topic.
const SEEDS_A_TOPIC: usize = 8;
/// Tokens of a new topic at most; pruning takes those that do not belong.
const MEMBERS: usize = 100;
/// Weights of a new topic: the seed's, the largest and the smallest of others.
const SEED_WEIGHT: f64 = 0.7;
const WEIGHTS: (f64, f64) = (0.01, 0.7);
/// Weight of edges between a new topic and other topics.
const TOPIC_WEIGHT: f64 = 0.05;
/// What remains of an excess that a new topic has taken up.
const TAKEN: f64 = 0.3;
/// Members for which that holds: those of at least this excess per occurrence of the seed.
const MEMBER_SHARE: f64 = 0.02;
/// Topics above a new one, and below it, that it is tied to at most.
const TIES: usize = 64;

/// Topics that are worth too little: half a log D (the Bayesian information criterion) for each edge of their fair part of the
/// budget. Only edges that the budget has room for count, or many edges of noise would pass for a topic.
pub(super) fn dead_topics(graph: &Graph, evidence: &Evidence, n_docs: usize, budget: usize) -> Vec<u32> {
    let least = 0.5 * (n_docs as f64).ln() * budget as f64 / graph.n_topics().max(1) as f64;
    let mut sorted = evidence.importance.clone();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let last = sorted.get(budget.saturating_sub(1)).copied().unwrap_or(0.0).max(0.0);
    let worth = |topic: usize| -> f64 {
        let edges = graph.child_edges(topic).iter().map(|&edge| evidence.importance[edge as usize]);
        edges.filter(|&importance| importance >= last).sum()
    };
    (0..graph.n_topics()).filter(|&topic| worth(topic) < least).map(|topic| topic as u32).collect()
}

/// How far two tokens occur together unexplained more often than by chance, for the rows of some seed tokens.
struct Excess {
    mass: Vec<f64>,
    n_docs: f64,
    rows: Vec<(u32, FxHashMap<u32, f64>)>,
    /// Of every row, the sum of squares.
    worth: Vec<f64>,
}

/// The sum of squares of a row; sorted, because a hash map's order must not decide the last bit.
fn worth(row: &FxHashMap<u32, f64>) -> f64 {
    let mut squares: Vec<f64> = row.values().map(|excess| excess * excess).collect();
    squares.sort_by(f64::total_cmp);
    squares.iter().sum()
}

impl Excess {
    fn count(occurrences: &Unexplained, n_tokens: usize, n_seeds: usize) -> Self {
        let mut mass = vec![0.0; n_tokens];
        let docs = || {
            occurrences.offsets.windows(2).zip(&occurrences.counts).map(|(ends, &count)| {
                let range = ends[0]..ends[1];
                (f64::from(count), &occurrences.tokens[range.clone()], &occurrences.shares[range])
            })
        };
        for (count, tokens, shares) in docs() {
            tokens
                .iter()
                .zip(shares)
                .for_each(|(&token, &share)| mass[token as usize] += count * f64::from(share));
        }
        let mut seeds: Vec<u32> = (0..n_tokens as u32).filter(|&token| mass[token as usize] > 0.0).collect();
        seeds.sort_by(|&a, &b| mass[b as usize].total_cmp(&mass[a as usize]).then(a.cmp(&b)));
        seeds.truncate(n_seeds);
        let row_of: FxHashMap<u32, usize> =
            seeds.iter().enumerate().map(|(row, &token)| (token, row)).collect();
        let mut rows: Vec<(u32, FxHashMap<u32, f64>)> =
            seeds.iter().map(|&token| (token, FxHashMap::default())).collect();
        let mut n_docs = 0.0;
        for (count, tokens, shares) in docs() {
            n_docs += count;
            for (token, &share) in tokens.iter().zip(shares) {
                let Some(&row) = row_of.get(token) else { continue };
                for (&other, &other_share) in tokens.iter().zip(shares).filter(|(other, _)| *other != token) {
                    *rows[row].1.entry(other).or_default() +=
                        count * f64::from(share) * f64::from(other_share);
                }
            }
        }
        for (token, row) in &mut rows {
            row.iter_mut()
                .for_each(|(&other, sum)| *sum -= mass[*token as usize] * mass[other as usize] / n_docs);
            row.retain(|_, sum| *sum > 0.0);
        }
        let worth = rows.iter().map(|(_, row)| worth(row)).collect();
        Self { mass, n_docs, rows, worth }
    }

    /// The row with the largest sum of squares, its members by their excess.
    fn richest(&self) -> Option<(u32, Vec<(u32, f64)>)> {
        let richer = |&a: &usize, &b: &usize| {
            self.worth[a].total_cmp(&self.worth[b]).then(self.rows[b].0.cmp(&self.rows[a].0))
        };
        let (seed, row) = &self.rows[(0..self.rows.len()).max_by(richer)?];
        let mut members: Vec<(u32, f64)> =
            row.iter().map(|(&token, excess)| (token, excess / self.mass[*seed as usize])).collect();
        members.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        members.truncate(MEMBERS);
        (!members.is_empty()).then_some((*seed, members))
    }

    /// A new topic has taken these tokens: the next one should look elsewhere.
    fn take(&mut self, seed: u32, members: &[(u32, f64)]) {
        let mut taken: Vec<u32> = members.iter().filter(|m| m.1 >= MEMBER_SHARE).map(|m| m.0).collect();
        taken.push(seed);
        for ((token, row), row_worth) in self.rows.iter_mut().zip(&mut self.worth) {
            if taken.contains(token) {
                for token in &taken {
                    row.entry(*token).and_modify(|excess| *excess *= TAKEN);
                }
                *row_worth = worth(row);
            }
        }
    }
}

/// The network with the dead topics' edges replaced.
pub(super) fn reseed(trainer: &Trainer<'_>, levels: &Levels, evidence: &Evidence, dead: &[u32]) -> Wired {
    let graph = &trainer.state.graph;
    let is_dead = |node: u32| dead.binary_search(&node).is_ok();
    let mut wired = Wired::of(trainer);
    let kept: Vec<bool> =
        wired.edges.iter().map(|&(parent, child)| !is_dead(parent) && !is_dead(child)).collect();
    keep(&mut wired.edges, &kept);
    keep(&mut wired.weights.edge, &kept);
    let mut excess = Excess::count(&evidence.unexplained, graph.n_tokens(), SEEDS_A_TOPIC * dead.len());
    let alive: Vec<u32> = (0..graph.n_topics() as u32).filter(|&topic| !is_dead(topic)).collect();
    let first_token = graph.n_topics() as u32;
    for &topic in dead {
        let Some((seed, members)) = excess.richest() else { break };
        let mut add = |parent: u32, child: u32, weight: f64| {
            wired.edges.push((parent, child));
            wired.weights.edge.push(weight);
        };
        add(topic, first_token + seed, SEED_WEIGHT);
        for &(token, share) in &members {
            add(topic, first_token + token, (2.0 * share).clamp(WEIGHTS.0, WEIGHTS.1));
        }
        alive
            .iter()
            .filter(|&&above| levels.allow(above, topic))
            .take(TIES)
            .for_each(|&above| add(above, topic, TOPIC_WEIGHT));
        alive
            .iter()
            .filter(|&&below| levels.allow(topic, below))
            .take(TIES)
            .for_each(|&below| add(topic, below, TOPIC_WEIGHT));
        wired.weights.leak[topic as usize] =
            (0.5 * excess.mass[seed as usize] / excess.n_docs).max(MIN_NEW_LEAK);
        excess.take(seed, &members);
    }
    wired
}
