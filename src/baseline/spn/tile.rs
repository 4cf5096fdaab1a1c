//! Rows that are evaluated together: for every token, in which of them it is present, and in which unknown.
//!
//! A token of few rows is a list of them; one of many is a vector of zeros and ones, which multiplies faster than a list is walked.

use crate::corpus::{Docs, Item};

/// Rows of a tile: values of a node are this many numbers, one after another.
pub(super) const TILE: usize = 128;
/// A token of at least this many rows of a tile is a vector.
const DENSE: u32 = 12;
/// No vector.
const LIST: u32 = u32::MAX;

/// The rows of every token.
#[derive(Debug, Default)]
pub(super) struct Lists {
    begin: Vec<u32>,
    rows: Vec<u8>,
    /// Where the vector of a token is, or [`LIST`].
    vector_of: Vec<u32>,
    vectors: Vec<[f64; TILE]>,
    /// Rows and tokens, as they come.
    pairs: Vec<(u8, u32)>,
}

/// Where a token is.
pub(super) enum Where<'a> {
    Rows(&'a [u8]),
    Vector(u32),
}

impl Lists {
    fn clear(&mut self, n_tokens: usize) {
        self.begin.clear();
        self.begin.resize(n_tokens + 1, 0);
        self.vector_of.clear();
        self.vector_of.resize(n_tokens, LIST);
        self.pairs.clear();
    }

    fn build(&mut self) {
        for &(_, token) in &self.pairs {
            self.begin[token as usize + 1] += 1;
        }
        let mut n_vectors = 0;
        for token in 0..self.vector_of.len() {
            if self.begin[token + 1] >= DENSE {
                self.vector_of[token] = n_vectors;
                n_vectors += 1;
            }
            self.begin[token + 1] += self.begin[token];
        }
        self.vectors.clear();
        self.vectors.resize(n_vectors as usize, [0.0; TILE]);
        self.rows.clear();
        self.rows.resize(self.pairs.len(), 0);
        let mut next = self.begin.clone();
        for &(row, token) in &self.pairs {
            let at = &mut next[token as usize];
            self.rows[*at as usize] = row;
            *at += 1;
            let vector = self.vector_of[token as usize];
            if vector != LIST {
                self.vectors[vector as usize][usize::from(row)] = 1.0;
            }
        }
    }

    #[inline(always)]
    pub(super) fn rows_of(&self, token: u32) -> &[u8] {
        let token = token as usize;
        &self.rows[self.begin[token] as usize..self.begin[token + 1] as usize]
    }

    #[inline(always)]
    pub(super) fn of(&self, token: u32) -> Where<'_> {
        match self.vector_of[token as usize] {
            LIST => Where::Rows(self.rows_of(token)),
            vector => Where::Vector(vector),
        }
    }

    #[inline(always)]
    pub(super) fn vector(&self, vector: u32) -> &[f64; TILE] {
        &self.vectors[vector as usize]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }
}

/// Up to [`TILE`] rows.
#[derive(Debug)]
pub(super) struct Tile {
    pub(super) n_rows: usize,
    /// How many documents each row stands for; zero behind the last.
    pub(super) counts: [f64; TILE],
    pub(super) present: Lists,
    pub(super) unknown: Lists,
    buffer: Vec<u32>,
}

impl Default for Tile {
    fn default() -> Self {
        let (present, unknown) = (Lists::default(), Lists::default());
        Self { n_rows: 0, counts: [0.0; TILE], present, unknown, buffer: Vec::new() }
    }
}

impl Tile {
    /// Takes up to [`TILE`] documents. If only some tokens are `given`, the others are unknown.
    pub(super) fn fill(&mut self, docs: &Docs<'_>, items: &[Item], n_tokens: usize, given: Option<&[bool]>) {
        self.begin(n_tokens);
        let is_given = |token: &u32| given.is_none_or(|given| given[*token as usize]);
        for item in items {
            let (doc_ix, row) = (item.doc_ix as usize, self.n_rows as u8);
            if docs.has_unknown() {
                docs.unknown(doc_ix, &mut self.buffer);
                let unknown = self.buffer.iter().copied().filter(is_given);
                self.unknown.pairs.extend(unknown.map(|token| (row, token)));
            }
            if given.is_some() {
                let others = (0..n_tokens as u32).filter(|token| !is_given(token));
                self.unknown.pairs.extend(others.map(|token| (row, token)));
            }
            self.present.pairs.extend(docs.tokens(doc_ix).filter(is_given).map(|token| (row, token)));
            self.counts[self.n_rows] = f64::from(item.count);
            self.n_rows += 1;
        }
        self.end();
    }

    /// Takes one row in which every token is unknown.
    pub(super) fn all_unknown(&mut self, n_tokens: usize) {
        self.begin(n_tokens);
        self.unknown.pairs.extend((0..n_tokens as u32).map(|token| (0, token)));
        (self.counts[0], self.n_rows) = (1.0, 1);
        self.end();
    }

    fn begin(&mut self, n_tokens: usize) {
        self.present.clear(n_tokens);
        self.unknown.clear(n_tokens);
        self.counts = [0.0; TILE];
        self.n_rows = 0;
    }

    fn end(&mut self) {
        self.present.build();
        self.unknown.build();
    }
}
