//! One error type for the library; each kind maps to one exit status of the program.

use crate::files;
use std::path::{Path, PathBuf};

/// Of files that are read or written with the feature `parquet`.
#[cfg(not(feature = "parquet"))]
pub(crate) const NO_PARQUET: &str = "Parquet is not possible here: noisyor was built without the feature parquet; build it with that, or use another format";

/// What can go wrong. Every message names the place, the value and the remedy.
///
/// ```
/// use noisyor::{Error, network::load_model};
///
/// match load_model("no-such-model.safetensors".as_ref()) {
///     Err(Error::Io { file, source }) if source.kind() == std::io::ErrorKind::NotFound => {
///         println!("{} is not there", file.display());
///     }
///     Err(Error::Input { line: Some(line), .. }) => println!("look at line {line}"),
///     other => drop(other?),
/// }
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file's content is not what it should be: a corpus, a graph, a model, a vocabulary, or a file of a run. Also a file that is too
    /// large, damaged, or in a format that this build lacks.
    #[error("{}{}: {message}", .file.display(), .line.map(|l| format!(":{l}")).unwrap_or_default())]
    Input {
        /// The file.
        file: PathBuf,
        /// The line, counted from one, where the file has lines.
        line: Option<u64>,
        /// What is wrong, the value, and what to do.
        message: String,
    },
    /// Options or arguments that make no sense, alone, together, or with this data: a share above one, a graph without weights to start
    /// from, a folder that holds another run. Raised before anything is computed or written.
    #[error("{0}")]
    Usage(String),
    /// Reading or writing failed: a file is missing, may not be read, or the disk is full.
    #[error("{}: {source}", .file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// The operating system's answer.
        source: std::io::Error,
    },
    /// A compute device is missing, cannot run the kernels, or failed beyond recovery. The CPU may do the same work.
    #[error("{0}")]
    Device(String),
    /// NaN or infinity turned up: weights that are out of range, or a step that is too large.
    #[error("{0}")]
    Numeric(String),
    /// Another rank of the job ([`crate::ranks`]) was lost or has failed; the message names it.
    #[error("{0}")]
    Rank(String),
    /// [`Monitor::stop`](crate::Monitor::stop) was set while work was under way. Training is not an error then: it returns what it has, with
    /// [`Ended::Interrupted`](crate::train::Ended::Interrupted).
    #[error("interrupted")]
    Interrupted,
}

/// The library's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// A fault in a file, at a line where `line` says one.
    pub fn input(file: &Path, line: Option<u64>, message: impl Into<String>) -> Self {
        Self::Input { file: file.to_owned(), line, message: message.into() }
    }

    /// A failed read or write. Of a path that does not exist it says what is missing, and what has a similar name.
    pub fn io(file: &Path, source: std::io::Error) -> Self {
        let missing = source.kind() == std::io::ErrorKind::NotFound && !file.exists();
        let hint = missing.then(|| files::hint_of_missing(file)).flatten();
        let source = match hint {
            Some(hint) => std::io::Error::new(source.kind(), format!("{source}; {hint}")),
            None => source,
        };
        Self::Io { file: file.to_owned(), source }
    }

    /// The program's exit status for this error.
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Input { .. } | Self::Usage(_) => 2,
            Self::Io { .. } => 3,
            Self::Device(_) => 4,
            Self::Numeric(_) => 5,
            Self::Rank(_) => 6,
            Self::Interrupted => 130,
        }
    }
}
