//! What kind of graph is wanted.

use crate::error::{Error, Result};
use crate::faults::shown;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

/// A topic given as a list of words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// Its name; empty: made from its words like any other.
    pub name: String,
    /// Tokens that are its children, whatever else is.
    pub tokens: Vec<u32>,
}

/// Options of [`learn_graph`](super::learn_graph).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GraphOptions {
    /// Topics of each layer, the one above the tokens first; empty: as `layers` says.
    pub topics: Vec<usize>,
    /// Layers, the lowest of 10/3 times the root of the number of tokens, each other a third of the one below; none: as many as have
    /// ten topics, two at most.
    pub layers: Option<usize>,
    /// Parents of a token at most; topics may have a third of that.
    pub parents: usize,
    /// Where given, edges go by what they gain instead of `parents` and `min_support`: from the topics of all layers to every token that
    /// gains this many nats over all training documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_gain: Option<f64>,
    /// Then: edges of a document at most, in the mean; those that gain least for the documents they are in go first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doc_edges: Option<usize>,
    /// Edges at most; the weakest go first, a node's last parent at the very end.
    pub max_edges: Option<usize>,
    /// Pairs seen together in fewer documents do not count.
    pub min_support: u32,
    /// Topics of the lowest layer given as lists of words.
    pub anchors: Vec<Anchor>,
    /// Groups of tokens of which no topic may have two as children.
    pub exclude: Vec<Vec<u32>>,
    /// Seed. Learning a graph takes no chances yet: it is there to be written down.
    pub seed: u64,
}

impl Default for GraphOptions {
    fn default() -> Self {
        Self {
            topics: Vec::new(),
            layers: None,
            parents: 8,
            min_gain: None,
            doc_edges: None,
            max_edges: None,
            min_support: 3,
            anchors: Vec::new(),
            exclude: Vec::new(),
            seed: 0,
        }
    }
}

/// What the user knows about the lowest layer.
#[derive(Debug, Default)]
pub(super) struct Constraints {
    /// The tokens of each given topic; these are the first topics of the layer.
    pub(super) anchors: Vec<Vec<u32>>,
    /// The groups that a token is in.
    pub(super) groups: FxHashMap<u32, Vec<u32>>,
}

/// The lowest layer has so many times the root of the number of tokens: 33 topics for 100 tokens, 333 for 10,000.
const LOWEST: f64 = 10.0 / 3.0;
/// Each layer above has a third of the topics of the one below.
const SHRINK: usize = 3;
/// A layer that is not asked for has at least so many topics, and so many layers are made at most.
const LEAST_TOPICS: usize = 10;
const MOST_LAYERS: usize = 2;
/// Topics may have one parent for so many that tokens may have: every parent of a topic is in all documents of its tokens.
const TOKEN_PARENTS: usize = 3;

impl GraphOptions {
    /// Topics of each layer, the lowest first, above so many tokens.
    pub fn layer_sizes(&self, n_tokens: usize) -> Vec<usize> {
        if !self.topics.is_empty() {
            return self.topics.clone();
        }
        // Few tokens have no more topics than a third of them.
        let lowest = ((LOWEST * (n_tokens as f64).sqrt()) as usize).min(n_tokens / SHRINK);
        let thirds = std::iter::successors(Some(lowest), |below| Some(below / SHRINK));
        match self.layers {
            Some(n_layers) => thirds.take(n_layers).collect(),
            None => {
                let mut sizes: Vec<usize> =
                    thirds.take(MOST_LAYERS).take_while(|&size| size >= LEAST_TOPICS).collect();
                if sizes.is_empty() {
                    sizes.push(lowest.max(1));
                }
                sizes
            }
        }
    }

    /// Parents that a topic may have.
    pub(super) fn topic_parents(&self) -> usize {
        self.parents.div_ceil(TOKEN_PARENTS)
    }

    /// Whether there can be such a graph above these tokens.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] that names the option.
    pub fn check(&self, tokens: &[String]) -> Result<()> {
        let wrong = |message: String| Err(Error::Usage(message));
        if tokens.is_empty() {
            return wrong("a graph needs tokens, and there are none".into());
        }
        if self.parents == 0 {
            return wrong("a node may have 0 parents at most; allow 1 or more".into());
        }
        if self.min_support == 0 {
            return wrong("pairs must be seen in 0 documents; ask for 1 or more".into());
        }
        if let Some(gain) = self.min_gain.filter(|gain| !(*gain >= 0.0 && gain.is_finite())) {
            return wrong(format!("an edge is to gain {gain} nats; ask for 0 or more"));
        }
        if self.doc_edges == Some(0) {
            return wrong("a document is to have 0 edges at most; allow 1 or more".into());
        }
        if self.layers == Some(0) {
            return wrong("0 layers of topics are no graph; ask for 1 or more".into());
        }
        let sizes = self.layer_sizes(tokens.len());
        let mut n_below = tokens.len();
        for (at, &size) in sizes.iter().enumerate() {
            let (layer, below) = (at + 1, if at == 0 { "tokens" } else { "topics" });
            if size == 0 {
                return wrong(format!(
                    "layer {layer} would have 0 topics, above {n_below} {below}; ask for fewer layers or more topics"
                ));
            }
            if size > n_below {
                return wrong(format!(
                    "layer {layer} is to have {size} topics, and there are {n_below} {below} below; ask for {n_below} at most"
                ));
            }
            n_below = size;
        }
        let n_topics: usize = sizes.iter().sum();
        let words = |anchor: &Anchor| anchor.tokens.iter().collect::<FxHashSet<_>>().len();
        let n_given: usize = self.anchors.iter().map(words).sum();
        let least = n_topics.saturating_sub(self.anchors.len()) + n_given;
        if let Some(most) = self.max_edges.filter(|&most| most < least) {
            return wrong(format!(
                "{most} edges at most for {n_topics} topics, each of which needs a child, those given all their words; allow {least} \
                 or more"
            ));
        }
        self.check_anchors(tokens, sizes[0])?;
        self.check_exclude(tokens)
    }

    fn check_anchors(&self, tokens: &[String], n_lowest: usize) -> Result<()> {
        let wrong = |message: String| Err(Error::Usage(message));
        let n_anchors = self.anchors.len();
        if n_anchors > n_lowest {
            return wrong(format!(
                "{n_anchors} topics are given by their words, and the lowest layer has {n_lowest}; ask for more topics"
            ));
        }
        let known: FxHashSet<&str> = tokens.iter().map(String::as_str).collect();
        let (mut names, mut parents) = (FxHashSet::default(), FxHashMap::<u32, usize>::default());
        for (at, Anchor { name, tokens: words }) in self.anchors.iter().enumerate() {
            let topic = if name.is_empty() {
                format!("given topic {}", at + 1)
            } else {
                format!("given topic '{}'", shown(name))
            };
            if name.starts_with('#') || name.contains(['\t', '\n', '\r']) {
                return wrong(format!("{topic}: a name may not start with '#' or hold tabs or line ends"));
            }
            if known.contains(name.as_str()) {
                return wrong(format!("{topic}: there is a token of this name; choose another"));
            }
            if !name.is_empty() && !names.insert(name) {
                return wrong(format!("{topic} is given twice; names must differ"));
            }
            if words.is_empty() {
                return wrong(format!("{topic} has no words; give at least one"));
            }
            if let Some(token) = words.iter().find(|&&token| token as usize >= tokens.len()) {
                return wrong(format!("{topic}: there is no token {token}; there are {}", tokens.len()));
            }
            let distinct: FxHashSet<u32> = words.iter().copied().collect();
            for &token in &distinct {
                let count = parents.entry(token).or_default();
                *count += 1;
                if *count > self.parents {
                    let word = shown(&tokens[token as usize]);
                    return wrong(format!(
                        "{topic}: '{word}' is in more given topics than the {} parents it may have",
                        self.parents
                    ));
                }
            }
            for group in &self.exclude {
                let mut both = group
                    .iter()
                    .filter(|token| distinct.contains(token))
                    .filter_map(|&token| tokens.get(token as usize));
                if let (Some(one), Some(other)) = (both.next(), both.next()) {
                    let (one, other) = (shown(one), shown(other));
                    return wrong(format!("{topic} has '{one}' and '{other}', which must not share a topic"));
                }
            }
        }
        Ok(())
    }

    fn check_exclude(&self, tokens: &[String]) -> Result<()> {
        for group in &self.exclude {
            if let Some(token) = group.iter().find(|&&token| token as usize >= tokens.len()) {
                let n_tokens = tokens.len();
                return Err(Error::Usage(format!(
                    "tokens that must not share a topic: there is no token {token}; there are {n_tokens}"
                )));
            }
        }
        Ok(())
    }

    /// Anchors and exclusions, for the lowest layer.
    pub(super) fn constraints(&self) -> Constraints {
        let sorted = |tokens: &Vec<u32>| {
            let mut tokens = tokens.clone();
            tokens.sort_unstable();
            tokens.dedup();
            tokens
        };
        let mut groups: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for (at, group) in self.exclude.iter().enumerate() {
            for token in sorted(group) {
                groups.entry(token).or_default().push(at as u32);
            }
        }
        Constraints { anchors: self.anchors.iter().map(|anchor| sorted(&anchor.tokens)).collect(), groups }
    }
}
