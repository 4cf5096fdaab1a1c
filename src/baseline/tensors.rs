//! Named arrays and facts: what a baseline holds, as it is saved.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// One array.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Array {
    F64(Vec<u64>, Vec<f64>),
    U32(Vec<u64>, Vec<u32>),
}

/// Arrays by name, and facts in JSON.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tensors {
    /// JSON.
    pub(super) facts: String,
    pub(super) arrays: BTreeMap<String, Array>,
}

impl Tensors {
    /// Without arrays.
    pub fn new(facts: &Value) -> Self {
        Self { facts: facts.to_string(), arrays: BTreeMap::new() }
    }

    /// Adds real numbers; the shape's product is their number.
    #[must_use]
    pub fn with_f64(mut self, name: &str, shape: &[usize], values: Vec<f64>) -> Self {
        debug_assert_eq!(shape.iter().product::<usize>(), values.len(), "{name}");
        let shape = shape.iter().map(|&n| n as u64).collect();
        self.arrays.insert(name.to_owned(), Array::F64(shape, values));
        self
    }

    /// Adds whole numbers.
    #[must_use]
    pub fn with_u32(mut self, name: &str, shape: &[usize], values: Vec<u32>) -> Self {
        debug_assert_eq!(shape.iter().product::<usize>(), values.len(), "{name}");
        let shape = shape.iter().map(|&n| n as u64).collect();
        self.arrays.insert(name.to_owned(), Array::U32(shape, values));
        self
    }

    /// The facts.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] where they are not JSON: a damaged file.
    pub fn facts(&self) -> Result<Value> {
        serde_json::from_str(&self.facts).map_err(|e| Error::Usage(format!("facts of the model: {e}")))
    }

    /// Takes an array of so many finite real numbers out.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] where there is none, or not such a one: a damaged file.
    pub fn take_f64(&mut self, name: &str, len: usize) -> Result<Vec<f64>> {
        match self.arrays.remove(name) {
            Some(Array::F64(_, values)) if values.len() == len && values.iter().all(|x| x.is_finite()) => {
                Ok(values)
            }
            _ => Err(Error::Usage(format!("array '{name}' of the model is not {len} finite numbers"))),
        }
    }

    /// Takes an array of whole numbers out; of any length where none is given.
    ///
    /// # Errors
    ///
    /// As [`Tensors::take_f64`].
    pub fn take_u32(&mut self, name: &str, len: Option<usize>) -> Result<Vec<u32>> {
        match self.arrays.remove(name) {
            Some(Array::U32(_, values)) if len.is_none_or(|len| len == values.len()) => Ok(values),
            _ => Err(Error::Usage(format!("array '{name}' of the model is not what it should be"))),
        }
    }

    /// Without what only further passes need.
    pub(super) fn finished(mut self) -> Self {
        self.arrays.retain(|name, _| !name.starts_with("state_"));
        self
    }

    /// Whether there is such an array: those of a state are not in every file.
    pub fn has(&self, name: &str) -> bool {
        self.arrays.contains_key(name)
    }
}
