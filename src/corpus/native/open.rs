//! Opening a native corpus, and verifying all of it.

use super::layout::{ALIGN, Header, MAGIC, Place, Section, Trailer, VERSION, VERSION_UNKNOWN};
use crate::corpus::column::{Column, MappedNumbers, Strings};
use crate::corpus::state::{REST_UNKNOWN, first_common};
use crate::corpus::{Corpus, documents::Mapped};
use crate::error::{Error, Result};
use bytemuck::AnyBitPattern;
use memmap2::Mmap;
use rustc_hash::FxHashSet;
use std::fs::File;
use std::hash::Hasher;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use twox_hash::XxHash3_64;

/// Files up to this size are verified on opening: that takes milliseconds.
const VERIFY_AT_ONCE: u64 = 1 << 26;

const STOPPED: &str = "not verified to the end";
/// Bytes, and documents, that are verified between two looks whether to go on.
const VERIFY_PIECE: usize = 1 << 26;
const VERIFY_DOCS: usize = 1 << 17;

/// Whether a file begins like a native corpus.
pub fn is_native(path: &Path) -> bool {
    let mut start = [0; MAGIC.len()];
    let is_file = std::fs::metadata(path).is_ok_and(|file| file.is_file());
    is_file && File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == MAGIC
}

/// Opens a native corpus. Small files are verified at once, for large ones call [`Corpus::verify`].
///
/// # Errors
///
/// [`Error::Io`] where it cannot be read or mapped, [`Error::Input`] where it is none or
/// damaged.
pub fn open(path: &Path) -> Result<Corpus> {
    let corpus = open_unverified(path)?;
    if corpus.mapped.as_ref().is_some_and(|mapped| mapped.map.len() as u64 <= VERIFY_AT_ONCE) {
        corpus.verify()?;
    }
    Ok(corpus)
}

/// Opens a native corpus; nothing but the header is looked at.
pub(in crate::corpus) fn open_unverified(path: &Path) -> Result<Corpus> {
    let file = File::open(path).map_err(|e| Error::io(path, e))?;
    // SAFETY: the map is read through bounds-checked slices of plain numbers and bytes only, so another process that writes
    // to the file can make them wrong but nothing worse. One that cuts the file short raises SIGBUS, which the program turns
    // into an error and exit status 3. This program itself never changes a corpus in place, it renames a new one over it.
    #[allow(unsafe_code)]
    let map = unsafe { Mmap::map(&file) }.map_err(|e| Error::io(path, e))?;
    from_map(path, map).map_err(|message| Error::input(path, None, message))
}

/// Maps a native corpus that this process has just written to a file without a name: there is nothing to verify.
pub(super) fn open_own(name: &Path, file: &File) -> Result<Corpus> {
    // SAFETY: as above, and no other process has the file.
    #[allow(unsafe_code)]
    let map = unsafe { Mmap::map(file) }.map_err(|e| Error::io(name, e))?;
    let corpus = from_map(name, map).map_err(|message| Error::input(name, None, message))?;
    if let Some(mapped) = &corpus.mapped {
        mapped.verified.store(true, Ordering::Relaxed);
    }
    Ok(corpus)
}

/// Gives back all pages of a mapped file.
#[allow(unsafe_code)]
pub(in crate::corpus) fn release(mapped: &Mapped) {
    // SAFETY: the map is one of a file, and only read: what is given back is read from the file again.
    #[cfg(unix)]
    let _ = unsafe { mapped.map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
    #[cfg(not(unix))]
    let _ = mapped;
}

const REMEDY: &str = "make the corpus again, or fetch it again";

/// The header, and the places of the sections: those of version 1, or all.
fn header_of(map: &Mmap) -> Result<(Header, Vec<Place>), String> {
    let bytes = map.get(..Header::LEN).ok_or_else(|| format!("cut short: {} bytes; {REMEDY}", map.len()))?;
    let header: Header = bytemuck::pod_read_unaligned(bytes);
    if header.magic != MAGIC {
        return Err(format!("not a native corpus; {REMEDY}"));
    }
    if ![VERSION, VERSION_UNKNOWN].contains(&header.version) {
        let version = header.version;
        return Err(format!(
            "version {version} is not known; this program reads versions {VERSION} and {VERSION_UNKNOWN}"
        ));
    }
    if header.checksum != header.own_checksum() {
        return Err(format!("the header is damaged: its checksum is wrong; {REMEDY}"));
    }
    if header.file_len != map.len() as u64 {
        return Err(format!("{} bytes, but the header says {}; {REMEDY}", map.len(), header.file_len));
    }
    let mut places = header.places.to_vec();
    if header.version == VERSION_UNKNOWN {
        let bytes = map.len().checked_sub(Trailer::LEN).and_then(|begin| map.get(begin..));
        let bytes = bytes.ok_or_else(|| format!("cut short: {} bytes; {REMEDY}", map.len()))?;
        let trailer: Trailer = bytemuck::pod_read_unaligned(bytes);
        if trailer != Trailer::new(trailer.places) {
            return Err(format!("the last bytes are damaged: their checksum is wrong; {REMEDY}"));
        }
        places.extend(trailer.places);
    }
    Ok((header, places))
}

fn from_map(path: &Path, map: Mmap) -> Result<Corpus, String> {
    let (header, places) = header_of(&map)?;
    let map = Arc::new(map);
    let strings = |ends, bytes| {
        Some(Strings { ends: column(&map, &places, ends)?, bytes: column(&map, &places, bytes)? })
    };
    let mut summed = vec![Section::Tokens, Section::DocEnds, Section::NameEnds, Section::Names];
    if header.version == VERSION_UNKNOWN {
        summed.extend([Section::Others, Section::OtherEnds]);
    }
    let corpus = (|| {
        Some(Corpus {
            doc_ends: column(&map, &places, Section::DocEnds)?,
            tokens: column(&map, &places, Section::Tokens)?,
            others: column(&map, &places, Section::Others)?,
            other_ends: column(&map, &places, Section::OtherEnds)?,
            n_tokens: header.n_tokens,
            token_names: Some(strings(Section::NameEnds, Section::Names)?).filter(|_| header.named == 1),
            ids: strings(Section::IdEnds, Section::Ids)?,
            labels: strings(Section::LabelEnds, Section::Labels)?,
            mapped: Some(Arc::new(Mapped {
                path: path.to_owned(),
                map: Arc::clone(&map),
                checksums: summed.into_iter().map(|section| places[section as usize].checksum).collect(),
                verified: false.into(),
                gives_back: false.into(),
            })),
        })
    })();
    let corpus = corpus.ok_or_else(|| format!("a section does not lie within the file; {REMEDY}"))?;
    let each_or_none = |texts: &Strings, n: u64| texts.is_empty() || texts.len() as u64 == n;
    let n_bytes = |section| places[section as usize].len;
    let n_lists = if header.version == VERSION_UNKNOWN { header.n_docs } else { 0 };
    let names_unsaid = header.named == 0 && (n_bytes(Section::NameEnds) > 0 || n_bytes(Section::Names) > 0);
    if corpus.n_docs() as u64 != header.n_docs
        || corpus.n_occurrences() as u64 != header.n_occurrences
        || header.n_docs > u64::from(u32::MAX)
        || header.named > 1
        || names_unsaid
        || corpus.other_ends.len() as u64 != n_lists
        || !each_or_none(&corpus.ids, header.n_docs)
        || !each_or_none(&corpus.labels, header.n_docs)
        || corpus.token_names.as_ref().is_some_and(|names| names.len() as u64 != u64::from(header.n_tokens))
    {
        return Err(format!("the sections do not have the lengths that the header says; {REMEDY}"));
    }
    Ok(corpus)
}

/// A section; empty where the version has none of it.
fn column<T: AnyBitPattern>(map: &Arc<Mmap>, places: &[Place], section: Section) -> Option<Column<T>> {
    let Some(place) = places.get(section as usize) else { return Some(Column::default()) };
    let begin = usize::try_from(place.begin).ok()?;
    let end = begin.checked_add(usize::try_from(place.len).ok()?)?;
    MappedNumbers::new(map, begin..end).map(Column::Mapped)
}

/// Every byte against the checksums, then what the numbers mean.
///
/// `go_on` is asked now and then; if it says no, that is an error, too.
pub(in crate::corpus) fn verify(
    corpus: &Corpus,
    mapped: &Mapped,
    go_on: &dyn Fn() -> bool,
) -> Result<(), String> {
    let map = &mapped.map;
    let (header, places) = header_of(map)?;
    let padding_up_to = |position: usize, begin: usize| {
        let padding = map.get(position..begin).filter(|padding| padding.len() < ALIGN as usize);
        if padding.is_none_or(|padding| padding.iter().any(|&byte| byte != 0)) {
            return Err(format!("bytes between sections are damaged, before byte {begin}; {REMEDY}"));
        }
        Ok(())
    };
    let mut position = Header::LEN;
    for (section, place) in Section::ALL.into_iter().zip(places) {
        let (begin, end) = (place.begin as usize, (place.begin + place.len) as usize);
        padding_up_to(position, begin)?;
        let content = map.get(begin..end).ok_or("cut short")?;
        let mut hash = XxHash3_64::default();
        for piece in content.chunks(VERIFY_PIECE) {
            hash.write(piece);
            go_on().then_some(()).ok_or(STOPPED)?;
        }
        if hash.finish() != place.checksum {
            return Err(format!("section {section:?} is damaged: its checksum is wrong; {REMEDY}"));
        }
        position = end;
    }
    if header.version == VERSION_UNKNOWN {
        padding_up_to(position, map.len() - Trailer::LEN)?;
        position = map.len();
    }
    if position != map.len() {
        return Err(format!("bytes after the last section; {REMEDY}"));
    }
    meaning(corpus, go_on).map_err(|message| format!("{message}; {REMEDY}"))
}

/// What documents list beside their present tokens.
fn other_lists(corpus: &Corpus, go_on: &dyn Fn() -> bool) -> Result<(), String> {
    let (mut begin, n_tokens) = (0, corpus.n_tokens() as u32);
    for (doc_ix, &end) in corpus.other_ends.iter().enumerate() {
        let end = (end & !REST_UNKNOWN) as usize;
        let listed = corpus.others.get(begin..end);
        let listed =
            listed.ok_or_else(|| format!("the list of document {doc_ix} ends at {end}, out of order"))?;
        if !listed.is_sorted_by(|a, b| a < b) || listed.last().is_some_and(|&last| last >= n_tokens) {
            return Err(format!("the list of document {doc_ix} is not ascending numbers below {n_tokens}"));
        }
        if let Some(token) = first_common(corpus.tokens(doc_ix), listed) {
            return Err(format!("token {token} of document {doc_ix} is in two states"));
        }
        begin = end;
        if doc_ix % VERIFY_DOCS == 0 {
            go_on().then_some(()).ok_or(STOPPED)?;
        }
    }
    if begin != corpus.others.len() {
        return Err(format!("the last list ends at {begin} of {} tokens", corpus.others.len()));
    }
    Ok(())
}

fn meaning(corpus: &Corpus, go_on: &dyn Fn() -> bool) -> Result<(), String> {
    let (mut begin, n_tokens) = (0, corpus.n_tokens() as u32);
    for (doc_ix, &end) in corpus.doc_ends.iter().enumerate() {
        let tokens = corpus.tokens.get(begin..end as usize);
        let tokens =
            tokens.ok_or_else(|| format!("the tokens of document {doc_ix} end at {end}, out of order"))?;
        if !tokens.is_sorted_by(|a, b| a < b) || tokens.last().is_some_and(|&last| last >= n_tokens) {
            return Err(format!(
                "the tokens of document {doc_ix} are not ascending numbers below {n_tokens}"
            ));
        }
        begin = end as usize;
        if doc_ix % VERIFY_DOCS == 0 {
            go_on().then_some(()).ok_or(STOPPED)?;
        }
    }
    if begin != corpus.n_occurrences() {
        return Err(format!("the last document ends at {begin} of {} tokens", corpus.n_occurrences()));
    }
    other_lists(corpus, go_on)?;
    let texts = [("id", Some(&corpus.ids)), ("label", Some(&corpus.labels)), ("name", corpus.token_names())];
    for (what, texts) in texts.into_iter().filter_map(|(what, texts)| texts.map(|texts| (what, texts))) {
        if let Some(at) = texts.fault() {
            return Err(format!("{what} {at} is no text"));
        }
    }
    let mut seen = FxHashSet::default();
    match corpus.token_names().and_then(|names| names.iter().find(|name| !seen.insert(*name))) {
        Some(name) => Err(format!("the name '{name}' stands for two tokens")),
        None => Ok(()),
    }
}
