//! A corpus from arrays in memory.

use super::Corpus;
use super::column::{Column, Numbers};
use crate::error::{Error, Result};
use crate::faults::shown;
use rustc_hash::FxHashSet;
use std::sync::Arc;

impl Corpus {
    /// A corpus from a matrix in compressed sparse rows, a document a row: the tokens of document d are
    /// `indices[indptr[d]..indptr[d + 1]]`, in any order; a repeated one counts once. `names` are those of all `n_tokens` tokens.
    ///
    /// ```
    /// use noisyor::corpus::Corpus;
    /// let names = ["cat", "dog", "fish"].map(String::from).to_vec();
    /// let corpus = Corpus::from_csr(vec![0, 2, 2, 5], vec![2, 0, 1, 1, 0], 3, Some(names))?;
    /// assert_eq!(corpus.n_docs(), 3);
    /// assert_eq!(corpus.tokens(0), [0, 2]);
    /// assert!(corpus.tokens(1).is_empty());
    /// assert_eq!(corpus.tokens(2), [0, 1]);
    /// # Ok::<(), noisyor::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If `indptr` does not begin with 0, falls, or does not end with the number of indices; if an index is not below `n_tokens`;
    /// if there are more than 2^32 - 1 documents; and if the names are not `n_tokens` different ones.
    pub fn from_csr(
        indptr: Vec<u64>,
        mut indices: Vec<u32>,
        n_tokens: u32,
        names: Option<Vec<String>>,
    ) -> Result<Self> {
        check(&indptr, &indices, n_tokens, names.as_deref()).map_err(Error::Usage)?;
        let mut doc_ends = indptr;
        doc_ends.remove(0);
        let mut begin = 0;
        let mut n_kept = 0;
        for end in &mut doc_ends {
            let range = begin..*end as usize;
            begin = range.end;
            if !indices[range.clone()].is_sorted() {
                indices[range.clone()].sort_unstable();
            }
            let first = n_kept;
            for at in range {
                let token = indices[at];
                if n_kept == first || indices[n_kept - 1] != token {
                    indices[n_kept] = token;
                    n_kept += 1;
                }
            }
            *end = n_kept as u64;
        }
        indices.truncate(n_kept);
        let mut corpus = Self { n_tokens, ..Self::default() };
        *corpus.tokens.to_mut() = indices;
        *corpus.doc_ends.to_mut() = doc_ends;
        if let Some(names) = names {
            corpus.set_token_names(names);
        }
        Ok(corpus)
    }

    /// The same, where the indices stay in somebody else's memory. Rows whose indices do not ascend, or repeat, are copied.
    ///
    /// # Errors
    ///
    /// As [`Corpus::from_csr`].
    pub fn from_shared_csr(
        indptr: Vec<u64>,
        indices: Arc<dyn Numbers<u32>>,
        n_tokens: u32,
        names: Option<Vec<String>>,
    ) -> Result<Self> {
        let tokens = (*indices).as_ref();
        check(&indptr, tokens, n_tokens, names.as_deref()).map_err(Error::Usage)?;
        let ascends = |row: &[u64]| tokens[row[0] as usize..row[1] as usize].is_sorted_by(|a, b| a < b);
        if !indptr.windows(2).all(ascends) {
            return Self::from_csr(indptr, tokens.to_vec(), n_tokens, names);
        }
        let mut doc_ends = indptr;
        doc_ends.remove(0);
        let mut corpus = Self { n_tokens, tokens: Column::Shared(indices), ..Self::default() };
        *corpus.doc_ends.to_mut() = doc_ends;
        if let Some(names) = names {
            corpus.set_token_names(names);
        }
        Ok(corpus)
    }
}

fn check(indptr: &[u64], indices: &[u32], n_tokens: u32, names: Option<&[String]>) -> Result<(), String> {
    match (indptr.first(), indptr.last()) {
        (Some(0), Some(&last)) if last == indices.len() as u64 => {}
        (Some(0), Some(last)) => {
            return Err(format!("indptr ends with {last}, but there are {} indices", indices.len()));
        }
        (Some(first), _) => return Err(format!("indptr begins with {first} instead of 0")),
        (None, _) => return Err("indptr is empty; it has one element more than there are documents".into()),
    }
    if let Some(at) = indptr.windows(2).position(|two| two[1] < two[0]) {
        return Err(format!("indptr has {} after {}, at {}", indptr[at + 1], indptr[at], at + 1));
    }
    if indptr.len() - 1 > u32::MAX as usize {
        return Err(format!("a corpus has at most {} documents", u32::MAX));
    }
    if let Some(at) = indices.iter().position(|&token| token >= n_tokens) {
        return Err(format!(
            "index {} at {at} is not among the {n_tokens} tokens, counted from 0",
            indices[at]
        ));
    }
    let Some(names) = names else { return Ok(()) };
    if names.len() != n_tokens as usize {
        return Err(format!("there are {} names for {n_tokens} tokens", names.len()));
    }
    let mut seen = FxHashSet::default();
    match names.iter().find(|name| !seen.insert(name.as_str())) {
        Some(name) => Err(format!("the name '{}' stands for two tokens; names must differ", shown(name))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_corpus_as_from_lists() {
        let corpus = Corpus::from_csr(vec![0, 3, 3, 4, 8], vec![3, 1, 3, 0, 2, 2, 2, 1], 4, None).unwrap();
        assert_eq!(corpus, Corpus::from_tokens([vec![1, 3], vec![], vec![0], vec![1, 2]]));
        let mut wide = Corpus::from_csr(vec![0], vec![], 7, None).unwrap();
        assert_eq!((wide.n_docs(), wide.n_tokens()), (0, 7));
        wide.push(&mut vec![2], "", "");
        assert_eq!((wide.tokens(0), wide.n_tokens()), (&[2][..], 7));
    }

    #[test]
    fn shared_indices_stay_where_they_are() {
        let shared = |indptr: &[u64], indices: &[u32]| {
            let indices: Arc<Vec<u32>> = Arc::new(indices.to_vec());
            let corpus = Corpus::from_shared_csr(indptr.to_vec(), indices.clone(), 4, None).unwrap();
            assert_eq!(corpus, Corpus::from_csr(indptr.to_vec(), indices.to_vec(), 4, None).unwrap());
            (corpus.tokens.as_ptr() == indices.as_ptr(), corpus)
        };
        let (is_there, corpus) = shared(&[0, 2, 2, 3], &[1, 3, 0]);
        assert!(
            is_there
                && corpus.fingerprint()
                    == Corpus::from_csr(vec![0, 2, 2, 3], vec![1, 3, 0], 4, None).unwrap().fingerprint()
        );
        assert!(!shared(&[0, 2], &[3, 1]).0 && !shared(&[0, 2], &[1, 1]).0);
        let mut grown = corpus.clone();
        grown.push(&mut vec![2], "id", "");
        assert_eq!((grown.tokens(0), grown.tokens(3), corpus.n_docs()), (&[1, 3][..], &[2][..], 3));
        let (shared, copy) = (grown.clone().shared(), grown.clone().shared());
        assert_eq!(shared, copy);
        assert_eq!(shared.tokens.as_ptr(), shared.clone().tokens.as_ptr());
        assert_eq!((shared.clone(), shared.fingerprint()), (grown.clone(), grown.fingerprint()));
        assert!(Corpus::from_shared_csr(vec![0, 1], Arc::new(vec![9]), 4, None).is_err());
    }

    #[test]
    fn arrays_that_do_not_belong_together_are_refused() {
        let two = || Some(vec!["a".to_owned(), "b".to_owned()]);
        let twice = || Some(vec!["a".to_owned(), "a".to_owned()]);
        for (indptr, indices, n_tokens, names, told) in [
            (vec![], vec![], 2, None, "indptr is empty"),
            (vec![1, 1], vec![0], 2, None, "begins with 1"),
            (vec![0, 1], vec![0, 1], 2, None, "ends with 1, but there are 2 indices"),
            (vec![0, u64::MAX], vec![0, 1], 2, None, "ends with 18446744073709551615"),
            (vec![0, 2, 1, 2], vec![0, 1], 2, None, "indptr has 1 after 2, at 2"),
            (vec![0, 9, 2], vec![0, 1], 2, None, "indptr has 2 after 9, at 2"),
            (vec![0, 2], vec![0, 2], 2, None, "index 2 at 1 is not among the 2 tokens"),
            (vec![0, 1], vec![0], 3, two(), "there are 2 names for 3 tokens"),
            (vec![0, 1], vec![0], 2, twice(), "the name 'a' stands for two tokens"),
        ] {
            let error = Corpus::from_csr(indptr, indices, n_tokens, names).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
    }
}
