//! Names of topics: their most telling words.

use super::explain::NONE;
use super::layer::Layer;
use super::occurrences::Occurrences;
use super::options::Anchor;
use rayon::prelude::*;
use rustc_hash::FxHashSet;

/// Words of a topic that are kept.
const KEPT: usize = 8;
/// Words of a name; more where two topics would have the same.
const WORDS: usize = 2;
/// Characters of a word at most.
const LONGEST: usize = 32;

/// The tokens that each topic of each layer tells most about.
pub(super) struct Telling<'a> {
    tokens: &'a Occurrences,
    /// The topic of the layer reached so far that explains each occurrence of a token, through those below.
    explains: Vec<u32>,
    /// Of every layer and topic the most telling tokens, best first.
    pub(super) words: Vec<Vec<Vec<u32>>>,
}

impl<'a> Telling<'a> {
    pub(super) fn new(tokens: &'a Occurrences) -> Self {
        Self { tokens, explains: Vec::new(), words: Vec::new() }
    }

    /// Goes up a layer: `votes` says which of its topics explains each occurrence of the `items` below.
    pub(super) fn climb(&mut self, items: &Occurrences, votes: &[u32], n_topics: usize) {
        if self.words.is_empty() {
            self.explains = votes.to_vec();
        } else {
            for doc in 0..items.n_docs() {
                let (here, votes) = (items.items(doc), &votes[items.range(doc)]);
                for topic in &mut self.explains[self.tokens.range(doc)] {
                    *topic = here.binary_search(topic).map_or(NONE, |at| votes[at]);
                }
            }
        }
        self.words.push(self.tellings(n_topics));
    }

    /// Tokens by `p log(p / base)`, p being how often a topic explains the token when it explains anything.
    fn tellings(&self, n_topics: usize) -> Vec<Vec<u32>> {
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); n_topics];
        for doc in 0..self.tokens.n_docs() {
            for (&token, &topic) in self.tokens.items(doc).iter().zip(&self.explains[self.tokens.range(doc)])
            {
                if topic != NONE {
                    lists[topic as usize].push(token);
                }
            }
        }
        lists.into_par_iter().map(|list| self.telling(list)).collect()
    }

    fn telling(&self, mut list: Vec<u32>) -> Vec<u32> {
        list.sort_unstable();
        let all = list.len() as f64;
        let score = |run: &[u32]| {
            let base = self.tokens.df(run[0] as usize) as f64 / self.tokens.n_occurrences() as f64;
            let p = run.len() as f64 / all;
            (p * (p / base).ln(), run[0])
        };
        let mut scored: Vec<(f64, u32)> = list.chunk_by(|a, b| a == b).map(score).collect();
        scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        scored.into_iter().take(KEPT).map(|(_, token)| token).collect()
    }
}

/// Names of all topics, from the top layer down: all different, and none a token's.
pub(super) fn name(
    telling: &Telling,
    layers: &[Layer],
    tokens: &[String],
    anchors: &[Anchor],
) -> Vec<String> {
    let mut taken: FxHashSet<String> = tokens.iter().cloned().collect();
    taken.extend(anchors.iter().map(|anchor| anchor.name.clone()));
    let children = lowest_children(layers);
    let mut names = Vec::new();
    for (at, words) in telling.words.iter().enumerate().rev() {
        for (topic, words) in words.iter().enumerate() {
            let given = anchors.get(topic).filter(|anchor| at == 0 && !anchor.name.is_empty());
            // A topic that explains nothing still has children.
            let words = if words.is_empty() && at == 0 { &children[topic] } else { words };
            names.push(given.map_or_else(|| unused(words, tokens, &mut taken), |anchor| anchor.name.clone()));
        }
    }
    names
}

/// The tokens of each topic of the lowest layer.
fn lowest_children(layers: &[Layer]) -> Vec<Vec<u32>> {
    let mut children = vec![Vec::new(); layers[0].n_topics];
    layers[0].edges().for_each(|(item, edge)| children[edge.topic as usize].push(item));
    children
}

/// The shortest name of these words that is not taken yet.
fn unused(words: &[u32], tokens: &[String], taken: &mut FxHashSet<String>) -> String {
    let words: Vec<String> =
        words.iter().map(|&token| tokens[token as usize].chars().take(LONGEST).collect()).collect();
    let with = |n: usize| words[..n.min(words.len())].join(" ");
    let longer = (WORDS.min(words.len())..=words.len()).map(with).filter(|name| name.contains(' '));
    let stem = match words.len() {
        0 => "topic".to_owned(),
        1 => format!("topic {}", words[0]),
        _ => with(WORDS),
    };
    let numbered = (2..).map(|number: u64| format!("{stem} {number}"));
    let name = longer.chain(std::iter::once(stem.clone())).chain(numbered).find(|name| !taken.contains(name));
    let name = name.unwrap_or(stem);
    taken.insert(name.clone());
    name
}
