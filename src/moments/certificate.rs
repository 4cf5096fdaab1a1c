//! What a schedule learns at which depth, what it leaves and why, and whether moments could identify that at all.

use super::rank::{UnknownTopic, Unknowns};
use super::schedule::{Kind, Schedule};
use super::structure::TwoLayers;
use crate::error::Result;
use crate::network::Graph;
use rustc_hash::FxHashMap;
use serde::Serialize;

/// Ranks are computed of remainders with at most so many unknown parameters.
pub const MAX_UNKNOWN: usize = 400;
/// The order of the moments that ranks are computed of: those that estimates use.
const ORDER: usize = 3;

/// What can be learned of a graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Certificate {
    /// All parameters come from triplets and pairs: then moments of third order identify them uniquely.
    pub complete: bool,
    /// Number of topics.
    pub topics: usize,
    /// Number of tokens.
    pub tokens: usize,
    /// Number of edges.
    pub edges: usize,
    /// What every round learns.
    pub rounds: Vec<Round>,
    /// Leaks that are learned, after all rounds.
    pub leaks: usize,
    /// What is left, in parts that have nothing in common.
    pub left: Vec<Remainder>,
}

/// What a round learns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Round {
    /// Its number, from 0: how many estimates lie below these.
    pub depth: usize,
    /// Priors of topics.
    pub priors: usize,
    /// Edges from triplets.
    pub by_triplet: usize,
    /// Edges from pairs.
    pub by_pair: usize,
    /// Edges to anchors.
    pub by_anchor: usize,
}

/// Parameters that are left and hang together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remainder {
    /// Topics of which something is left, and why.
    pub topics: Vec<LeftTopic>,
    /// Edges that are left.
    pub edges: usize,
    /// Leaks that are left.
    pub leaks: usize,
    /// Parameters that are left.
    pub unknowns: usize,
    /// The rank of moments of at most order 1, 2 and 3 in these, up to the order at which it is full; none of large remainders.
    pub ranks: Option<Vec<usize>>,
}

impl Remainder {
    /// The least order of moments that identify almost all values of what is left, at least locally.
    pub fn identified_at(&self) -> Option<usize> {
        let ranks = self.ranks.as_ref()?;
        ranks.iter().position(|&rank| rank == self.unknowns).map(|at| at + 1)
    }
}

/// A topic of which something is left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftTopic {
    /// Its number.
    pub topic: u32,
    /// Its edges that are left.
    pub edges: usize,
    /// Why.
    pub why: Why,
}

/// Why a topic is not learned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// It has no tokens.
    NoTokens,
    /// It has one or two tokens, and three are needed.
    FewTokens,
    /// Whichever three of its tokens are taken, two of them share one of these topics, which are not known either.
    Coupled {
        /// Topics with at least two tokens in common.
        by: Vec<u32>,
    },
}

impl Certificate {
    /// What a schedule says about its graph.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`](crate::Error::Usage) where topics have parents.
    pub fn of(graph: &Graph, schedule: &Schedule) -> Result<Self> {
        let net = TwoLayers::of(graph)?;
        let mut rounds: Vec<Round> =
            (0..schedule.n_rounds()).map(|depth| Round { depth, ..Round::default() }).collect();
        for round in schedule.prior_round.iter().flatten() {
            rounds[*round as usize].priors += 1;
        }
        for step in &schedule.steps {
            let round = &mut rounds[step.round as usize];
            match step.kind {
                Kind::Triplet => round.by_triplet += 1,
                Kind::Pair => round.by_pair += 1,
                Kind::Anchor => round.by_anchor += 1,
            }
        }
        let leaks = (0..graph.n_tokens()).filter(|&token| schedule.learns_leak(graph, token)).count();
        let left = remainders(net, schedule);
        Ok(Self {
            complete: left.is_empty() && rounds.iter().all(|round| round.by_anchor == 0),
            topics: graph.n_topics(),
            tokens: graph.n_tokens(),
            edges: graph.n_edges(),
            rounds,
            leaks,
            left,
        })
    }

    /// Parameters that are learned, and all.
    pub fn n_learned(&self) -> (usize, usize) {
        let all = self.topics + self.tokens + self.edges;
        (all - self.left.iter().map(|left| left.unknowns).sum::<usize>(), all)
    }
}

/// The unknown parameters of a graph, in parts that have no token in common.
fn remainders(net: TwoLayers<'_>, schedule: &Schedule) -> Vec<Remainder> {
    let is_left = |topic: u32| {
        schedule.prior_round[topic as usize].is_none()
            || net.children(topic).any(|(_, edge)| schedule.edge_round[edge].is_none())
    };
    let topics: Vec<u32> = (0..net.n_topics() as u32).filter(|&topic| is_left(topic)).collect();
    let place: FxHashMap<u32, usize> = topics.iter().enumerate().map(|(at, &topic)| (topic, at)).collect();
    let mut part: Vec<usize> = (0..topics.len()).collect();
    for token in 0..net.n_tokens() as u32 {
        if !schedule.learns_leak(net.graph, token as usize) {
            let mut of_token = net.parents(token).iter().filter_map(|topic| place.get(topic).copied());
            if let Some(first) = of_token.next() {
                of_token.for_each(|other| join(&mut part, first, other));
            }
        }
    }
    let mut parts: Vec<Vec<u32>> = vec![Vec::new(); topics.len()];
    (0..topics.len()).for_each(|at| parts[root(&part, at)].push(topics[at]));
    parts.retain(|part| !part.is_empty());
    parts.iter().map(|topics| remainder(net, schedule, topics)).collect()
}

fn root(part: &[usize], mut at: usize) -> usize {
    while part[at] != at {
        at = part[at];
    }
    at
}

/// The smaller number stands for both.
fn join(part: &mut [usize], a: usize, b: usize) {
    let (a, b) = (root(part, a), root(part, b));
    part[a.max(b)] = a.min(b);
}

fn remainder(net: TwoLayers<'_>, schedule: &Schedule, topics: &[u32]) -> Remainder {
    let mut place: FxHashMap<u32, usize> = FxHashMap::default();
    let mut unknowns = Unknowns::default();
    for &topic in topics {
        let edges = net.children(topic).map(|(token, edge)| {
            let at = *place.entry(token).or_insert_with(|| {
                unknowns.leaks.push(!schedule.learns_leak(net.graph, token as usize));
                unknowns.leaks.len() - 1
            });
            (at, schedule.edge_round[edge].is_none())
        });
        let edges = edges.collect();
        unknowns.topics.push(UnknownTopic { prior: schedule.prior_round[topic as usize].is_none(), edges });
    }
    let of_topic = |(&topic, unknown): (&u32, &UnknownTopic)| LeftTopic {
        topic,
        edges: unknown.n_edges(),
        why: why(net, schedule, topic, topics),
    };
    let n_unknown = unknowns.n_unknown();
    Remainder {
        topics: topics.iter().zip(&unknowns.topics).map(of_topic).collect(),
        edges: unknowns.topics.iter().map(UnknownTopic::n_edges).sum(),
        leaks: unknowns.leaks.iter().filter(|&&leak| leak).count(),
        unknowns: n_unknown,
        ranks: (n_unknown <= MAX_UNKNOWN).then(|| unknowns.ranks(ORDER)),
    }
}

fn why(net: TwoLayers<'_>, schedule: &Schedule, topic: u32, others: &[u32]) -> Why {
    match net.n_children(topic) {
        0 => Why::NoTokens,
        1 | 2 => Why::FewTokens,
        _ => {
            let shared = |other: u32| {
                let edges = net.children(topic).filter_map(|(token, _)| net.edge(other, token));
                edges.fold((0, false), |(n, unknown), edge| {
                    (n + 1, unknown || schedule.edge_round[edge].is_none())
                })
            };
            let by = others
                .iter()
                .copied()
                .filter(|&other| other != topic && matches!(shared(other), (2.., true)));
            Why::Coupled { by: by.collect() }
        }
    }
}
