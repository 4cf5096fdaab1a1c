//! The library's errors as Python exceptions: classes of `noisyor._errors`, `OSError` for files, `KeyboardInterrupt`.

use noisyor::Error;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;

/// The exception for an error, with the library's message.
pub fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let class = match error {
        Error::Input { .. } => "InputError",
        Error::Device(_) => "DeviceError",
        Error::Numeric(_) => "NumericError",
        Error::Interrupted => return PyKeyboardInterrupt::new_err("interrupted"),
        // OSError chooses its subclass, such as FileNotFoundError, by the number.
        Error::Io { file, source } => {
            let message = source.to_string();
            return match source.raw_os_error().or_else(|| number_of(source.kind())) {
                Some(number) => PyOSError::new_err((number, message, file.clone())),
                None => PyOSError::new_err(format!("{}: {message}", file.display())),
            };
        }
        // New kinds of errors are about what was asked for until they have a class.
        _ => "UsageError",
    };
    let made = py
        .import("noisyor._errors")
        .and_then(|module| module.getattr(class))
        .and_then(|class| class.call1((error.to_string(),)));
    made.map_or_else(|failed| failed, PyErr::from_value)
}

/// An error that was given a better message has lost its number.
fn number_of(kind: std::io::ErrorKind) -> Option<i32> {
    match kind {
        std::io::ErrorKind::NotFound => Some(2),
        std::io::ErrorKind::PermissionDenied => Some(13),
        std::io::ErrorKind::AlreadyExists => Some(17),
        _ => None,
    }
}

/// A result of the library as one of Python.
pub trait OrRaise<T> {
    /// The value, or the exception.
    ///
    /// # Errors
    /// The exception.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for noisyor::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| exception(py, &error))
    }
}
