//! Settings that differ between two configs.

use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// A setting that differs, by its path in the config: `options.step.lambda`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Setting {
    /// The keys that lead to it.
    pub key: String,
    /// Its value in the first config; none where there is none.
    pub a: Option<Value>,
    /// In the second.
    pub b: Option<Value>,
}

/// Every setting of two configs that differs, by key. Keys that begin with one of `besides` are no settings.
pub fn differing_settings(a: &Value, b: &Value, besides: &[&str]) -> Vec<Setting> {
    let mut all: BTreeMap<String, [Option<Value>; 2]> = BTreeMap::new();
    for (at, config) in [a, b].into_iter().enumerate() {
        flatten(String::new(), config, &mut |key, value| {
            all.entry(key).or_default()[at] = Some(value.clone())
        });
    }
    let differs = |(key, [a, b]): &(String, [Option<Value>; 2])| {
        // A setting that is null is as good as none: older versions may not know it.
        let given = |value: &Option<Value>| value.clone().filter(|value| !value.is_null());
        given(a) != given(b) && !besides.iter().any(|prefix| key.starts_with(prefix))
    };
    all.into_iter().filter(differs).map(|(key, [a, b])| Setting { key, a, b }).collect()
}

/// Objects by their keys, joined by dots; lists are values.
fn flatten<'a>(key: String, value: &'a Value, leaf: &mut dyn FnMut(String, &'a Value)) {
    match value {
        // serde_json reads no deeper than 128 levels.
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
            flatten(key, value, leaf);
        }),
        value => leaf(key, value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn settings_by_their_paths() {
        let a = json!({"version": "1", "options": {"seed": 0, "step": {"rule": "em", "lambda": 1.0}, "refine": null}, "run": {"x": 1}});
        let b = json!({"version": "1", "options": {"seed": 7, "step": {"rule": "adam", "rate": [1]}}, "run": {"x": 2}});
        let keys: Vec<String> = differing_settings(&a, &b, &["run."]).into_iter().map(|s| s.key).collect();
        assert_eq!(keys, ["options.seed", "options.step.lambda", "options.step.rate", "options.step.rule"]);
        let rate = &differing_settings(&a, &b, &[])[2];
        assert_eq!((&rate.a, &rate.b), (&None, &Some(json!([1]))));
        assert!(differing_settings(&a, &a, &[]).is_empty());
    }
}
