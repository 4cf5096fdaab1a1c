//! Arrays, words, phrases and the choice of a vocabulary against what is plainly right.

use super::column::{Column, MappedNumbers, Strings};
use super::native::NativeWriter;
use super::text::phrases::{Neighbours, join};
use super::text::{split_words, to_lower_case};
use super::vocabulary::{BREAK, Df, Interner, WordOptions, choose};
use super::{Corpus, Sink};
use memmap2::MmapMut;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;
use unicode_segmentation::UnicodeSegmentation;

const PIECES: [&str; 24] = [
    "a",
    "B",
    "new",
    "YORK",
    "don't",
    "é",
    "e\u{301}",
    "Straße",
    "ΟΔΟΣ",
    "слово",
    "中文",
    "カタカナ",
    "😀",
    "3.14",
    "x1",
    " ",
    "  ",
    "-",
    ", ",
    "\t",
    "\n",
    "\u{a0}",
    "...",
    "_",
];

fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

fn random_text(rng: &mut ChaCha8Rng) -> String {
    (0..rng.random_range(0..12)).map(|_| PIECES[rng.random_range(0..PIECES.len())]).collect()
}

#[test]
fn words_are_those_of_unicode_but_for_single_ascii_letters() {
    let mut rng = rng(1);
    for _ in 0..20_000 {
        // Text without spaces between its words is split by dictionaries instead (text/unspaced.rs).
        let mut text = random_text(&mut rng).replace("中文", "").replace("カタカナ", "");
        let expected_case = text.to_lowercase();
        to_lower_case(&mut text);
        assert_eq!(text, expected_case);
        let expected: Vec<&str> = text.unicode_words().filter(|word| word.len() > 1).collect();
        let (mut words, mut before) = (Vec::new(), None);
        split_words(&text, |word, follows| {
            let begin = word.as_ptr() as usize - text.as_ptr() as usize;
            let between = before.map(|end: usize| text[end..begin].replace('-', " "));
            assert_eq!(follows, between.is_some_and(|between| between.trim().is_empty()), "{text:?}: {word}");
            before = Some(begin + word.len());
            words.push(word);
        });
        assert_eq!(words, expected, "{text:?}");
    }
}

#[test]
fn strings_are_a_list_of_strings() {
    let mut rng = rng(2);
    for _ in 0..500 {
        let texts: Vec<String> = (0..rng.random_range(0..20)).map(|_| random_text(&mut rng)).collect();
        let strings: Strings = texts.iter().collect();
        assert!(strings.iter().eq(texts.iter().map(String::as_str)));
        assert_eq!((strings.len(), strings.is_empty()), (texts.len(), texts.is_empty()));
        assert_eq!((strings.get(texts.len()), strings.get(usize::MAX)), ("", ""));
        assert_eq!(strings.fault(), None);
        let mut more = strings.clone();
        more.push("more");
        assert_eq!((more.get(texts.len()), more == strings), ("more", false));
    }
}

#[test]
fn damaged_strings_never_panic_and_are_found() {
    let whole: Strings = ["one", "é", "three"].into_iter().collect();
    for (ends, bytes, fault) in [
        (vec![3, 5, 10], whole.bytes.to_vec(), None),
        (vec![3, 2, 10], whole.bytes.to_vec(), Some(1)),
        (vec![4, 5, 10], whole.bytes.to_vec(), Some(0)),
        (vec![3, 5, 11], whole.bytes.to_vec(), Some(2)),
        (vec![3, 5, u64::MAX], whole.bytes.to_vec(), Some(2)),
        (vec![3, 5, 9], whole.bytes.to_vec(), Some(3)),
        (vec![3, 5, 10], b"one\xff\xffthree".to_vec(), Some(1)),
        (vec![], b"x".to_vec(), Some(0)),
    ] {
        let strings = Strings { ends: Column::Owned(ends), bytes: Column::Owned(bytes) };
        assert_eq!(strings.fault(), fault, "{strings:?}");
        strings.iter().for_each(drop);
    }
}

#[test]
fn a_mapped_column_is_copied_before_it_grows() {
    let numbers: Vec<u64> = (0..100).map(|at| at * at).collect();
    let mut memory = MmapMut::map_anon(800).unwrap();
    memory.copy_from_slice(bytemuck::cast_slice(&numbers));
    let map = Arc::new(memory.make_read_only().unwrap());
    for (range, good) in
        [(0..800, true), (8..16, true), (0..0, true), (0..801, false), (4..12, false), (0..12, false)]
    {
        assert_eq!(MappedNumbers::<u64>::new(&map, range.clone()).is_some(), good, "{range:?}");
    }
    let mut column = Column::Mapped(MappedNumbers::<u64>::new(&map, 80..800).unwrap());
    assert_eq!(column[..], numbers[10..]);
    let before = column.clone();
    column.to_mut().push(7);
    assert_eq!((&column[..90], column[90], column.len()), (&before[..], 7, 91));
}

#[test]
fn numbers_of_words_are_in_the_order_in_which_they_came() {
    let (mut rng, mut interner, mut list) = (rng(3), Interner::default(), Vec::<String>::new());
    for _ in 0..5_000 {
        let word = format!("w{}", rng.random_range(0..500) * rng.random_range(0..10));
        let expected = list.iter().position(|known| *known == word).unwrap_or(list.len());
        assert_eq!(interner.get(&word).is_none(), expected == list.len());
        assert_eq!(interner.intern(&word).unwrap() as usize, expected);
        if expected == list.len() {
            list.push(word);
        }
    }
    assert_eq!((interner.names(), interner.len()), (list.iter().map(String::as_str).collect(), list.len()));
}

#[test]
fn tokens_are_chosen_by_frequency_and_then_by_name() {
    let mut rng = rng(4);
    for _ in 0..500 {
        let df: Vec<u64> = (0..rng.random_range(0..60)).map(|_| rng.random_range(0..=20)).collect();
        // Names in another order than numbers.
        let name = |token: u32| format!("{:03}", token * 37 % 101);
        let (min, max, n) = (rng.random_range(0..=20), rng.random_range(0..=20), rng.random_range(0..80));
        let share = |docs: u64| Df::Share(docs as f64 / 20.0);
        let by_share = rng.random_bool(0.5);
        let bound = |docs: u64| if by_share { share(docs) } else { Df::Docs(docs) };
        let options = WordOptions {
            min_df: Some(bound(min)),
            max_df: Some(bound(max)),
            max_vocab: Some(n),
            ..WordOptions::default()
        };
        let kept = choose(&options, 2, &df, 20, name);
        let mut expected: Vec<u32> = (0..df.len() as u32).collect();
        expected.retain(|&token| (min.max(1)..=max).contains(&df[token as usize]));
        expected.sort_by(|&a, &b| df[b as usize].cmp(&df[a as usize]).then_with(|| name(a).cmp(&name(b))));
        expected.truncate(n);
        assert_eq!(kept, expected);
    }
    let least =
        |default| choose(&WordOptions::default(), default, &[0, 1, 2, 3], 9, |token| token.to_string());
    assert_eq!((least(1), least(2)), (vec![3, 2, 1], vec![3, 2]));
}

#[test]
fn the_score_of_a_phrase_by_hand() {
    let mut neighbours = Neighbours::default();
    // 0 and 1 stand together six times, and apart twice; 2 is filling.
    (0..6).for_each(|_| neighbours.count(&[0, 1, BREAK]));
    neighbours.count(&[0, BREAK, 1, 2]);
    neighbours.count(&[0, 0, 2, 1, BREAK, 2, 2]);
    // Words: 0 nine times, 1 eight, 2 four: 21. p(01) = 6/21, p(0) = 9/21, p(1) = 8/21.
    let (both, first, second) = (6.0_f64 / 21.0, 9.0 / 21.0, 8.0 / 21.0);
    let score = (both / (first * second)).ln() / -both.ln();
    assert!((score - 0.446_705_2).abs() < 1e-6, "{score}");
    assert_eq!(neighbours.phrases(score), [(0, 1)]);
    assert_eq!(neighbours.phrases(score + 1e-6), []);
    // The others occur too seldom, whatever their score.
    assert_eq!(neighbours.phrases(-1.0), [(0, 1)]);
}

#[test]
fn phrases_are_joined_from_left_to_right() {
    let phrases = [((0, 1), 10), ((1, 2), 11)].into_iter().collect();
    for (sequence, expected) in [
        (&[0, 1, 2][..], &[10, 2][..]),
        (&[1, 2, 0], &[11, 0]),
        (&[0, BREAK, 1, 2], &[0, BREAK, 11]),
        (&[0, 0, 1, 1, 2], &[0, 10, 11]),
        (&[2, 1, 0], &[2, 1, 0]),
        (&[0], &[0]),
        (&[], &[]),
    ] {
        let mut joined = vec![99];
        join(sequence, &phrases, &mut joined);
        assert_eq!(joined, expected, "{sequence:?}");
    }
}

#[test]
fn the_test_part_is_the_same_whatever_is_validated_on() {
    let of = |valid: f64| super::split(100, valid, 0.3, 7);
    assert_eq!(of(0.0).test, of(0.1).test);
    assert_eq!((of(0.1).valid.len(), of(0.1).train.len()), (10, 60));
}

#[test]
fn a_fingerprint_is_the_same_in_memory_and_mapped_and_tells_corpora_apart() {
    let corpus = |names: &[&str], last: u32| {
        let mut corpus = Corpus::from_tokens([vec![0, 2], vec![], vec![1, last]]);
        corpus.set_token_names(names);
        corpus
    };
    let folder = tempfile::tempdir().unwrap();
    let mapped = |corpus: &Corpus, id: &str| {
        let path = folder.path().join(id);
        let mut writer = NativeWriter::create(&path).unwrap();
        for doc_ix in 0..corpus.n_docs() {
            writer.push(&mut corpus.tokens(doc_ix).to_vec(), id, "").unwrap();
        }
        writer.set_names(&mut corpus.token_names().unwrap().iter()).unwrap();
        writer.commit().unwrap();
        super::native::open(&path).unwrap()
    };
    let one = corpus(&["a", "b", "c", "d"], 3);
    assert_eq!(one.fingerprint(), mapped(&one, "x").fingerprint());
    assert_eq!(one.fingerprint(), mapped(&one, "y").fingerprint(), "ids do not count");
    for other in [corpus(&["a", "b", "c", "d"], 2), corpus(&["a", "b", "c", "e"], 3)] {
        assert_ne!(one.fingerprint(), other.fingerprint());
        assert_eq!(other.fingerprint(), mapped(&other, "z").fingerprint());
    }
}

#[test]
fn reading_options_of_earlier_runs_take_what_is_unlisted_for_absent() {
    let options = super::ReadOptions { unlisted: super::Unlisted::Unknown, ..Default::default() };
    let mut saved = serde_json::to_value(&options).unwrap();
    assert_eq!(saved["unlisted"], "unknown");
    let read =
        |saved: &serde_json::Value| serde_json::from_value::<super::ReadOptions>(saved.clone()).unwrap();
    assert_eq!(read(&saved), options);
    saved.as_object_mut().unwrap().remove("unlisted");
    assert_eq!(read(&saved), super::ReadOptions::default());
}
