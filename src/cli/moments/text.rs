//! What can be learned, and what was, as text.

use noisyor::Names;
use noisyor::moments::{Certificate, Group, LeftTopic, Remainder, Why};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Remainders, and topics of each, that are named.
const SHOWN: usize = 5;

/// Whether and why something is left, depth by depth.
pub(super) fn certificate(certificate: &Certificate, names: &Names) -> String {
    let (learned, all) = certificate.n_learned();
    let mut text = format!(
        "{} topics, {} tokens, {} edges: {learned} of {all} parameters can be learned\n\n",
        certificate.topics, certificate.tokens, certificate.edges
    );
    text += "depth   priors  edges: by triplet    by pair  by anchor\n";
    for round in &certificate.rounds {
        let _ = writeln!(
            text,
            "{:>5} {:>8} {:>18} {:>10} {:>10}",
            round.depth, round.priors, round.by_triplet, round.by_pair, round.by_anchor
        );
    }
    let _ = writeln!(text, "leaks {:>8}\n", certificate.leaks);
    for left in certificate.left.iter().take(SHOWN) {
        text += &remainder(left, names);
    }
    if certificate.left.len() > SHOWN {
        let _ = writeln!(
            text,
            "... and {} more parts that are left; --json has all\n",
            certificate.left.len() - SHOWN
        );
    }
    text += match (certificate.complete, certificate.left.is_empty()) {
        (true, _) => "complete: moments of third order identify all parameters\n",
        (false, true) => {
            "all parameters can be learned, some of them by anchors: whether those are unique is not proven\n"
        }
        (false, false) => "not complete: moments alone do not give all parameters by this method\n",
    };
    text
}

fn remainder(left: &Remainder, names: &Names) -> String {
    let mut text = format!(
        "left: {} parameters of {} topics ({} edges, {} leaks)",
        left.unknowns,
        left.topics.len(),
        left.edges,
        left.leaks
    );
    text += &match (&left.ranks, left.identified_at()) {
        (None, _) => "; too many to say whether moments identify them\n".to_owned(),
        (Some(ranks), None) => {
            let rank = ranks.last().copied().unwrap_or(0);
            format!("; moments of third order have rank {rank} in them: they do not identify them\n")
        }
        (Some(_), Some(order)) => {
            format!("; moments of order {order} have full rank: they identify them, but not by this method\n")
        }
    };
    for topic in left.topics.iter().take(SHOWN) {
        let _ = writeln!(text, "  '{}': {}", names.of(topic.topic), reason(topic, &|topic| names.of(topic)));
    }
    if left.topics.len() > SHOWN {
        let _ = writeln!(text, "  ... and {} more topics", left.topics.len() - SHOWN);
    }
    text + "\n"
}

fn reason<'a>(left: &LeftTopic, name: &dyn Fn(u32) -> &'a str) -> String {
    match &left.why {
        Why::NoTokens => "it has no tokens".to_owned(),
        Why::FewTokens => "it has fewer than three tokens".to_owned(),
        Why::Coupled { by } => {
            let named: Vec<String> =
                by.iter().take(SHOWN).map(|&topic| format!("'{}'", name(topic))).collect();
            let more =
                if by.len() > SHOWN { format!(" and {} more", by.len() - SHOWN) } else { String::new() };
            format!(
                "{} edges; any three of its tokens share another topic that is not known: {}{more}",
                left.edges,
                named.join(", ")
            )
        }
    }
}

/// A remainder with names.
pub(super) fn left_json<'a>(left: &Remainder, name: &dyn Fn(u32) -> &'a str) -> Value {
    let topics: Vec<Value> = left
        .topics
        .iter()
        .map(|topic| json!({"topic": name(topic.topic), "edges": topic.edges, "why": reason(topic, name)}))
        .collect();
    json!({
        "parameters": left.unknowns, "edges": left.edges, "leaks": left.leaks, "topics": topics,
        "ranks": left.ranks, "identified_at_order": left.identified_at(),
    })
}

/// Errors and faults of what was learned, by depth.
pub(super) fn groups(edges: &[Group], priors: &Group, leaks: &Group) -> String {
    let mut text = String::from("              learned  median error  clipped  no answer\n");
    let mut row = |name: &str, group: &Group| {
        let se = group.median_se.map_or("-".to_owned(), |se| format!("{se:.5}"));
        let _ = writeln!(
            text,
            "{name:<14}{:>7} {se:>13} {:>8} {:>10}",
            group.learned, group.clipped, group.degenerate
        );
    };
    row("priors", priors);
    edges.iter().enumerate().for_each(|(depth, group)| row(&format!("edges, depth {depth}"), group));
    row("leaks", leaks);
    text
}
