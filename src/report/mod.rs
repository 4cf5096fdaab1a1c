//! What was learned, for people: the hierarchy of topics.

mod chart;
mod layers;
mod names;
mod topics;

pub use chart::{Series, chart};
pub use layers::{LayerSummary, layer_summaries, top_tokens, top_words};
pub use names::name_topics;
pub use topics::{MAX_DEPTH, TopicTree, topic_tree};
