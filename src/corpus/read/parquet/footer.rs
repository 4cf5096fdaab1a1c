//! A look at the footer before the Parquet library reads it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// The library goes down a schema by recursion, and a stack that overflows is the end of the process: a schema can be
/// no deeper than it has elements, and so many fit the smallest stack that threads have.
const MAX_ELEMENTS: u64 = 1500;
const MAGIC: &[u8] = b"PAR1";

/// Refuses schemas of too many elements. What is no Parquet file at all is left to the library to tell.
pub(super) fn check_schema(file: &mut File, n_bytes: u64) -> io::Result<Result<(), String>> {
    let mut tail = [0; 8];
    if n_bytes < tail.len() as u64 {
        return Ok(Ok(()));
    }
    file.seek(SeekFrom::End(-(tail.len() as i64)))?;
    file.read_exact(&mut tail)?;
    let (size, magic) = tail.split_at(4);
    let size = u64::from(size.iter().rev().fold(0_u32, |size, &byte| size << 8 | u32::from(byte)));
    if magic != MAGIC || size + tail.len() as u64 > n_bytes {
        return Ok(Ok(()));
    }
    file.seek(SeekFrom::Start(n_bytes - size - tail.len() as u64))?;
    let mut start = Vec::new();
    file.by_ref().take(size.min(32)).read_to_end(&mut start)?;
    Ok(match n_elements(&start) {
        Some(n) if n <= MAX_ELEMENTS => Ok(()),
        Some(n) => Err(format!(
            "the schema has {n} elements, more than {MAX_ELEMENTS}; write the columns of the text, the id and the label alone"
        )),
        None => Err("the Parquet file is damaged (its footer has no schema); fetch or write it again".into()),
    })
}

/// How many elements the schema has: the footer is Thrift in its compact form, a version and then a list of these.
fn n_elements(footer: &[u8]) -> Option<u64> {
    let (_version, rest) = varint(footer.strip_prefix(b"\x15")?)?;
    let (&begin, rest) = rest.strip_prefix(b"\x19")?.split_first()?;
    match begin >> 4 {
        15 => Some(varint(rest)?.0),
        short => Some(short.into()),
    }
}

/// A number in seven bits a byte, and what is after it.
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let n = bytes.iter().take(9).position(|byte| byte & 0x80 == 0)? + 1;
    let value = bytes[..n].iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f));
    Some((value, &bytes[n..]))
}
