//! One document's local model as a picture: which nodes and edges are drawn, and how many are left out.

mod dot;
mod html;
mod svg;

pub use dot::dot;
pub use html::html;
pub use svg::svg;

use super::{Branch, Explanation, TopicPart, WordView};
use crate::network::Network;
use rustc_hash::{FxHashMap, FxHashSet};

/// Topics that are on: so many at most, the most certain ones.
const MAX_ON: usize = 40;
/// Topics that are off: the least unlikely ones.
const MAX_OFF: usize = 6;
/// Words: those that cost most without their topics.
const MAX_WORDS: usize = 64;
/// Edges of a smaller share are not drawn.
const MIN_SHARE: f64 = 0.02;
/// Words that a topic that is off is drawn to: those with the largest weights.
const OFF_WORDS: usize = 3;

/// What is drawn.
struct Picture<'a> {
    network: &'a Network,
    explanation: &'a Explanation,
    /// Topics that are on, in the order of the tree, then topics that are off.
    topics: Vec<&'a TopicPart>,
    n_on: usize,
    /// Words beside those of the same topic; last those that nobody but the leak explains.
    words: Vec<WordView<'a>>,
    links: Vec<Link>,
}

/// An edge that is drawn.
struct Link {
    parent: u32,
    child: u32,
    /// The parent's share of the child; none if one of the two is off: then it is only what might have been.
    share: Option<f64>,
}

impl<'a> Picture<'a> {
    fn new(network: &'a Network, explanation: &'a Explanation) -> Self {
        let kept: FxHashSet<u32> = explanation.on().iter().take(MAX_ON).map(|part| part.topic).collect();
        let mut topics = Vec::new();
        flatten(explanation.tree(network), &mut topics);
        topics.retain(|part| kept.contains(&part.topic));
        let n_on = topics.len();
        topics.extend(explanation.off().into_iter().take(MAX_OFF));
        let place: FxHashMap<u32, usize> =
            topics.iter().enumerate().map(|(place, part)| (part.topic, place)).collect();
        let words = choose_words(explanation, &place);
        let mut picture = Self { network, explanation, topics, n_on, words, links: Vec::new() };
        picture.links = picture.links(&place);
        picture
    }

    fn links(&self, place: &FxHashMap<u32, usize>) -> Vec<Link> {
        let mut links = Vec::new();
        let topics = self.topics.iter().map(|part| (part.topic, &part.cause));
        let is_on = |topic: u32| place.get(&topic).is_some_and(|&place| self.is_on(place));
        for (child, cause) in topics.chain(self.words.iter().map(|word| (word.node, word.cause))) {
            let child_on = is_on(child) || !self.network.graph.is_topic(child as usize);
            for source in cause.parents.iter().filter(|source| is_on(source.topic)) {
                if source.share >= MIN_SHARE {
                    let share = child_on.then_some(source.share);
                    links.push(Link { parent: source.topic, child, share });
                }
            }
        }
        for part in &self.topics[self.n_on..] {
            let mut words: Vec<(f64, u32)> =
                self.words.iter().filter_map(|word| self.weight(part.topic, word)).collect();
            words.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            let link = |&(_, child): &(f64, u32)| Link { parent: part.topic, child, share: None };
            links.extend(words.iter().take(OFF_WORDS).map(link));
        }
        links
    }

    fn weight(&self, topic: u32, word: &WordView<'_>) -> Option<(f64, u32)> {
        let source = word.cause.parents.iter().find(|source| source.topic == topic)?;
        Some((source.w, word.node))
    }

    fn name(&self, node: u32) -> &'a str {
        self.network.names.of(node)
    }

    fn is_on(&self, place: usize) -> bool {
        place < self.n_on
    }

    /// What the picture leaves out, in words; empty if nothing.
    fn left_out(&self) -> String {
        let (n_on, n_all) = (self.explanation.on().len(), self.explanation.topics.len());
        let counts = [
            (n_on - self.n_on, "topics that are on"),
            (n_all - n_on - (self.topics.len() - self.n_on), "topics that are off"),
            (self.explanation.tokens.len() - self.words.len(), "words"),
        ];
        let parts: Vec<String> =
            counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
        if parts.is_empty() { String::new() } else { format!("not shown: {}", parts.join(", ")) }
    }

    /// A topic in words.
    fn topic_title(&self, part: &TopicPart) -> String {
        let TopicPart { q, log_odds, .. } = part;
        format!("{}: q {q:.3}, log-odds {log_odds:+.2}", self.name(part.topic))
    }

    /// A word in words.
    fn word_title(&self, word: &WordView<'_>) -> String {
        let mut title = format!("{}: ", self.name(word.node));
        for source in &word.topics {
            title += &format!("{} {:.0} %, ", self.name(source.topic), 100.0 * source.share);
        }
        title + &format!("leak {:.0} %; costs {:.2} nats", 100.0 * word.cause.leak_share, word.cause.cost)
    }
}

fn flatten<'a>(branches: Vec<Branch<'a>>, topics: &mut Vec<&'a TopicPart>) {
    for branch in branches {
        topics.push(branch.topic);
        flatten(branch.below, topics);
    }
}

/// The words to draw, in the order of the topics that explain them most.
fn choose_words<'a>(explanation: &'a Explanation, place: &FxHashMap<u32, usize>) -> Vec<WordView<'a>> {
    let mut words = explanation.words();
    words.sort_by(|a, b| {
        let saved = |word: &WordView<'_>| word.cause.leak_cost - word.cause.cost;
        saved(b).total_cmp(&saved(a)).then(a.node.cmp(&b.node))
    });
    words.truncate(MAX_WORDS);
    let order = |word: &WordView<'_>| {
        let main = word.topics.first();
        let topic = main.and_then(|main| place.get(&main.topic)).copied().unwrap_or(usize::MAX);
        let share = main.map_or(0.0, |main| main.share);
        (topic, share)
    };
    words.sort_by(|a, b| {
        let ((topic_a, share_a), (topic_b, share_b)) = (order(a), order(b));
        topic_a.cmp(&topic_b).then(share_b.total_cmp(&share_a)).then(a.node.cmp(&b.node))
    });
    words
}
