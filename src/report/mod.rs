//! What was learned, for people: the hierarchy of topics.

mod layers;
mod topics;

pub use layers::{LayerSummary, layer_summaries, top_words};
pub use topics::{MAX_DEPTH, TopicTree, topic_tree};
