//! A graph as it is asked for: by words, before the tokens of a corpus have numbers.

use super::{Anchor, GraphOptions};
use crate::error::{Error, Result};
use crate::files;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A larger file is no list of words that someone wrote down.
const MAX_BYTES: u64 = 1 << 24;

/// Words that belong together, or must not come together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WordGroup {
    /// The topic's name; empty: made from its words like any other.
    #[serde(default)]
    pub name: String,
    /// The words.
    pub words: Vec<String>,
    /// Where they stand, for errors: a file and a line.
    #[serde(default)]
    pub place: String,
}

/// [`GraphOptions`] as they are asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GraphRequest {
    /// Topics of each layer, the one above the tokens first; empty: as `layers` says.
    pub topics: Vec<usize>,
    /// Layers.
    pub layers: Option<usize>,
    /// Parents of a token at most.
    pub parents: usize,
    /// Nats that an edge must gain, instead of `parents` and `min_support`.
    pub min_gain: Option<f64>,
    /// Then: edges of a document at most, in the mean.
    pub doc_edges: Option<usize>,
    /// Edges at most.
    pub max_edges: Option<usize>,
    /// Pairs seen together in fewer documents do not count.
    pub min_support: u32,
    /// Topics that there must be.
    pub anchors: Vec<WordGroup>,
    /// Words that must not share a topic.
    pub exclude: Vec<WordGroup>,
}

impl Default for GraphRequest {
    fn default() -> Self {
        let GraphOptions { topics, layers, parents, min_gain, doc_edges, max_edges, min_support, .. } =
            GraphOptions::default();
        let (anchors, exclude) = (Vec::new(), Vec::new());
        Self { topics, layers, parents, min_gain, doc_edges, max_edges, min_support, anchors, exclude }
    }
}

impl GraphRequest {
    /// Whether something is known about topics, which a graph must keep to.
    pub fn has_constraints(&self) -> bool {
        !self.anchors.is_empty() || !self.exclude.is_empty()
    }

    /// The options for these tokens, checked.
    ///
    /// # Errors
    /// Words that are no tokens, topics with names of tokens, and options that make no sense together.
    pub fn resolve(&self, tokens: &[String], seed: u64) -> Result<GraphOptions> {
        let number_of: FxHashMap<&str, u32> =
            tokens.iter().enumerate().map(|(at, name)| (name.as_str(), at as u32)).collect();
        let numbers = |group: &WordGroup| {
            let number = |word: &String| {
                number_of.get(word.as_str()).copied().ok_or_else(|| {
                    group.fault(&format!(
                        "'{word}' is no token of the corpus; remove it, or mind the spelling and lower case"
                    ))
                })
            };
            group.words.iter().map(number).collect::<Result<Vec<u32>>>()
        };
        let mut anchors: Vec<Anchor> = Vec::with_capacity(self.anchors.len());
        for group in &self.anchors {
            let (name, tokens) = (group.name.clone(), numbers(group)?);
            if tokens.is_empty() {
                return Err(group.fault(&format!("topic '{name}' has no words; give at least one")));
            }
            if number_of.contains_key(name.as_str()) {
                return Err(group.fault(&format!(
                    "'{name}' is a token of the corpus, and a topic must have another name"
                )));
            }
            if !name.is_empty() && anchors.iter().any(|anchor| anchor.name == name) {
                return Err(
                    group.fault(&format!("topic '{name}' is on an earlier line already; names must differ"))
                );
            }
            anchors.push(Anchor { name, tokens });
        }
        let exclude = self.exclude.iter().map(numbers).collect::<Result<Vec<_>>>()?;
        if let Some(group) = exclude.iter().find(|group| group.iter().all(|token| *token == group[0])) {
            let word = group.first().map_or("", |&token| tokens[token as usize].as_str());
            return Err(Error::Usage(format!(
                "`exclude`: '{word}' stands alone; a group needs two words or more"
            )));
        }
        let Self { layers, parents, min_gain, doc_edges, max_edges, min_support, .. } = *self;
        let topics = self.topics.clone();
        let options = GraphOptions {
            topics,
            layers,
            parents,
            min_gain,
            doc_edges,
            max_edges,
            min_support,
            anchors,
            exclude,
            seed,
        };
        options.check(tokens)?;
        Ok(options)
    }
}

impl WordGroup {
    fn fault(&self, message: &str) -> Error {
        match self.place.as_str() {
            "" => Error::Usage(message.into()),
            place => Error::Usage(format!("{place}: {message}")),
        }
    }

    /// Topics of a file, one a line: `name: word word` or `name<TAB>word word`, or words alone; `#` starts a comment.
    ///
    /// # Errors
    /// A file that cannot be read, or is no text.
    pub fn read_anchors(path: &Path) -> Result<Vec<Self>> {
        read_lines(path, |text| {
            // A colon inside a word is no end of a name.
            let named = text.split_once('\t').or_else(|| text.split_once(": "));
            let (name, words) = named.or(text.strip_suffix(':').map(|name| (name, ""))).unwrap_or(("", text));
            (name.trim().trim_end_matches(':').to_owned(), words_of(words))
        })
    }

    /// Groups of words of a file, one a line.
    ///
    /// # Errors
    /// A file that cannot be read, or is no text.
    pub fn read_groups(path: &Path) -> Result<Vec<Self>> {
        read_lines(path, |text| (String::new(), words_of(text)))
    }
}

fn words_of(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// A group for every line of a small text file that holds anything.
fn read_lines(path: &Path, group: impl Fn(&str) -> (String, Vec<String>)) -> Result<Vec<WordGroup>> {
    let bytes = files::read(path, MAX_BYTES)?;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let mut groups = Vec::new();
    for (number, line) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
        let line = std::str::from_utf8(line)
            .map_err(|_| Error::input(path, Some(number), "not UTF-8 text; save the file as UTF-8"))?
            .trim();
        if !line.is_empty() && !line.starts_with('#') {
            let (name, words) = group(line);
            groups.push(WordGroup { name, words, place: format!("{}:{number}", path.display()) });
        }
    }
    Ok(groups)
}
