//! Two trainings side by side: which settings differ, which documents each explains better, which topics are the same.

mod differences;
mod matching;
mod settings;

pub use differences::{Bin, Differences, differences, extremes};
pub use matching::{Matched, Matching, SAME, match_topics};
pub use settings::{Setting, differing_settings};
