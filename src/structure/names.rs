//! Names of topics: their most telling words.

use super::layer::Layer;
use super::options::Anchor;
use rustc_hash::FxHashSet;

/// Words that a name is made from.
pub(super) const KEPT: usize = 8;
/// Words of a name; more where two topics would have the same.
const WORDS: usize = 2;
/// Characters of a word at most.
const LONGEST: usize = 32;

/// Names of all topics, from the top layer down: all different, and none a token's. `telling` has the best words of every layer and topic.
pub(super) fn name(
    telling: &[Vec<Vec<u32>>],
    lowest: &Layer,
    tokens: &[String],
    anchors: &[Anchor],
) -> Vec<String> {
    let mut taken: FxHashSet<String> = tokens.iter().cloned().collect();
    taken.extend(anchors.iter().map(|anchor| anchor.name.clone()));
    let children = children(lowest);
    let mut names = Vec::new();
    for (at, words) in telling.iter().enumerate().rev() {
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
fn children(lowest: &Layer) -> Vec<Vec<u32>> {
    let mut children = vec![Vec::new(); lowest.n_topics];
    lowest.edges().for_each(|(item, edge)| children[edge.topic as usize].push(item));
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
