//! Ranks that are to compute the same must have been told the same: what they were told is compared before they begin.

use super::Team;
use crate::error::{Error, Result};
use serde_json::Value;

/// What a rank was told: names and values, such as options.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Said(Vec<(String, String)>);

impl Said {
    /// What every rank says of itself: the program and how it stores numbers.
    pub fn program() -> Self {
        let order = if cfg!(target_endian = "little") { "little-endian" } else { "big-endian" };
        Self::default().and("version of noisyor", env!("CARGO_PKG_VERSION")).and("byte order", order)
    }

    /// One thing more.
    pub fn and(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        self.0.push((name.to_owned(), value.to_string()));
        self
    }

    /// Everything in a JSON object, but for the fields that may differ.
    pub fn and_all(mut self, of: &Value, but: &[&str]) -> Self {
        let fields = of.as_object().into_iter().flatten();
        for (name, value) in fields.filter(|(name, _)| !but.contains(&name.as_str())) {
            self.add(name, value);
        }
        self
    }

    fn add(&mut self, name: &str, value: &Value) {
        match value {
            Value::Object(fields) => {
                fields.iter().for_each(|(field, value)| self.add(&format!("{name}.{field}"), value));
            }
            _ => self.0.push((format!("`{name}`"), value.to_string())),
        }
    }
}

/// Compares what ranks were told.
///
/// # Errors
/// [`Error::Usage`] on all ranks where one was told something else than the first: it names the rank and what differs.
pub fn agree(team: &Team, said: &Said) -> Result<()> {
    if !team.has_others() {
        return Ok(());
    }
    // In JSON, which does not depend on the byte order.
    let bytes = serde_json::to_vec(&said.0).map_err(|e| Error::Usage(e.to_string()))?;
    let all: Vec<Vec<(String, String)>> =
        team.gather(bytes)?.iter().map(|bytes| serde_json::from_slice(bytes).unwrap_or_default()).collect();
    for (rank, of_rank) in all.iter().enumerate() {
        let value = |list: &[(String, String)], name: &str| {
            list.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone())
        };
        let names = all[0].iter().chain(of_rank).map(|(name, _)| name);
        for name in names {
            let (first, other) = (value(&all[0], name), value(of_rank, name));
            if first != other {
                let [first, other] = [first, other].map(|value| value.unwrap_or_else(|| "nothing".into()));
                return Err(Error::Usage(format!(
                    "{} and {} differ in {name}: {first} and {other}; start all ranks with the same program, options and documents",
                    team.name(0),
                    team.name(rank),
                )));
            }
        }
    }
    Ok(())
}
