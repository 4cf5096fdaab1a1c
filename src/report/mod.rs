//! What was learned, for people: the hierarchy of topics.

mod topics;

pub use topics::{TopicTree, topic_tree};
