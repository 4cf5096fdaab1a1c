//! Sum-product networks.

mod bound;
mod damaged;
mod golden;
mod learned;
mod queries;

use noisyor::Corpus;
use noisyor::baseline::spn::plain::State;
use noisyor::corpus::{Alignment, Docs, Item, Others, align};

/// Rows of states as documents.
struct Rows {
    corpus: Corpus,
    alignment: Alignment,
}

impl Rows {
    fn of(rows: &[Vec<State>], n_tokens: usize) -> Self {
        let mut corpus = Corpus::default();
        for row in rows {
            let those =
                |state| (0..).zip(row).filter(|(_, s)| **s == state).map(|(token, _)| token).collect();
            let mut others = Others { tokens: those(State::Unknown), rest_unknown: false };
            corpus.push_state(&mut those(State::Present), &mut others, "", "").unwrap();
        }
        let names: Vec<String> = (0..n_tokens).map(|token| token.to_string()).collect();
        let alignment = align(&corpus, &names);
        Self { corpus, alignment }
    }

    fn docs(&self) -> Docs<'_> {
        self.alignment.docs(&self.corpus)
    }

    fn all(&self) -> Vec<u32> {
        (0..self.corpus.n_docs() as u32).collect()
    }

    fn items(&self) -> Vec<Item> {
        Item::each(&self.all())
    }
}

/// Every row of so many tokens.
fn every_row(n_tokens: usize) -> Vec<Vec<State>> {
    let state = |row: u32, token: usize| if row >> token & 1 == 1 { State::Present } else { State::Absent };
    (0..1 << n_tokens).map(|row| (0..n_tokens).map(|token| state(row, token)).collect()).collect()
}
