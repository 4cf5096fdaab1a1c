//! A corpus in several files, of which each rank may have some: they are put together to one, the same on every rank, so that what is
//! learned does not depend on who had which.

use super::read::Format;
use super::{CorpusSource, Place};
use crate::error::{Error, Result};
use crate::ranks::Team;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile};

/// Stands for the number of a file, from 0, in the name of a corpus.
pub const PART: &str = "{part}";
/// Bytes that travel at a time.
const PIECE_BYTES: usize = 1 << 24;

/// What a rank says of the part whose turn it is: that there is none, or a piece of it, or its last piece.
const NONE: u8 = 0;
const PIECE: u8 = 1;
const LAST: u8 = 2;

/// A file of all parts, which goes away with this.
pub(crate) struct Gathered {
    /// The file, read as the parts would be.
    pub(crate) source: CorpusSource,
    _file: NamedTempFile,
    /// The name of each part, and the line of the file that it begins behind; none where parts are compressed.
    begins: Vec<(PathBuf, u64)>,
    pattern: PathBuf,
}

/// The name of a part.
fn part(pattern: &str, number: usize) -> PathBuf {
    pattern.replace(PART, &number.to_string()).into()
}

impl CorpusSource {
    /// The parts put together, where the name says that there are some. Rank r of N reads parts r, r + N, and so on: the same parts make
    /// the same corpus on any number of ranks.
    ///
    /// # Errors
    /// Formats that cannot be put together, missing parts, failing disks and ranks.
    pub(crate) fn gathered(&self, team: &Team) -> Result<Option<Gathered>> {
        let Some(pattern) = self.path().and_then(Path::to_str).filter(|path| path.contains(PART)) else {
            return Ok(None);
        };
        let format = self.read.format.map_or_else(|| Format::of(pattern.as_ref()), Ok)?;
        if !matches!(format, Format::Jsonl | Format::Text | Format::Svmlight) {
            return Err(Error::Usage(format!(
                "{pattern}: a corpus in parts has a document a line and nothing else: .jsonl, .txt or .svm; give one of these, or one file"
            )));
        }
        // The name tells how it is to be read.
        let name = Path::new(pattern).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut file =
            Builder::new().suffix(&name).tempfile().map_err(|e| Error::io(&std::env::temp_dir(), e))?;
        let is_plain = ![".gz", ".zst"].iter().any(|end| name.ends_with(end));
        let (mut begins, mut n_lines) = (Vec::new(), 0);
        for number in 0.. {
            let path = part(pattern, number);
            begins.push((path.clone(), n_lines));
            let Some(lines) = gather_part(&path, number, team, is_plain, &mut file)? else {
                begins.pop();
                break;
            };
            n_lines += lines;
        }
        if begins.is_empty() {
            let source =
                std::io::Error::new(ErrorKind::NotFound, "there is no first part; parts count from 0");
            return Err(Error::io(&part(pattern, 0), source));
        }
        refuse_gap(pattern, begins.len())?;
        if !is_plain {
            begins.clear();
        }
        let source = CorpusSource { place: Place::File(file.path().to_owned()), ..self.clone() };
        Ok(Some(Gathered { source, _file: file, begins, pattern: pattern.into() }))
    }
}

/// Adds a part to the file, from the rank that has it; how many lines, or none if there is no such part.
fn gather_part(
    path: &Path,
    number: usize,
    team: &Team,
    is_plain: bool,
    file: &mut NamedTempFile,
) -> Result<Option<u64>> {
    let owner = number % team.size();
    let is_mine = owner == team.rank();
    let mut mine = match File::open(path) {
        _ if !is_mine => None,
        Ok(part) => Some(part),
        Err(e) if e.kind() == ErrorKind::NotFound => None,
        Err(e) => return Err(Error::io(path, e)),
    };
    let (mut n_lines, mut last) = (0, b'\n');
    loop {
        let mut piece = vec![NONE];
        if let Some(part) = &mut mine {
            part.take(PIECE_BYTES as u64).read_to_end(&mut piece).map_err(|e| Error::io(path, e))?;
            piece[0] = if piece.len() > PIECE_BYTES { PIECE } else { LAST };
        }
        let all = team.gather(if is_mine { piece } else { Vec::new() })?;
        let Some((&kind, bytes)) = all[owner].split_first().filter(|(kind, _)| **kind != NONE) else {
            return Ok(None);
        };
        let fault = |e| Error::io(file.path(), e);
        file.as_file().write_all(bytes).map_err(fault)?;
        n_lines += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        last = bytes.last().copied().unwrap_or(last);
        if kind == LAST {
            // The next part begins on a line of its own.
            if is_plain && last != b'\n' {
                file.as_file().write_all(b"\n").map_err(fault)?;
                n_lines += 1;
            }
            file.seek(SeekFrom::End(0)).map_err(|e| Error::io(path, e))?;
            return Ok(Some(n_lines));
        }
    }
}

/// An error where this rank has a part behind the last: those between would be left out.
fn refuse_gap(pattern: &str, n_parts: usize) -> Result<()> {
    let (before, after) = pattern.split_once(PART).unwrap_or((pattern, ""));
    let folder = match Path::new(before).parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !after.contains('/') => folder,
        _ => return Ok(()),
    };
    let entries = std::fs::read_dir(folder).map_err(|e| Error::io(folder, e))?.flatten();
    let behind = entries.filter_map(|entry| {
        let path = entry.path();
        let number = path.to_str()?.strip_prefix(before)?.strip_suffix(after)?;
        number.parse::<usize>().ok().filter(|&number| number > n_parts)
    });
    match behind.min() {
        None => Ok(()),
        Some(number) => Err(Error::Usage(format!(
            "{} is there, but {} is not, where its rank looks; rank r of N reads parts r, r + N, and so on, from 0",
            part(pattern, number).display(),
            part(pattern, n_parts).display()
        ))),
    }
}

impl Gathered {
    /// A fault of the file as one of the part that it came from.
    pub(crate) fn fault_of_part(&self, error: Error) -> Error {
        match error {
            Error::Input { file, line, message } if Some(file.as_path()) == self.source.path() => {
                let at = line.and_then(|line| {
                    let (part, begin) = self.begins.iter().rev().find(|(_, begin)| *begin < line)?;
                    Some((part.clone(), line - begin))
                });
                match at {
                    Some((file, line)) => Error::Input { file, line: Some(line), message },
                    None => Error::Input { file: self.pattern.clone(), line, message },
                }
            }
            error => error,
        }
    }
}
