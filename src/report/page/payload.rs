//! What the page knows, packed: a summary as JSON, and sections that are decoded when they are wanted.

use super::Report;
use super::gather::{CorpusPart, Gathered};
use super::pack::Section;
use super::summary::summary;
use crate::corpus::Docs;
use crate::error::Result;
use crate::network::Network;
use rustc_hash::FxHashMap;

/// How much of everything a page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Words a topic.
    pub words: usize,
    /// Parents a topic.
    pub parents: usize,
    /// Documents a topic.
    pub docs: usize,
    /// Words a document.
    pub doc_words: usize,
    /// Characters a name.
    pub chars: usize,
}

impl Limits {
    /// From all that anybody would read down to the barest; the first that fits is taken.
    pub const LADDER: [Self; 9] = [
        Self::of(1_000, 500, 10, 500, 20_000),
        Self::of(100, 50, 10, 80, 2_000),
        Self::of(50, 30, 10, 50, 500),
        Self::of(25, 20, 8, 40, 200),
        Self::of(16, 12, 5, 30, 120),
        Self::of(12, 8, 3, 20, 80),
        Self::of(8, 5, 2, 15, 60),
        Self::of(6, 3, 0, 12, 40),
        Self::of(4, 1, 0, 8, 20),
    ];

    const fn of(words: usize, parents: usize, docs: usize, doc_words: usize, chars: usize) -> Self {
        Self { words, parents, docs, doc_words, chars }
    }
}

/// The page's data.
pub(super) struct Payload {
    /// JSON, to be read at once.
    pub(super) summary: String,
    /// Names of sections, and the sections.
    pub(super) sections: Vec<(&'static str, String)>,
    /// What did not fit, in words.
    pub(super) left_out: String,
}

/// How much there is and how much of it was left out.
#[derive(Default)]
struct LeftOut {
    words: usize,
    parents: usize,
    docs: usize,
    doc_words: usize,
    names: usize,
}

impl LeftOut {
    fn text(&self, limits: &Limits) -> String {
        let part = |n: usize, what: &str, most: usize, of: &str| {
            (n > 0).then(|| format!("{n} {what} (the strongest {most} of each {of} are kept)"))
        };
        let docs =
            || format!("{} of the topics' documents ({} of each topic are kept)", self.docs, limits.docs);
        let doc_words =
            || format!("{} words of documents (the first {} are kept)", self.doc_words, limits.doc_words);
        let names = || format!("the ends of {} long names", self.names);
        let parts = [
            part(self.words, "edges to words", limits.words, "topic"),
            part(self.parents, "edges between topics", limits.parents, "topic's parents"),
            (self.docs > 0).then(docs),
            (self.doc_words > 0).then(doc_words),
            (self.names > 0).then(names),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

/// Numbers in the order in which things first come up: only what is shown has a place on the page.
#[derive(Default)]
struct Numbering {
    number_of: FxHashMap<u32, u32>,
    order: Vec<u32>,
}

impl Numbering {
    fn number(&mut self, thing: u32) -> u64 {
        let next = self.order.len() as u32;
        let number = *self.number_of.entry(thing).or_insert(next);
        if number == next {
            self.order.push(thing);
        }
        u64::from(number)
    }

    /// The same as the distance from the next number: 0 for what is new, small for what came up lately.
    fn distance(&mut self, thing: u32) -> u64 {
        let next = self.order.len() as u64;
        next - self.number(thing)
    }
}

/// Packs what the limits let through.
pub(super) fn pack(report: &Report<'_>, limits: &Limits) -> Result<Payload> {
    let network = report.network;
    let gathered = report.docs.as_ref().map(|(_, gathered)| gathered);
    let (mut vocabulary, mut left_out) = (Numbering::default(), LeftOut::default());
    let graph = graph_section(network, gathered, limits, &mut left_out);
    let mut names = Section::default();
    left_out.names += names.texts(network.names.topics.iter().map(String::as_str), limits.chars);
    let words = words_section(network, limits, &mut vocabulary, &mut left_out);
    let docs = report
        .docs
        .as_ref()
        .map(|(docs, gathered)| docs_section(*docs, gathered, limits, &mut vocabulary, &mut left_out));
    let mut used = Section::default();
    let token_name = |&token: &u32| network.names.of(network.graph.n_topics() as u32 + token);
    left_out.names += used.texts(vocabulary.order.iter().map(token_name), limits.chars);
    let named = [("graph", graph), ("names", names), ("words", words), ("vocabulary", used)];
    let sections = named.into_iter().chain(docs.map(|docs| ("docs", docs)));
    let left_out = left_out.text(limits);
    Ok(Payload {
        summary: summary(report, &left_out)?,
        sections: sections
            .map(|(name, section)| Ok((name, section.finish()?)))
            .collect::<Result<Vec<_>>>()?,
        left_out,
    })
}

/// 1 - exp(-w): the probability that an edge of this weight alone switches its child on.
fn switches_on(weight: f64) -> f64 {
    -(-weight).exp_m1()
}

/// Columns of all topics: layer, mean q, documents in which it is on, leak; then each one's parents, strongest first.
fn graph_section(
    network: &Network,
    gathered: Option<&Gathered>,
    limits: &Limits,
    left_out: &mut LeftOut,
) -> Section {
    let (graph, weights) = (&network.graph, &network.weights);
    let mut section = Section::default();
    section.number(graph.n_topics() as u64);
    let levels = graph.levels();
    levels[..graph.n_topics()].iter().for_each(|&level| section.number(level.into()));
    let n_docs = gathered.map_or(1, |gathered| gathered.n_docs).max(1) as f64;
    let uses = |topic: usize| gathered.map(|gathered| &gathered.topics[topic]);
    for topic in 0..graph.n_topics() {
        section.probability(uses(topic).map_or(0.0, |topic| topic.q_sum / n_docs));
    }
    (0..graph.n_topics()).for_each(|topic| section.probability(switches_on(weights.leak[topic])));
    (0..graph.n_topics()).for_each(|topic| section.number(uses(topic).map_or(0, |topic| topic.n_on)));
    for topic in 0..graph.n_topics() {
        let parents = graph.parents(topic).iter().copied().zip(graph.edges_into(topic));
        let mut parents: Vec<(u32, f64)> =
            parents.map(|(parent, edge)| (parent, weights.edge[edge])).collect();
        strongest_first(&mut parents);
        left_out.parents += parents.len().saturating_sub(limits.parents);
        parents.truncate(limits.parents);
        section.number(parents.len() as u64);
        for (parent, weight) in parents {
            section.number(parent.into());
            section.share(switches_on(weight));
        }
    }
    section
}

/// Each topic's words: how many there are, how many follow, and those, strongest first.
fn words_section(
    network: &Network,
    limits: &Limits,
    vocabulary: &mut Numbering,
    left_out: &mut LeftOut,
) -> Section {
    let graph = &network.graph;
    let mut section = Section::default();
    for topic in 0..graph.n_topics() {
        let children = graph.children(topic).iter().zip(graph.child_edges(topic));
        let tokens = children.filter(|(child, _)| !graph.is_topic(**child as usize));
        let mut words: Vec<(u32, f64)> = tokens
            .map(|(&child, &edge)| (child - graph.n_topics() as u32, network.weights.edge[edge as usize]))
            .collect();
        strongest_first(&mut words);
        section.number(words.len() as u64);
        left_out.words += words.len().saturating_sub(limits.words);
        words.truncate(limits.words);
        section.number(words.len() as u64);
        for (token, weight) in words {
            section.number(vocabulary.distance(token));
            section.share(switches_on(weight));
        }
    }
    section
}

/// The documents of each topic and the worst ones with the costs of their words; then all documents that came up.
fn docs_section(
    docs: Docs<'_>,
    gathered: &Gathered,
    limits: &Limits,
    vocabulary: &mut Numbering,
    left_out: &mut LeftOut,
) -> Section {
    let (mut section, mut shown) = (Section::default(), Numbering::default());
    for topic in &gathered.topics {
        left_out.docs += topic.docs.len().saturating_sub(limits.docs);
        let kept = &topic.docs[..topic.docs.len().min(limits.docs)];
        section.number(kept.len() as u64);
        for &(q, doc_ix) in kept {
            section.number(shown.distance(doc_ix));
            section.share(q.into());
        }
    }
    for list in &gathered.worst {
        section.number(list.len() as u64);
        for doc in list {
            section.number(shown.distance(doc.doc_ix));
            section.nats(doc.per_word());
            section.nats(doc.elbo);
            section.number(doc.costs.len() as u64);
            for &(token, cost) in &doc.costs {
                section.number(vocabulary.number(token));
                section.nats(cost);
            }
        }
    }
    section.number(shown.order.len() as u64);
    for &doc_ix in &shown.order {
        let tokens: Vec<u32> = docs.tokens(doc_ix as usize).collect();
        let kept = &tokens[..tokens.len().min(limits.doc_words)];
        left_out.doc_words += tokens.len() - kept.len();
        section.number(CorpusPart::of(gathered.parts.as_ref(), doc_ix) as u64);
        section.number(tokens.len() as u64);
        section.number(kept.len() as u64);
        kept.iter().for_each(|&token| section.number(vocabulary.number(token)));
    }
    let corpus = docs.corpus();
    let ids: Vec<_> = shown.order.iter().map(|&doc_ix| corpus.id(doc_ix as usize)).collect();
    left_out.names += section.texts(ids.iter().map(AsRef::as_ref), limits.chars);
    let labels = shown.order.iter().map(|&doc_ix| corpus.label(doc_ix as usize).unwrap_or(""));
    left_out.names += section.texts(labels, limits.chars);
    section
}

fn strongest_first(nodes: &mut [(u32, f64)]) {
    nodes.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
}
