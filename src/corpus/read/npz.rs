//! SciPy's sparse matrices (`scipy.sparse.save_npz`): csr, csc and coo. Rows are documents, columns are tokens; values
//! above zero mean present, those of zero and below mean absent.

use super::lines::shown;
use super::matrix::{Entries, Matrix, Shape, check_density, entry};
use super::npz_archive::{Archive, Array};
use super::source::{OnDisk, Source, read_error};
use super::{OnFault, Unlisted};
use crate::error::{Error, Result};
use crate::npy::NpyError;
use std::io;
use std::path::{Path, PathBuf};

/// Reads what stands before the entries.
pub(super) fn open(source: Source, unlisted: Unlisted) -> Result<Matrix<Npz>> {
    let name = source.name().to_owned();
    let mut archive = Archive::open(source)?;
    let format = archive.text("format.npy")?;
    let (n_rows, n_cols) = archive.shape()?;
    let (data, n_entries) = archive.array("data.npy")?;
    let (layout, by_document) = match format.as_str() {
        "csr" => (Layout::compressed(&mut archive, false, n_rows, n_entries)?, true),
        "csc" => (Layout::compressed(&mut archive, true, n_cols, n_entries)?, false),
        "coo" => (Layout::coordinates(&mut archive, n_entries)?, false),
        _ => {
            let shown = shown(format.as_bytes());
            return Err(archive.fault(format!(
                "sparse format '{shown}'; csr, csc and coo can be read: scipy.sparse.save_npz(path, matrix.tocsr())"
            )));
        }
    };
    check_density(n_rows, n_entries).map_err(|message| archive.fault(message))?;
    archive.check_expansion()?;
    let shape = Shape { n_documents: n_rows, n_tokens: n_cols, names: None, unlisted };
    let entries = Npz {
        name: name.clone(),
        file: archive.file,
        layout,
        data,
        n_rows,
        n_cols,
        unlisted,
        n_entries,
        n_read: 0,
    };
    Ok(if by_document {
        Matrix::by_document(name, shape, entries)
    } else {
        Matrix::unordered(name, shape, entries)
    })
}

/// Where entries are.
enum Layout {
    /// Row by row, or column by column: `indptr` tells where each ends.
    Compressed {
        indptr: Array,
        indices: Array,
        by_column: bool,
        next_major: u64,
        end: u64,
    },
    Coordinates {
        rows: Array,
        cols: Array,
    },
}

impl Layout {
    fn compressed(archive: &mut Archive, by_column: bool, n_major: u32, n_entries: u64) -> Result<Self> {
        let mut indptr = archive.whole_array("indptr.npy", u64::from(n_major) + 1)?;
        let indices = archive.whole_array("indices.npy", n_entries)?;
        let first = indptr.next_i64().map_err(|e| read_error(&archive.name, None, e))?;
        if first != Some(0) {
            let first = first.unwrap_or_default();
            return Err(
                archive.fault(format!("indptr begins with {first} instead of 0; write the file again"))
            );
        }
        Ok(Self::Compressed { indptr, indices, by_column, next_major: 0, end: 0 })
    }

    fn coordinates(archive: &mut Archive, n_entries: u64) -> Result<Self> {
        let rows = archive.whole_array("row.npy", n_entries)?;
        Ok(Self::Coordinates { rows, cols: archive.whole_array("col.npy", n_entries)? })
    }

    /// Row and column of entry `at`, the one after those asked for; what is wrong cannot be read past.
    fn place(&mut self, at: u64, n_entries: u64) -> Result<(i64, i64), NpyError> {
        match self {
            Self::Coordinates { rows, cols } => Ok((element(rows)?, element(cols)?)),
            Self::Compressed { indptr, indices, by_column, next_major, end } => {
                while *end == at {
                    let Some(next) = indptr.next_i64()? else {
                        return Err(NpyError::Format(format!(
                            "indptr ends with {end}, but there are {n_entries} entries; write the file again"
                        )));
                    };
                    *end = checked_end(next, *end, n_entries)?;
                    *next_major += 1;
                }
                let (major, minor) = (*next_major as i64 - 1, element(indices)?);
                Ok(if *by_column { (minor, major) } else { (major, minor) })
            }
        }
    }

    /// What stands behind the last entry: rows or columns without any.
    fn finish(&mut self, n_entries: u64) -> Result<(), NpyError> {
        if let Self::Compressed { indptr, end, .. } = self {
            while let Some(next) = indptr.next_i64()? {
                *end = checked_end(next, *end, n_entries)?;
            }
        }
        Ok(())
    }
}

/// A value of `indptr`.
fn checked_end(next: i64, end: u64, n_entries: u64) -> Result<u64, NpyError> {
    u64::try_from(next).ok().filter(|next| (end..=n_entries).contains(next)).ok_or_else(|| {
        NpyError::Format(format!(
            "indptr has {next} after {end}; it must not fall, nor go beyond the {n_entries} entries; write the file again"
        ))
    })
}

fn element(array: &mut Array) -> io::Result<i64> {
    array.next_i64()?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// The entries of a sparse matrix.
pub(super) struct Npz {
    name: PathBuf,
    file: OnDisk,
    layout: Layout,
    data: Array,
    n_rows: u32,
    n_cols: u32,
    unlisted: Unlisted,
    n_entries: u64,
    n_read: u64,
}

impl Entries for Npz {
    fn next(&mut self, on_fault: &mut OnFault<'_>) -> Result<Option<(u32, u32)>> {
        // What looks like damage may be a file that is just written.
        let unchanged = |file: &OnDisk, name: &Path| file.check_unchanged().map_err(|e| Error::io(name, e));
        self.next_entry(on_fault).or_else(|error| unchanged(&self.file, &self.name).and(Err(error)))
    }
}

impl Npz {
    fn next_entry(&mut self, on_fault: &mut OnFault<'_>) -> Result<Option<(u32, u32)>> {
        while self.n_read < self.n_entries {
            let place = self.layout.place(self.n_read, self.n_entries);
            let (row, col) = place.map_err(|e| fatal(&self.name, e))?;
            let value =
                self.data.next_f64().map_err(|e| read_error(&self.name, None, e))?.unwrap_or_default();
            self.n_read += 1;
            if self.n_read.is_multiple_of(1 << 16) {
                self.file.report(self.n_read, self.n_entries);
            }
            match self.parse_entry(row, col, value) {
                Ok(None) => {}
                Ok(entry) => return Ok(entry),
                Err(message) => on_fault(Error::input(&self.name, None, message))?,
            }
        }
        self.layout.finish(self.n_entries).map_err(|e| fatal(&self.name, e))?;
        self.file.check_unchanged().map_err(|e| Error::io(&self.name, e))?;
        Ok(None)
    }

    /// The entry with this value.
    fn parse_entry(&self, row: i64, col: i64, value: f64) -> Result<Option<(u32, u32)>, String> {
        let within = |index: i64, n: u32, what: &str| {
            u32::try_from(index).ok().filter(|&index| index < n).ok_or_else(|| {
                let entry = self.n_read - 1;
                format!("entry {entry}, counted from 0: {what} {index} is not among the {n} from 0; write the file again")
            })
        };
        let (document, token) = (within(row, self.n_rows, "row")?, within(col, self.n_cols, "column")?);
        if !value.is_finite() {
            return Err(format!(
                "row {row}, column {col}, counted from 0: value {value} is not a finite number; replace or remove it"
            ));
        }
        Ok(entry(document, token, value > 0.0, self.unlisted))
    }
}

fn fatal(name: &Path, error: NpyError) -> Error {
    match error {
        NpyError::Io(e) => read_error(name, None, e),
        NpyError::Format(message) => Error::input(name, None, message),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, documents, fault, faults, gzip, read_all, survives_mutations};
    use super::super::{Document, ReadOptions, Unlisted, open};
    use std::io::{Cursor, Write};
    use zip::write::SimpleFileOptions;
    use zip::{CompressionMethod, ZipWriter};

    const NAME: &str = "test.npz";

    /// A member: its name and its bytes.
    type Member = (&'static str, Vec<u8>);

    fn npy(descr: &str, shape: &str, elements: &[u8]) -> Vec<u8> {
        let dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        [b"\x93NUMPY\x01\0".as_slice(), &(dict.len() as u16).to_le_bytes(), dict.as_bytes(), elements]
            .concat()
    }

    fn whole(numbers: &[i32]) -> Vec<u8> {
        let elements: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        npy("<i4", &format!("({},)", numbers.len()), &elements)
    }

    fn floats(numbers: &[f64]) -> Vec<u8> {
        let elements: Vec<u8> = numbers.iter().flat_map(|n| n.to_be_bytes()).collect();
        npy(">f8", &format!("({},)", numbers.len()), &elements)
    }

    fn shape(n_rows: i64, n_cols: i64) -> Member {
        ("shape.npy", npy("<i8", "(2,)", &[n_rows.to_le_bytes(), n_cols.to_le_bytes()].concat()))
    }

    fn format(format: &str) -> Member {
        ("format.npy", npy("|S3", "()", format.as_bytes()))
    }

    fn archive(members: &[Member], method: CompressionMethod) -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in members {
            zip.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
            zip.write_all(bytes).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    fn stored(members: &[Member]) -> Vec<u8> {
        archive(members, CompressionMethod::Stored)
    }

    fn good() -> Vec<Vec<u32>> {
        vec![vec![0, 4], vec![1, 2], vec![], vec![0]]
    }

    fn csr() -> Vec<Member> {
        vec![
            ("indices.npy", whole(&[0, 4, 2, 1, 0, 3])),
            ("indptr.npy", whole(&[0, 2, 4, 4, 6])),
            format("csr"),
            shape(4, 5),
            ("data.npy", floats(&[2.0, 1.0, 0.5, 9.0, 1.0, -1.0])),
        ]
    }

    fn csc() -> Vec<Member> {
        vec![
            ("indices.npy", whole(&[0, 3, 1, 1, 3, 0])),
            ("indptr.npy", whole(&[0, 2, 3, 4, 5, 6])),
            ("format.npy", npy("<U3", "()", b"c\0\0\0s\0\0\0c\0\0\0")),
            shape(4, 5),
            ("data.npy", npy("|b1", "(6,)", &[1, 1, 1, 1, 0, 1])),
        ]
    }

    fn coo() -> Vec<Member> {
        vec![
            ("row.npy", whole(&[3, 1, 0, 1, 0, 0])),
            ("col.npy", whole(&[0, 2, 4, 1, 0, 0])),
            format("coo"),
            shape(4, 5),
            ("data.npy", npy("|u1", "(6,)", &[1, 255, 1, 1, 1, 1])),
        ]
    }

    /// The good one with another member.
    fn with(members: Vec<Member>, name: &'static str, bytes: Vec<u8>) -> Vec<u8> {
        let others = members.into_iter().filter(|(other, _)| *other != name);
        stored(&others.chain([(name, bytes)]).collect::<Vec<_>>())
    }

    #[test]
    fn all_layouts_give_the_same_documents() {
        for members in [csr(), csc(), coo()] {
            for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
                assert_eq!(documents(NAME, archive(&members, method)).unwrap(), good());
            }
            assert_eq!(documents("test.npz.gz", gzip(stored(&members))).unwrap(), good());
        }
        let empty = [("indices.npy", whole(&[])), ("indptr.npy", whole(&[0])), format("csr"), shape(0, 0)];
        let empty = [empty.as_slice(), &[("data.npy", whole(&[]))]].concat();
        assert_eq!(documents(NAME, stored(&empty)).unwrap(), [[0; 0]; 0]);
    }

    #[test]
    fn zeros_are_absent_where_the_rest_is_unknown() {
        let unlisted = ReadOptions { unlisted: Unlisted::Unknown, ..ReadOptions::default() };
        let coo_with_zero = with(coo(), "data.npy", npy("|u1", "(6,)", &[1, 0, 1, 0, 1, 1]));
        for (bytes, absent) in
            [(stored(&csr()), [&[][..], &[], &[], &[3]]), (coo_with_zero, [&[], &[1, 2], &[], &[]])]
        {
            let (documents, faults) = read_all(NAME, &bytes, &unlisted).unwrap();
            assert!(faults.is_empty() && documents.iter().all(|document| document.others.rest_unknown));
            let listed: Vec<_> = documents.iter().map(|document| document.others.tokens.as_slice()).collect();
            assert_eq!(listed, absent);
        }
        let twice = with(coo(), "data.npy", npy("|u1", "(6,)", &[1, 255, 1, 1, 1, 0]));
        let told =
            "test.npz: row 1, column 1, counted from 1: has two values, above zero and not; leave out one";
        assert_eq!(faults(NAME, &twice, &unlisted), [told]);
        assert_eq!(documents(NAME, &twice).unwrap(), good());
        let wide = with(csr(), "shape.npy", shape(4, (1 << 31) + 1).1);
        assert!(
            faults(NAME, &wide, &unlisted)[0].contains("has 2147483649 columns; with `unlisted` unknown")
        );
    }

    #[test]
    fn entries_that_make_no_sense_are_left_out_by_a_check() {
        for (members, name, bytes, said) in [
            (
                csr(),
                "indices.npy",
                whole(&[0, 4, 5, 1, 0, 3]),
                "entry 2, counted from 0: column 5 is not among the 5",
            ),
            (
                csr(),
                "indices.npy",
                whole(&[0, 4, -1, 1, 0, 3]),
                "entry 2, counted from 0: column -1 is not among the 5",
            ),
            (
                csr(),
                "data.npy",
                floats(&[1., 1., f64::NAN, 1., 1., 0.]),
                "row 1, column 2, counted from 0: value NaN",
            ),
            (
                csr(),
                "data.npy",
                floats(&[1., 1., f64::INFINITY, 1., 1., 0.]),
                "row 1, column 2, counted from 0: value inf",
            ),
            (
                csc(),
                "indices.npy",
                whole(&[0, 3, 1, 4, 3, 0]),
                "entry 3, counted from 0: row 4 is not among the 4",
            ),
            (
                coo(),
                "row.npy",
                whole(&[3, -2, 0, 1, 0, 0]),
                "entry 1, counted from 0: row -2 is not among the 4",
            ),
        ] {
            let bytes = with(members, name, bytes);
            assert!(fault(NAME, &bytes).starts_with(&format!("{NAME}: {said}")), "{}", fault(NAME, &bytes));
            assert_eq!(check(NAME, &bytes).0, [vec![0, 4], vec![1], vec![], vec![0]], "{said}");
        }
    }

    #[test]
    fn arrays_that_do_not_belong_together_are_told() {
        let dense = npy("<f8", "(1, 1)", &[0; 8]);
        for (members, name, bytes, said) in [
            (csr(), "indptr.npy", whole(&[1, 2, 4, 4, 6]), "indptr begins with 1 instead of 0"),
            (csr(), "indptr.npy", whole(&[0, 4, 2, 4, 6]), "indptr has 2 after 4"),
            (csr(), "indptr.npy", whole(&[0, 2, 4, 7, 6]), "indptr has 7 after 4"),
            (csr(), "indptr.npy", whole(&[0, -2, 4, 4, 6]), "indptr has -2 after 0"),
            (csr(), "indptr.npy", whole(&[0, 2, 4, 4, 5]), "indptr ends with 5, but there are 6 entries"),
            (csr(), "indptr.npy", whole(&[0, 6, 6, 6, 5]), "indptr has 5 after 6"),
            (csr(), "indptr.npy", whole(&[0, 2, 4, 6]), "indptr.npy has 4 elements instead of 5"),
            (csc(), "indptr.npy", whole(&[0, 2, 3, 4, 6]), "indptr.npy has 5 elements instead of 6"),
            (csr(), "indices.npy", whole(&[0, 4]), "indices.npy has 2 elements instead of 6"),
            (csr(), "indices.npy", floats(&[0.0; 6]), "indices.npy has floats instead of whole numbers"),
            (coo(), "col.npy", whole(&[0, 4]), "col.npy has 2 elements instead of 6"),
            (csr(), "data.npy", dense, "data.npy has 2 dimensions instead of one"),
            (csr(), "data.npy", npy("|O", "(6,)", &[]), "data.npy has elements of type '|O'"),
            (csr(), "data.npy", npy("|S1", "(6,)", b"abcdef"), "data.npy holds text instead of numbers"),
            (
                csr(),
                "data.npy",
                npy("<i8", "(999999999999,)", &[0; 8]),
                "data.npy has 86 bytes, which do not agree",
            ),
            (csr(), "data.npy", b"nonsense".to_vec(), "data.npy is not a NumPy array"),
            (csr(), "shape.npy", whole(&[4, -5]), "has -5 columns"),
            (csr(), "shape.npy", shape(1 << 40, 5).1, "declares 1099511627776 rows; at most"),
            (csr(), "shape.npy", shape(4, 1 << 40).1, "declares 1099511627776 columns; at most"),
            (coo(), "shape.npy", shape(1_000_001, 5).1, "1000001 documents with 6 entries in all"),
            (csr(), "format.npy", format("bsr").1, "sparse format 'bsr'; csr, csc and coo can be read"),
            (csr(), "format.npy", whole(&[1]), "format.npy is not a single text"),
        ] {
            let found = fault(NAME, with(members, name, bytes));
            assert!(found.starts_with(&format!("{NAME}: {said}")), "{found}");
        }
    }

    #[test]
    fn other_files_are_told_apart() {
        assert!(fault(NAME, "no archive").contains("cannot be opened as a zip archive"));
        let dense = stored(&[("arr_0.npy", npy("<f8", "(1, 1)", &[0; 8]))]);
        assert!(
            fault(NAME, dense)
                .starts_with("test.npz: has no format.npy; expected what scipy.sparse.save_npz")
        );
        let mut damaged = stored(&csr());
        // The last byte of the first member: the column of the last entry, which stays valid.
        let at = damaged.windows(4).position(|bytes| bytes == [3, 0, 0, 0]).unwrap();
        damaged[at] = 2;
        assert!(fault(NAME, damaged).contains("indices.npy: the checksum is another"));
    }

    #[test]
    fn a_file_that_changes_while_it_is_read_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        let mut bytes = stored(&csr());
        std::fs::write(&path, &bytes).unwrap();
        let mut reader = open(&path, &ReadOptions::default(), &Default::default()).unwrap();
        bytes.push(0);
        std::fs::write(&path, &bytes).unwrap();
        let mut read = || reader.read(&mut Document::default(), &mut Err);
        let error = std::iter::repeat_with(&mut read).find_map(Result::err).unwrap();
        assert!(error.to_string().contains("the file changed while it was read"), "{error}");
        assert!(!read().unwrap());
    }

    #[test]
    fn mutations_never_panic() {
        survives_mutations(NAME, &stored(&csr()), |bytes| bytes);
        survives_mutations(NAME, &archive(&coo(), CompressionMethod::Deflated), |bytes| bytes);
        // Arrays whose checksums are right.
        for (name, bytes) in csr() {
            survives_mutations(NAME, &bytes, |mutated| with(csr(), name, mutated));
        }
    }
}
