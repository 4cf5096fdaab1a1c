//! Topics without a graph: from pairs and triplets of tokens that are absent together more often than by chance.
//!
//! A topic that is on with probability p, and under which a token is absent less often by d, makes `r_ab = M_ab / (M_a M_b) - 1` of two
//! tokens that share no other topic the product of their `y = sqrt(p (1 - p)) d / M`, with M the share of documents without a token. A
//! triplet so gives y of its three tokens,
//!
//! ```text
//! y_a = sqrt(r_ab r_ac / r_bc),
//! ```
//!
//! and of every other token three answers `r_xd / y_x`, which other topics only make larger: the least counts. The triplet whose topic
//! explains most of all r gives a topic; p follows from third cumulants, `s y_a y_b y_c` with `s = (2p - 1) / sqrt(p (1 - p))`; the topic
//! is divided out of all moments, and the next one is looked for. For tables of few tokens: docs/moments.md has what it is worth.

use crate::corpus::Docs;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use rayon::prelude::*;
use rustc_hash::FxHashSet;

/// Tokens at most: all pairs are kept, and each of them can be the begin of a triplet.
pub const MAX_TOKENS: usize = 512;
/// Tokens of fewer documents have no topics.
const LEAST_DOCS: u32 = 10;
/// Pairs that are tried, the most significant ones, and third tokens of each.
const PAIRS: usize = 150;
const THIRDS: usize = 6;
/// Standard errors that a pair, and a third token with both, must be away from chance.
const SURE_PAIR: f64 = 4.0;
const SURE_THIRD: f64 = 3.0;
/// Tokens of a topic that its worth, and its prior, are computed from.
const FOR_WORTH: usize = 40;
const FOR_PRIOR: usize = 10;

/// A topic that documents suggest.
#[derive(Debug, Clone, PartialEq)]
pub struct SuggestedTopic {
    /// The probability that it is on.
    pub prior: f64,
    /// Of every token the probability that the topic does not switch it on; 1 where there is no edge.
    pub failures: Vec<f64>,
}

impl SuggestedTopic {
    /// The share of documents that the topic leaves without these tokens.
    fn influence(&self, tokens: &[usize]) -> f64 {
        1.0 - self.prior + self.prior * tokens.iter().map(|&token| self.failures[token]).product::<f64>()
    }
}

/// Topics that documents suggest, the one that explains most first; at most `n_topics`, fewer where no more are found. Unknown tokens
/// count as absent.
///
/// # Errors
///
/// [`Error::Usage`] for more than [`MAX_TOKENS`] tokens or no documents, [`Error::Interrupted`].
pub fn suggest(
    docs: &Docs<'_>,
    doc_ixs: &[u32],
    n_tokens: usize,
    n_topics: usize,
    monitor: &Monitor,
) -> Result<Vec<SuggestedTopic>> {
    if n_tokens > MAX_TOKENS {
        return Err(Error::Usage(format!(
            "topics are suggested by moments of at most {MAX_TOKENS} tokens; there are {n_tokens}: learn a graph, or start from a mixture"
        )));
    }
    if doc_ixs.is_empty() {
        return Err(Error::Usage("there are no documents to suggest topics".into()));
    }
    let mut moments = Moments::of(docs, doc_ixs, n_tokens);
    while moments.topics.len() < n_topics {
        monitor.go_on()?;
        let Some(topic) = moments.best().map(|y| moments.topic(&y)) else { break };
        if topic.failures.iter().all(|&failure| failure == 1.0) {
            break;
        }
        moments.divide_out(topic);
    }
    Ok(moments.topics)
}

struct Moments {
    n_docs: f64,
    /// A bit for every document that holds the token.
    columns: Vec<Vec<u64>>,
    /// Tokens that can have topics.
    usable: Vec<usize>,
    /// M of every token, and `(1 - M) / M`.
    absent: Vec<f64>,
    odds: Vec<f64>,
    /// r of all pairs of tokens, topics so far divided out.
    r: Vec<f64>,
    topics: Vec<SuggestedTopic>,
}

/// y of a topic's tokens, by token.
type Ys = Vec<(usize, f64)>;

impl Moments {
    fn of(docs: &Docs<'_>, doc_ixs: &[u32], n_tokens: usize) -> Self {
        let mut columns = vec![vec![0u64; doc_ixs.len().div_ceil(64)]; n_tokens];
        for (at, &doc_ix) in doc_ixs.iter().enumerate() {
            docs.tokens(doc_ix as usize).for_each(|token| columns[token as usize][at / 64] |= 1 << (at % 64));
        }
        let n_docs = doc_ixs.len() as f64;
        let counts: Vec<u32> = columns.iter().map(|column| ones(&[column])).collect();
        let is_usable =
            |&token: &usize| counts[token] >= LEAST_DOCS && (counts[token] as usize) < doc_ixs.len();
        let usable: Vec<usize> = (0..n_tokens).filter(is_usable).collect();
        let absent: Vec<f64> = counts.iter().map(|&count| 1.0 - f64::from(count) / n_docs).collect();
        let odds = absent.iter().map(|m| (1.0 - m) / m).collect();
        let mut r = vec![0.0; n_tokens * n_tokens];
        let rows: Vec<(usize, Vec<f64>)> = usable
            .par_iter()
            .map(|&a| {
                let without = |b: usize| 1.0 - f64::from(ones(&[&columns[a], &columns[b]])) / n_docs;
                (a, usable.iter().map(|&b| without(b) / (absent[a] * absent[b]) - 1.0).collect())
            })
            .collect();
        for (a, row) in rows {
            usable
                .iter()
                .zip(row)
                .filter(|&(&b, _)| b != a)
                .for_each(|(&b, value)| r[a * n_tokens + b] = value);
        }
        Self { n_docs, columns, usable, absent, odds, r, topics: Vec::new() }
    }

    fn r(&self, a: usize, b: usize) -> f64 {
        self.r[a * self.absent.len() + b]
    }

    /// The standard error of r where tokens are independent.
    fn error(&self, a: usize, b: usize) -> f64 {
        (self.odds[a] * self.odds[b] / self.n_docs).sqrt()
    }

    fn sure(&self, a: usize, b: usize) -> f64 {
        self.r(a, b) / self.error(a, b)
    }

    /// y of the triplet that explains most, of those of the surest pairs.
    fn best(&self) -> Option<Ys> {
        let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
        for (at, &a) in self.usable.iter().enumerate() {
            let sure = self.usable[at + 1..].iter().map(|&b| (self.sure(a, b), a, b));
            pairs.extend(sure.filter(|pair| pair.0 > SURE_PAIR));
        }
        pairs.sort_by(|x, y| y.0.total_cmp(&x.0).then((x.1, x.2).cmp(&(y.1, y.2))));
        let (mut triplets, mut seen) = (Vec::new(), FxHashSet::default());
        for &(_, a, b) in pairs.iter().take(PAIRS) {
            let least = |c: usize| self.sure(a, c).min(self.sure(b, c));
            let others = self.usable.iter().copied().filter(|&c| c != a && c != b);
            let mut thirds: Vec<usize> = others.filter(|&c| least(c) > SURE_THIRD).collect();
            thirds.sort_by(|&x, &y| least(y).total_cmp(&least(x)).then(x.cmp(&y)));
            for &c in thirds.iter().take(THIRDS) {
                let mut set = [a, b, c];
                set.sort_unstable();
                if seen.insert(set) {
                    triplets.push([a, b, c]);
                }
            }
        }
        let worth = |&triplet: &[usize; 3]| {
            let y = self.ys(triplet);
            (self.worth(&y), y)
        };
        let tried: Vec<(f64, Ys)> = triplets.par_iter().map(worth).collect();
        let better = |best: Option<(f64, Ys)>, one: (f64, Ys)| match best {
            Some(best) if best.0 >= one.0 => Some(best),
            best if one.0 <= 0.0 => best,
            _ => Some(one),
        };
        tried.into_iter().fold(None, better).map(|(_, y)| y)
    }

    fn ys(&self, [a, b, c]: [usize; 3]) -> Ys {
        let (ab, ac, bc) = (self.r(a, b), self.r(a, c), self.r(b, c));
        let three = [(a, (ab * ac / bc).sqrt()), (b, (ab * bc / ac).sqrt()), (c, (ac * bc / ab).sqrt())];
        let mut y = three.to_vec();
        for &d in self.usable.iter().filter(|&&d| d != a && d != b && d != c) {
            let mut answers = three.map(|(x, y)| (self.r(x, d) / y, self.error(x, d) / y));
            answers.sort_by(|x, y| x.0.total_cmp(&y.0));
            // The least of three is too small by noise alone.
            let value = answers[0].0 + 0.5 * answers[0].1;
            let least_error = answers.iter().map(|answer| answer.1).fold(f64::INFINITY, f64::min);
            if value > 2.0 * least_error {
                y.push((d, value.min(answers[1].0)));
            }
        }
        y.sort_by(|x, y| {
            let strength = |&(token, y): &(usize, f64)| y / self.odds[token].sqrt();
            strength(y).total_cmp(&strength(x)).then(x.0.cmp(&y.0))
        });
        y
    }

    /// By how much the weighted squares of r fall; what is explained twice counts four times. The strongest tokens come first.
    fn worth(&self, y: &Ys) -> f64 {
        let mut worth = 0.0;
        for (at, &(a, y_a)) in y.iter().take(FOR_WORTH).enumerate() {
            for &(b, y_b) in y.iter().take(FOR_WORTH).skip(at + 1) {
                let old = self.r(a, b);
                let new = old - y_a * y_b;
                let twice = if new < 0.0 { 4.0 } else { 1.0 };
                worth += (old * old - twice * new * new) / self.error(a, b).powi(2);
            }
        }
        worth
    }

    /// The prior by least squares, then failures.
    fn topic(&self, y: &Ys) -> SuggestedTopic {
        let (mut top, mut bottom) = (0.0, 0.0);
        let few = &y[..y.len().min(FOR_PRIOR)];
        for (i, a) in few.iter().enumerate() {
            for (j, b) in few.iter().enumerate().skip(i + 1) {
                for c in &few[j + 1..] {
                    let weight = 1.0 / (self.odds[a.0] * self.odds[b.0] * self.odds[c.0]);
                    let product = a.1 * b.1 * c.1;
                    top += weight * self.third_cumulant([a.0, b.0, c.0]) * product;
                    bottom += weight * product * product;
                }
            }
        }
        let s = if bottom > 0.0 { top / bottom } else { 0.0 };
        let p = (0.5 * (1.0 + s / (s * s + 4.0).sqrt())).clamp((2.0 / self.n_docs).min(0.5), 0.9);
        let mut failures = vec![1.0; self.absent.len()];
        for &(token, y) in y {
            let m = self.absent[token];
            let d = y * m / (p * (1.0 - p)).sqrt();
            let failure = ((m - (1.0 - p) * d) / (m + p * d)).max(0.02);
            if failure < 0.98 {
                failures[token] = failure;
            }
        }
        SuggestedTopic { prior: p, failures }
    }

    /// Over the product of the shares.
    fn third_cumulant(&self, tokens: [usize; 3]) -> f64 {
        let [a, b, c] = tokens;
        let any = ones(&[&self.columns[a], &self.columns[b], &self.columns[c]]);
        let mut ratio =
            (1.0 - f64::from(any) / self.n_docs) / (self.absent[a] * self.absent[b] * self.absent[c]);
        for topic in &self.topics {
            let alone: f64 = tokens.iter().map(|&token| topic.influence(&[token])).product();
            ratio *= alone / topic.influence(&tokens);
        }
        ratio - 1.0 - self.r(a, b) - self.r(a, c) - self.r(b, c)
    }

    fn divide_out(&mut self, topic: SuggestedTopic) {
        let n = self.absent.len();
        let tokens: Vec<usize> = (0..n).filter(|&token| topic.failures[token] < 1.0).collect();
        for &a in &tokens {
            for &b in tokens.iter().filter(|&&b| b != a) {
                let ratio = topic.influence(&[a]) * topic.influence(&[b]) / topic.influence(&[a, b]);
                self.r[a * n + b] = (1.0 + self.r[a * n + b]) * ratio - 1.0;
            }
        }
        self.topics.push(topic);
    }
}

/// Documents that hold any of some tokens.
fn ones(columns: &[&Vec<u64>]) -> u32 {
    let Some((first, others)) = columns.split_first() else { return 0 };
    let any =
        |(at, &word): (usize, &u64)| others.iter().fold(word, |any, column| any | column[at]).count_ones();
    first.iter().enumerate().map(any).sum()
}
