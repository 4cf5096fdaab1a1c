//! One error type for the library; each kind maps to one exit status of the program.

use crate::files;
use std::path::{Path, PathBuf};

/// What can go wrong. Every message names the place, the value and the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file's content is not what it should be.
    #[error("{}{}: {message}", .file.display(), .line.map(|l| format!(":{l}")).unwrap_or_default())]
    Input {
        /// The file.
        file: PathBuf,
        /// The line, counted from one, where the file has lines.
        line: Option<u64>,
        /// What is wrong, the value, and what to do.
        message: String,
    },
    /// Options or arguments that make no sense, alone or together.
    #[error("{0}")]
    Usage(String),
    /// Reading or writing failed.
    #[error("{}: {source}", .file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// The operating system's answer.
        source: std::io::Error,
    },
    /// A compute device is missing or failed.
    #[error("{0}")]
    Device(String),
    /// NaN or infinity turned up.
    #[error("{0}")]
    Numeric(String),
    /// The user asked to stop.
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
            Self::Interrupted => 130,
        }
    }
}
