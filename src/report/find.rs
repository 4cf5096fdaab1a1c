//! A topic as people name it.

use crate::error::{Error, Result};
use crate::faults::shown;
use crate::network::Network;

/// Names that a message offers.
const OFFERED: usize = 5;
/// Longer names are compared by their beginning.
const COMPARED: usize = 40;
/// Names less alike than this are not offered.
const ALIKE: f64 = 0.7;

/// The topic of a name, capitals aside; or of a number, or of a part of its name that no other topic has.
///
/// # Errors
///
/// [`Error::Usage`] where it is none, or several; it offers names that are near.
pub fn find_topic(network: &Network, wanted: &str) -> Result<u32> {
    let names = &network.names.topics;
    if let Some(topic) = names.iter().position(|name| name == wanted) {
        return Ok(topic as u32);
    }
    if let Some(topic) = wanted.parse().ok().filter(|&topic: &u32| (topic as usize) < names.len()) {
        return Ok(topic);
    }
    let lower = wanted.to_lowercase();
    let with = |matches: &dyn Fn(&str) -> bool| -> Vec<u32> {
        (0..names.len() as u32).filter(|&topic| matches(&names[topic as usize].to_lowercase())).collect()
    };
    let mut found = with(&|name| name == lower);
    if found.is_empty() && !lower.trim().is_empty() {
        found = with(&|name| name.contains(&lower));
    }
    let wanted = shown(wanted);
    match found[..] {
        [topic] => Ok(topic),
        [] if names.is_empty() => Err(Error::Usage("the model has no topics".into())),
        [] => {
            let offered = list(network, &most_alike(names, &lower));
            let hint = if offered.is_empty() { String::new() } else { format!("; near it are {offered}") };
            Err(Error::Usage(format!("no topic is named '{wanted}'{hint}")))
        }
        _ => Err(Error::Usage(format!(
            "'{wanted}' is part of the names of {} topics: {}; give one's whole name, or its number",
            found.len(),
            list(network, &found)
        ))),
    }
}

/// The topic of a whole name, capitals aside, or of a number.
///
/// # Errors
///
/// [`Error::Usage`] where it is none, or several; it offers names that are near.
pub fn find_whole_topic(network: &Network, wanted: &str) -> Result<u32> {
    let topic = find_topic(network, wanted);
    let is_whole = |&topic: &u32| {
        let name = &network.names.topics[topic as usize];
        name.to_lowercase() == wanted.to_lowercase() || wanted.parse() == Ok(topic)
    };
    let lower = wanted.to_lowercase();
    if topic.as_ref().is_ok_and(is_whole) {
        return topic;
    }
    let wanted = shown(wanted);
    if network.names.tokens.iter().any(|token| token.to_lowercase() == lower) {
        return Err(Error::Usage(format!("'{wanted}' is a token, not a topic; put it into the documents")));
    }
    topic.and_then(|near| {
        Err(Error::Usage(format!("no topic is named '{wanted}'; near it is {}", list(network, &[near]))))
    })
}

fn list(network: &Network, topics: &[u32]) -> String {
    let name = |&topic: &u32| format!("'{}' ({topic})", shown(network.names.of(topic)));
    let more = if topics.len() > OFFERED { ", ..." } else { "" };
    topics.iter().take(OFFERED).map(name).collect::<Vec<String>>().join(", ") + more
}

fn most_alike(names: &[String], wanted: &str) -> Vec<u32> {
    let beginning = |name: &str| name.chars().take(COMPARED).collect::<String>();
    let wanted = beginning(wanted);
    let likeness = |name: &String| strsim::jaro_winkler(&beginning(&name.to_lowercase()), &wanted);
    let mut alike: Vec<(f64, u32)> =
        names.iter().map(likeness).zip(0..).filter(|alike| alike.0 >= ALIKE).collect();
    alike.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    alike.truncate(OFFERED);
    alike.into_iter().map(|(_, topic)| topic).collect()
}
