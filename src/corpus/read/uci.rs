//! UCI bags of words: three lines with the numbers of documents, words and entries, then lines `docID wordID count`
//! from 1; counts above zero mean present. Documents without a line are empty. The words are in a file beside it.

use super::coordinates::{Coordinates, Layout, Values, parse_declared};
use super::lines::{Lines, shown};
use super::matrix::{Matrix, Shape, check_density, numberable};
use super::source::Source;
use super::{OnFault, Unlisted};
use crate::corpus::vocabulary::read_names;
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

const EXPECTED: &str =
    "a UCI bag of words begins with three lines: how many documents, words and entries it has";

/// Reads the header, and the vocabulary where there is one.
pub(super) fn open(source: Source, unlisted: Unlisted) -> Result<Matrix<Coordinates>> {
    let name = source.name().to_owned();
    let mut lines = Lines::new(source);
    let n_documents = header_number(&mut lines, "documents")?;
    let n_documents = numberable(n_documents, "documents").map_err(|message| lines.fault(message))?;
    let n_tokens = header_number(&mut lines, "words")?;
    let n_tokens = numberable(n_tokens, "words").map_err(|message| lines.fault(message))?;
    let n_declared = header_number(&mut lines, "entries")?;
    check_density(n_documents, n_declared).map_err(|message| lines.fault(message))?;
    let vocabulary = vocabulary_of(&name);
    let names = vocabulary.map(|vocabulary| read_vocabulary(&vocabulary, n_tokens, &name)).transpose()?;
    let layout = Layout {
        document: "docID",
        token: "wordID",
        values: Values::Counts,
        comment: None,
        n_documents,
        n_tokens,
        unlisted,
    };
    let entries = Coordinates::new(lines, layout, n_declared);
    Ok(Matrix::unordered(name, Shape { n_documents, n_tokens, names, unlisted }, entries))
}

fn header_number(lines: &mut Lines, what: &str) -> Result<u64> {
    let line = lines.next(&mut Err as &mut OnFault<'_>)?.unwrap_or_default().trim_ascii();
    let wrong = || format!("'{}' is not the number of {what}; {EXPECTED}", shown(line));
    let number = parse_declared(line, what).and_then(|number| number.ok_or_else(wrong));
    number.map_err(|message| lines.fault(message))
}

/// The vocabulary beside a file: `vocab.nips.txt` for `docword.nips.txt`, or `name.vocab`; either may be compressed.
fn vocabulary_of(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let stem = [".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let prefixed = stem.strip_prefix("docword").map(|rest| format!("vocab{rest}"));
    let bases = prefixed.into_iter().chain([format!("{stem}.vocab"), format!("{name}.vocab")]);
    bases
        .flat_map(|base| ["", ".gz", ".zst"].map(|end| path.with_file_name(base.clone() + end)))
        .find(|candidate| candidate.is_file())
}

/// The words, one a line: `n_tokens` at least. Some programs declare only as many words as occur.
fn read_vocabulary(path: &Path, n_tokens: u32, corpus: &Path) -> Result<Vec<String>> {
    let names = read_names(path)?;
    if names.len() >= n_tokens as usize {
        return Ok(names);
    }
    let message = format!(
        "has {} words, but {} declares {n_tokens}; put the vocabulary there that belongs to it, or none",
        names.len(),
        corpus.display()
    );
    Err(Error::input(path, None, message))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_entry_faults, check, documents, fault, gzip, survives_mutations};
    use super::super::{ReadOptions, Tokens, open};

    const NAME: &str = "docword.test.txt";
    const GOOD: &str = "4\n5\n6\n1 1 2\n1 5 1\n2 3 1\n2 2 9\n4 1 1\n4 4 0\n";

    fn good() -> Vec<Vec<u32>> {
        vec![vec![0, 4], vec![1, 2], vec![], vec![0]]
    }

    #[test]
    fn documents_are_read_in_whatever_way_they_are_written() {
        let shuffled = "4\n5\n7\n4 4 0\n2 2 9\n1 5 1\n4 1 1\n1 1 2\n2 3 1\n1 5 1\n";
        let loose =
            "\u{feff} 4 \n5\t\n6\n\n01 1\t2\n 1  5 1 \n2 3 1\n2 2 99999999999999999999999\n4 1 1\n4 4 0\n\n";
        for text in [GOOD, GOOD.trim_end(), &GOOD.replace('\n', "\r\n"), shuffled, loose] {
            assert_eq!(documents(NAME, text).unwrap(), good(), "{text:?}");
        }
        assert_eq!(documents("docword.test.txt.gz", gzip(GOOD)).unwrap(), good());
        assert_eq!(documents("X.uci", GOOD).unwrap(), good());
        assert_eq!(documents(NAME, "0\n0\n0\n").unwrap(), [[0; 0]; 0]);
        assert_eq!(documents(NAME, "2\n0\n0\n").unwrap(), [[0; 0]; 2]);
    }

    #[test]
    fn every_fault_has_its_line() {
        let others = [
            ("99999999999999999999999 1 1", "docID 99999999999999999999999 is above 4"),
            ("1 1.0 1", "wordID '1.0' is not"),
            ("1 1 -1", "count '-1' is not a whole number from zero"),
            ("1 1 1.5", "count '1.5' is not a whole number from zero"),
            ("1 1 nan", "count 'nan' is not"),
        ];
        let others = others.map(|(entry, said)| (entry.to_owned(), said.to_owned()));
        assert_entry_faults((NAME, GOOD, 6), ["docID", "wordID", "count"], &others);
        let long = GOOD.replacen("2 3 1", &format!("2 {} 1", "9".repeat(1000)), 1);
        assert!(fault(NAME, long).len() < 200, "a message fits a line or two");
        let both = GOOD.replacen("1 1 2", "0 0 2", 1).replacen("4 1 1", "4 1", 1);
        assert_eq!(check(NAME, both).1.len(), 2, "a check finds all");
    }

    #[test]
    fn a_header_is_not_trusted() {
        for (text, said) in [
            ("", "1: '' is not the number of documents"),
            (
                "1 1 1\n",
                "1: '1 1 1' is not the number of documents; a UCI bag of words begins with three lines",
            ),
            ("4\n-5\n", "2: '-5' is not the number of words"),
            ("4\n5\n", "2: '' is not the number of entries"),
            ("1000000000000\n5\n3\n", "1: declares 1000000000000 documents; at most 4294967295"),
            ("4\n1000000000000\n3\n", "2: declares 1000000000000 words; at most"),
            ("1000001\n5\n3\n1 1 1\n", "3: 1000001 documents with 3 entries in all"),
            ("1\n5\n3\n1 1 1\n1 2 1\n", "5: the file ends after 2 entries, but its header declares 3"),
            ("1\n5\n1\n1 1 1\n1 2 1\n1 3 1\n", "5: entry 2, but the header declares 1"),
        ] {
            let found = fault(NAME, text);
            assert!(found.starts_with(&format!("{NAME}:{said}")), "{text:?}: {found}");
        }
        assert_eq!(documents(NAME, "1000000\n5\n0\n").unwrap().len(), 1_000_000);
        // What is there decides, not what is claimed: a check would not end.
        let (read, faults) = check(NAME, "4000000000\n5\n40000000\n1 1 1\n");
        assert_eq!((read.len(), faults.len()), (0, 2), "{faults:?}");
    }

    #[test]
    fn the_vocabulary_is_found_beside_the_file() {
        let words = "a\nb\nc\r\nd\ne";
        for (corpus, vocabulary) in [
            ("docword.nips.txt", "vocab.nips.txt"),
            ("docword.nips.txt.gz", "vocab.nips.txt"),
            ("docword.nips.txt", "vocab.nips.txt.gz"),
            ("x.uci", "x.uci.vocab"),
            ("x.uci.gz", "x.uci.vocab"),
            ("x.uci.gz", "x.uci.gz.vocab"),
            ("x.uci.gz", "x.uci.vocab.gz"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let write = |name: &str, text: &str| {
                let bytes = if name.ends_with(".gz") { gzip(text) } else { text.into() };
                std::fs::write(folder.path().join(name), bytes).unwrap();
            };
            write(corpus, GOOD);
            let read = || open(&folder.path().join(corpus), &ReadOptions::default(), &Default::default());
            assert_eq!(read().unwrap().tokens(), Tokens::Numbers { n_tokens: Some(5), names: None });
            write(vocabulary, words);
            let names = ["a", "b", "c", "d", "e"].map(String::from);
            let tokens = Tokens::Numbers { n_tokens: Some(5), names: Some(&names) };
            assert_eq!(read().unwrap().tokens(), tokens, "{corpus} {vocabulary}");
            write(vocabulary, "a\nb\nc\nd\ne\nf\n");
            assert!(
                matches!(read().unwrap().tokens(), Tokens::Numbers { names: Some(names), .. } if names.len() == 6)
            );
            write(vocabulary, "a\nb\n");
            let message = read().err().unwrap().to_string();
            assert!(message.contains(&format!("{vocabulary}: has 2 words, but")), "{message}");
            assert!(message.contains(&format!("{corpus} declares 5;")), "{message}");
            write(vocabulary, "a\nb\nc\nb\ne\n");
            let message = read().err().unwrap().to_string();
            assert!(message.contains(&format!("{vocabulary}:4: 'b' is on line 2 already")), "{message}");
        }
    }

    #[test]
    fn mutations_never_panic() {
        survives_mutations(NAME, GOOD.as_bytes(), |bytes| bytes);
    }
}
