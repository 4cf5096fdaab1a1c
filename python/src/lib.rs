//! The extension module `noisyor._core`: what the Python package needs of the library, and no more. Estimators, tables and pages for
//! notebooks are Python, in `noisyor/`.

use pyo3::prelude::*;

/// The extension module.
#[pymodule]
mod _core {
    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
