//! Native corpora with flipped bits, with bytes overwritten, cut short, or with right checksums but no sense: none opens.

use allocation_counter::measure;
use noisyor::Error;
use noisyor::corpus::native::{NativeWriter, open};
use noisyor::corpus::{Corpus, Listed, Others, Sink};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use twox_hash::XxHash3_64;

/// What the documents list beside their present tokens in a file of version 2: nothing, unknown, absent.
const OTHERS: [(&[u32], bool); 5] =
    [(&[], false), (&[3, 0], false), (&[1, 2], true), (&[], false), (&[], true)];

/// Documents with and without tokens, ids, labels; names of one, two and four bytes a letter.
fn small(path: &Path) -> Vec<u8> {
    written(path, false)
}

fn written(path: &Path, unknown: bool) -> Vec<u8> {
    let mut writer = NativeWriter::create(path).unwrap();
    let docs: [(&[u32], &str, &str); 5] = [
        (&[0, 2, 3], "", ""),
        (&[1], "second", ""),
        (&[], "", "x"),
        (&[3, 2, 2], "d/é", "y"),
        (&[0], "", ""),
    ];
    for ((tokens, id, label), (others, rest_unknown)) in docs.into_iter().zip(OTHERS) {
        let others = Others { tokens: others.to_vec(), rest_unknown };
        let mut others = if unknown { others } else { Others::default() };
        writer.push_state(&mut tokens.to_vec(), &mut others, id, label).unwrap();
    }
    writer.set_names(&mut ["tree", "é", "new york", "😀"].into_iter()).unwrap();
    writer.commit().unwrap();
    std::fs::read(path).unwrap()
}

/// Opens bytes as a file.
fn open_bytes(path: &Path, bytes: &[u8]) -> noisyor::Result<Corpus> {
    std::fs::write(path, bytes).unwrap();
    catch_unwind(AssertUnwindSafe(|| open(path))).expect("no panic")
}

fn refused(path: &Path, what: &str, bytes: &[u8]) -> String {
    let mut error = None;
    // Nothing that a file claims makes for an allocation of that size.
    let memory = measure(|| error = open_bytes(path, bytes).err());
    assert!(memory.bytes_max < 1 << 20, "{what}: {} bytes", memory.bytes_max);
    let error = error.unwrap_or_else(|| panic!("{what}: opened"));
    assert!(matches!(&error, Error::Input { .. }), "{what}: {error}");
    assert!(error.to_string().contains("damaged.corpus"), "{what}: {error}");
    error.to_string()
}

#[test]
fn what_is_written_is_what_opens() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.corpus");
    let bytes = small(&path);
    let corpus = open(&path).unwrap();
    assert!(corpus.is_verified());
    assert_eq!(corpus.token_names().unwrap().iter().collect::<Vec<_>>(), ["tree", "é", "new york", "😀"]);
    let tokens: Vec<&[u32]> = (0..corpus.n_docs()).map(|at| corpus.tokens(at)).collect();
    assert_eq!(tokens, [&[0, 2, 3][..], &[1], &[], &[2, 3], &[0]]);
    let ids: Vec<_> = (0..5).map(|at| corpus.id(at).into_owned()).collect();
    assert_eq!(ids, ["0", "second", "2", "d/é", "4"]);
    assert_eq!(
        (0..5).map(|at| corpus.label(at)).collect::<Vec<_>>(),
        [None, None, Some("x"), Some("y"), None]
    );
    // The layout that this file writes by itself is the same.
    assert_eq!(Raw::small().bytes(), bytes);
    let unknown = written(&path, true);
    let corpus = open(&path).unwrap();
    assert!(corpus.is_verified() && corpus.has_unknown());
    let listed: Vec<_> = (0..5).map(|at| corpus.state(at).other).collect();
    let expected = [
        Listed::Unknown(&[]),
        Listed::Unknown(&[0, 3]),
        Listed::Absent(&[1, 2]),
        Listed::Unknown(&[]),
        Listed::Absent(&[]),
    ];
    assert_eq!(listed, expected);
    assert_eq!(Raw::unknown().bytes(), unknown);
}

#[test]
fn every_bit_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.corpus");
    for unknown in [false, true] {
        let mut bytes = written(&folder.path().join("small.corpus"), unknown);
        for bit in 0..8 * bytes.len() {
            bytes[bit / 8] ^= 1 << (bit % 8);
            refused(&path, &format!("bit {bit}"), &bytes);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(open_bytes(&path, &bytes).is_ok());
    }
}

#[test]
fn overwritten_cut_short_and_longer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.corpus");
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for unknown in [false, true] {
        let bytes = written(&folder.path().join("small.corpus"), unknown);
        for _ in 0..200 {
            let at = rng.random_range(0..=bytes.len() - 16);
            let mut changed = bytes.clone();
            rng.fill_bytes(&mut changed[at..at + 16]);
            refused(&path, &format!("16 bytes from {at}"), &changed);
        }
        for length in 0..bytes.len() {
            refused(&path, &format!("cut to {length}"), &bytes[..length]);
        }
        for more in [&b"\0"[..], b"x", &[0; 64], &bytes.clone()] {
            refused(&path, &format!("{} bytes more", more.len()), &[&bytes, more].concat());
        }
    }
}

/// The parts of a file, to be put together with right checksums whatever they say.
#[derive(Clone)]
struct Raw {
    n_tokens: u32,
    n_docs: u64,
    n_occurrences: u64,
    named: u64,
    /// Tokens, document ends, id ends, ids, label ends, labels, name ends, names.
    sections: [Vec<u8>; 8],
    /// Version 2: lists, and their ends.
    others: Option<[Vec<u8>; 2]>,
}

const PLACES: usize = 48;
const CHECKSUM: usize = 240;

fn u64s(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn u32s(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

impl Raw {
    fn small() -> Self {
        let sections = [
            u32s(&[0, 2, 3, 1, 2, 3, 0]),
            u64s(&[3, 4, 4, 6, 7]),
            u64s(&[0, 6, 6, 10, 10]),
            "secondd/é".into(),
            u64s(&[0, 0, 1, 2, 2]),
            b"xy".to_vec(),
            u64s(&[4, 6, 14, 18]),
            "treeénew york😀".into(),
        ];
        Self { n_tokens: 4, n_docs: 5, n_occurrences: 7, named: 1, sections, others: None }
    }

    fn unknown() -> Self {
        let absent = 1 << 63;
        let others = [u32s(&[0, 3, 1, 2]), u64s(&[0, 2, 4 | absent, 4, 4 | absent])];
        Self { others: Some(others), ..Self::small() }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut file = b"noisyorC".to_vec();
        file.extend((1 + u32::from(self.others.is_some())).to_le_bytes());
        file.extend(self.n_tokens.to_le_bytes());
        file.extend(u64s(&[self.n_docs, self.n_occurrences, self.named, 0]));
        file.resize(256, 0);
        let append = |file: &mut Vec<u8>, section: &Vec<u8>| {
            file.resize(file.len().next_multiple_of(64), 0);
            let place = u64s(&[file.len() as u64, section.len() as u64, XxHash3_64::oneshot(section)]);
            file.extend(section);
            place
        };
        for (at, section) in self.sections.iter().enumerate() {
            let place = append(&mut file, section);
            file[PLACES + 24 * at..][..24].copy_from_slice(&place);
        }
        if let Some(sections) = &self.others {
            let places: Vec<u8> = sections.iter().flat_map(|section| append(&mut file, section)).collect();
            file.resize(file.len().next_multiple_of(64), 0);
            file.extend(&places);
            file.extend(XxHash3_64::oneshot(&places).to_le_bytes());
        }
        let length = file.len() as u64;
        patched(file, 40, length)
    }
}

/// Another number in the header, with a checksum to match.
fn patched(mut file: Vec<u8>, at: usize, number: u64) -> Vec<u8> {
    file[at..at + 8].copy_from_slice(&number.to_le_bytes());
    let checksum = XxHash3_64::oneshot(&file[..CHECKSUM]);
    file[CHECKSUM..CHECKSUM + 8].copy_from_slice(&checksum.to_le_bytes());
    file
}

#[test]
fn right_checksums_over_nonsense() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.corpus");
    let section = |at: usize, bytes: Vec<u8>| {
        let mut raw = Raw::small();
        raw.sections[at] = bytes;
        raw
    };
    let others =
        |tokens: &[u32], ends: &[u64]| Raw { others: Some([u32s(tokens), u64s(ends)]), ..Raw::small() };
    let absent = 1 << 63;
    let ascending = "the tokens of document 0 are not ascending numbers below 4";
    let lengths = "the sections do not have the lengths";
    for (what, raw, message) in [
        ("unsorted", section(0, u32s(&[2, 0, 3, 1, 2, 3, 0])), ascending),
        ("repeated", section(0, u32s(&[0, 2, 2, 1, 2, 3, 0])), ascending),
        ("beyond the names", section(0, u32s(&[0, 2, 4, 1, 2, 3, 0])), ascending),
        ("the largest", section(0, u32s(&[0, 2, u32::MAX, 1, 2, 3, 0])), ascending),
        ("ends fall", section(1, u64s(&[3, 4, 2, 6, 7])), "document 2 end at 2, out of order"),
        ("an end beyond", section(1, u64s(&[3, 4, 4, 6, 8])), "document 4 end at 8, out of order"),
        ("the largest end", section(1, u64s(&[3, 4, 4, 6, u64::MAX])), "document 4 end at"),
        ("tokens of nobody", section(1, u64s(&[3, 4, 4, 6, 6])), "the last document ends at 6 of 7 tokens"),
        ("more documents", section(1, u64s(&[3, 4, 4, 6, 7, 7])), lengths),
        ("half a token", section(0, u32s(&[0, 2, 3, 1, 2, 3, 0])[..27].to_vec()), "does not lie within"),
        ("ids fall", section(2, u64s(&[0, 6, 5, 10, 10])), "id 2 is no text"),
        ("ids end early", section(2, u64s(&[0, 6, 6, 8, 8])), "id 5 is no text"),
        ("ids without ends", section(2, vec![]), "id 0 is no text"),
        ("too few ids", section(2, u64s(&[0, 6, 6, 10])), lengths),
        ("too many labels", section(4, u64s(&[0, 0, 1, 2, 2, 2])), lengths),
        ("labels beyond", section(4, u64s(&[0, 0, 1, 2, 3])), "label 4 is no text"),
        ("a label is no UTF-8", section(5, b"\xffy".to_vec()), "label 2 is no text"),
        ("an end within a letter", section(6, u64s(&[5, 6, 14, 18])), "name 0 is no text"),
        (
            "a name is no UTF-8",
            section(7, b"tree\xff\xffnew york\xff\xff\xff\xff".to_vec()),
            "name 1 is no text",
        ),
        ("a name twice", section(7, "treeénew yorktree".into()), "'tree' stands for two tokens"),
        ("too few names", section(6, u64s(&[4, 6, 14])), lengths),
        ("tokens that are not", Raw { n_tokens: 1_000_000_000, ..Raw::small() }, lengths),
        ("10^12 documents", Raw { n_docs: 1_000_000_000_000, ..Raw::small() }, lengths),
        ("all documents", Raw { n_docs: u64::MAX, ..Raw::small() }, lengths),
        ("other occurrences", Raw { n_occurrences: 8, ..Raw::small() }, lengths),
        ("names that are not said", Raw { named: 0, ..Raw::small() }, lengths),
        ("named twice", Raw { named: 2, ..Raw::small() }, lengths),
        ("a list is unsorted", others(&[3, 0], &[0, 2, 2, 2, 2]), "the list of document 1 is not ascending"),
        ("a list repeats", others(&[3, 3], &[0, 2, 2, 2, 2]), "the list of document 1 is not ascending"),
        (
            "a list beyond the names",
            others(&[4], &[0, 1, 1, 1, 1]),
            "document 1 is not ascending numbers below 4",
        ),
        ("lists fall", others(&[0, 3], &[0, 2, 1, 2, 2]), "the list of document 2 ends at 1, out of order"),
        ("a list beyond", others(&[0, 3], &[0, 2, 3 | absent, 3, 3]), "the list of document 2 ends at 3"),
        ("the largest list", others(&[0, 3], &[0, 2, u64::MAX, 2, 2]), "the list of document 2 ends at"),
        ("lists of nobody", others(&[0, 3], &[0, 1, 1, 1, 1]), "the last list ends at 1 of 2 tokens"),
        ("two states", others(&[1], &[0, 1, 1, 1, 1]), "token 1 of document 1 is in two states"),
        ("too few lists", others(&[], &[0, 0, 0, absent]), lengths),
        ("no lists", others(&[], &[]), lengths),
        (
            "half a list",
            Raw { others: Some([vec![0; 3], u64s(&[0; 5])]), ..Raw::small() },
            "does not lie within",
        ),
    ] {
        let error = refused(&path, what, &raw.bytes());
        assert!(error.contains(message), "{what}: {error}");
    }
}

#[test]
fn sections_out_of_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.corpus");
    let good = Raw::small().bytes();
    let length = good.len() as u64;
    for section in 0..8 {
        let place = PLACES + 24 * section;
        for (at, number) in [(place, length), (place, length + 64), (place, u64::MAX), (place, u64::MAX - 7)]
        {
            refused(
                &path,
                &format!("section {section} begins at {number}"),
                &patched(good.clone(), at, number),
            );
        }
        for number in [length, length * 8, 1 << 40, u64::MAX, u64::MAX - 7] {
            let what = format!("section {section} is {number} long");
            refused(&path, &what, &patched(good.clone(), place + 8, number));
        }
        // Begins within the header, or where another one is.
        for number in [0, 8, 240, 256, 320] {
            if good[place..place + 8] != u64::to_le_bytes(number) {
                let what = format!("section {section} begins at {number}");
                refused(&path, &what, &patched(good.clone(), place, number));
            }
        }
    }
    for number in [0, length - 1, length + 1, u64::MAX] {
        refused(&path, &format!("{number} bytes in all"), &patched(good.clone(), 40, number));
    }
}

#[test]
fn lists_out_of_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.corpus");
    let good = Raw::unknown().bytes();
    let (length, trailer) = (good.len() as u64, good.len() - 56);
    for at in [0, 8, 24, 32] {
        for number in [0, 8, 256, length, length * 8, 1 << 40, u64::MAX, u64::MAX - 7] {
            let mut changed = good.clone();
            changed[trailer + at..][..8].copy_from_slice(&u64::to_le_bytes(number));
            let checksum = XxHash3_64::oneshot(&changed[trailer..trailer + 48]);
            changed[trailer + 48..].copy_from_slice(&checksum.to_le_bytes());
            refused(&path, &format!("{number} at {at}"), &changed);
        }
    }
}

#[test]
fn a_file_of_another_version_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.corpus");
    let version = |version| version | u64::from(Raw::small().n_tokens) << 32;
    let error = refused(&path, "version", &patched(Raw::small().bytes(), 8, version(3)));
    assert!(error.contains("version 3 is not known; this program reads versions 1 and 2"), "{error}");
    refused(&path, "version 2 without its end", &patched(Raw::small().bytes(), 8, version(2)));
    refused(&path, "version 1 with more behind", &patched(Raw::unknown().bytes(), 8, version(1)));
}

#[test]
fn the_program_refuses_them() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = small(&folder.path().join("small.corpus"));
    std::fs::write(folder.path().join("model.tsv"), "\ttopic\t0.5\n\ttree\t0.1\ntopic\ttree\t1\n").unwrap();
    let mut flipped = bytes.clone();
    flipped[256] ^= 1;
    let mut unsorted = Raw::small();
    unsorted.sections[0] = u32s(&[2, 0, 3, 1, 2, 3, 0]);
    let damaged = [flipped, bytes[..4].to_vec(), bytes[..300].to_vec(), vec![], unsorted.bytes()];
    for (at, damaged) in damaged.iter().enumerate() {
        std::fs::write(folder.path().join("damaged.corpus"), damaged).unwrap();
        for command in [
            "eval model.tsv damaged.corpus",
            "eval model.tsv damaged.corpus --format native",
            "infer model.tsv damaged.corpus -o out.tsv",
            "train damaged.corpus --graph model.tsv -o run",
            "corpus damaged.corpus -o out.corpus",
            "corpus split damaged.corpus -o out",
        ] {
            let mut program = assert_cmd::cargo::cargo_bin_cmd!("noisyor");
            program.current_dir(folder.path()).args(command.split(' '));
            let output = program.output().unwrap();
            let message = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{at}, {command}: {message}");
            assert!(message.contains("damaged.corpus") && !message.contains("panic"), "{command}: {message}");
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3, "{at}, {command}");
        }
    }
}
