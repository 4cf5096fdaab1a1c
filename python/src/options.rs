//! Options of Python as those of the library: JSON laid over the usual ones.

use crate::errors::{OrRaise, exception};
use noisyor::Error;
use noisyor::corpus::CorpusSource;
use noisyor::estep::EStepOptions;
use noisyor::run::{BackendOptions, NetworkSource, RunConfig};
use pyo3::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Options that JSON holds.
///
/// # Errors
/// JSON that holds something else.
pub fn parse<T: DeserializeOwned>(py: Python<'_>, what: &str, json: &str) -> PyResult<T> {
    let parsed = serde_json::from_str(json).map_err(|e| Error::Usage(format!("`{what}`: {e}")));
    parsed.or_raise(py)
}

/// Options with those that JSON gives in their places; objects inside are laid over each other, too.
///
/// # Errors
/// Options that do not exist, or have no such values.
pub fn overlaid<T: Serialize + DeserializeOwned>(usual: &T, given: &Value, what: &str) -> noisyor::Result<T> {
    let fault = |message: String| Error::Usage(format!("`{what}`: {message}"));
    let mut all = serde_json::to_value(usual).map_err(|e| fault(e.to_string()))?;
    lay_over(&mut all, given);
    let options: T = serde_json::from_value(all).map_err(|e| fault(e.to_string()))?;
    // What the options did not take is not there any more.
    let taken = serde_json::to_value(&options).map_err(|e| fault(e.to_string()))?;
    match missing(given, &taken) {
        Some(option) => Err(fault(format!("there is no option `{option}`"))),
        None => Ok(options),
    }
}

fn lay_over(below: &mut Value, above: &Value) {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) if !is_choice(above) => {
            for (name, value) in above {
                lay_over(below.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (below, above) => *below = above.clone(),
    }
}

/// Whether an object is one of several kinds, told by its `rule`: nothing of another kind remains below.
fn is_choice(object: &Map<String, Value>) -> bool {
    object.contains_key("rule")
}

/// The first option of `given` that is not in `taken`.
fn missing<'a>(given: &'a Value, taken: &Value) -> Option<&'a str> {
    let (Value::Object(given), Value::Object(taken)) = (given, taken) else { return None };
    given.iter().find_map(|(name, value)| match taken.get(name) {
        Some(inside) => missing(value, inside),
        None if value.is_null() => None,
        None => Some(name.as_str()),
    })
}

/// The E-step that is asked for.
///
/// # Errors
/// Options that do not exist or make no sense.
pub fn estep(py: Python<'_>, given: &str) -> PyResult<EStepOptions> {
    let given: Value = parse(py, "options", given)?;
    let options = overlaid(&EStepOptions::default(), &given, "options").or_raise(py)?;
    options.check().map_err(|error| exception(py, &error))?;
    Ok(options)
}

/// What computes.
///
/// # Errors
/// Options that do not exist.
pub fn backend(py: Python<'_>, given: &str) -> PyResult<BackendOptions> {
    let given: Value = parse(py, "backend", given)?;
    overlaid(&BackendOptions::default(), &given, "backend").or_raise(py)
}

/// The run that is asked for: `network` as [`NetworkSource`] has it; `options`, `backend` and the like over what is usual for that.
///
/// # Errors
/// Options that do not exist.
pub fn run_config(py: Python<'_>, corpus: CorpusSource, given: &str) -> PyResult<RunConfig> {
    let mut given: Value = parse(py, "options", given)?;
    let network = given.as_object_mut().and_then(|given| given.remove("network")).unwrap_or_default();
    let network: NetworkSource = serde_json::from_value(network)
        .map_err(|e| exception(py, &Error::Usage(format!("`network`: {e}"))))?;
    overlaid(&RunConfig::new(corpus, network), &given, "options").or_raise(py)
}
