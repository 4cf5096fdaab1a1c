//! Options and arrays of files that others wrote: every number within its range.

use crate::error::{Error, Result};
use serde_json::Value;

/// Topics at most.
pub(in crate::baseline) const MAX_TOPICS: usize = 1 << 20;

/// Whether an option is within a closed range.
pub(in crate::baseline) fn check_range(option: &str, value: f64, (least, most): (f64, f64)) -> Result<()> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(Error::Usage(format!("`{option}` is {value:?}; give a number from {least:?} to {most:?}")))
}

/// Whether all numbers of an array are within a closed range.
pub(in crate::baseline) fn within(array: &str, values: &[f64], (least, most): (f64, f64)) -> Result<()> {
    match values.iter().find(|value| !(least..=most).contains(*value)) {
        Some(value) => Err(Error::Usage(format!(
            "array '{array}' of the model has {value}, which is not from {least} to {most}: the file is damaged"
        ))),
        None => Ok(()),
    }
}

/// A number of things of a saved model.
pub(in crate::baseline) fn n_of(facts: &Value, name: &str) -> Result<usize> {
    let n = facts[name].as_u64().filter(|&n| n <= 1 << 48);
    let n = n.ok_or_else(|| {
        Error::Usage(format!("`{name}` of the model is {}: the file is damaged", facts[name]))
    })?;
    Ok(n as usize)
}

/// Numbers that an array of topics and tokens has.
pub(in crate::baseline) fn cells(n_topics: usize, n_tokens: usize) -> Result<usize> {
    n_topics.checked_mul(n_tokens).ok_or_else(|| {
        Error::Usage(format!("{n_topics} topics of {n_tokens} tokens are too many for memory"))
    })
}
