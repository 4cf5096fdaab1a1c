//! An explanation as text for a terminal.

use super::document::Document;
use noisyor::columns::{fit, fit_list, plain, width, wrap_list};
use noisyor::explain::{
    Branch, Explainer, Explanation, Term, TermKind, TopicPart, Why, WordView, probability_text,
};
use noisyor::network::Network;
use std::fmt::Write as _;

/// Topics that are off, words of several topics, and words that only the leak explains: so many of each.
const OFF_SHOWN: usize = 5;
const SPLIT_SHOWN: usize = 10;
const LEAK_SHOWN: usize = 12;
/// Terms of a topic's log-odds.
const TERMS_SHOWN: usize = 25;
/// Columns that a name may take.
const NAME_COLUMNS: usize = 24;

/// The explanation in so many columns.
pub(super) fn explanation(
    explainer: &Explainer<'_>,
    explanation: &Explanation,
    document: &Document,
    columns: usize,
) -> String {
    let network = explainer.network();
    let (on, off) = (explanation.on(), explanation.off());
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{}\n{} words; {} of {} topics considered are on\nbound ({}) {:.4} nats",
        fit(&plain(&document.heading), columns),
        explanation.tokens.len(),
        on.len(),
        explanation.topics.len(),
        explanation.bound_label(),
        explanation.elbo
    );
    write_list(&mut text, "unknown words: ", &document.unknown, columns);
    write_list(&mut text, "stop words: ", &document.stop_words, columns);
    if explanation.tokens.is_empty() {
        text.push_str("no word of the model: nothing to explain\n");
        return text;
    }
    if explanation.is_split() {
        write_pieces(&mut text, network, explanation, columns);
    }
    if !on.is_empty() {
        text.push_str("\ntopics that are on, and the words they explain\n");
        write_branches(&mut text, network, &explanation.tree(network), columns, "");
    }
    write_words(&mut text, network, &explanation.words(), columns);
    if !off.is_empty() {
        let of_one = if explanation.is_split() { "; terms of the heaviest explanation" } else { "" };
        let _ = writeln!(text, "\nconsidered, but off{of_one}");
        for part in off.iter().take(OFF_SHOWN) {
            write_off(&mut text, explainer, explanation, part, columns);
        }
        if let Some(next) = off.get(OFF_SHOWN) {
            let _ =
                writeln!(text, "  and {} more, at most {}", off.len() - OFF_SHOWN, probability_text(next.q));
        }
    }
    text
}

/// The explanations that compete: topics that tell them apart, then those that are on in all of them.
fn write_pieces(text: &mut String, network: &Network, explanation: &Explanation, columns: usize) {
    let _ = writeln!(text, "\n{}", explanation.competing_heading());
    let (shown, n_others, weight) = explanation.competing();
    for view in &shown {
        let line = format!("  {:>5}  ", percent(view.piece.weight));
        let mut topics: Vec<String> = view.own.iter().map(|&topic| name(network, topic)).collect();
        let common = view.common.iter().enumerate();
        topics.extend(common.map(|(at, &topic)| {
            let heading = if at == 0 { "in all: " } else { "" };
            format!("{heading}{}", name(network, topic))
        }));
        if topics.is_empty() {
            topics.push("no topic".to_owned());
        }
        let _ = writeln!(text, "{line}{}", fit_list(&topics, columns.saturating_sub(width(&line)).max(8)));
    }
    if n_others > 0 {
        let _ = writeln!(text, "  and {n_others} more, {:.1} % in all", 100.0 * weight);
    }
}

fn write_list(text: &mut String, heading: &str, words: &[String], columns: usize) {
    if !words.is_empty() {
        let words: Vec<String> = words.iter().map(|word| plain(word)).collect();
        let _ = writeln!(text, "{heading}{}", fit_list(&words, columns - heading.len()));
    }
}

fn name(network: &Network, node: u32) -> String {
    fit(&plain(network.names.of(node)), NAME_COLUMNS)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

fn write_branches(
    text: &mut String,
    network: &Network,
    branches: &[Branch<'_>],
    columns: usize,
    indent: &str,
) {
    for (at, branch) in branches.iter().enumerate() {
        let last = at + 1 == branches.len();
        let (stem, bar) = match (indent.is_empty(), last) {
            (true, _) => ("  ", "  "),
            (_, true) => ("└─ ", "   "),
            (_, false) => ("├─ ", "│  "),
        };
        let line = format!(
            "{indent}{stem}{} {}",
            name(network, branch.topic.topic),
            probability_text(branch.topic.q)
        );
        text.push_str(&line);
        let word = |&(node, share): &(u32, f64)| format!("{} {}", name(network, node), percent(share));
        let words: Vec<String> = branch.words.iter().map(word).collect();
        let left = columns.saturating_sub(width(&line) + 2);
        if !words.is_empty() && left >= 8 {
            let _ = write!(text, ": {}", fit_list(&words, left));
        }
        text.push('\n');
        write_branches(text, network, &branch.below, columns, &format!("{indent}{bar}"));
    }
}

/// Words that more than one topic has, here or elsewhere, and words that the leak explains.
fn write_words(text: &mut String, network: &Network, words: &[WordView<'_>], columns: usize) {
    let (mut by_leak, explained): (Vec<&WordView<'_>>, Vec<&WordView<'_>>) =
        words.iter().partition(|word| word.is_of_leak());
    // Words of a topic that is off stand under no topic: they are told here.
    let is_told = |word: &&WordView<'_>| {
        word.is_split() || !word.elsewhere.is_empty() || word.topics.iter().all(|source| source.q < 0.5)
    };
    let mut several: Vec<&WordView<'_>> = explained.into_iter().filter(is_told).collect();
    let second = |word: &WordView<'_>| word.topics.get(1).map_or(0.0, |source| source.share);
    let other = |word: &WordView<'_>| word.elsewhere.first().map_or(0.0, |other| other.1);
    several.sort_by(|a, b| second(b).total_cmp(&second(a)).then(other(b).total_cmp(&other(a))));
    if !several.is_empty() {
        text.push_str("\nwords that several topics have\n");
        let longest = several.iter().take(SPLIT_SHOWN).map(|word| width(&name(network, word.node))).max();
        for word in several.iter().take(SPLIT_SHOWN) {
            write_split(text, network, word, longest.unwrap_or(0), columns);
        }
        write_more(text, several.len().saturating_sub(SPLIT_SHOWN));
    }
    by_leak.sort_by(|a, b| b.cause.cost.total_cmp(&a.cause.cost).then(a.node.cmp(&b.node)));
    if !by_leak.is_empty() {
        text.push_str("\nwords that only the leak explains, with their cost in nats\n");
        let item = |word: &&WordView<'_>| {
            let item = format!("{} {:.1}", name(network, word.node), word.cause.cost);
            match word.topics.first() {
                Some(main) => format!("{item} ({} {})", name(network, main.topic), percent(main.share)),
                None => item,
            }
        };
        let items: Vec<String> = by_leak.iter().take(LEAK_SHOWN).map(item).collect();
        wrap_list(&items, columns - 2).iter().for_each(|line| text.extend(["  ", line, "\n"]));
        write_more(text, by_leak.len().saturating_sub(LEAK_SHOWN));
    }
}

fn write_more(text: &mut String, more: usize) {
    if more > 0 {
        let _ = writeln!(text, "  and {more} more");
    }
}

fn write_split(text: &mut String, network: &Network, word: &WordView<'_>, longest: usize, columns: usize) {
    let own = name(network, word.node);
    let pad = " ".repeat(longest - width(&own));
    let mut parts: Vec<String> = word
        .topics
        .iter()
        .map(|source| format!("{} {}", name(network, source.topic), percent(source.share)))
        .collect();
    if word.cause.leak_share >= 0.005 {
        parts.push(format!("leak {}", percent(word.cause.leak_share)));
    }
    let elsewhere = word.elsewhere.iter().take(3).enumerate();
    parts.extend(elsewhere.map(|(at, &(topic, _))| {
        let heading = if at == 0 { "elsewhere " } else { "" };
        format!("{heading}{}", name(network, topic))
    }));
    let _ = writeln!(text, "  {own}{pad}  {}", fit_list(&parts, columns.saturating_sub(longest + 4)));
}

/// A topic that is off, with what spoke for it and against it.
fn write_off(
    text: &mut String,
    explainer: &Explainer<'_>,
    explanation: &Explanation,
    part: &TopicPart,
    columns: usize,
) {
    let network = explainer.network();
    let why = explainer.why(explanation, part.topic);
    let line = format!("  {} {}: ", name(network, part.topic), probability_text(part.q));
    let mut terms: Vec<&Term> = why.terms.iter().filter(|term| term.value.abs() >= 0.05).collect();
    terms.sort_by(|a, b| b.value.abs().total_cmp(&a.value.abs()));
    let (for_it, against): (Vec<&Term>, Vec<&Term>) = terms.into_iter().partition(|term| term.value > 0.0);
    // The two strongest on either side say most of it.
    let item = |term: &&Term| format!("{} {:+.1}", describe(network, term), term.value);
    let items: Vec<String> = against.iter().take(2).chain(for_it.iter().take(2)).map(item).collect();
    let _ = writeln!(text, "{line}{}", fit_list(&items, columns.saturating_sub(width(&line)).max(8)));
}

/// Where a term comes from.
fn describe(network: &Network, term: &Term) -> String {
    let name = term.node.map_or_else(String::new, |node| name(network, node));
    match term.kind {
        TermKind::Leak => "its leak".to_owned(),
        TermKind::Parent => format!("{name} above"),
        TermKind::Child => format!("{name} below"),
        TermKind::Token => name,
        TermKind::Absent => format!("no {name}"),
        TermKind::Rest => format!("{} others not there", term.n_nodes),
    }
}

/// The terms of a topic's log-odds, one a line.
pub(super) fn why(network: &Network, why: &Why, columns: usize) -> String {
    let state = match (why.considered, why.q >= 0.5) {
        (false, _) => "was not considered: none of its words is here",
        (true, true) => "is on",
        (true, false) => "is off",
    };
    let name = plain(network.names.of(why.topic));
    let mut text =
        format!("why {} {state}: q {}\n", fit(&name, columns.saturating_sub(20)), probability_text(why.q));
    why.place().into_iter().flatten().for_each(|line| text.extend(["  ", &line, "\n"]));
    let (shown, more) = why.shortened(TERMS_SHOWN);
    for term in &shown {
        let _ = writeln!(text, "  {:+9.3}  {}", term.value, describe(network, term));
    }
    if let Some((n, value)) = more {
        let _ = writeln!(text, "  {value:+9.3}  {n} smaller terms");
    }
    let free = if why.clamped { ", were it free" } else { "" };
    let _ = writeln!(text, "  {:+9.3}  log-odds{free}", why.log_odds);
    text
}
