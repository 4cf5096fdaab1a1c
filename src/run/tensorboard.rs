//! The metrics of a run as an event file of TensorBoard: TFRecord frames with protocol buffers `Event` in them.

use crate::error::{Error, Result};
use crate::train::Metrics;
use crc::{CRC_32_ISCSI, Crc};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

const CRC32C: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

/// TensorBoard takes files whose names hold this, those of later seconds after earlier ones.
const PREFIX: &str = "events.out.tfevents.";
/// How the names of ours end.
const SUFFIX: &str = ".noisyor";

/// An event file that grows by an evaluation at a time.
#[derive(Debug)]
pub struct EventFile {
    path: PathBuf,
    file: File,
    /// When the run began, had it never stopped, in seconds of the clock.
    begun: f64,
}

impl EventFile {
    /// A new file in a folder, with all of these metrics; older ones of ours go. `written`: when the last of the metrics came.
    ///
    /// So the file always says what `metrics.jsonl` says. A TensorBoard that is looking takes a step that comes again for a run
    /// that began again, and forgets what came after it.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where it cannot be written.
    pub fn start(folder: &Path, metrics: &[Metrics], written: SystemTime) -> Result<Self> {
        fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
        let older = ours_in(folder);
        let seconds = written.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let newest = older.iter().map(|&(second, _)| second).max();
        let name_second = (seconds as u64).max(newest.map_or(0, |second| second + 1));
        let path = folder.join(format!("{PREFIX}{name_second:010}{SUFFIX}"));
        let file = File::create(&path).map_err(|e| Error::io(&path, e))?;
        let begun = seconds - metrics.last().map_or(0.0, |last| last.seconds);
        let mut events = Self { path, file, begun };
        let mut bytes = frame(&version_event(begun));
        metrics.iter().for_each(|metrics| bytes.extend(frame(&events.event(metrics))));
        events.append(&bytes)?;
        for (_, path) in older {
            // One that stays tells the same up to where the run went on.
            let _ = fs::remove_file(path);
        }
        Ok(events)
    }

    /// Whether a folder has such a file.
    pub fn is_in(folder: &Path) -> bool {
        !ours_in(folder).is_empty()
    }

    /// Adds an evaluation.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where it cannot be written.
    pub fn write(&mut self, metrics: &Metrics) -> Result<()> {
        self.append(&frame(&self.event(metrics)))
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|e| Error::io(&self.path, e))
    }

    /// `Event { double wall_time = 1; int64 step = 2; Summary summary = 5; }`
    fn event(&self, metrics: &Metrics) -> Vec<u8> {
        let mut event = Vec::new();
        put_f64(&mut event, 1, self.begun + metrics.seconds);
        put_varint(&mut event, 2, metrics.step);
        put_bytes(&mut event, 5, &summary(metrics));
        event
    }
}

/// Event files of ours in a folder, with the second in their names.
fn ours_in(folder: &Path) -> Vec<(u64, PathBuf)> {
    let second = |path: &Path| {
        let name = path.file_name()?.to_str()?.strip_prefix(PREFIX)?;
        name.strip_suffix(SUFFIX)?.parse().ok()
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter_map(|path| Some((second(&path)?, path))).collect()
}

/// `Summary { repeated Value value = 1; }`, `Value { string tag = 1; float simple_value = 2; }`
fn summary(metrics: &Metrics) -> Vec<u8> {
    let scalars = [
        ("bound/train", metrics.train_elbo),
        ("bound/held_out", metrics.valid_elbo),
        ("speed/documents_per_s", Some(metrics.docs_per_s)),
        ("speed/edges_per_s", Some(metrics.edges_per_s)),
        ("graph/edges", Some(metrics.n_edges as f64)),
        // TensorBoard knows steps and times alone: this says which epoch a step is in.
        ("progress/epoch", Some(metrics.epoch)),
    ];
    let mut summary = Vec::new();
    for (tag, scalar) in scalars {
        if let Some(scalar) = scalar {
            let mut value = Vec::new();
            put_bytes(&mut value, 1, tag.as_bytes());
            put_key(&mut value, 2, 5);
            value.extend((scalar as f32).to_le_bytes());
            put_bytes(&mut summary, 1, &value);
        }
    }
    summary
}

/// `Event { double wall_time = 1; string file_version = 3; }`: the first of every file.
fn version_event(begun: f64) -> Vec<u8> {
    let mut event = Vec::new();
    put_f64(&mut event, 1, begun);
    put_bytes(&mut event, 3, b"brain.Event:2");
    event
}

/// A TFRecord: length, its checksum, the bytes, their checksum.
fn frame(bytes: &[u8]) -> Vec<u8> {
    let length = (bytes.len() as u64).to_le_bytes();
    let parts: [&[u8]; 4] =
        [&length, &masked_crc(&length).to_le_bytes(), bytes, &masked_crc(bytes).to_le_bytes()];
    parts.concat()
}

/// CRC-32C, turned and shifted: the checksum of bytes that hold checksums would be none.
fn masked_crc(bytes: &[u8]) -> u32 {
    CRC32C.checksum(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

fn put_key(bytes: &mut Vec<u8>, field: u64, wire_type: u64) {
    put_plain_varint(bytes, field << 3 | wire_type);
}

fn put_plain_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn put_varint(bytes: &mut Vec<u8>, field: u64, value: u64) {
    put_key(bytes, field, 0);
    put_plain_varint(bytes, value);
}

fn put_f64(bytes: &mut Vec<u8>, field: u64, value: f64) {
    put_key(bytes, field, 1);
    bytes.extend(value.to_le_bytes());
}

fn put_bytes(bytes: &mut Vec<u8>, field: u64, value: &[u8]) {
    put_key(bytes, field, 2);
    put_plain_varint(bytes, value.len() as u64);
    bytes.extend(value);
}
