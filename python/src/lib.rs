//! The extension module `noisyor._core`: what the Python package needs of the library, and no more. Estimators, tables and pages for
//! notebooks are Python, in `noisyor/`. Options come as JSON in the library's own terms.

mod array;
mod backend;
mod bench;
mod corpus;
mod errors;
mod infer;
mod network;
mod options;
mod task;
mod threads;
mod train;

use pyo3::prelude::*;

/// The extension module.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::bench::bench;
    #[pymodule_export]
    use super::corpus::Corpus;
    #[pymodule_export]
    use super::infer::infer;
    #[pymodule_export]
    use super::network::{Network, devices, graph_names};
    #[pymodule_export]
    use super::train::{resume, train};
    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
