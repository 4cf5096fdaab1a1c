//! Which parameter is learned from which moments, after which others: it depends on the graph alone.
//!
//! A set of tokens is *singly-coupled* by a topic if that is a parent of all of them, and no other topic is a parent of two. What is
//! known is divided out, so only topics count that are not known. In rounds, every edge that has a singly-coupled triplet is learned
//! from it, or else, where the topic's prior is known, from a singly-coupled pair with an edge that is known. What a round learns is
//! known from the next one on, so an edge's round is its *depth*: how many estimates lie one upon another.
//!
//! Where a round learns nothing, a topic with an *anchor* is looked for: a token of which it is the only unknown parent
//! (src/moments/anchor.rs).

use super::search;
use super::structure::TwoLayers;
use crate::error::Result;
use crate::monitor::Monitor;
use crate::network::Graph;
use rayon::prelude::*;

/// What a schedule may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScheduleOptions {
    /// Sets of tokens for one parameter, at most; their estimates are averaged.
    pub max_sets: usize,
    /// Which sets come first.
    pub order: Order,
    /// Learn from pairs, too. Without them schedules are deeper, and may reach less.
    pub pairs: bool,
    /// Go on by anchors where triplets and pairs are at an end.
    pub anchors: bool,
}

impl Default for ScheduleOptions {
    fn default() -> Self {
        Self { max_sets: 32, order: Order::Rare, pairs: true, anchors: true }
    }
}

/// The order in which sets are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// By token number.
    Number,
    /// Tokens with few parents first, which are less noisy, and each in few sets, which makes averages better.
    Rare,
}

/// How an edge is learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// From triplets: this edge's token and two more.
    Triplet,
    /// From pairs: this edge's token and one whose edge is known.
    Pair,
    /// As an anchor, from its triplets with other tokens of the topic.
    Anchor,
}

/// How one edge is learned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The round, which is the depth; counted from 0.
    pub round: u32,
    /// How.
    pub kind: Kind,
    /// The edge's topic.
    pub topic: u32,
    /// The edge's token, counted from 0.
    pub token: u32,
    /// The edge's number.
    pub edge: usize,
    /// The other tokens of every set; of a pair the first is meant.
    pub sets: Vec<[u32; 2]>,
}

impl Step {
    /// The tokens of a set, that of the edge first.
    pub fn tokens(&self, set: [u32; 2]) -> ([u32; 3], usize) {
        ([self.token, set[0], set[1]], if self.kind == Kind::Pair { 2 } else { 3 })
    }
}

/// Steps in rounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// By round, topic and token.
    pub steps: Vec<Step>,
    /// Edges that few sets give, once more by pairs when all is known; by topic and token. Whichever has the smaller error counts.
    pub revisions: Vec<Step>,
    /// The round in which each topic's prior is learned.
    pub prior_round: Vec<Option<u32>>,
    /// The round in which each edge is learned.
    pub edge_round: Vec<Option<u32>>,
}

/// What is known at the end of a round.
pub(super) struct Known {
    pub(super) prior: Vec<bool>,
    pub(super) edge: Vec<bool>,
}

impl Schedule {
    /// The schedule of a graph of two layers.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`](crate::Error::Usage) where topics have parents, [`Error::Interrupted`](crate::Error::Interrupted) where the
    /// monitor says stop.
    pub fn of(graph: &Graph, options: &ScheduleOptions, monitor: &Monitor) -> Result<Self> {
        let net = TwoLayers::of(graph)?;
        let mut schedule = Self {
            steps: Vec::new(),
            revisions: Vec::new(),
            prior_round: vec![None; net.n_topics()],
            edge_round: vec![None; graph.n_edges()],
        };
        let mut known = Known { prior: vec![false; net.n_topics()], edge: vec![false; graph.n_edges()] };
        for round in 0.. {
            monitor.go_on()?;
            let topics = (0..net.n_topics() as u32).into_par_iter();
            let of_topic = |topic| {
                monitor
                    .go_on()
                    .map(|()| search::steps(net, &known, topic, round, options))
                    .unwrap_or_default()
            };
            let mut found: Vec<Step> = topics.flat_map_iter(of_topic).collect();
            monitor.go_on()?;
            if found.is_empty() && options.anchors {
                found.extend(search::anchor(net, &known, round, options));
            }
            if found.is_empty() {
                break;
            }
            for step in &found {
                known.edge[step.edge] = true;
                schedule.edge_round[step.edge] = Some(round);
                // Pairs need the prior; the others give it.
                known.prior[step.topic as usize] = true;
                schedule.prior_round[step.topic as usize].get_or_insert(round);
            }
            schedule.steps.append(&mut found);
        }
        if options.order == Order::Rare && options.pairs {
            let revise = |step: &Step| search::revision(net, &known, step, options);
            schedule.revisions = schedule.steps.par_iter().filter_map(revise).collect();
            schedule.revisions.sort_by_key(|step| (step.topic, step.token));
        }
        Ok(schedule)
    }

    /// Number of rounds.
    pub fn n_rounds(&self) -> usize {
        self.steps.last().map_or(0, |step| step.round as usize + 1)
    }

    /// Whether a token's leak can be learned: when all edges to it are.
    pub fn learns_leak(&self, graph: &Graph, token: usize) -> bool {
        self.edge_round[graph.edges_into(graph.n_topics() + token)].iter().all(Option::is_some)
    }

    /// Parameters that are learned, and all.
    pub fn n_learned(&self, graph: &Graph) -> (usize, usize) {
        let leaks = (0..graph.n_tokens()).filter(|&token| self.learns_leak(graph, token)).count();
        let learned = leaks + self.edge_round.iter().chain(&self.prior_round).flatten().count();
        (learned, graph.n_nodes() + graph.n_edges())
    }
}
