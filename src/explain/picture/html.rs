//! One self-contained page: the picture, every word with the topics that explain it, every topic with the terms of its log-odds.

use super::{MAX_OFF, MAX_ON, svg};
use crate::explain::{Explainer, Explanation, Term, TermKind, TopicPart, probability_text};
use crate::markup::xml;
use crate::network::Network;
use std::fmt::Write as _;

/// Words of the table; more say nothing more.
const MAX_ROWS: usize = 2_000;
/// Terms of a topic; the others are one line.
const MAX_TERMS: usize = 30;

const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:75rem;padding:0 1rem;color:#222;background:#fff}\
table{border-collapse:collapse}td,th{text-align:left;padding:.15rem .9rem .15rem 0;border-bottom:1px solid #ddd;vertical-align:top}\
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}.quiet{color:#666}.picture{overflow-x:auto}\
summary{cursor:pointer;padding:.2rem 0}@media(prefers-color-scheme:dark){body{color:#e4e4e4;background:#16181c}td,th{border-color:#444}\
.quiet{color:#999}}";

/// A page about one document; `heading` says which.
pub fn html(explainer: &Explainer<'_>, explanation: &Explanation, heading: &str) -> String {
    let network = explainer.network();
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>{heading}</title><style>{STYLE}</style></head>\n\
         <body><h1><bdi>{heading}</bdi></h1>\n<p>{} words; {} of {} topics considered are on. Bound ({}): {:.4} nats.</p>\n",
        explanation.tokens.len(),
        explanation.on().len(),
        explanation.topics.len(),
        explanation.bound_label(),
        explanation.elbo,
        heading = xml(heading),
    );
    if explanation.is_split() {
        write_pieces(&mut page, network, explanation);
    }
    let _ = writeln!(page, "<div class=\"picture\">{}</div>", svg(network, explanation));
    page.push_str(
        "<p class=\"quiet\">A word's bar shows how much of it each topic explains; grey is the leak, which explains what no topic does. \
         Topics with a dashed edge were considered and are off.</p>\n",
    );
    write_words(&mut page, network, explanation);
    let (on, off) = (explanation.on(), explanation.off());
    write_topics(&mut page, explainer, explanation, "Topics that are on", &on, MAX_ON);
    write_topics(&mut page, explainer, explanation, "Considered, but off", &off, MAX_OFF);
    page + "</body></html>\n"
}

/// The explanations that compete; picture and tables show their mean.
fn write_pieces(page: &mut String, network: &Network, explanation: &Explanation) {
    let names = |topics: &mut dyn Iterator<Item = u32>| {
        let names: Vec<String> = topics.map(|topic| bdi(network, topic)).collect();
        names.join(", ")
    };
    let _ = writeln!(
        page,
        "<h2>{}</h2>\n<table><tr><th class=\"n\">weight</th><th class=\"n\">bound, nats</th><th>on in it, not in all</th>\
         <th>on in all</th><th>fixed by the split</th></tr>",
        explanation.competing_heading()
    );
    let (shown, n_others, weight) = explanation.competing();
    for view in &shown {
        let fixed =
            |&(topic, on): &(u32, bool)| format!("{} {}", bdi(network, topic), if on { "on" } else { "off" });
        let _ = writeln!(
            page,
            "<tr><td class=\"n\">{:.1}&nbsp;%</td><td class=\"n\">{:.4}</td><td>{}</td><td>{}</td><td class=\"quiet\">{}</td></tr>",
            100.0 * view.piece.weight,
            view.piece.bound,
            names(&mut view.own.iter().copied()),
            names(&mut view.common.iter().copied()),
            view.piece.clamped.iter().map(fixed).collect::<Vec<String>>().join(", ")
        );
    }
    page.push_str("</table>\n");
    if n_others > 0 {
        let _ = writeln!(page, "<p>and {n_others} more, {:.1}&nbsp;% in all</p>", 100.0 * weight);
    }
    page.push_str("<p class=\"quiet\">What follows is the mean over all of them.</p>\n");
}

fn bdi(network: &Network, node: u32) -> String {
    format!("<bdi>{}</bdi>", xml(network.names.of(node)))
}

fn write_words(page: &mut String, network: &Network, explanation: &Explanation) {
    page.push_str("<h2>Words</h2>\n<table><tr><th>word</th><th>explained by</th><th class=\"n\">leak</th>\
                   <th class=\"n\">costs, nats</th><th class=\"n\">without topics</th><th>elsewhere</th></tr>\n");
    let name = |node: u32| bdi(network, node);
    let words = explanation.words();
    for word in words.iter().take(MAX_ROWS) {
        let by: Vec<String> =
            word.topics.iter().map(|s| format!("{} {:.0}&nbsp;%", name(s.topic), 100.0 * s.share)).collect();
        let elsewhere: Vec<String> =
            word.elsewhere.iter().take(3).map(|&(topic, p)| format!("{} {p:.2}", name(topic))).collect();
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td class=\"n\">{:.0}&nbsp;%</td><td class=\"n\">{:.2}</td><td class=\"n\">{:.2}</td>\
             <td class=\"quiet\">{}</td></tr>",
            name(word.node),
            by.join(", "),
            100.0 * word.cause.leak_share,
            word.cause.cost,
            word.cause.leak_cost,
            elsewhere.join(", ")
        );
    }
    page.push_str("</table>\n");
    if words.len() > MAX_ROWS {
        let _ = writeln!(page, "<p>and {} more</p>", words.len() - MAX_ROWS);
    }
}

fn write_topics(
    page: &mut String,
    explainer: &Explainer<'_>,
    explanation: &Explanation,
    heading: &str,
    topics: &[&TopicPart],
    most: usize,
) {
    let network = explainer.network();
    let _ = writeln!(page, "<h2>{heading}: {}</h2>", topics.len());
    for part in topics.iter().take(most) {
        let why = explainer.why(explanation, part.topic);
        let _ = writeln!(
            page,
            "<details><summary>{} {} <span class=\"quiet\">log-odds {:+.2}</span></summary>",
            bdi(network, part.topic),
            xml(&probability_text(part.q)),
            part.log_odds
        );
        if let Some(place) = why.place() {
            let _ = writeln!(
                page,
                "<p class=\"quiet\">{}. The terms add up to {:+.3}.</p>",
                xml(&place.join("; ")),
                why.log_odds
            );
        }
        page.push_str("<table>\n");
        let (shown, more) = why.shortened(MAX_TERMS);
        for term in &shown {
            let _ = writeln!(
                page,
                "<tr><td class=\"n\">{:+.3}</td><td>{}</td></tr>",
                term.value,
                describe(network, term)
            );
        }
        if let Some((n, value)) = more {
            let _ = writeln!(page, "<tr><td class=\"n\">{value:+.3}</td><td>{n} smaller terms</td></tr>");
        }
        page.push_str("</table></details>\n");
    }
    if topics.len() > most {
        let _ = writeln!(page, "<p>and {} more</p>", topics.len() - most);
    }
}

fn describe(network: &Network, term: &Term) -> String {
    let name = term.node.map_or_else(String::new, |node| bdi(network, node));
    match term.kind {
        TermKind::Leak => "its leak: how often it is on by itself".to_owned(),
        TermKind::Parent => format!("the topic {name} above it"),
        TermKind::Child => format!("the topic {name} below it"),
        TermKind::Token => format!("the word {name}"),
        TermKind::Absent => format!("{name} is not there"),
        TermKind::Rest => format!("{} other words and topics are not there", term.n_nodes),
    }
}
