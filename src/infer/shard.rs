//! One of several equal shares of a corpus, for as many processes.

use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Share `number`, from 1, of `of` shares; written `3/16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    number: u32,
    of: u32,
}

impl Shard {
    /// Which of so many documents are in it: consecutive ones. All shards together have each document once.
    pub fn range(self, n_docs: usize) -> Range<usize> {
        let begin_of = |at: u32| (n_docs as u128 * u128::from(at) / u128::from(self.of)) as usize;
        begin_of(self.number - 1)..begin_of(self.number)
    }

    /// The name of its output: `topics.tsv` becomes `topics-00003-of-00016.tsv`.
    pub fn path(self, whole: &Path) -> PathBuf {
        let mut name = OsString::from(whole.file_stem().unwrap_or_default());
        name.push(format!("-{:05}-of-{:05}", self.number, self.of));
        if let Some(extension) = whole.extension() {
            name.push(".");
            name.push(extension);
        }
        whole.with_file_name(name)
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers =
            text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self { number, of }),
            _ => Err("a shard and how many there are, as in 3/16; shards count from 1".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_cover_every_document_once() {
        for (n_docs, of) in [(0, 1), (0, 3), (10, 3), (3, 10), (1000, 7), (u32::MAX as usize, u32::MAX)] {
            let mut next = 0;
            for number in (1..=of).take(1000) {
                let range = Shard { number, of }.range(n_docs);
                assert_eq!(range.start, next);
                assert!(range.len().abs_diff(n_docs / of as usize) <= 1);
                next = range.end;
            }
            assert_eq!(Shard { number: of, of }.range(n_docs).end, n_docs);
        }
    }

    #[test]
    fn shards_are_read_and_named() {
        let shard: Shard = "3/16".parse().unwrap();
        assert_eq!(shard.to_string(), "3/16");
        assert_eq!(shard.path("a.b/topics.v2.tsv".as_ref()), Path::new("a.b/topics.v2-00003-of-00016.tsv"));
        for bad in ["0/3", "4/3", "3", "/", "1/0", "-1/2", "1/2/3", "a/b", ""] {
            assert!(bad.parse::<Shard>().is_err(), "{bad}");
        }
    }
}
