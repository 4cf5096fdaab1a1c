//! The moments that a schedule needs, counted in one pass over documents.
//!
//! A token has a column of bits, one a document. In how many documents all of some tokens are present is the number of bits in the
//! intersection of their columns, and without any of them follows by inclusion and exclusion, all in integers. Columns hold a block of
//! documents at a time, so memory does not grow with the corpus. Where tokens are unknown, one family of columns has what is present or
//! unknown, the other what is unknown: documents in which a set is known, and those in which it is absent, follow alike.

use super::schedule::Schedule;
use super::source::{ByGroup, GROUPS, Source, Table};
use crate::corpus::{Docs, RELEASE_DOCS};
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::rng::{Stream, rng};
use rand::RngExt;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::sync::atomic::Ordering;

/// Bytes of the columns of a block, about.
const COLUMN_BYTES: usize = 1 << 26;
/// Words of a column that one group of documents has in a block, at most.
const MAX_WORDS: usize = 16;
/// Pairs that one task counts.
const TASK_PAIRS: usize = 512;

/// Sets of tokens that are counted: all single ones, pairs and triplets, in ascending order.
struct Sets {
    n_tokens: usize,
    pairs: Vec<[u32; 2]>,
    /// Where the triplets that begin with each pair begin; one more entry than pairs.
    triplets_of: Vec<usize>,
    /// The third tokens of the triplets.
    thirds: Vec<u32>,
    pair_number: FxHashMap<[u32; 2], u32>,
}

impl Sets {
    fn of(schedule: &Schedule, n_tokens: usize) -> Self {
        let mut triplets: Vec<[u32; 3]> = Vec::new();
        let mut pairs: Vec<[u32; 2]> = Vec::new();
        for step in schedule.steps.iter().chain(&schedule.revisions) {
            for &set in &step.sets {
                let (mut tokens, n) = step.tokens(set);
                tokens[..n].sort_unstable();
                let [a, b, c] = tokens;
                pairs.push([a, b]);
                if n == 3 {
                    triplets.push(tokens);
                    pairs.extend([[a, c], [b, c]]);
                }
            }
        }
        triplets.par_sort_unstable();
        triplets.dedup();
        pairs.par_sort_unstable();
        pairs.dedup();
        let begins = |pair: &[u32; 2]| triplets.partition_point(|&[a, b, _]| [a, b] < *pair);
        let mut triplets_of: Vec<usize> = pairs.iter().map(begins).collect();
        triplets_of.push(triplets.len());
        let pair_number = pairs.iter().zip(0..).map(|(&pair, at)| (pair, at)).collect();
        let thirds = triplets.iter().map(|&[.., c]| c).collect();
        Self { n_tokens, pairs, triplets_of, thirds, pair_number }
    }

    /// Places of all sets: tokens, then pairs, then triplets.
    fn n_sets(&self) -> usize {
        self.n_tokens + self.pairs.len() + self.thirds.len()
    }

    /// The place of a set of ascending tokens.
    fn place(&self, set: &[u32]) -> Option<usize> {
        let pair = |a, b| self.pair_number.get(&[a, b]).map(|&at| at as usize);
        match *set {
            [a] => Some(a as usize),
            [a, b] => Some(self.n_tokens + pair(a, b)?),
            [a, b, c] => {
                let at = pair(a, b)?;
                let begin = self.triplets_of[at];
                let within = self.thirds[begin..self.triplets_of[at + 1]].binary_search(&c).ok()?;
                Some(self.n_tokens + self.pairs.len() + begin + within)
            }
            _ => None,
        }
    }
}

/// By set and group, the documents in which all tokens of a set are marked.
type Marked = Vec<[u32; GROUPS]>;

/// The counts that a schedule needs.
pub struct Counts {
    sets: Sets,
    /// Documents of each group.
    n_docs: [u32; GROUPS],
    /// Present or unknown.
    not_absent: Marked,
    /// Empty where nothing is unknown.
    unknown: Marked,
}

impl Counts {
    /// Counts these documents.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] where there are no documents, [`Error::Interrupted`] where the monitor says stop.
    pub fn of(
        docs: &Docs<'_>,
        doc_ixs: impl ExactSizeIterator<Item = usize>,
        n_tokens: usize,
        schedule: &Schedule,
        monitor: &Monitor,
    ) -> Result<Self> {
        if doc_ixs.len() == 0 {
            return Err(Error::Usage("there are no documents to count moments of".into()));
        }
        let sets = Sets::of(schedule, n_tokens);
        let families = if docs.has_unknown() { 2 } else { 1 };
        let mut marked: Vec<Marked> = vec![vec![[0; GROUPS]; sets.n_sets()]; families];
        let mut columns: Vec<Columns> = (0..families).map(|_| Columns::new(n_tokens)).collect();
        let mut n_docs = [0; GROUPS];
        // Groups are drawn, so they are alike in whatever order documents come.
        let mut rng = rng(0, Stream::Moments);
        let mut filled = [0; GROUPS];
        let mut unknown = Vec::new();
        for (at, doc_ix) in doc_ixs.enumerate() {
            let group = rng.random_range(0..GROUPS);
            if filled[group] == columns[0].group_docs() {
                monitor.go_on()?;
                columns
                    .iter_mut()
                    .zip(&mut marked)
                    .for_each(|(columns, marked)| columns.flush(&sets, marked));
                monitor.docs_done.fetch_add(filled.iter().sum::<usize>() as u64, Ordering::Relaxed);
                filled = [0; GROUPS];
            }
            let place = (group, filled[group]);
            filled[group] += 1;
            n_docs[group] += 1;
            docs.tokens(doc_ix).for_each(|token| columns[0].mark(token, place));
            if families == 2 {
                docs.unknown(doc_ix, &mut unknown);
                columns.iter_mut().for_each(|all| unknown.iter().for_each(|&token| all.mark(token, place)));
            }
            if (at + 1) % RELEASE_DOCS == 0 {
                docs.corpus().release();
            }
        }
        columns.iter_mut().zip(&mut marked).for_each(|(columns, marked)| columns.flush(&sets, marked));
        monitor.docs_done.fetch_add(filled.iter().sum::<usize>() as u64, Ordering::Relaxed);
        let mut marked = marked.into_iter();
        let not_absent = marked.next().unwrap_or_default();
        Ok(Self { sets, n_docs, not_absent, unknown: marked.next().unwrap_or_default() })
    }

    /// Number of single tokens, pairs and triplets that were counted.
    pub fn n_sets(&self) -> [usize; 3] {
        [self.sets.n_tokens, self.sets.pairs.len(), self.sets.thirds.len()]
    }

    /// By group, the documents in which no token of each subset is marked.
    fn unmarked(&self, marked: &[[u32; GROUPS]], places: &[usize; 8], n_subsets: usize) -> [ByGroup; 8] {
        let mut without = [[0.0; GROUPS]; 8];
        for mask in 1..n_subsets {
            let mut counts = self.n_docs.map(i64::from);
            for part in 1..=mask {
                if part & mask == part {
                    let sign = if part.count_ones() % 2 == 1 { -1 } else { 1 };
                    let of_part = &marked[places[part]];
                    counts.iter_mut().zip(of_part).for_each(|(count, &n)| *count += sign * i64::from(n));
                }
            }
            without[mask] = counts.map(|count| count as f64);
        }
        without
    }
}

impl Source for Counts {
    fn n_groups(&self) -> usize {
        self.n_docs.iter().filter(|&&n| n > 0).count()
    }

    fn table(&self, set: &[u32], table: &mut Table) {
        let n_subsets = 1 << set.len();
        let mut places = [0; 8];
        for mask in 1..n_subsets {
            let mut tokens = super::source::subset(set, mask);
            tokens.sort_unstable();
            places[mask] = self.sets.place(&tokens).expect("the sets of the schedule are counted");
        }
        let absent = self.unmarked(&self.not_absent, &places, n_subsets);
        let known = if self.unknown.is_empty() {
            [self.n_docs.map(f64::from); 8]
        } else {
            self.unmarked(&self.unknown, &places, n_subsets)
        };
        for mask in 1..n_subsets {
            let (absent, known) = (&absent[mask], &known[mask]);
            let n_known: f64 = known.iter().sum();
            let moment = absent.iter().sum::<f64>() / n_known;
            table.moments[mask] = moment;
            table.known[mask] = n_known;
            table.by_group[mask] = std::array::from_fn(|g| (absent[g] - moment * known[g]) / n_known);
        }
    }
}

/// Which documents of a block have each token. Group g has words `g * n_words..(g + 1) * n_words` of a column.
struct Columns {
    n_words: usize,
    bits: Vec<u64>,
}

impl Columns {
    fn new(n_tokens: usize) -> Self {
        let n_words = (COLUMN_BYTES / (8 * GROUPS * n_tokens.max(1))).clamp(1, MAX_WORDS);
        Self { n_words, bits: vec![0; n_tokens * GROUPS * n_words] }
    }

    /// Documents of a group that a block has room for.
    fn group_docs(&self) -> usize {
        64 * self.n_words
    }

    /// Marks a token in a document, by its group and place there.
    fn mark(&mut self, token: u32, (group, at): (usize, usize)) {
        let word = (token as usize * GROUPS + group) * self.n_words + at / 64;
        self.bits[word] |= 1 << (at % 64);
    }

    fn column(&self, token: u32) -> &[u64] {
        let len = GROUPS * self.n_words;
        &self.bits[token as usize * len..][..len]
    }

    /// Adds the documents of this block to the counts, and begins the next block.
    fn flush(&mut self, sets: &Sets, marked: &mut [[u32; GROUPS]]) {
        self.count(sets, marked);
        self.bits.fill(0);
    }

    fn count(&self, sets: &Sets, marked: &mut [[u32; GROUPS]]) {
        let (of_tokens, rest) = marked.split_at_mut(sets.n_tokens);
        let (of_pairs, mut of_triplets) = rest.split_at_mut(sets.pairs.len());
        of_tokens.par_iter_mut().enumerate().for_each(|(token, counts)| {
            for (word, &bits) in self.column(token as u32).iter().enumerate() {
                counts[word / self.n_words] += bits.count_ones();
            }
        });
        let mut tasks = Vec::new();
        for (task, of_pairs) in of_pairs.chunks_mut(TASK_PAIRS).enumerate() {
            let first = task * TASK_PAIRS;
            let n_triplets = sets.triplets_of[first + of_pairs.len()] - sets.triplets_of[first];
            let (of_these, others) = of_triplets.split_at_mut(n_triplets);
            of_triplets = others;
            tasks.push((first, of_pairs, of_these));
        }
        tasks.into_par_iter().for_each(|(first, of_pairs, of_triplets)| {
            let mut of_triplets = of_triplets.iter_mut();
            let mut both = Vec::new();
            for (at, counts) in of_pairs.iter_mut().enumerate() {
                let [a, b] = sets.pairs[first + at];
                both.clear();
                let words = self.column(a).iter().zip(self.column(b)).enumerate();
                both.extend(words.map(|(word, (a, b))| (word, a & b)).filter(|&(_, bits)| bits != 0));
                for &(word, bits) in &both {
                    counts[word / self.n_words] += bits.count_ones();
                }
                for (&third, counts) in sets.thirds
                    [sets.triplets_of[first + at]..sets.triplets_of[first + at + 1]]
                    .iter()
                    .zip(&mut of_triplets)
                {
                    let column = self.column(third);
                    for &(word, bits) in &both {
                        counts[word / self.n_words] += (bits & column[word]).count_ones();
                    }
                }
            }
        });
    }
}
