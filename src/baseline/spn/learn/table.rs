//! The training rows, and parts of them: some rows with some tokens, by row and by column.

use crate::corpus::Docs;

/// Lists of numbers, one after another.
#[derive(Debug, Default, Clone)]
pub(super) struct Lists {
    ends: Vec<usize>,
    numbers: Vec<u32>,
}

impl Lists {
    fn push(&mut self, numbers: impl Iterator<Item = u32>) {
        self.numbers.extend(numbers);
        self.ends.push(self.numbers.len());
    }

    pub(super) fn get(&self, at: usize) -> &[u32] {
        let begin = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.numbers[begin..self.ends[at]]
    }
}

/// Rows with the tokens that are present, and those that are unknown.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) n_rows: usize,
    pub(super) n_tokens: usize,
    pub(super) present: Lists,
    /// Empty lists where nothing is unknown.
    pub(super) unknown: Lists,
    pub(super) has_unknown: bool,
}

impl Table {
    /// All tokens of these documents.
    pub(super) fn of(docs: &Docs<'_>, doc_ixs: &[u32], n_tokens: usize) -> Self {
        let mut table = Self { n_rows: doc_ixs.len(), n_tokens, ..Self::default() };
        let mut unknown = Vec::new();
        for &doc_ix in doc_ixs {
            table.present.push(docs.tokens(doc_ix as usize));
            if docs.has_unknown() {
                docs.unknown(doc_ix as usize, &mut unknown);
                table.has_unknown |= !unknown.is_empty();
            }
            table.unknown.push(unknown.iter().copied());
        }
        table
    }

    /// Some rows and tokens, numbered anew in that order.
    pub(super) fn part(&self, rows: &[u32], tokens: &[u32]) -> Self {
        let mut number = vec![u32::MAX; self.n_tokens];
        tokens.iter().zip(0..).for_each(|(&token, at)| number[token as usize] = at);
        let known = |tokens: &[u32]| {
            let numbers: Vec<u32> = tokens.iter().map(|&token| number[token as usize]).collect();
            numbers.into_iter().filter(|&number| number != u32::MAX)
        };
        let mut part = Self { n_rows: rows.len(), n_tokens: tokens.len(), ..Self::default() };
        for &row in rows {
            part.present.push(known(self.present.get(row as usize)));
            part.unknown.push(known(self.unknown.get(row as usize)));
        }
        part.has_unknown = !part.unknown.numbers.is_empty();
        part
    }

    /// In how many rows each token is present, and in how many known.
    pub(super) fn counts(&self) -> Vec<[u32; 2]> {
        let mut counts = vec![[0, self.n_rows as u32]; self.n_tokens];
        self.present.numbers.iter().for_each(|&token| counts[token as usize][0] += 1);
        self.unknown.numbers.iter().for_each(|&token| counts[token as usize][1] -= 1);
        counts
    }

    /// Bit sets of rows by token: where it is present, and where known (none where all are).
    pub(super) fn columns(&self) -> Columns {
        let n_words = self.n_rows.div_ceil(64);
        let set = |bits: &mut Vec<u64>, lists: &Lists| {
            for row in 0..self.n_rows {
                for &token in lists.get(row) {
                    bits[token as usize * n_words + row / 64] ^= 1 << (row % 64);
                }
            }
        };
        let mut present = vec![0; n_words * self.n_tokens];
        set(&mut present, &self.present);
        let known = self.has_unknown.then(|| {
            let mut known = vec![u64::MAX; n_words * self.n_tokens];
            set(&mut known, &self.unknown);
            // No row is known behind the last.
            if !self.n_rows.is_multiple_of(64) {
                let last = (1u64 << (self.n_rows % 64)) - 1;
                known.iter_mut().skip(n_words - 1).step_by(n_words).for_each(|word| *word &= last);
            }
            known
        });
        Columns { n_words, present, known }
    }
}

/// Bit sets by token.
#[derive(Debug)]
pub(super) struct Columns {
    n_words: usize,
    present: Vec<u64>,
    known: Option<Vec<u64>>,
}

impl Columns {
    fn of<'a>(&self, bits: &'a [u64], token: u32) -> &'a [u64] {
        &bits[token as usize * self.n_words..][..self.n_words]
    }

    /// Rows with both present; and, among rows in which both are known, those with the first, with the second, and all.
    pub(super) fn pair(&self, i: u32, j: u32, counts: &[[u32; 2]], n_rows: usize) -> [u32; 4] {
        let and = |a: &[u64], b: &[u64]| a.iter().zip(b).map(|(a, b)| (a & b).count_ones()).sum::<u32>();
        let (x, y) = (self.of(&self.present, i), self.of(&self.present, j));
        let both = and(x, y);
        match &self.known {
            None => [both, counts[i as usize][0], counts[j as usize][0], n_rows as u32],
            Some(known) => {
                let (known_x, known_y) = (self.of(known, i), self.of(known, j));
                [both, and(x, known_y), and(known_x, y), and(known_x, known_y)]
            }
        }
    }
}
