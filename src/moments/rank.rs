//! Whether moments identify parameters at all: the rank of the Jacobian of log moments at random parameters.
//!
//! ```text
//! d log M_S / d p_i = (F - 1) / I,   d log M_S / d f_ij = [j in S] p F / f_ij / I,   d log M_S / d f_0j = [j in S] / f_0j
//! ```
//!
//! with `F` the product of f_ij over S and `I = 1 - p + p F`. Computed with integers modulo the prime 2^61 - 1, the rank is exact. Full rank
//! proves that almost all parameters are identified locally; less is almost surely real.

use crate::rng::{Stream, rng};
use rand::RngExt;

const PRIME: u64 = (1 << 61) - 1;

/// As 2^61 is 1, the upper bits of the product count like the lower ones.
fn times(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    plus(product as u64 & PRIME, (product >> 61) as u64)
}

fn plus(a: u64, b: u64) -> u64 {
    (a + b) % PRIME
}

fn minus(a: u64, b: u64) -> u64 {
    plus(a, PRIME - b)
}

/// By Fermat: a^(PRIME - 2).
fn inverse(a: u64) -> u64 {
    let (mut result, mut power, mut exponent) = (1, a, PRIME - 2);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = times(result, power);
        }
        power = times(power, power);
        exponent >>= 1;
    }
    result
}

/// Unknown parameters that hang together: topics, the tokens that their unknown edges lead to, and what of them is unknown. What is
/// known does not matter, as every topic is a factor of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unknowns {
    /// The topics.
    pub topics: Vec<UnknownTopic>,
    /// For every token, whether its leak is unknown.
    pub leaks: Vec<bool>,
}

/// What is unknown of a topic.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnknownTopic {
    /// Its prior.
    pub prior: bool,
    /// Its tokens, by place, and whether the edge is unknown.
    pub edges: Vec<(usize, bool)>,
}

impl UnknownTopic {
    /// Number of unknown edges.
    pub fn n_edges(&self) -> usize {
        self.edges.iter().filter(|(_, unknown)| *unknown).count()
    }
}

impl Unknowns {
    /// Number of unknown parameters.
    pub fn n_unknown(&self) -> usize {
        let of_topic = |topic: &UnknownTopic| usize::from(topic.prior) + topic.n_edges();
        self.topics.iter().map(of_topic).sum::<usize>() + self.leaks.iter().filter(|&&leak| leak).count()
    }

    /// The ranks of moments of orders 1, 2, ... up to `max_order`, ending where the rank is full.
    pub fn ranks(&self, max_order: usize) -> Vec<usize> {
        let n_unknown = self.n_unknown();
        let mut rows = Rows::new(self);
        let mut ranks = Vec::new();
        for order in 1..=max_order.min(self.leaks.len()) {
            rows.add_sets(&mut Vec::new(), 0, order, n_unknown);
            ranks.push(rows.echelon.len());
            if rows.echelon.len() == n_unknown {
                break;
            }
        }
        ranks
    }
}

/// Rows of the Jacobian in echelon form.
struct Rows<'a> {
    unknowns: &'a Unknowns,
    /// For every topic: p, f of each edge and the inverses of these.
    topics: Vec<(u64, Vec<(u64, u64)>)>,
    leak_inverses: Vec<u64>,
    /// Each row's first column that is not zero, where it is one; sorted by it.
    echelon: Vec<(usize, Vec<u64>)>,
}

impl<'a> Rows<'a> {
    fn new(unknowns: &'a Unknowns) -> Self {
        let mut rng = rng(0, Stream::Moments);
        let mut number = move || rng.random_range(2..PRIME);
        let mut topic = |topic: &UnknownTopic| {
            let failures = topic.edges.iter().map(|_| number()).map(|f| (f, inverse(f))).collect();
            (number(), failures)
        };
        let topics = unknowns.topics.iter().map(&mut topic).collect();
        let leak_inverses = (0..unknowns.leaks.len() as u64).map(|at| inverse(at + 2)).collect();
        Self { unknowns, topics, leak_inverses, echelon: Vec::new() }
    }

    /// Adds the sets of so many more tokens, from `first` on, until the rank is full.
    fn add_sets(&mut self, set: &mut Vec<usize>, first: usize, order: usize, n_unknown: usize) {
        if self.echelon.len() == n_unknown {
            return;
        }
        if order == 0 {
            let row = self.row(set, n_unknown);
            self.reduce(row);
            return;
        }
        for token in first..self.unknowns.leaks.len() {
            set.push(token);
            self.add_sets(set, token + 1, order - 1, n_unknown);
            set.pop();
        }
    }

    fn row(&self, set: &[usize], n_unknown: usize) -> Vec<u64> {
        let mut row = Vec::with_capacity(n_unknown);
        for (UnknownTopic { prior, edges }, (p, failures)) in self.unknowns.topics.iter().zip(&self.topics) {
            let mut product = 1;
            for ((token, _), (f, _)) in edges.iter().zip(failures) {
                if set.contains(token) {
                    product = times(product, *f);
                }
            }
            let over = inverse(plus(minus(1, *p), times(*p, product)));
            if *prior {
                row.push(times(minus(product, 1), over));
            }
            for ((token, unknown), (_, f_inverse)) in edges.iter().zip(failures) {
                if *unknown {
                    let slope = times(times(*p, product), times(*f_inverse, over));
                    row.push(if set.contains(token) { slope } else { 0 });
                }
            }
        }
        for (token, &leak_inverse) in self.leak_inverses.iter().enumerate() {
            if self.unknowns.leaks[token] {
                row.push(if set.contains(&token) { leak_inverse } else { 0 });
            }
        }
        row
    }

    fn reduce(&mut self, mut row: Vec<u64>) {
        for (pivot, other) in &self.echelon {
            let factor = row[*pivot];
            if factor != 0 {
                for column in *pivot..row.len() {
                    if other[column] != 0 {
                        row[column] = minus(row[column], times(factor, other[column]));
                    }
                }
            }
        }
        let Some(pivot) = row.iter().position(|&x| x != 0) else { return };
        let scale = inverse(row[pivot]);
        row.iter_mut().for_each(|x| *x = times(*x, scale));
        let at = self.echelon.partition_point(|(other, _)| *other < pivot);
        self.echelon.insert(at, (pivot, row));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eq. 3, the product of leaks and influences.
    fn moment(unknowns: &Unknowns, topics: &[(u64, Vec<u64>)], leaks: &[u64], set: &[usize]) -> u64 {
        let mut moment = set.iter().fold(1, |product, &token| times(product, leaks[token]));
        for (topic, (p, failures)) in unknowns.topics.iter().zip(topics) {
            let touched = topic.edges.iter().zip(failures).filter(|((token, _), _)| set.contains(token));
            let product = touched.fold(1, |product, (_, &f)| times(product, f));
            moment = times(moment, plus(minus(1, *p), times(*p, product)));
        }
        moment
    }

    /// A moment is linear in every single parameter, so its derivative is exactly how much it grows where the parameter grows by one.
    #[test]
    fn rows_are_the_derivatives_of_log_moments() {
        let topic = |prior, edges: &[(usize, bool)]| UnknownTopic { prior, edges: edges.to_vec() };
        let unknowns = Unknowns {
            topics: vec![
                topic(true, &[(0, true), (1, true), (2, false)]),
                topic(false, &[(1, true), (2, true), (3, true)]),
                topic(true, &[(0, false), (2, true), (3, true)]),
            ],
            leaks: vec![true, false, true, true],
        };
        let rows = Rows::new(&unknowns);
        let failures = |edges: &[(u64, u64)]| edges.iter().map(|(f, _)| *f).collect();
        let topics: Vec<(u64, Vec<u64>)> =
            rows.topics.iter().map(|(p, edges)| (*p, failures(edges))).collect();
        let leaks: Vec<u64> = rows.leak_inverses.iter().map(|&f| inverse(f)).collect();
        for mask in 1..1usize << unknowns.leaks.len() {
            let set: Vec<usize> = (0..unknowns.leaks.len()).filter(|token| mask >> token & 1 == 1).collect();
            let here = moment(&unknowns, &topics, &leaks, &set);
            let slope = |topics: &[(u64, Vec<u64>)], leaks: &[u64]| {
                times(minus(moment(&unknowns, topics, leaks, &set), here), inverse(here))
            };
            let mut want = Vec::new();
            for (at, topic) in unknowns.topics.iter().enumerate() {
                if topic.prior {
                    let mut moved = topics.clone();
                    moved[at].0 = plus(moved[at].0, 1);
                    want.push(slope(&moved, &leaks));
                }
                for (edge, _) in topic.edges.iter().enumerate().filter(|(_, (_, unknown))| *unknown) {
                    let mut moved = topics.clone();
                    moved[at].1[edge] = plus(moved[at].1[edge], 1);
                    want.push(slope(&moved, &leaks));
                }
            }
            for token in (0..leaks.len()).filter(|&token| unknowns.leaks[token]) {
                let mut moved = leaks.clone();
                moved[token] = plus(moved[token], 1);
                want.push(slope(&topics, &moved));
            }
            assert_eq!(rows.row(&set, unknowns.n_unknown()), want, "{set:?}");
        }
    }
}
