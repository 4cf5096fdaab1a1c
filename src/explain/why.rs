//! One topic's log-odds, term by term (Eq. 12).
//!
//! With `m = w + a` and S the sum of all weights out of the topic, Eq. 12 is
//!
//! ```text
//! g_i = beta_i + sum over parents q_k m_ki + sum over all children [ v_c a_ic - (1 - v_c) w_ic ]
//! ```
//!
//! so that a child that is on raises the log-odds by `a`, and one that is not there lowers them by the edge's weight.
//!
//! This holds in one piece, not for the mean over several: the terms are those of the heaviest. Where the split fixes the topic there, they
//! are what speaks for it and against it all the same.

use super::{Explainer, Explanation, TopicPart, probability_text};
use crate::numeric::f64::{beta, sigmoid};
use serde::Serialize;

/// Absent children that are named; the others are one term.
pub const ABSENT_NAMED: usize = 5;

/// The terms of a topic's log-odds.
#[derive(Debug, Clone, PartialEq)]
pub struct Why {
    /// The topic.
    pub topic: u32,
    /// How many pieces the document has; the terms are those of the heaviest.
    pub n_pieces: usize,
    /// The weight of that piece: 1 where the document is whole.
    pub weight: f64,
    /// The probability that it is on in this piece.
    pub q: f64,
    /// The probability that it is on over all pieces.
    pub mean_q: f64,
    /// Whether the split fixes it in this piece: then q does not follow from the terms.
    pub clamped: bool,
    /// Its log-odds: the sum of the terms.
    pub log_odds: f64,
    /// Whether it is in the document's local model. A topic outside has no token here, and its parents are not asked.
    pub considered: bool,
    /// The leak, parents, children that are or may be on, then absent children; each kind by its effect.
    pub terms: Vec<Term>,
}

/// One term.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Term {
    /// What it comes from.
    pub kind: TermKind,
    /// The node it comes from; none for the topic's own leak and for [`TermKind::Rest`].
    pub node: Option<u32>,
    /// How many nodes it stands for.
    pub n_nodes: usize,
    /// How much it raises the log-odds, in nats; below zero, lowers them.
    pub value: f64,
}

/// What a term comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TermKind {
    /// The topic's own leak, `beta`.
    Leak,
    /// A parent, `q m`.
    Parent,
    /// A topic below that is in the local model, `q a - (1 - q) w`.
    Child,
    /// A token that is there, `a`.
    Token,
    /// A child that is not there, `-w`: one of those with the largest weights.
    Absent,
    /// All other children that are not there.
    Rest,
}

impl Why {
    /// Where the terms hold, in two lines of words; none where the document is whole.
    pub fn place(&self) -> Option<[String; 2]> {
        if self.n_pieces < 2 {
            return None;
        }
        let fixed = match (self.clamped, self.q >= 0.5) {
            (false, _) => "",
            (true, true) => ", where the split fixes it on",
            (true, false) => ", where the split fixes it off",
        };
        Some([
            format!("in the explanation of weight {:.0} %{fixed}", 100.0 * self.weight),
            format!("the topic's probability over all explanations is {}", probability_text(self.mean_q)),
        ])
    }

    /// The largest terms in their order, at most `most`; number and sum of the others, if there are any.
    pub fn shortened(&self, most: usize) -> (Vec<Term>, Option<(usize, f64)>) {
        let mut sizes: Vec<f64> = self.terms.iter().map(|term| term.value.abs()).collect();
        sizes.sort_by(|a, b| b.total_cmp(a));
        let least = sizes.get(most).copied().unwrap_or(-1.0);
        let (shown, others): (Vec<Term>, Vec<Term>) =
            self.terms.iter().partition(|term| term.value.abs() > least);
        let sum = others.iter().map(|term| term.value).sum();
        (shown, (!others.is_empty()).then_some((others.len(), sum)))
    }
}

impl Explainer<'_> {
    /// Takes a topic's log-odds apart, as they are in the heaviest piece.
    pub fn why(&self, explanation: &Explanation, topic: u32) -> Why {
        let (graph, weights) = (&self.network.graph, &self.network.weights);
        let part = explanation.topic_in_heaviest(topic);
        let term = |kind, node, value| Term { kind, node: Some(node), n_nodes: 1, value };
        let leak = Term { node: None, ..term(TermKind::Leak, topic, beta(self.leak(topic as usize))) };
        let mut terms = vec![leak];
        for parent in part.iter().flat_map(|part| &part.cause.parents) {
            terms.push(term(TermKind::Parent, parent.topic, parent.q * parent.w + parent.contribution));
        }
        let mut absent = Vec::new();
        for (&child, &edge) in graph.children(topic as usize).iter().zip(graph.child_edges(topic as usize)) {
            let w = weights.edge[edge as usize];
            let Some((v, cause)) = explanation.node_in_heaviest(child) else {
                absent.push(term(TermKind::Absent, child, -w));
                continue;
            };
            let kind = if graph.is_topic(child as usize) { TermKind::Child } else { TermKind::Token };
            let a = cause.parents[edge as usize - graph.edges_into(child as usize).start].a;
            terms.push(term(kind, child, v * a - (1.0 - v) * w));
        }
        terms.extend(most_telling(absent));
        terms.sort_by(|a, b| {
            a.kind.cmp(&b.kind).then(b.value.abs().total_cmp(&a.value.abs())).then(a.node.cmp(&b.node))
        });
        let log_odds = part.map_or_else(|| self.bias[topic as usize], |part| part.log_odds);
        let q_of = |part: Option<&TopicPart>| part.map_or_else(|| self.q_outside(topic), |part| part.q);
        let piece = explanation.pieces.first();
        Why {
            topic,
            n_pieces: explanation.pieces.len(),
            weight: piece.map_or(1.0, |piece| piece.weight),
            q: q_of(part),
            mean_q: q_of(explanation.topic(topic)),
            clamped: piece.is_some_and(|piece| piece.is_clamped(topic)),
            log_odds,
            considered: part.is_some(),
            terms,
        }
    }

    /// q of a topic outside the local model.
    fn q_outside(&self, topic: u32) -> f64 {
        if self.options.bound == crate::estep::Bound::Tail { sigmoid(self.bias[topic as usize]) } else { 0.0 }
    }
}

/// The largest of the absent children, and one term for the others.
fn most_telling(mut absent: Vec<Term>) -> Vec<Term> {
    absent.sort_by(|a, b| a.value.total_cmp(&b.value).then(a.node.cmp(&b.node)));
    // One alone needs no term for all others.
    let n_named = if absent.len() == ABSENT_NAMED + 1 { absent.len() } else { ABSENT_NAMED };
    let rest = absent.split_off(n_named.min(absent.len()));
    if !rest.is_empty() {
        let value = rest.iter().map(|term| term.value).sum();
        absent.push(Term { kind: TermKind::Rest, node: None, n_nodes: rest.len(), value });
    }
    absent
}
