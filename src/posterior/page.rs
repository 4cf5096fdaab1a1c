//! Posteriors as one self-contained page: every case with its findings, the likeliest topics and why, and what to ask next.

use super::{Answer, Case, Reason};
use crate::error::Result;
use crate::infer::Target;
use crate::markup::{PAGE_END, page_begin, xml};
use crate::network::Names;
use std::fmt::Write as _;

/// Topics of a case at most.
const MOST_TOPICS: usize = 12;
/// Findings of a list at most.
const MOST_FINDINGS: usize = 40;
/// Weights of evidence below this many nats are no reasons.
const MIN_REASON: f64 = 0.05;
/// Width of a bar, in pixels.
const BAR: f64 = 160.0;

const ABOUT: &str = "For every case the probability of each topic given all that is known. The line across a bar is what the probability is \
certain to lie between; of samples it is three standard errors to each side. Reasons are what a finding adds to the log-odds of the \
topic, in nats, compared with its being unknown.";

/// A page on its way.
pub(super) struct Page(Target);

impl Page {
    pub(super) fn create(mut file: Target) -> Result<Self> {
        file.put(&page_begin("Posteriors", ABOUT))?;
        Ok(Self(file))
    }

    pub(super) fn commit(mut self) -> Result<()> {
        self.0.put(PAGE_END)?;
        self.0.commit()
    }

    pub(super) fn write(
        &mut self,
        id: &str,
        case: &Case,
        answer: &Answer,
        (names, topics): (&Names, &[u32]),
    ) -> Result<()> {
        let posterior = &answer.posterior;
        let mut text = format!("<section><h2><bdi>{}</bdi></h2>\n<p>", xml(id));
        let given = |on: bool| case.given.iter().filter(move |given| given.1 == on).map(|given| given.0);
        let token = |token: &u32| token + names.topics.len() as u32;
        write_list(&mut text, "Given as on", names, given(true).collect());
        write_list(&mut text, "Given as off", names, given(false).collect());
        write_list(&mut text, "Present", names, case.present.iter().map(token).collect());
        write_list(&mut text, "Absent", names, case.absent.iter().map(token).collect());
        let n_unknown = names.tokens.len() - case.present.len() - case.absent.len();
        let _ = writeln!(
            text,
            "<span class=\"quiet\">{n_unknown} of {} findings unknown.</span></p>",
            names.tokens.len()
        );
        text +=
            "<table><tr><th>topic</th><th></th><th class=\"n\">probability</th><th class=\"n\">between</th>";
        text += if answer.reasons.is_some() { "<th>because of</th></tr>\n" } else { "</tr>\n" };
        for &topic in topics.iter().take(MOST_TOPICS) {
            let marginal = posterior.marginals[topic as usize];
            let _ = write!(
                text,
                "<tr><td><bdi>{}</bdi></td><td>{}</td><td class=\"n\">{:.3}</td><td class=\"n quiet\">{:.3} – {:.3}</td>",
                xml(names.of(topic)),
                bar([marginal.p, marginal.lower, marginal.upper]),
                marginal.p,
                marginal.lower,
                marginal.upper
            );
            if let Some(reasons) = &answer.reasons {
                let of_topic = reasons.iter().find(|(of, _)| *of == topic);
                let _ = write!(
                    text,
                    "<td>{}</td>",
                    of_topic.map_or(String::new(), |(_, why)| because(why, names))
                );
            }
            text += "</tr>\n";
        }
        text += "</table>\n";
        if topics.len() > MOST_TOPICS {
            let n_more = topics.len() - MOST_TOPICS;
            let _ = writeln!(text, "<p class=\"quiet\">and {n_more} less likely topics</p>");
        }
        if let Some(questions) = &answer.questions {
            let question = |q: &super::Question| {
                format!(
                    "<bdi>{}</bdi> ({:.2} bits; present with probability {:.2})",
                    xml(names.of(token(&q.token))),
                    q.gain,
                    q.p
                )
            };
            let questions: Vec<String> = questions.iter().map(question).collect();
            let what = if questions.is_empty() {
                "nothing that would tell more".into()
            } else {
                questions.join(", ")
            };
            let _ = writeln!(text, "<p><b>Ask next:</b> {what}</p>");
        }
        let interval = |x: f64| if x.is_finite() { format!("{x:.4}") } else { "unknown".to_owned() };
        let _ = writeln!(
            text,
            "<p class=\"quiet\">Method {}; log-probability of the case between {} and {}.{}</p></section>",
            xml(&posterior.method),
            interval(posterior.log_p.lower),
            interval(posterior.log_p.upper),
            if posterior.meets { "" } else { " That is less exact than was asked for." }
        );
        self.0.put(&text)
    }
}

fn write_list(text: &mut String, what: &str, names: &Names, nodes: Vec<u32>) {
    if nodes.is_empty() {
        return;
    }
    let shown: Vec<String> =
        nodes.iter().take(MOST_FINDINGS).map(|&node| format!("<bdi>{}</bdi>", xml(names.of(node)))).collect();
    let more = nodes.len().saturating_sub(MOST_FINDINGS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let _ = writeln!(text, "<b>{what}:</b> {}{more}.<br>", shown.join(", "));
}

/// Findings with the sign of what they add.
fn because(reasons: &[Reason], names: &Names) -> String {
    let reason = |reason: &Reason| {
        let finding = xml(names.of(names.topics.len() as u32 + reason.token));
        let no = if reason.present { "" } else { "no " };
        format!("{no}<bdi>{finding}</bdi> <span class=\"quiet\">{:+.1}</span>", reason.log_odds)
    };
    let weighty = reasons.iter().filter(|reason| reason.log_odds.abs() >= MIN_REASON);
    weighty.map(reason).collect::<Vec<_>>().join(", ")
}

/// A bar for p, with a line from the lower to the upper bound.
fn bar([p, lower, upper]: [f64; 3]) -> String {
    format!(
        "<svg width=\"{BAR}\" height=\"14\" role=\"img\" aria-label=\"{p:.3}\"><rect class=\"back\" width=\"{BAR}\" height=\"14\" rx=\"2\"/>\
         <rect class=\"bar\" width=\"{:.1}\" height=\"14\" rx=\"2\"/><line class=\"range\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"7\" y2=\"7\"/></svg>",
        BAR * p,
        BAR * lower,
        BAR * upper
    )
}
