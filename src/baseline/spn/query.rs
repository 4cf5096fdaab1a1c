//! Questions to a network: what follows from what is known, and documents drawn from it.
//!
//! ```text
//! p(x | e) = V(x, e) / V(e)                       unknown tokens are summed out
//! p(x_t | all others) from the derivatives of V by the leaves of t      (plain.rs)
//! samples: from the root, at a sum child j with probability w_kj V_j(e) / V_k(e), at a product all children
//! ```

use super::model::Spn;
use super::plain::{self, State, log_values};
use super::structure::Kind;
use crate::corpus::Docs;
use crate::error::{Error, Result};
use crate::rng::{Stream, rng};
use rand::RngExt;

impl Spn {
    /// log p(the other tokens of a document | its given tokens) of each document, in nats.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] where a given token does not exist.
    pub fn log_p_given(&self, docs: &Docs<'_>, doc_ixs: &[u32], given: &[u32]) -> Result<Vec<f64>> {
        let n_tokens = self.structure().n_tokens();
        let mut is_given = vec![false; n_tokens];
        for &token in given {
            let told = || Error::Usage(format!("`given` has token {token}; there are {n_tokens}"));
            *is_given.get_mut(token as usize).ok_or_else(told)? = true;
        }
        let of_given = self.predicting.log_v_of(docs, doc_ixs, Some(&is_given));
        let of_all = self.predicting.log_v(docs, doc_ixs);
        Ok(of_all.into_iter().zip(of_given).map(|(all, given)| all - given).collect())
    }

    /// p(token is present | what is known of the other tokens) of every token of a row.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] where the row has not a state for every token.
    pub fn marginals_of(&self, row: &[State]) -> Result<Vec<f64>> {
        self.check_row(row)?;
        Ok(plain::marginals(self.structure(), self.weights(), row))
    }

    /// The states of a document's tokens.
    pub fn row(&self, docs: &Docs<'_>, doc_ix: usize) -> Vec<State> {
        let mut row = vec![State::Absent; self.structure().n_tokens()];
        let mut unknown = Vec::new();
        docs.unknown(doc_ix, &mut unknown);
        unknown.into_iter().for_each(|token| row[token as usize] = State::Unknown);
        docs.tokens(doc_ix).for_each(|token| row[token as usize] = State::Present);
        row
    }

    /// Documents drawn given what is known in a row: the tokens that are present in each. With all tokens unknown, nothing is given.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] where the row has not a state for every token, or has no probability.
    pub fn sample_row(&self, row: &[State], n_docs: usize, seed: u64) -> Result<Vec<Vec<u32>>> {
        self.check_row(row)?;
        let l = log_values(self.structure(), self.weights(), row);
        if l.last().is_none_or(|l| *l == f64::NEG_INFINITY) {
            return Err(Error::Usage("the given tokens have probability 0; give others".to_owned()));
        }
        Ok((0..n_docs as u64).map(|doc| self.draw(row, &l, seed, doc)).collect())
    }

    fn draw(&self, row: &[State], l: &[f64], seed: u64, doc: u64) -> Vec<u32> {
        let (structure, weights) = (self.structure(), self.weights());
        let mut rng = rng(seed, Stream::SpnSample(doc));
        let mut tokens = Vec::new();
        let mut stack = vec![structure.n_nodes() - 1];
        while let Some(node) = stack.pop() {
            let w = &weights[structure.params(node)];
            let children = structure.children(node);
            match structure.kind(node) {
                Kind::Product => stack.extend(children.iter().map(|&child| child as usize)),
                Kind::Sum => {
                    // The last child that is possible takes what rounding leaves.
                    let mut left = rng.random::<f64>();
                    let mut chosen = None;
                    for (&child, w) in children.iter().zip(w) {
                        let p = (w.ln() + l[child as usize] - l[node]).exp();
                        if p > 0.0 {
                            chosen = Some(child as usize);
                            left -= p;
                            if left < 0.0 {
                                break;
                            }
                        }
                    }
                    stack.extend(chosen);
                }
                Kind::Leaf(token) => {
                    let is_present = match row[token as usize] {
                        State::Absent => false,
                        State::Present => true,
                        State::Unknown => rng.random::<f64>() * (w[0] + w[1]) < w[1],
                    };
                    tokens.extend(is_present.then_some(token));
                }
                Kind::Indicator(token, present) => tokens.extend(present.then_some(token)),
            }
        }
        tokens.sort_unstable();
        tokens
    }

    /// Where these tokens are known and no other.
    pub(super) fn row_of(&self, given: &[(u32, bool)]) -> Vec<State> {
        let mut row = vec![State::Unknown; self.structure().n_tokens()];
        for &(token, is_present) in given {
            row[token as usize] = if is_present { State::Present } else { State::Absent };
        }
        row
    }

    fn check_row(&self, row: &[State]) -> Result<()> {
        let n_tokens = self.structure().n_tokens();
        if row.len() == n_tokens {
            return Ok(());
        }
        Err(Error::Usage(format!("a row has {} states; give one for each of {n_tokens} tokens", row.len())))
    }
}
