//! Groups of tokens that do not depend on each other, by a test of every pair.
//!
//! ```text
//! G = 2 sum over the four cells of o ln(o N / (row sum x column sum)),   dependent if G is beyond the quantile of chi square, one degree of freedom
//! ```
//!
//! A token that is constant depends on nothing. Groups are the connected components of the graph of dependent pairs; they are found by a
//! search that tests a token only against those that were not reached.

use super::table::Table;

/// x ln x of whole numbers.
pub(super) struct Entropies(Vec<f64>);

impl Entropies {
    pub(super) fn up_to(n: usize) -> Self {
        Self((0..=n).map(|x| if x == 0 { 0.0 } else { x as f64 * (x as f64).ln() }).collect())
    }

    /// G of a pair, from rows with both, with the first, with the second, and all.
    fn g(&self, [both, x, y, n]: [u32; 4]) -> f64 {
        let h = |n: u32| self.0[n as usize];
        let cells = h(both) + h(x - both) + h(y - both) + h(n + both - x - y);
        2.0 * (cells - h(x) - h(n - x) - h(y) - h(n - y) + h(n))
    }
}

/// The tokens of a table in independent groups, each ascending, by their first tokens.
pub(super) fn components(table: &Table, threshold: f64, entropies: &Entropies) -> Vec<Vec<u32>> {
    let (columns, counts) = (table.columns(), table.counts());
    let is_constant = |token: u32| {
        let [present, known] = counts[token as usize];
        present == 0 || present == known
    };
    let mut unreached: Vec<u32> = (0..table.n_tokens as u32).filter(|&token| !is_constant(token)).collect();
    let mut groups: Vec<Vec<u32>> =
        (0..table.n_tokens as u32).filter(|&token| is_constant(token)).map(|token| vec![token]).collect();
    while let Some(&first) = unreached.first() {
        unreached.remove(0);
        let mut group = vec![first];
        let mut next = 0;
        while next < group.len() && !unreached.is_empty() {
            let from = group[next];
            next += 1;
            unreached.retain(|&token| {
                let is_dependent = entropies.g(columns.pair(from, token, &counts, table.n_rows)) > threshold;
                if is_dependent {
                    group.push(token);
                }
                !is_dependent
            });
        }
        group.sort_unstable();
        groups.push(group);
    }
    groups.sort_unstable_by_key(|group| group[0]);
    groups
}

/// The quantile of chi square with one degree of freedom that is exceeded with probability `p`: the square of the normal quantile of
/// p / 2, by bisection.
pub(super) fn chi_square_quantile(p: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if log_two_tails(middle) > p.ln() { low = middle } else { high = middle }
    }
    low * low
}

/// log P(|Z| > z) of a standard normal Z.
fn log_two_tails(z: f64) -> f64 {
    if z < 3.0 {
        // 1 - sqrt(2 / pi) sum of (-1)^n z^(2n+1) / (2^n n! (2n+1))
        let (mut term, mut sum) = (z, 0.0);
        for n in 0..80 {
            sum += term / f64::from(2 * n + 1);
            term *= -z * z / (2.0 * f64::from(n + 1));
        }
        return (1.0 - (2.0 / std::f64::consts::PI).sqrt() * sum).ln();
    }
    // Laplace's continued fraction: density / (z + 1 / (z + 2 / (z + 3 / ...)))
    let fraction = (1..200).rev().fold(z, |below, n| z + f64::from(n) / below);
    0.5 * (2.0 / std::f64::consts::PI).ln() - 0.5 * z * z - fraction.ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::{Corpus, align};

    #[test]
    fn quantiles() {
        // From tables of chi square.
        for (p, want) in [(0.5, 0.4549), (0.05, 3.8415), (0.0015, 10.0786), (1e-4, 15.1367), (1e-12, 50.8441)]
        {
            let got = chi_square_quantile(p);
            assert!((got - want).abs() < 2e-4 * want, "{p}: {got}, not {want}");
        }
    }

    #[test]
    fn the_statistic_is_that_of_the_formula() {
        let entropies = Entropies::up_to(100);
        let (o, n) = ([[10.0, 20.0], [30.0, 40.0]], 100.0f64);
        let mut want = 0.0;
        for i in 0..2 {
            for j in 0..2 {
                let (row, column): (f64, f64) = (o[i][0] + o[i][1], o[0][j] + o[1][j]);
                want += 2.0 * o[i][j] * (o[i][j] * n / (row * column)).ln();
            }
        }
        // 40 rows have both, 70 the first, 60 the second.
        assert!((entropies.g([40, 70, 60, 100]) - want).abs() < 1e-11, "{want}");
        assert!(entropies.g([0, 0, 60, 100]).abs() < 1e-11);
    }

    #[test]
    fn groups_of_dependent_tokens() {
        // 0 and 2 are equal, 1 and 4 are opposite, 3 is in every row, 5 in none; the pairs are independent of each other.
        let rows = (0..80u32).map(|row| {
            let (a, b) = (row % 2 == 0, row / 2 % 2 == 0);
            let mut tokens = if a { vec![0, 2] } else { vec![] };
            tokens.push(if b { 1 } else { 4 });
            tokens.push(3);
            tokens
        });
        let corpus = Corpus::from_tokens(rows);
        let names: Vec<String> = (0..6).map(|token| token.to_string()).collect();
        let alignment = align(&corpus, &names);
        let all: Vec<u32> = (0..80).collect();
        let table = Table::of(&alignment.docs(&corpus), &all, 6);
        let groups = components(&table, chi_square_quantile(0.0015), &Entropies::up_to(80));
        assert_eq!(groups, [vec![0, 2], vec![1, 4], vec![3], vec![5]]);
        assert_eq!(components(&table, -1.0, &Entropies::up_to(80)), [vec![0, 1, 2, 4], vec![3], vec![5]]);
    }
}
