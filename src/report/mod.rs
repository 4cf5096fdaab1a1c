//! What was learned, for people: the hierarchy of topics.

mod layers;
mod names;
mod topics;

pub use layers::{LayerSummary, layer_summaries, top_words};
pub use names::name_topics;
pub use topics::{MAX_DEPTH, TopicTree, topic_tree};
