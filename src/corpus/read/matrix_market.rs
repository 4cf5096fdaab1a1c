//! Matrix Market coordinates: `%%MatrixMarket matrix coordinate real general`, comments, `rows columns entries`, then
//! lines `row column value` from 1, in any order. Rows are documents, columns are tokens; values above zero mean
//! present, those of zero and below mean absent, and a `pattern` has no values: what it lists is present.

use super::coordinates::{Coordinates, Layout, Values, next_field, parse_declared};
use super::lines::{Lines, shown};
use super::matrix::{Matrix, Shape, check_density, numberable};
use super::source::Source;
use super::{OnFault, Unlisted};
use crate::error::Result;

const BANNER: &str = "%%MatrixMarket matrix coordinate real general";
const COMMENT: u8 = b'%';

/// Reads the header.
pub(super) fn open(source: Source, unlisted: Unlisted) -> Result<Matrix<Coordinates>> {
    let name = source.name().to_owned();
    let mut lines = Lines::new(source);
    let banner = lines.next(&mut Err as &mut OnFault<'_>)?.unwrap_or_default();
    let values = parse_banner(banner).map_err(|message| lines.fault(message))?;
    let size = size_line(&mut lines)?;
    let (n_documents, n_tokens, n_declared) = parse_size(&size).map_err(|message| lines.fault(message))?;
    let layout = Layout {
        document: "row",
        token: "column",
        values,
        comment: Some(COMMENT),
        n_documents,
        n_tokens,
        unlisted,
    };
    let entries = Coordinates::new(lines, layout, n_declared);
    Ok(Matrix::unordered(name, Shape { n_documents, n_tokens, names: None, unlisted }, entries))
}

/// The kind of values that the first line promises.
fn parse_banner(line: &[u8]) -> Result<Values, String> {
    let lower = line.to_ascii_lowercase();
    let mut rest = lower.as_slice();
    let [banner, object, format, field, symmetry] = [(); 5].map(|()| next_field(&mut rest));
    if banner != b"%%matrixmarket" || object != b"matrix" {
        return Err(format!(
            "'{}' is not the first line of a Matrix Market file, such as '{BANNER}'",
            shown(line)
        ));
    }
    if format != b"coordinate" {
        return Err(format!(
            "format '{}' instead of 'coordinate'; write a dense matrix as a sparse one: \
             scipy.io.mmwrite(path, scipy.sparse.csr_matrix(array))",
            shown(format)
        ));
    }
    if symmetry != b"general" {
        return Err(format!(
            "symmetry '{}' instead of 'general', as if documents were tokens; \
             write all entries: scipy.io.mmwrite(path, matrix, symmetry='general')",
            shown(symmetry)
        ));
    }
    match field {
        b"real" | b"double" | b"integer" | b"unsigned-integer" => Ok(Values::Numbers),
        b"pattern" => Ok(Values::None),
        _ => Err(format!("values are '{}'; they must be real, integer or pattern", shown(field))),
    }
}

/// The first line that is neither blank nor a comment; empty at the end.
fn size_line(lines: &mut Lines) -> Result<Vec<u8>> {
    while let Some(line) = lines.next(&mut Err as &mut OnFault<'_>)? {
        if line.trim_ascii_start().first().is_some_and(|&first| first != COMMENT) {
            return Ok(line.to_owned());
        }
    }
    Ok(Vec::new())
}

fn parse_size(line: &[u8]) -> Result<(u32, u32, u64), String> {
    let mut rest = line;
    let mut number = |what| parse_declared(next_field(&mut rest), what);
    let numbers = (number("rows")?, number("columns")?, number("entries")?);
    let ((Some(n_documents), Some(n_tokens), Some(n_entries)), true) =
        (numbers, rest.trim_ascii().is_empty())
    else {
        return Err(format!(
            "'{}' is not 'rows columns entries', three whole numbers",
            shown(line.trim_ascii())
        ));
    };
    let n_documents = numberable(n_documents, "rows")?;
    check_density(n_documents, n_entries)?;
    Ok((n_documents, numberable(n_tokens, "columns")?, n_entries))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_entry_faults, documents, fault, gzip, survives_mutations};

    const NAME: &str = "test.mtx";
    const GOOD: &str = "%%MatrixMarket matrix coordinate real general\n% comment\n\n4 5 6\n\
                        1 1 2\n1 5 1.5e0\n2 3 1\n2 2 9\n4 1 .5\n4 4 -1.0\n";

    fn good() -> Vec<Vec<u32>> {
        vec![vec![0, 4], vec![1, 2], vec![], vec![0]]
    }

    fn with(field: &str, body: &str) -> String {
        format!("%%MatrixMarket matrix coordinate {field} general\n{body}")
    }

    #[test]
    fn documents_are_read_in_whatever_way_they_are_written() {
        let by_column = with("integer", "4 5 6                 \n1 1 2\n4 1 1\n2 2 9\n2 3 1\n4 4 0\n1 5 1\n");
        let shuffled = with("real", "4 5 6\n2 3 1\n4 4 0.0\n1 1 2\n2 2 1e-300\n1 5 1\n4 1 1\n");
        let pattern = with("PATTERN", "4 5 6\n4 1\n1 1\n2 3\n2 2\n1 5\n1 5\n");
        let loose = GOOD.replace("2 3 1\n", "  2\t3  1 \n%again\n\n").replace("matrix", "Matrix");
        let marked = format!("\u{feff}{GOOD}");
        for text in [
            GOOD,
            GOOD.trim_end(),
            &GOOD.replace('\n', "\r\n"),
            &by_column,
            &shuffled,
            &pattern,
            &loose,
            &marked,
            &with("unsigned-integer", "4 5 5\n4 1 1\n1 1 1\n2 3 1\n2 2 1\n1 5 1"),
        ] {
            assert_eq!(documents(NAME, text).unwrap(), good(), "{text:?}");
        }
        assert_eq!(documents("test.mm.gz", gzip(GOOD)).unwrap(), good());
    }

    #[test]
    fn every_fault_has_its_line() {
        let values = ["nan", "-inf", "1e999", "one"];
        let others = values.map(|v| (format!("1 1 {v}"), format!("value '{v}' is not a finite number")));
        assert_entry_faults((NAME, GOOD, 7), ["row", "column", "value"], &others);
        let valued = with("pattern", "1 1 1\n1 1 1\n");
        assert!(fault(NAME, valued).starts_with("test.mtx:3: '1 1 1' is not 'row column'"));
    }

    #[test]
    fn other_kinds_of_matrix_are_told_apart() {
        for (banner, said) in [
            ("1 1 1", "'1 1 1' is not the first line of a Matrix Market file"),
            ("%%MatrixMarket vector coordinate real general", "'%%MatrixMarket vector"),
            (
                "%%MatrixMarket matrix array real general",
                "format 'array' instead of 'coordinate'; write a dense",
            ),
            ("%%MatrixMarket matrix coordinate real symmetric", "symmetry 'symmetric' instead of 'general'"),
            ("%%MatrixMarket matrix coordinate real skew-symmetric", "symmetry 'skew-symmetric'"),
            ("%%MatrixMarket matrix coordinate complex hermitian", "symmetry 'hermitian'"),
            ("%%MatrixMarket matrix coordinate complex general", "values are 'complex'; they must be real"),
            ("%%MatrixMarket matrix coordinate real", "symmetry '' instead"),
        ] {
            let found = fault(NAME, format!("{banner}\n1 1 1\n1 1 1\n"));
            assert!(found.starts_with(&format!("{NAME}:1: {said}")), "{found}");
        }
    }

    #[test]
    fn a_header_is_not_trusted() {
        for (body, said) in [
            ("", "1: '' is not 'rows columns entries'"),
            ("% 1 1 1\n", "2: '' is not 'rows columns entries'"),
            ("1 1\n", "2: '1 1' is not 'rows columns entries'"),
            ("1 1 1 1\n", "2: '1 1 1 1' is not"),
            ("1 -1 1\n", "2: '1 -1 1' is not"),
            ("1000000000000 5 3\n", "2: declares 1000000000000 rows; at most 4294967295"),
            ("1 1000000000000 3\n", "2: declares 1000000000000 columns; at most"),
            ("1000001 5 3\n1 1 1\n", "2: 1000001 documents with 3 entries in all"),
            ("1 5 3\n1 1 1\n1 2 1\n", "4: the file ends after 2 entries, but its header declares 3"),
            ("1 5 1\n1 1 1\n1 2 1\n1 3 1\n", "4: entry 2, but the header declares 1"),
        ] {
            let found = fault(NAME, with("real", body));
            assert!(found.starts_with(&format!("{NAME}:{said}")), "{body:?}: {found}");
        }
        assert!(fault(NAME, "").starts_with("test.mtx:1: '' is not the first line"));
    }

    #[test]
    fn mutations_never_panic() {
        survives_mutations(NAME, GOOD.as_bytes(), |bytes| bytes);
    }
}
