//! The metrics of a run as they grow: what another process writes, read piece by piece.

use super::folder::METRICS;
use crate::error::{Error, Result};
use crate::train::Metrics;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Bytes read at a time: a file that is none of ours must not fill the memory.
const PIECE: u64 = 1 << 20;
/// A longer line is none of ours.
const MAX_LINE: usize = 1 << 16;

/// Every evaluation of a run so far, and where the next one will stand.
#[derive(Debug)]
pub struct FollowedMetrics {
    path: PathBuf,
    metrics: Vec<Metrics>,
    /// Bytes of the whole lines that were read.
    n_bytes: u64,
    /// The last of them. Where it stands no longer, the file was cut back and is another.
    last_line: Vec<u8>,
    changed: Option<SystemTime>,
}

/// What a look found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// So many new evaluations; none, if it is 0.
    More(usize),
    /// The metrics were cut back, as by a run that goes on from its checkpoint: all are new.
    Anew,
}

impl FollowedMetrics {
    /// Of a run folder. Nothing is read yet.
    pub fn new(run: &Path) -> Self {
        let path = run.join(METRICS);
        Self { path, metrics: Vec::new(), n_bytes: 0, last_line: Vec::new(), changed: None }
    }

    /// The evaluations so far.
    pub fn metrics(&self) -> &[Metrics] {
        &self.metrics
    }

    /// When the file was last written, if the system tells.
    pub fn changed(&self) -> Option<SystemTime> {
        self.changed
    }

    /// Reads what is new. A run that has no metrics yet has none; a last line without an end is still being written.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where it cannot be read, [`Error::Input`] for a line that is none of
    /// metrics.
    pub fn look(&mut self) -> Result<Growth> {
        let failed = |e| Error::io(&self.path, e);
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(self.forget()),
            Err(e) => return Err(failed(e)),
        };
        let there = file.metadata().map_err(failed)?;
        self.changed = there.modified().ok();
        if !self.stands_in(&mut file).map_err(failed)? {
            self.forget();
            self.read_from(&mut file)?;
            return Ok(Growth::Anew);
        }
        self.read_from(&mut file).map(Growth::More)
    }

    fn forget(&mut self) -> Growth {
        let had = std::mem::take(&mut self.metrics).len();
        self.n_bytes = 0;
        self.last_line.clear();
        if had > 0 { Growth::Anew } else { Growth::More(0) }
    }

    /// Whether the last line read is still where it was.
    fn stands_in(&self, file: &mut File) -> std::io::Result<bool> {
        let mut there = Vec::new();
        file.seek(SeekFrom::Start(self.n_bytes - self.last_line.len() as u64))?;
        Read::take(&mut *file, self.last_line.len() as u64).read_to_end(&mut there)?;
        Ok(there == self.last_line)
    }

    /// Reads whole lines behind those that are known.
    fn read_from(&mut self, file: &mut File) -> Result<usize> {
        let (known, mut waiting, path) = (self.metrics.len(), Vec::new(), self.path.clone());
        let failed = |e| Error::io(&path, e);
        file.seek(SeekFrom::Start(self.n_bytes)).map_err(failed)?;
        loop {
            let read = Read::take(&mut *file, PIECE).read_to_end(&mut waiting).map_err(failed)?;
            let whole = waiting.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
            let rest = waiting.split_off(whole);
            for line in waiting.split_inclusive(|&byte| byte == b'\n') {
                self.push(line)?;
            }
            waiting = rest;
            if waiting.len() > MAX_LINE {
                return Err(self.fault("a line without an end".into()));
            }
            if read == 0 {
                return Ok(self.metrics.len() - known);
            }
        }
    }

    fn push(&mut self, line: &[u8]) -> Result<()> {
        let metrics = serde_json::from_slice(line).map_err(|e| self.fault(e.to_string()))?;
        self.metrics.push(metrics);
        self.n_bytes += line.len() as u64;
        self.last_line = line.to_owned();
        Ok(())
    }

    fn fault(&self, what: String) -> Error {
        let line = self.metrics.len() as u64 + 1;
        Error::input(
            &self.path,
            Some(line),
            format!("not a line of metrics: {what}; is this a run of 'train'?"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::FigureKind;
    use std::io::Write;

    fn line(step: u64) -> String {
        let metrics = Metrics {
            step,
            epoch: step as f64,
            seconds: 1.5 * step as f64,
            bound: FigureKind::Tail,
            train_elbo: None,
            valid_elbo: Some(-1.0),
            n_edges: 1,
            smoothing: None,
            docs_per_s: 1.0,
            edges_per_s: 1.0,
        };
        serde_json::to_string(&metrics).unwrap() + "\n"
    }

    #[test]
    fn half_lines_wait_and_a_file_cut_back_begins_anew() {
        let folder = tempfile::tempdir().unwrap();
        let mut followed = FollowedMetrics::new(folder.path());
        let steps =
            |followed: &FollowedMetrics| followed.metrics().iter().map(|m| m.step).collect::<Vec<_>>();
        assert_eq!(followed.look().unwrap(), Growth::More(0), "no file yet");
        let path = folder.path().join(METRICS);
        let mut file = File::create(&path).unwrap();
        assert_eq!(followed.look().unwrap(), Growth::More(0));
        let (head, tail) = (&line(2)[..9], &line(2)[9..]);
        file.write_all((line(1) + head).as_bytes()).unwrap();
        assert_eq!(followed.look().unwrap(), Growth::More(1));
        assert_eq!(followed.look().unwrap(), Growth::More(0));
        file.write_all((tail.to_owned() + &line(3)).as_bytes()).unwrap();
        assert_eq!(followed.look().unwrap(), Growth::More(2));
        assert_eq!(steps(&followed), [1, 2, 3]);
        // Shorter; then as long as before, or longer, with other lines.
        std::fs::write(&path, line(1)).unwrap();
        assert_eq!(followed.look().unwrap(), Growth::Anew);
        assert_eq!(steps(&followed), [1]);
        std::fs::write(&path, line(1) + &line(2)).unwrap();
        assert_eq!(followed.look().unwrap(), Growth::More(1));
        std::fs::write(&path, line(1) + &line(5) + &line(6)).unwrap();
        assert_eq!(followed.look().unwrap(), Growth::Anew);
        assert_eq!(steps(&followed), [1, 5, 6]);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(followed.look().unwrap(), Growth::Anew);
        assert!(followed.metrics().is_empty());
    }

    #[test]
    fn other_files_are_faults_with_a_line() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(METRICS), line(1) + "{}\n").unwrap();
        let fault = FollowedMetrics::new(folder.path()).look().unwrap_err().to_string();
        assert!(fault.contains("metrics.jsonl:2: "), "{fault}");
        std::fs::write(folder.path().join(METRICS), vec![b'x'; MAX_LINE + 1]).unwrap();
        let fault = FollowedMetrics::new(folder.path()).look().unwrap_err().to_string();
        assert!(fault.contains("metrics.jsonl:1: "), "{fault}");
    }
}
