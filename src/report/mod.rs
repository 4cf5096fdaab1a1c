//! What was learned, for people: the hierarchy of topics, and a run as a page.

mod chart;
mod documents;
mod export;
mod find;
mod layers;
mod names;
pub mod page;
mod search;
mod topics;

pub use chart::{Series, chart};
pub use documents::{TopicDocs, topic_docs, words_of_topic};
pub use export::{write_dot, write_graphml};
pub use find::find_topic;
pub use layers::{LayerSummary, layer_summaries, top_tokens, top_words};
pub use names::{name_topics, name_topics_by_telling, stale_names};
pub use search::{FoundTopic, search_topics};
pub use topics::{MAX_DEPTH, TopicTree, largest_topics, topic_tree};
