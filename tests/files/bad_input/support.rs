//! A case is a file: `check` and `corpus` are run on it in a folder of their own and must agree about it.

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin_cmd;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;
use tempfile::TempDir;

/// No case is so large that a run takes longer, even on a busy machine.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// One fault: its line, where the file has lines, and what the message holds: the value and what to do.
pub(crate) type Fault = (Option<u64>, &'static [&'static str]);

/// Damage of compressed data shows at whatever line the decoder had come to.
pub(crate) const SOMEWHERE: u64 = u64::MAX;

pub(crate) enum Expected {
    /// Status 2: these faults, all of them, in this order.
    Faults(Vec<Fault>),
    /// Odd but legal: so many documents with so many tokens in all.
    Fine(u64, u64),
}

pub(crate) struct Case {
    name: &'static str,
    file: &'static str,
    bytes: Vec<u8>,
    options: &'static str,
    expected: Expected,
}

/// Odd but legal.
pub(crate) fn fine(name: &'static str, bytes: impl AsRef<[u8]>, docs: u64, tokens: u64) -> Case {
    let bytes = bytes.as_ref().to_vec();
    Case { name, file: "", bytes, options: "", expected: Expected::Fine(docs, tokens) }
}

/// Faults at these lines.
pub(crate) fn bad(
    name: &'static str,
    bytes: impl AsRef<[u8]>,
    faults: &[(u64, &'static [&'static str])],
) -> Case {
    let faults = faults.iter().map(|&(line, parts)| (Some(line), parts)).collect();
    let bytes = bytes.as_ref().to_vec();
    Case { name, file: "", bytes, options: "", expected: Expected::Faults(faults) }
}

/// One fault of the whole file.
pub(crate) fn unreadable(
    name: &'static str,
    bytes: impl AsRef<[u8]>,
    parts: &'static [&'static str],
) -> Case {
    let bytes = bytes.as_ref().to_vec();
    Case { name, file: "", bytes, options: "", expected: Expected::Faults(vec![(None, parts)]) }
}

impl Case {
    /// Under a name of its own.
    pub(crate) fn named(self, file: &'static str) -> Self {
        Self { file, ..self }
    }

    /// And another fault of the whole file.
    pub(crate) fn and(mut self, parts: &'static [&'static str]) -> Self {
        if let Expected::Faults(faults) = &mut self.expected {
            faults.push((None, parts));
        }
        self
    }

    /// With options for both commands.
    pub(crate) fn with(self, options: &'static str) -> Self {
        Self { options, ..self }
    }
}

/// A table of cases of one format.
pub(crate) struct Table {
    /// The name of the file, unless a case has another.
    pub(crate) file: &'static str,
    /// Options of `corpus` alone: every word is kept, so that both commands count alike.
    pub(crate) corpus_options: &'static str,
    /// Files beside every case.
    pub(crate) beside: &'static [(&'static str, &'static str)],
}

/// Formats of text and of names: no word is left out for being rare.
pub(crate) const KEEP_ALL: &str = "--min-df 1 --stop-words none";

impl Table {
    pub(crate) const fn new(file: &'static str, corpus_options: &'static str) -> Self {
        Self { file, corpus_options, beside: &[] }
    }

    /// Runs all cases and tells of every one that is not as expected.
    pub(crate) fn run(&self, at_least: usize, cases: Vec<Case>) {
        assert!(cases.len() >= at_least, "{}: {} cases", self.file, cases.len());
        let wrong: Vec<String> = cases.iter().filter_map(|case| self.run_case(case).err()).collect();
        assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    }

    fn run_case(&self, case: &Case) -> Result<(), String> {
        let folder = Folder::new();
        let file = if case.file.is_empty() { self.file } else { case.file };
        folder.write(file, &case.bytes);
        self.beside.iter().for_each(|(name, text)| folder.write(name, text));
        let before = folder.names();
        let checked = folder.noisyor(&format!("check {file} --as corpus --json {}", case.options));
        let (options, more) = (case.options, self.corpus_options);
        let taken = folder.noisyor(&format!("corpus {file} -o out.corpus --json {options} {more}"));
        let outcome = match &case.expected {
            Expected::Fine(docs, tokens) => is_fine(&checked, &taken, *docs, *tokens),
            Expected::Faults(faults) => {
                is_faulty(file, &checked, &taken, faults).and_then(|()| expect_eq(&folder.names(), &before))
            }
        };
        let outcome = outcome.and_then(|()| expect_eq(&folder.leftovers(), &Vec::new()));
        outcome.map_err(|e| {
            format!("--- {}: {e}\ncheck: {}\ncorpus: {}", case.name, told(&checked), told(&taken))
        })
    }
}

fn is_fine(checked: &Output, taken: &Output, docs: u64, tokens: u64) -> Result<(), String> {
    expect_eq(&checked.status.code(), &Some(0))?;
    expect_eq(&taken.status.code(), &Some(0))?;
    let summary = parse(&checked.stdout)?["summary"].clone();
    expect_eq(&(summary["docs"].as_u64(), summary["occurrences"].as_u64()), &(Some(docs), Some(tokens)))?;
    let taken = parse(&taken.stdout)?;
    expect_eq(&(taken["docs"].as_u64(), taken["occurrences"].as_u64()), &(Some(docs), Some(tokens)))
}

fn is_faulty(file: &str, checked: &Output, taken: &Output, expected: &[Fault]) -> Result<(), String> {
    expect_eq(&checked.status.code(), &Some(2))?;
    expect_eq(&taken.status.code(), &Some(2))?;
    expect_eq(&text(&taken.stdout), &String::new())?;
    let result = parse(&checked.stdout)?;
    expect_eq(&result["n_faults"].as_u64(), &Some(expected.len() as u64))?;
    let found = result["faults"].as_array().cloned().unwrap_or_default();
    for (found, (line, parts)) in found.iter().zip(expected) {
        if *line == Some(SOMEWHERE) {
            expect_eq(&found["line"].is_u64(), &true)?;
        } else {
            expect_eq(&found["line"].as_u64(), line)?;
        }
        harmless(found["message"].as_str().unwrap_or_default())?;
        holds(found["message"].as_str().unwrap_or_default(), parts)?;
    }
    let message = text(&taken.stderr);
    let (line, parts) = expected[0];
    let place = match line {
        None => format!("{file}: "),
        Some(SOMEWHERE) => format!("{file}:"),
        Some(line) => format!("{file}:{line}: "),
    };
    holds(&message, &[&place])?;
    holds(&message, parts)?;
    expect_eq(&message.lines().count(), &1)?;
    harmless(message.trim_end())
}

/// Nothing moves the cursor, and the message is not the whole file.
pub(crate) fn harmless(message: &str) -> Result<(), String> {
    match message.chars().find(|c| c.is_control()) {
        Some(c) => Err(format!("{c:?} is printed in {message:?}")),
        None if message.len() > 1500 => Err(format!("a message of {} bytes", message.len())),
        None => Ok(()),
    }
}

fn holds(message: &str, parts: &[&str]) -> Result<(), String> {
    match parts.iter().find(|part| !message.contains(**part)) {
        Some(part) => Err(format!("'{part}' is not in '{message}'")),
        None => Ok(()),
    }
}

fn expect_eq<T: PartialEq + std::fmt::Debug>(found: &T, expected: &T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("found {found:?}, expected {expected:?}")) }
}

fn parse(json: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(json).map_err(|e| format!("{e}: {}", text(json)))
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn told(output: &Output) -> String {
    let all = format!("{} {}{}", output.status, text(&output.stdout), text(&output.stderr));
    all.chars().take(2000).collect()
}

/// A folder to run the program in; what it keeps aside goes to another, which must be empty in the end.
pub(crate) struct Folder {
    folder: TempDir,
    aside: TempDir,
}

impl Folder {
    pub(crate) fn new() -> Self {
        let folder = || TempDir::new().expect("a temporary folder");
        Self { folder: folder(), aside: folder() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).expect("a file written");
    }

    pub(crate) fn names(&self) -> Vec<String> {
        names(self.folder.path())
    }

    pub(crate) fn leftovers(&self) -> Vec<String> {
        names(self.aside.path())
    }

    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = cargo_bin_cmd!("noisyor");
        command.current_dir(self.folder.path()).env("TMPDIR", self.aside.path()).timeout(TIME_LIMIT);
        command.args(arguments.split_whitespace());
        command
    }

    pub(crate) fn noisyor(&self, arguments: &str) -> Output {
        self.command(arguments).output().expect("the program starts")
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

pub(crate) fn gzip(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes.as_ref()).expect("compressed");
    encoder.finish().expect("compressed")
}

pub(crate) fn zst(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).expect("an encoder");
    encoder.include_checksum(true).expect("a checksum");
    encoder.write_all(bytes.as_ref()).expect("compressed");
    encoder.finish().expect("compressed")
}

pub(crate) fn utf16(text: &str) -> Vec<u8> {
    [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
}

/// Bytes with one changed.
pub(crate) fn flipped(mut bytes: Vec<u8>, at: usize) -> Vec<u8> {
    bytes[at] ^= 0x55;
    bytes
}

/// What every text format is given: a good file in every dress, and damaged.
pub(crate) struct Good {
    pub(crate) text: String,
    pub(crate) docs: u64,
    pub(crate) tokens: u64,
    /// Names for the plain file, as .gz and as .zst.
    pub(crate) files: [&'static str; 3],
}

impl Good {
    pub(crate) fn cases(&self) -> Vec<Case> {
        let Self { text, docs, tokens, files: [plain, gz, zstd] } = self;
        let fine = |name, bytes: Vec<u8>, file| fine(name, bytes, *docs, *tokens).named(file);
        let (zipped, packed) = (gzip(text), zst(text));
        let half = text.len() / 2;
        let damaged: &[&str] = &["damaged or cut short", "fetch the file again"];
        let broken = |name, bytes: &[u8], file| bad(name, bytes, &[(SOMEWHERE, damaged)]).named(file);
        let end = zipped.len();
        vec![
            fine("as it should be", text.clone().into(), plain),
            fine("byte-order mark", format!("\u{feff}{text}").into(), plain),
            fine("CRLF", text.replace('\n', "\r\n").into(), plain),
            fine("no last newline", text.trim_end().into(), plain),
            fine(
                "mark, CRLF and no last newline",
                format!("\u{feff}{}", text.trim_end().replace('\n', "\r\n")).into(),
                plain,
            ),
            fine("gzip", zipped.clone(), gz),
            fine("gzip in two members", [gzip(&text[..half]), gzip(&text[half..])].concat(), gz),
            fine("gzip under a plain name", zipped.clone(), plain),
            fine("zstd", packed.clone(), zstd),
            fine("zstd in two frames", [zst(&text[..half]), zst(&text[half..])].concat(), zstd),
            fine("zstd under a plain name", packed.clone(), plain),
            broken("gzip cut short", &zipped[..end - 12], gz),
            broken("gzip cut in its head", &zipped[..5], gz),
            broken("gzip without its checksum", &zipped[..end - 8], gz),
            broken("gzip with another checksum", &flipped(zipped.clone(), end - 6), gz),
            broken("not gzip", text.as_bytes(), gz),
            broken("nothing for gzip", b"", gz),
            broken("zstd cut short", &packed[..packed.len() - 6], zstd),
            broken("zstd cut in its head", &packed[..3], zstd),
            broken("zstd with another checksum", &flipped(packed.clone(), packed.len() - 1), zstd),
            broken("damaged zstd under a plain name", &flipped(packed.clone(), packed.len() - 1), plain),
            broken("not zstd", text.as_bytes(), zstd),
            broken("nothing for zstd", b"", zstd),
            bad("old Macintosh", text.trim_end().replace('\n', "\r"), &[(1, &["carriage return", "tr '"])])
                .named(plain),
        ]
    }

    /// The file with a line behind it that no memory should hold.
    pub(crate) fn long_line(&self) -> Case {
        let mut bytes = self.text.clone().into_bytes();
        let line = bytes.iter().filter(|&&byte| byte == b'\n').count() as u64 + 1;
        bytes.resize(bytes.len() + (65 << 20), b'1');
        bad("a line of 65 MB", bytes, &[(line, &["longer than 64 MB", "plain text"])]).named(self.files[0])
    }
}
