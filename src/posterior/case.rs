//! What is known of one case.

use crate::error::{Error, Result};
use crate::network::Graph;

/// What is known of one case, in the model's token numbers. All other tokens and topics are unknown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Case {
    /// Tokens that are present.
    pub present: Vec<u32>,
    /// Tokens that are absent.
    pub absent: Vec<u32>,
    /// Topics whose state is given.
    pub given: Vec<(u32, bool)>,
}

impl Case {
    /// A document: these tokens are present, all others absent.
    pub fn of_document(present: &[u32], n_tokens: usize) -> Self {
        let mut is_present = vec![false; n_tokens];
        for &token in present {
            if let Some(mark) = is_present.get_mut(token as usize) {
                *mark = true;
            }
        }
        let absent = (0..n_tokens as u32).filter(|&token| !is_present[token as usize]).collect();
        Self { present: present.to_vec(), absent, given: Vec::new() }
    }

    /// The state of every node of a network: known on, known off, or unknown.
    pub(super) fn states(&self, graph: &Graph) -> Result<Vec<Option<bool>>> {
        let (n_topics, n_tokens) = (graph.n_topics(), graph.n_tokens());
        let mut states = vec![None; graph.n_nodes()];
        let mut set = |node: usize, on: bool, what: &str, number: u32| match states[node].replace(on) {
            Some(before) if before != on => Err(Error::Usage(format!(
                "{what} {number} is given both as present and as absent; leave one of them out"
            ))),
            _ => Ok(()),
        };
        let tokens = self.present.iter().map(|&t| (t, true)).chain(self.absent.iter().map(|&t| (t, false)));
        for (token, on) in tokens {
            if token as usize >= n_tokens {
                return Err(Error::Usage(format!(
                    "token {token} of a case: the model has {n_tokens} tokens"
                )));
            }
            set(n_topics + token as usize, on, "token", token)?;
        }
        for &(topic, on) in &self.given {
            if topic as usize >= n_topics {
                return Err(Error::Usage(format!(
                    "given topic {topic} of a case: the model has {n_topics} topics"
                )));
            }
            set(topic as usize, on, "topic", topic)?;
        }
        Ok(states)
    }
}
