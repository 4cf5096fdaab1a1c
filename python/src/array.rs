//! NumPy arrays read where they lie.

use noisyor::corpus::Numbers;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::sync::Arc;

/// The content of an array of i32, seen as u32: an index below zero becomes one that is too large, and is refused as such. The array is
/// kept alive; whoever has it must not change it meanwhile, as everywhere in NumPy where the GIL is released.
#[derive(Debug)]
struct Indices {
    begin: *const u32,
    length: usize,
    _array: Py<PyArray1<i32>>,
}

// SAFETY: the memory is only read, and belongs to the array, which lives as long; dropping a `Py` takes the GIL by itself.
#[allow(unsafe_code)]
unsafe impl Send for Indices {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Sync for Indices {}

impl AsRef<[u32]> for Indices {
    #[allow(unsafe_code)]
    fn as_ref(&self) -> &[u32] {
        // SAFETY: pointer and length are those of a contiguous, aligned array of numbers of this size, which lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.begin, self.length) }
    }
}

/// Indices of a sparse matrix: 32 bits wide they stay where they are; of 64 bits each, the lower half is copied.
///
/// # Errors
/// Another type of numbers, or an array with gaps.
pub fn indices(array: &Bound<'_, PyAny>) -> PyResult<Arc<dyn Numbers<u32>>> {
    if let Ok(array) = array.cast::<PyArray1<i32>>() {
        let read = array.readonly();
        let numbers: &[u32] = bytemuck::cast_slice(read.as_slice()?);
        let (begin, length) = (numbers.as_ptr(), numbers.len());
        return Ok(Arc::new(Indices { begin, length, _array: array.clone().unbind() }));
    }
    let wide = array.cast::<PyArray1<i64>>().map_err(|_| wrong("indices", array))?.readonly();
    // What does not fit is refused as too large.
    let narrow = |&index: &i64| u32::try_from(index).unwrap_or(u32::MAX);
    Ok(Arc::new(wide.as_slice()?.iter().map(narrow).collect::<Vec<u32>>()))
}

/// Where rows begin and the last one ends.
///
/// # Errors
/// As [`indices`].
pub fn indptr(array: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    let widened = |number: i64| u64::try_from(number).unwrap_or(u64::MAX);
    if let Ok(array) = array.cast::<PyArray1<i32>>() {
        return Ok(array.readonly().as_slice()?.iter().map(|&number| widened(number.into())).collect());
    }
    let array = array.cast::<PyArray1<i64>>().map_err(|_| wrong("indptr", array))?;
    Ok(array.readonly().as_slice()?.iter().map(|&number| widened(number)).collect())
}

fn wrong(what: &str, array: &Bound<'_, PyAny>) -> PyErr {
    let kind = array.getattr("dtype").map_or_else(|_| "no array".to_owned(), |kind| kind.to_string());
    PyTypeError::new_err(format!("{what} must be an array of int32 or int64; it is {kind}"))
}
