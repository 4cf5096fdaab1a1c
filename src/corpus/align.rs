//! Matching a corpus with a model: by token name where the corpus has names, else by number.

use super::{Corpus, Listed, RELEASE_DOCS};
use crate::error::{Error, Result};
use crate::faults::shown;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

const UNKNOWN: u32 = u32::MAX;

/// How a corpus's tokens map to a model's.
#[derive(Debug, Clone)]
pub struct Alignment {
    /// Model token of every corpus token; none where numbers are the same.
    map: Option<Vec<u32>>,
    n_tokens: u32,
    /// Occurrences of tokens that the model does not know; they are left out.
    pub n_unknown: u64,
    /// An example of an unknown token.
    pub unknown_example: Option<String>,
    /// Tokens of the model that are none of the corpus's names; they are in no document. None is counted where the corpus has no
    /// names.
    pub n_absent: usize,
    /// An example of an absent token.
    pub absent_example: Option<String>,
}

/// As [`align`], but refuses what would go wrong without a sign.
///
/// ```
/// use noisyor::corpus::{Corpus, align_checked};
/// let corpus = Corpus::from_tokens([vec![0, 1], vec![1]]);
/// let tokens = ["ball".to_owned(), "goal".to_owned()];
/// assert!(align_checked(&corpus, &tokens, false).is_err(), "is column 0 the ball?");
/// assert!(align_checked(&corpus, &tokens, true).is_ok());
/// ```
///
/// # Errors
///
/// If the corpus has no names for its tokens, and the model's are more than numbers, unless `by_number` says that token i of one
/// is token i of the other; and if the corpus has tokens, but none that the model knows. A corpus without any is never refused.
pub fn align_checked(corpus: &Corpus, model_tokens: &[String], by_number: bool) -> Result<Alignment> {
    let n_all = corpus.n_occurrences() as u64;
    if n_all > 0 && corpus.token_names().is_none() && !by_number && !are_numbers(model_tokens) {
        return Err(Error::Usage(format!(
            "has no names for its {} columns, and the model's tokens have names (the first is '{}'): which column is which token \
             is not known; give `vocab`, a file with a name for every column, or `by_number` if column i is token i of the model",
            corpus.n_tokens(),
            model_tokens.first().map_or(String::new(), |name| shown(name))
        )));
    }
    let alignment = align(corpus, model_tokens);
    // A model without tokens has nothing to know.
    if n_all > 0 && alignment.n_unknown == n_all && !model_tokens.is_empty() {
        let names = corpus.token_names().into_iter().flat_map(super::Strings::iter);
        return Err(none_known(n_all, alignment.unknown_example.as_deref(), names, model_tokens));
    }
    Ok(alignment)
}

/// Whether names only number the tokens: '0', '1', ... or 'w0', 'w1', ..., from zero or one.
fn are_numbers(names: &[String]) -> bool {
    let Some(first) = names.first() else { return true };
    let prefix = first.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = |name: &str| name.strip_prefix(prefix)?.parse::<usize>().ok();
    let from = number(first);
    matches!(from, Some(0 | 1))
        && names.iter().zip(from.unwrap_or(0)..).all(|(name, at)| number(name) == Some(at))
}

/// The error where a model knows no token of a corpus; `names` are tokens of the corpus, `example` is one that occurs.
pub(super) fn none_known<'a>(
    n_all: u64,
    example: Option<&str>,
    names: impl Iterator<Item = &'a str>,
    model_tokens: &[String],
) -> Error {
    let lower: FxHashMap<String, &str> =
        model_tokens.iter().map(|name| (name.to_lowercase(), name.as_str())).collect();
    let by_case =
        names.filter_map(|name| Some((name, *lower.get(&name.to_lowercase())?))).find(|(a, b)| a != b);
    let hint = by_case.map_or_else(
        || "give documents of the kind it was trained on".to_owned(),
        |(own, other)| {
            let (own, other) = (shown(own), shown(other));
            format!("'{own}' is '{other}' there: write tokens in upper and lower case as the model has them")
        },
    );
    let example = example.map_or(String::new(), |example| format!(" (for example {example})"));
    Error::Usage(format!("the model knows none of the {n_all} token occurrences{example}; {hint}"))
}

/// Aligns a corpus with a model's tokens.
pub fn align(corpus: &Corpus, model_tokens: &[String]) -> Alignment {
    let map = corpus.token_names().map(|names| {
        let number_of: FxHashMap<&str, u32> =
            model_tokens.iter().enumerate().map(|(at, name)| (name.as_str(), at as u32)).collect();
        names.iter().map(|name| number_of.get(name).copied().unwrap_or(UNKNOWN)).collect()
    });
    let mut alignment = Alignment {
        map,
        n_tokens: model_tokens.len() as u32,
        n_unknown: 0,
        unknown_example: None,
        n_absent: 0,
        absent_example: None,
    };
    if let Some(map) = &alignment.map {
        let mut present = vec![false; model_tokens.len()];
        map.iter().filter(|&&token| token != UNKNOWN).for_each(|&token| present[token as usize] = true);
        let absent = || model_tokens.iter().zip(&present).filter(|(_, present)| !**present);
        alignment.n_absent = absent().count();
        alignment.absent_example = absent().next().map(|(name, _)| name.clone());
    }
    let all_known = match &alignment.map {
        Some(map) => !map.contains(&UNKNOWN),
        None => corpus.n_tokens() <= model_tokens.len(),
    };
    // Most corpora are known at a glance; the others are read once to count, and nothing of that stays in memory.
    let unknown = |doc_ix: usize| {
        let (Listed::Unknown(others) | Listed::Absent(others)) = corpus.state(doc_ix).other;
        let tokens = corpus.tokens(doc_ix).iter().chain(others).copied();
        let mut unknown = tokens.filter(|&token| alignment.token(token) == UNKNOWN);
        let first = unknown.next();
        (u64::from(first.is_some()) + unknown.count() as u64, first)
    };
    let mut counted = (0, None);
    for begin in (0..if all_known { 0 } else { corpus.n_docs() }).step_by(RELEASE_DOCS) {
        let docs = begin..corpus.n_docs().min(begin + RELEASE_DOCS);
        let of_these =
            docs.into_par_iter().map(unknown).reduce(|| (0, None), |a, b| (a.0 + b.0, a.1.or(b.1)));
        counted = (counted.0 + of_these.0, counted.1.or(of_these.1));
        corpus.release_now();
    }
    let example = counted.1;
    alignment.n_unknown = counted.0;
    alignment.unknown_example = example.map(|token| match corpus.token_names() {
        Some(names) => format!("'{}'", names.get(token as usize)),
        None => format!("number {token}"),
    });
    alignment
}

impl Alignment {
    #[inline]
    fn token(&self, corpus_token: u32) -> u32 {
        match &self.map {
            Some(map) => map.get(corpus_token as usize).copied().unwrap_or(UNKNOWN),
            None if corpus_token < self.n_tokens => corpus_token,
            None => UNKNOWN,
        }
    }

    /// The corpus seen with the model's token numbers.
    pub fn docs<'a>(&'a self, corpus: &'a Corpus) -> Docs<'a> {
        Docs { corpus, alignment: self, shadows: false, given: Given::default() }
    }
}

/// Documents in a model's token numbers.
#[derive(Debug, Clone, Copy)]
pub struct Docs<'a> {
    corpus: &'a Corpus,
    alignment: &'a Alignment,
    /// Whether unknown tokens are given by their shadows (src/estep/unknown.rs).
    shadows: bool,
    given: Given<'a>,
}

/// Tokens behind those of the corpus that stand for given topics (src/network/given.rs).
#[derive(Debug, Clone, Copy, Default)]
struct Given<'a> {
    n_tokens: u32,
    /// Those that are present in every document; the others are absent from all.
    present: &'a [u32],
}

impl<'a> Docs<'a> {
    /// Number of documents.
    pub fn n_docs(&self) -> usize {
        self.corpus.n_docs()
    }

    /// The tokens of a document that the model knows: those that are present.
    #[inline]
    pub fn tokens(&self, doc_ix: usize) -> impl Iterator<Item = u32> + 'a {
        let alignment = self.alignment;
        let tokens = self.corpus.tokens(doc_ix).iter();
        let present = tokens.map(move |&token| alignment.token(token)).filter(|&token| token != UNKNOWN);
        present.chain(self.given.present.iter().copied()).chain(self.shadows_of(doc_ix))
    }

    /// The same documents where tokens follow that stand for given topics: `n_tokens` there are in all, and `present` are in every
    /// document ([`Network::with_given`](crate::Network::with_given)).
    pub fn with_given(self, n_tokens: usize, present: &'a [u32]) -> Self {
        let n_tokens = (n_tokens as u32).saturating_sub(self.alignment.n_tokens);
        Self { given: Given { n_tokens, present }, ..self }
    }

    /// The same documents, where unknown tokens are given, too, by their shadows: number T + i for token i of T.
    pub(crate) fn with_shadows(self) -> Self {
        Self { shadows: true, ..self }
    }

    /// The shadows of a document's unknown tokens, if they are given.
    #[inline]
    fn shadows_of(&self, doc_ix: usize) -> std::vec::IntoIter<u32> {
        let mut unknown = Vec::new();
        if self.shadows {
            Self { shadows: false, ..*self }.unknown(doc_ix, &mut unknown);
            let n_tokens = self.alignment.n_tokens + self.given.n_tokens;
            unknown.iter_mut().for_each(|token| *token += n_tokens);
        }
        unknown.into_iter()
    }

    /// Whether any document may have unknown tokens, other than by shadows. Takes no time.
    pub fn has_unknown(&self) -> bool {
        self.corpus.has_unknown() && !self.shadows
    }

    /// What a document lists beside its present tokens: whether the rest is unknown (else absent), and the tokens that the model
    /// knows. Two documents with the same tokens and the same of this are identical.
    pub(crate) fn listed(&self, doc_ix: usize) -> (bool, impl Iterator<Item = u32> + 'a) {
        let alignment = self.alignment;
        let other = self.corpus.state(doc_ix).other;
        let (Listed::Unknown(tokens) | Listed::Absent(tokens)) = other;
        let known = tokens.iter().map(move |&token| alignment.token(token)).filter(|&token| token != UNKNOWN);
        (matches!(other, Listed::Absent(_)), known)
    }

    /// The model's tokens that are unknown in a document, ascending; `out` is emptied first. A token that the corpus has no column
    /// for is unknown in a document whose unlisted tokens are.
    pub fn unknown(&self, doc_ix: usize, out: &mut Vec<u32>) {
        let (rest_unknown, listed) = self.listed(doc_ix);
        self.listed_or_rest(doc_ix, listed, rest_unknown, out);
    }

    /// The model's tokens that are absent from a document, ascending; `out` is emptied first. A token that the corpus has no column
    /// for is absent from a document whose unlisted tokens are.
    pub fn absent(&self, doc_ix: usize, out: &mut Vec<u32>) {
        let (rest_unknown, listed) = self.listed(doc_ix);
        self.listed_or_rest(doc_ix, listed, !rest_unknown, out);
    }

    /// The listed tokens, or else all that are neither listed nor present.
    fn listed_or_rest(
        &self,
        doc_ix: usize,
        listed: impl Iterator<Item = u32>,
        rest: bool,
        out: &mut Vec<u32>,
    ) {
        out.clear();
        if !rest {
            out.extend(listed);
            out.sort_unstable();
            return;
        }
        let mut left_out: Vec<u32> = listed.chain(self.tokens(doc_ix)).collect();
        left_out.sort_unstable();
        let mut left_out = left_out.into_iter().peekable();
        out.extend((0..self.alignment.n_tokens).filter(|token| left_out.next_if_eq(token).is_none()));
    }

    /// Refuses documents with unknown tokens, for what does not take them; `what` is what would.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] where there are such documents.
    pub fn all_known(&self, what: &str) -> Result<()> {
        self.corpus.all_known(what)
    }

    /// The corpus behind.
    pub fn corpus(&self) -> &'a Corpus {
        self.corpus
    }
}

/// The share of the given documents that hold each model token, among those in which it is known.
pub fn token_frequency(docs: &Docs<'_>, doc_ixs: &[u32], n_tokens: usize) -> Vec<f64> {
    let counts = Counts::of(docs, doc_ixs, n_tokens);
    let share = |(&present, known): (&u64, u64)| present as f64 / known.max(1) as f64;
    counts.present.iter().zip(counts.known()).map(share).collect()
}

/// The share of the given documents in which each model token is known, present or absent.
pub fn known_share(docs: &Docs<'_>, doc_ixs: &[u32], n_tokens: usize) -> Vec<f64> {
    if !docs.has_unknown() {
        return vec![1.0; n_tokens];
    }
    let n_docs = doc_ixs.len().max(1) as f64;
    Counts::of(docs, doc_ixs, n_tokens).known().map(|known| known as f64 / n_docs).collect()
}

/// In how many documents tokens are present, and in how many known.
struct Counts {
    present: Vec<u64>,
    /// Documents in which an unlisted token is absent.
    n_rest_absent: u64,
    /// What each token has more, or fewer.
    more_known: Vec<i64>,
}

impl Counts {
    fn of(docs: &Docs<'_>, doc_ixs: &[u32], n_tokens: usize) -> Self {
        let mut counts = Self { present: vec![0; n_tokens], n_rest_absent: 0, more_known: vec![0; n_tokens] };
        for docs_of_slice in doc_ixs.chunks(RELEASE_DOCS) {
            docs_of_slice.iter().for_each(|&doc_ix| counts.add(docs, doc_ix as usize));
            docs.corpus().release();
        }
        counts
    }

    fn add(&mut self, docs: &Docs<'_>, doc_ix: usize) {
        docs.tokens(doc_ix).for_each(|token| self.present[token as usize] += 1);
        let (rest_unknown, listed) = docs.listed(doc_ix);
        if rest_unknown {
            docs.tokens(doc_ix).chain(listed).for_each(|token| self.more_known[token as usize] += 1);
        } else {
            self.n_rest_absent += 1;
            listed.for_each(|token| self.more_known[token as usize] -= 1);
        }
    }

    fn known(&self) -> impl Iterator<Item = u64> {
        self.more_known.iter().map(|&more| self.n_rest_absent.saturating_add_signed(more))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::Others;

    fn names<const N: usize>(names: [&str; N]) -> Vec<String> {
        names.map(str::to_owned).to_vec()
    }

    #[test]
    fn names_that_are_numbers() {
        for numbers in [&["0", "1", "2"][..], &["1", "2"], &["w0", "w1"], &["px000", "px001"], &[]] {
            assert!(are_numbers(&numbers.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()));
        }
        for named in [&["ball", "goal"][..], &["1", "0"], &["0", "2"], &["w0", "v1"], &["w"], &["w5", "w6"]] {
            assert!(
                !are_numbers(&named.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()),
                "{named:?}"
            );
        }
    }

    #[test]
    fn states_in_the_tokens_of_a_model() {
        let mut corpus = Corpus::default();
        let mut push = |present: &[u32], tokens: &[u32], rest_unknown| {
            let mut others = Others { tokens: tokens.to_vec(), rest_unknown };
            corpus.push_state(&mut present.to_vec(), &mut others, "", "").unwrap();
        };
        push(&[0], &[], false);
        push(&[0], &[1, 3], false);
        push(&[1], &[0, 3], true);
        push(&[], &[], true);
        // The corpus has c, b, x, a; the model a, b, c, d.
        corpus.set_token_names(["c", "b", "x", "a"]);
        let model = names(["a", "b", "c", "d"]);
        let alignment = align(&corpus, &model);
        let docs = alignment.docs(&corpus);
        let (mut unknown, mut absent) = (vec![9], vec![9]);
        for (doc_ix, of_unknown, of_absent) in
            [(0, &[][..], &[0, 1, 3][..]), (1, &[0, 1], &[3]), (2, &[3], &[0, 2]), (3, &[0, 1, 2, 3], &[])]
        {
            docs.unknown(doc_ix, &mut unknown);
            docs.absent(doc_ix, &mut absent);
            assert_eq!((&*unknown, &*absent), (of_unknown, of_absent), "{doc_ix}");
        }
        assert!(docs.has_unknown());
        assert_eq!(token_frequency(&docs, &[0, 1, 2, 3], 4), [0.0, 0.5, 2.0 / 3.0, 0.0]);
        assert_eq!(known_share(&docs, &[0, 1, 2, 3], 4), [0.5, 0.5, 0.75, 0.5]);
        let told = docs.all_known("train").unwrap_err().to_string();
        assert!(told.contains("3 of 4 documents have unknown values, which 'train' does not"), "{told}");
        let ordinary = Corpus::from_tokens([vec![0]]);
        let alignment = align(&ordinary, &model);
        assert!(
            alignment.docs(&ordinary).all_known("train").is_ok() && !alignment.docs(&ordinary).has_unknown()
        );
    }

    #[test]
    fn a_corpus_without_names_needs_a_word() {
        let corpus = Corpus::from_tokens([vec![0, 1], vec![2]]);
        let error = align_checked(&corpus, &names(["cat", "dog"]), false).unwrap_err().to_string();
        assert!(error.contains("3 columns") && error.contains("'cat'"), "{error}");
        assert!(error.contains("`vocab`") && error.contains("`by_number`"), "{error}");
        let alignment = align_checked(&corpus, &names(["cat", "dog"]), true).unwrap();
        assert_eq!((alignment.n_unknown, alignment.n_absent), (1, 0));
        assert!(align_checked(&corpus, &names(["0", "1", "2"]), false).is_ok());
    }

    #[test]
    fn documents_of_which_nothing_is_known_are_refused() {
        let mut corpus = Corpus::from_tokens([vec![0, 1], vec![1]]);
        corpus.set_token_names(["Ball", "Tor"]);
        let error = align_checked(&corpus, &names(["ball", "goal"]), false).unwrap_err().to_string();
        assert!(error.contains("none of the 3") && error.contains("'Ball' is 'ball' there"), "{error}");
        let error = align_checked(&corpus, &names(["cat"]), false).unwrap_err().to_string();
        assert!(error.contains("(for example 'Ball'); give documents"), "{error}");
        let known = align_checked(&corpus, &names(["goal", "Tor", "x"]), false).unwrap();
        assert_eq!((known.n_unknown, known.n_absent, known.absent_example.as_deref()), (1, 2, Some("goal")));
        let mut empty = Corpus::from_tokens([vec![], vec![]]);
        empty.set_token_names(["Ball"]);
        assert!(align_checked(&empty, &names(["ball"]), false).is_ok());
    }
}
