//! What was learned, for people: the hierarchy of topics.

mod topics;

pub use topics::{MAX_DEPTH, TopicTree, topic_tree};
