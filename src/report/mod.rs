//! What was learned, for people: the hierarchy of topics, and a run as a page.

mod chart;
mod documents;
mod export;
mod find;
mod layers;
pub mod page;
mod search;
mod topics;

pub use chart::{Series, chart};
pub use documents::{TopicDocs, topic_docs, words_of_topic};
pub use export::{write_dot, write_graphml};
pub use find::{find_topic, find_whole_topic};
pub use layers::{LayerSummary, layer_summaries};
pub use search::{FoundTopic, search_topics};
pub use topics::{TopicTree, largest_topics, topic_tree};
