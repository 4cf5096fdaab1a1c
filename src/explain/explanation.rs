//! What an optimum says, node by node: who switched a node on, and what it costs. Of a document in several pieces it is said of each,
//! and `mixture.rs` takes the mean.
//!
//! A node is on when a Poisson count of rate `w0 + sum_k w_k x_k` is at least one, and every parent and the leak have counts of their
//! own. With q and r held, the counts to expect where the node is on are those of the EM step:
//!
//! ```text
//! n_k = w_k q_k / (1 - exp(-u_k))
//! n_0 = w0 [ sum_k r_k (1 - q_k) / (1 - exp(-w0)) + sum_k r_k q_k / (1 - exp(-u_k)) ]
//! ```
//!
//! A parent's *share* is `n_k / (n_0 + sum n)`: of all that switched the node on, the part that came from it. Shares and the leak's add
//! up to one.

use super::optimum::Optimum;
use super::{Explainer, Piece};
use crate::estep::Bound;
use crate::numeric::f64::{log1mexp, log1mexp_slope};

/// One document's local model where its E-step ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// Which bound `elbo` is.
    pub bound: Bound,
    /// How many topics might be clamped for it; 0 without the structured bound.
    pub clamp: u32,
    /// The bound of the document, in nats.
    pub elbo: f64,
    /// The topics of the local model, by number: the mean over the pieces.
    pub topics: Vec<TopicPart>,
    /// The active tokens, by number: the mean over the pieces.
    pub tokens: Vec<TokenPart>,
    /// The explanations that compete, heaviest first; one where the document stayed whole.
    pub pieces: Vec<Piece>,
    /// Alternations of q and r that it took, those of all starts and of all splits that were tried.
    pub n_alternations: u32,
    /// How often it was cut off, not yet converged, after the most alternations allowed: starts and splits, tried or kept.
    pub n_unconverged: u32,
    /// The most that any q would still move, in any piece: what it differs by from the q of its log-odds.
    pub last_move: f64,
    /// The heaviest piece; none where it is the only one.
    pub(super) heaviest: Option<Nodes>,
}

/// Nodes of the local model, by number.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Nodes {
    pub(super) topics: Vec<TopicPart>,
    pub(super) tokens: Vec<TokenPart>,
}

/// A topic of the local model.
#[derive(Debug, Clone, PartialEq)]
pub struct TopicPart {
    /// Its number.
    pub topic: u32,
    /// The probability that it is on, as the E-step found it.
    pub q: f64,
    /// Its log-odds at the q and r of its neighbours (Eq. 12): those of q, to the E-step's tolerance. Of several pieces: the log-odds of
    /// the mean q.
    pub log_odds: f64,
    /// Who explains it, if it is on.
    pub cause: Cause,
}

/// An active token.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenPart {
    /// Its node number: tokens come behind the topics.
    pub node: u32,
    /// Who explains it.
    pub cause: Cause,
}

/// Who explains a node that is on.
#[derive(Debug, Clone, PartialEq)]
pub struct Cause {
    /// What it costs that it is on, in nats: `-f(w0) - sum of contributions`.
    pub cost: f64,
    /// What it would cost if there were the leak alone: `-f(w0)`.
    pub leak_cost: f64,
    /// The leak's share.
    pub leak_share: f64,
    /// The parents, in the order of the network's edges.
    pub parents: Vec<Source>,
}

/// What one parent does for a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Source {
    /// The parent's number.
    pub topic: u32,
    /// The edge's weight.
    pub w: f64,
    /// The probability that the parent is on.
    pub q: f64,
    /// Its part of the positive evidence.
    pub r: f64,
    /// `a = r (f(u) - f(w0))`: by so many nats it would make the node cheaper if it were on for certain.
    pub a: f64,
    /// By so many nats it makes the node cheaper: `q a`. Of several pieces it is the mean of that, not the product of the means.
    pub contribution: f64,
    /// Of all that switched the node on, the part that came from this parent.
    pub share: f64,
}

impl TopicPart {
    /// Whether it is more likely on than off.
    pub fn is_on(&self) -> bool {
        self.q >= 0.5
    }
}

impl Cause {
    /// The parents by their share, largest first.
    pub fn by_share(&self) -> Vec<&Source> {
        let mut parents: Vec<&Source> = self.parents.iter().collect();
        parents.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.topic.cmp(&b.topic)));
        parents
    }
}

impl Explanation {
    /// The topics that are on, most certain first.
    pub fn on(&self) -> Vec<&TopicPart> {
        by_log_odds(self.topics.iter().filter(|topic| topic.is_on()))
    }

    /// The topics that were considered and are off, the least unlikely first.
    pub fn off(&self) -> Vec<&TopicPart> {
        by_log_odds(self.topics.iter().filter(|topic| !topic.is_on()))
    }

    /// A topic of the local model.
    pub fn topic(&self, topic: u32) -> Option<&TopicPart> {
        let place = self.topics.binary_search_by_key(&topic, |part| part.topic);
        place.ok().map(|place| &self.topics[place])
    }

    /// Which bound it is, in words.
    pub fn bound_label(&self) -> String {
        self.bound.label(self.clamp)
    }

    /// A topic in the heaviest piece.
    pub(super) fn topic_in_heaviest(&self, topic: u32) -> Option<&TopicPart> {
        let topics = self.heaviest.as_ref().map_or(&self.topics, |nodes| &nodes.topics);
        topics.binary_search_by_key(&topic, |part| part.topic).ok().map(|place| &topics[place])
    }

    /// The probability that a node is on in the heaviest piece, and who explains it there; none outside the local model.
    pub(super) fn node_in_heaviest(&self, node: u32) -> Option<(f64, &Cause)> {
        let token = || {
            let tokens = self.heaviest.as_ref().map_or(&self.tokens, |nodes| &nodes.tokens);
            let place = tokens.binary_search_by_key(&node, |part| part.node).ok()?;
            Some((1.0, &tokens[place].cause))
        };
        self.topic_in_heaviest(node).map(|part| (part.q, &part.cause)).or_else(token)
    }
}

fn by_log_odds<'a>(topics: impl Iterator<Item = &'a TopicPart>) -> Vec<&'a TopicPart> {
    let mut topics: Vec<&TopicPart> = topics.collect();
    topics.sort_by(|a, b| b.log_odds.total_cmp(&a.log_odds).then(a.topic.cmp(&b.topic)));
    topics
}

impl Explainer<'_> {
    /// All nodes of an optimum.
    pub(super) fn nodes(&self, optimum: &Optimum<'_>) -> Nodes {
        let n_topics = optimum.topics().end;
        let id = |place: usize| optimum.batch.nodes[place].id;
        let topic = |place: usize| TopicPart {
            topic: id(place),
            q: optimum.q[place],
            log_odds: optimum.log_odds[place],
            cause: self.cause(optimum, place),
        };
        let mut topics: Vec<TopicPart> = optimum.topics().map(topic).collect();
        topics.sort_by_key(|part| part.topic);
        let token = |place| TokenPart { node: id(place), cause: self.cause(optimum, place) };
        Nodes { topics, tokens: (n_topics..optimum.batch.n_nodes()).map(token).collect() }
    }

    fn cause(&self, optimum: &Optimum<'_>, place: usize) -> Cause {
        let leak = self.leak(optimum.batch.nodes[place].id as usize);
        let (leak_cost, leak_count) = (-log1mexp(leak), 1.0 + log1mexp_slope(leak));
        let into = optimum.edges_into(place);
        let (mut by_leak, mut cost) = (if into.is_empty() { leak_count } else { 0.0 }, leak_cost);
        let mut parents: Vec<Source> = into
            .map(|at| {
                let (edge, parent) = (optimum.edges[at], optimum.parent_of(at));
                let q = optimum.q[parent];
                by_leak += edge.r * ((1.0 - q) * leak_count + q * edge.count);
                let a = edge.r * edge.log;
                cost -= q * a;
                let topic = optimum.batch.nodes[parent].id;
                let share = edge.w * q * edge.count;
                Source { topic, w: edge.w, q, r: edge.r, a, contribution: q * a, share }
            })
            .collect();
        let all = leak * by_leak + parents.iter().map(|parent| parent.share).sum::<f64>();
        parents.iter_mut().for_each(|parent| parent.share /= all);
        Cause { cost: cost.max(0.0), leak_cost, leak_share: leak * by_leak / all, parents }
    }
}
