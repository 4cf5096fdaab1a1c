//! What was learned, for people: the hierarchy of topics, and a run as a page.

mod layers;
mod names;
pub mod page;
mod topics;

pub use layers::{LayerSummary, layer_summaries, top_words};
pub use names::name_topics;
pub use topics::{MAX_DEPTH, TopicTree, topic_tree};
