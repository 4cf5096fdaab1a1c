//! The sets of tokens from which the edges of one topic can be learned, given what is known.
//!
//! A triplet is singly-coupled if its three pairs are. So the pairs of a topic's tokens that are make a graph, and an edge has a triplet
//! where its token is in a triangle.

use super::schedule::{Kind, Known, Order, ScheduleOptions, Step};
use super::structure::TwoLayers;

/// Partners are looked for among so many tokens of a topic: the table of pairs has the square of it in bits.
const MAX_POOL: usize = 8192;
/// Tokens at most so far apart in the order make a set, before all pairs are tried.
const MAX_SHIFT: usize = 32;

/// What can be learned of a topic in this round.
pub(super) fn steps(
    net: TwoLayers<'_>,
    known: &Known,
    topic: u32,
    round: u32,
    options: &ScheduleOptions,
) -> Vec<Step> {
    if net.children(topic).all(|(_, edge)| known.edge[edge]) {
        return Vec::new();
    }
    let pool = Pool::of(net, known, topic, options.order);
    let mut found = Vec::new();
    for (token, edge) in net.children(topic).filter(|&(_, edge)| !known.edge[edge]) {
        let partners = pool.partners(token);
        let mut kind = Kind::Triplet;
        let mut sets = pool.triplets(&partners, options);
        if sets.is_empty() && options.pairs && known.prior[topic as usize] {
            kind = Kind::Pair;
            let has_edge = |&&at: &&usize| pool.tokens[at].1;
            let pair = |&at: &usize| [pool.tokens[at].0; 2];
            sets = partners.iter().filter(has_edge).take(options.max_sets).map(pair).collect();
        }
        if !sets.is_empty() {
            found.push(Step { round, kind, topic, token, edge, sets });
        }
    }
    found
}

/// The anchor of the first topic that has one: a token of which the topic is the only unknown parent, and at least three more tokens,
/// whose pairs give curves that meet in the answer.
pub(super) fn anchor(
    net: TwoLayers<'_>,
    known: &Known,
    round: u32,
    options: &ScheduleOptions,
) -> Option<Step> {
    let topics = (0..net.n_topics() as u32).filter(|&topic| !known.prior[topic as usize]);
    for topic in topics {
        let is_anchor = |&(token, _): &(u32, usize)| {
            let edges = net.parents(token).iter().zip(net.first_edge(token)..);
            edges
                .into_iter()
                .all(|(&other, edge)| other == topic || known.edge[edge] && known.prior[other as usize])
        };
        let mut others: Vec<(u32, usize)> = net.children(topic).collect();
        // Of several, the one with fewest parents has least to be divided out.
        let Some((token, edge)) =
            net.children(topic).filter(is_anchor).min_by_key(|&(token, _)| (net.parents(token).len(), token))
        else {
            continue;
        };
        others.retain(|&(other, _)| other != token);
        if others.len() < 3 {
            continue;
        }
        let shifts = (1..others.len()).flat_map(|shift| {
            let others = &others;
            (shift..others.len()).map(move |at| [others[at - shift].0, others[at].0])
        });
        let sets = shifts.take(options.max_sets.max(3)).collect();
        return Some(Step { round, kind: Kind::Anchor, topic, token, edge, sets });
    }
    None
}

/// The pairs from which an edge that has few sets can be learned once more when the others are known: those first in which least is
/// to be divided out.
pub(super) fn revision(
    net: TwoLayers<'_>,
    known: &Known,
    step: &Step,
    options: &ScheduleOptions,
) -> Option<Step> {
    let Step { topic, token, .. } = *step;
    if step.sets.len() >= options.max_sets || step.kind == Kind::Anchor {
        return None;
    }
    let is_partner = |&(other, edge): &(u32, usize)| {
        other != token && known.edge[edge] && is_free(net, known, topic, token, other)
    };
    let mut partners: Vec<u32> = net.children(topic).filter(is_partner).map(|(other, _)| other).collect();
    partners.sort_by_cached_key(|&other| (net.coupling(topic, &[token, other]).len(), other));
    partners.truncate(options.max_sets);
    let sets: Vec<[u32; 2]> = partners.iter().map(|&other| [other; 2]).collect();
    (!sets.is_empty()).then(|| Step { kind: Kind::Pair, sets, ..step.clone() })
}

/// Whether no unknown topic but `topic` is a parent of both tokens.
pub(super) fn is_free(net: TwoLayers<'_>, known: &Known, topic: u32, a: u32, b: u32) -> bool {
    net.all_common(a, b, |other, edge_a, edge_b| {
        other == topic || known.edge[edge_a] && known.edge[edge_b] && known.prior[other as usize]
    })
}

/// The tokens of a topic among which partners are looked for, and which pairs of them are free.
struct Pool<'a> {
    net: TwoLayers<'a>,
    known: &'a Known,
    topic: u32,
    /// In the order of preference, and whether the edge is known.
    tokens: Vec<(u32, bool)>,
    /// A row of bits for every token, by place.
    free: Vec<u64>,
    n_words: usize,
}

impl<'a> Pool<'a> {
    fn of(net: TwoLayers<'a>, known: &'a Known, topic: u32, order: Order) -> Self {
        let mut tokens: Vec<(u32, bool)> =
            net.children(topic).map(|(token, edge)| (token, known.edge[edge])).collect();
        if order == Order::Rare {
            tokens.sort_by_key(|&(token, _)| net.parents(token).len());
        }
        tokens.truncate(MAX_POOL);
        let n_words = tokens.len().div_ceil(64);
        let mut free = vec![0u64; tokens.len() * n_words];
        for at in 0..tokens.len() {
            for other in 0..at {
                if is_free(net, known, topic, tokens[at].0, tokens[other].0) {
                    free[at * n_words + other / 64] |= 1 << (other % 64);
                    free[other * n_words + at / 64] |= 1 << (at % 64);
                }
            }
        }
        Self { net, known, topic, tokens, free, n_words }
    }

    /// The places of all that make a free pair with a token.
    fn partners(&self, token: u32) -> Vec<usize> {
        match self.tokens.iter().position(|&(other, _)| other == token) {
            Some(at) => (0..self.tokens.len()).filter(|&other| self.is_free(at, other)).collect(),
            None => {
                let is_free =
                    |at: &usize| is_free(self.net, self.known, self.topic, token, self.tokens[*at].0);
                (0..self.tokens.len()).filter(is_free).collect()
            }
        }
    }

    fn is_free(&self, a: usize, b: usize) -> bool {
        self.free[a * self.n_words + b / 64] >> (b % 64) & 1 == 1
    }

    /// Free pairs of partners.
    fn triplets(&self, partners: &[usize], options: &ScheduleOptions) -> Vec<[u32; 2]> {
        let set = |a: usize, b: usize| [self.tokens[a].0, self.tokens[b].0];
        let mut sets = Vec::new();
        if options.order == Order::Rare {
            // Neighbours first: every token is in few sets.
            for shift in 1..partners.len().min(MAX_SHIFT + 1) {
                for at in shift..partners.len() {
                    let (a, b) = (partners[at - shift], partners[at]);
                    if self.is_free(a, b) {
                        sets.push(set(a, b));
                        if sets.len() == options.max_sets {
                            return sets;
                        }
                    }
                }
            }
            if !sets.is_empty() {
                return sets;
            }
        }
        let mut among = vec![0u64; self.n_words];
        partners.iter().for_each(|&at| among[at / 64] |= 1 << (at % 64));
        for &a in partners {
            for word in a / 64..self.n_words {
                let mut both = among[word] & self.free[a * self.n_words + word];
                while both != 0 {
                    let b = word * 64 + both.trailing_zeros() as usize;
                    both &= both - 1;
                    if b > a {
                        sets.push(set(a, b));
                        if sets.len() == options.max_sets {
                            return sets;
                        }
                    }
                }
            }
        }
        sets
    }
}
