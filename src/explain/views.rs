//! An explanation as people look at it: the topics that are on as a tree, and where each word comes from.

use super::{Cause, Explanation, Source, TopicPart};
use crate::network::{MAX_DEPTH, Network};
use rustc_hash::FxHashMap;

/// A topic with less than this share of a node has no real part in it.
pub const REAL_SHARE: f64 = 0.1;
/// A topic that switches a word on with at least this probability would explain it elsewhere.
const ELSEWHERE: f64 = 0.1;

/// A topic that is on, and what it explains.
#[derive(Debug, Clone, PartialEq)]
pub struct Branch<'a> {
    /// The topic.
    pub topic: &'a TopicPart,
    /// Tokens that it has a real share of: node number and share, largest first.
    pub words: Vec<(u32, f64)>,
    /// The topics that it explains more than any other topic does, most certain first.
    pub below: Vec<Branch<'a>>,
}

/// Where a token comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct WordView<'a> {
    /// Its node number.
    pub node: u32,
    /// Who explains it.
    pub cause: &'a Cause,
    /// Topics with a real share of it, largest first; none where the leak alone explains it.
    pub topics: Vec<&'a Source>,
    /// Topics that have no part in it here but would switch it on if they were on, with that probability, strongest first.
    pub elsewhere: Vec<(u32, f64)>,
}

/// A probability to three digits; what would be rounded to 0 or 1 says so.
pub fn probability_text(q: f64) -> String {
    if q > 0.9995 {
        ">0.999".to_owned()
    } else if q < 0.0005 {
        "<0.001".to_owned()
    } else {
        format!("{q:.3}")
    }
}

impl WordView<'_> {
    /// Whether it is the leak's more than all topics'.
    pub fn is_of_leak(&self) -> bool {
        self.cause.leak_share >= 0.5
    }

    /// Whether several topics explain it.
    pub fn is_split(&self) -> bool {
        self.topics.len() > 1
    }
}

impl Explanation {
    /// The topics that are on, as a tree: each stands below the topic that is on and explains it most.
    pub fn tree(&self, network: &Network) -> Vec<Branch<'_>> {
        let mut words: FxHashMap<u32, Vec<(u32, f64)>> = FxHashMap::default();
        for token in &self.tokens {
            for source in token.cause.parents.iter().filter(|source| source.share >= REAL_SHARE) {
                words.entry(source.topic).or_default().push((token.node, source.share));
            }
        }
        let mut below: FxHashMap<Option<u32>, Vec<&TopicPart>> = FxHashMap::default();
        let mut depths: FxHashMap<u32, usize> = FxHashMap::default();
        for &topic in network.graph.topic_order() {
            let Some(part) = self.topic(topic).filter(|part| part.is_on()) else { continue };
            let parent = part
                .cause
                .by_share()
                .into_iter()
                .find(|source| depths.get(&source.topic).is_some_and(|&depth| depth < MAX_DEPTH));
            depths.insert(topic, parent.map_or(1, |parent| depths[&parent.topic] + 1));
            below.entry(parent.map(|parent| parent.topic)).or_default().push(part);
        }
        branches(None, &mut words, &mut below)
    }

    /// Where every token comes from, in their order.
    pub fn words(&self) -> Vec<WordView<'_>> {
        self.tokens.iter().map(|token| word_view(token.node, &token.cause)).collect()
    }
}

fn branches<'a>(
    parent: Option<u32>,
    words: &mut FxHashMap<u32, Vec<(u32, f64)>>,
    below: &mut FxHashMap<Option<u32>, Vec<&'a TopicPart>>,
) -> Vec<Branch<'a>> {
    let mut topics = below.remove(&parent).unwrap_or_default();
    topics.sort_by(|a, b| b.log_odds.total_cmp(&a.log_odds).then(a.topic.cmp(&b.topic)));
    let mut branch = |topic: &'a TopicPart| {
        let mut own = words.remove(&topic.topic).unwrap_or_default();
        own.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        Branch { topic, words: own, below: branches(Some(topic.topic), words, below) }
    };
    topics.into_iter().map(&mut branch).collect()
}

fn word_view(node: u32, cause: &Cause) -> WordView<'_> {
    let (topics, others): (Vec<&Source>, Vec<&Source>) =
        cause.by_share().into_iter().partition(|source| source.share >= REAL_SHARE);
    let mut elsewhere: Vec<(u32, f64)> = others
        .iter()
        .map(|source| (source.topic, -(-source.w).exp_m1()))
        .filter(|other| other.1 >= ELSEWHERE)
        .collect();
    elsewhere.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    WordView { node, cause, topics, elsewhere }
}
