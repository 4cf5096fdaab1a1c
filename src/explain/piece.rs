//! The explanations that compete for a document: its pieces under the structured bound.

use super::Explanation;
use super::explanation::Nodes;
use super::optimum::Optimum;
use crate::estep::cpu::ProbePiece;

/// Pieces to show at most, and the weight that each must have.
const MAX_SHOWN: usize = 5;
const MIN_SHOWN: f64 = 0.01;

/// One explanation of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    /// Its weight, `exp(L_s - L)`: its probability among all of them, which add up to one.
    pub weight: f64,
    /// Its bound L_s, in nats.
    pub bound: f64,
    /// The topics that the split fixes in it, by number, and whether they are on. Any two pieces differ in one of them.
    pub clamped: Vec<(u32, bool)>,
    /// The topics that are on in it, with their q there, most certain first.
    pub on: Vec<(u32, f64)>,
}

/// A piece beside the others that are shown.
#[derive(Debug, Clone, PartialEq)]
pub struct PieceView<'a> {
    /// The piece.
    pub piece: &'a Piece,
    /// Topics that are on in it, but not in all of the others.
    pub own: Vec<u32>,
    /// Topics that are on in all of them.
    pub common: Vec<u32>,
}

impl Piece {
    pub(super) fn new(optimum: &Optimum<'_>, piece: &ProbePiece, nodes: &Nodes) -> Self {
        let topic = |&(place, on): &(usize, bool)| (optimum.batch.nodes[place].id, on);
        let mut clamped: Vec<(u32, bool)> = piece.clamped.iter().map(topic).collect();
        clamped.sort_unstable();
        let on = nodes.topics.iter().filter(|part| part.is_on());
        let mut on: Vec<(u32, f64)> = on.map(|part| (part.topic, part.q)).collect();
        on.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        Self { weight: piece.log_weight.exp(), bound: optimum.elbo, clamped, on }
    }

    /// Whether the split fixes a topic in it.
    pub fn is_clamped(&self, topic: u32) -> bool {
        self.clamped.iter().any(|&(other, _)| other == topic)
    }

    fn is_on(&self, topic: u32) -> bool {
        self.on.iter().any(|&(other, _)| other == topic)
    }
}

impl Explanation {
    /// Whether several explanations compete.
    pub fn is_split(&self) -> bool {
        self.pieces.len() > 1
    }

    /// How many there are, in words.
    pub fn competing_heading(&self) -> String {
        match (self.pieces.len(), self.competing().0.len()) {
            (n, 1) => format!("one of {n} explanations has nearly all the weight"),
            (n, _) => format!("{n} explanations compete"),
        }
    }

    /// The pieces to show, heaviest first; number and weight of the others.
    pub fn competing<'a>(&'a self) -> (Vec<PieceView<'a>>, usize, f64) {
        let n_heavy = self.pieces.partition_point(|piece| piece.weight >= MIN_SHOWN);
        let (shown, others) = self.pieces.split_at(n_heavy.clamp(1, MAX_SHOWN).min(self.pieces.len()));
        let view = |piece: &'a Piece| {
            let topics = piece.on.iter().map(|&(topic, _)| topic);
            let (common, own) = topics.partition(|&topic| shown.iter().all(|other| other.is_on(topic)));
            PieceView { piece, own, common }
        };
        let weight = others.iter().map(|piece| piece.weight).sum();
        (shown.iter().map(view).collect(), others.len(), weight)
    }
}
