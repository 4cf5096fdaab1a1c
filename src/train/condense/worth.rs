//! What topics are worth to documents held out, and who explains their documents when they are gone.

use crate::corpus::Item;
use crate::error::Result;
use crate::estep::DocResults;
use crate::network::{Graph, Weights};
use crate::train::trainer::{Q_MISSED, Trainer};

/// Topics that fewer documents have on are left alone.
const LEAST_DOCS: usize = 5;
/// A topic that comes on in fewer of the documents of one that is gone does not take it over.
const TAKES_OVER: f64 = 0.2;

/// What is known of a topic.
pub(super) struct Worth {
    pub(super) topic: u32,
    /// What the bound of the documents loses without it, in nats a document.
    pub(super) nats: f64,
    /// Topics that come on where it is gone, each with its share of the documents.
    pub(super) heirs: Vec<(u32, f64)>,
}

/// A document: its bound, and the topics that it has on.
struct Doc {
    item: Item,
    elbo: f64,
    on: Vec<(u32, f32)>,
}

impl Doc {
    fn has_on(&self, topic: u32) -> bool {
        self.on.iter().any(|on| on.0 == topic)
    }

    fn bound(&self) -> f64 {
        self.elbo * f64::from(self.item.count)
    }
}

/// The worth of topics to these documents, the least first. Of topics that few of them have on nothing is known.
///
/// Only documents that have a topic on are run again without it; what the others gain is known.
pub(super) fn of_topics(trainer: &mut Trainer<'_>, items: &[Item]) -> Result<Vec<Worth>> {
    let n_docs: f64 = items.iter().map(|item| f64::from(item.count)).sum();
    let (graph, weights) = (trainer.state.graph.clone(), trainer.state.weights.clone());
    let docs = run(trainer, &weights, items)?;
    let gained = gained_where_off(&graph, &weights, &docs);
    let mut docs_of: Vec<Vec<&Doc>> = vec![Vec::new(); graph.n_topics()];
    for doc in &docs {
        doc.on.iter().for_each(|&(topic, _)| docs_of[topic as usize].push(doc));
    }
    let mut found: Vec<Worth> = Vec::new();
    for topic in (0..graph.n_topics()).filter(|&topic| docs_of[topic].len() >= LEAST_DOCS) {
        let with = &docs_of[topic];
        let some: Vec<Item> = with.iter().map(|doc| doc.item).collect();
        let gone = weights_without(&graph, &weights, topic, trainer.options.floor, trainer.leak_floor());
        let without = run(trainer, &gone, &some)?;
        let lost =
            with.iter().map(|doc| doc.bound()).sum::<f64>() - without.iter().map(Doc::bound).sum::<f64>();
        let mut new: Vec<u32> = Vec::new();
        for (before, after) in with.iter().zip(&without) {
            new.extend(after.on.iter().map(|on| on.0).filter(|&other| !before.has_on(other)));
        }
        let heirs = heirs(new, some.len() as f64);
        found.push(Worth { topic: topic as u32, nats: (lost - gained[topic]) / n_docs, heirs });
    }
    found.sort_by(|a, b| a.nats.total_cmp(&b.nats).then(a.topic.cmp(&b.topic)));
    Ok(found)
}

/// Topics that come on in many of so many documents; `new` has them once for every document.
fn heirs(mut new: Vec<u32>, n_docs: f64) -> Vec<(u32, f64)> {
    new.sort_unstable();
    let shares = new.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as f64 / n_docs));
    shares.filter(|&(_, share)| share >= TAKES_OVER).collect()
}

/// For every topic what documents that have it off gain when it is gone: its leak, and the weights from its parents that are on.
fn gained_where_off(graph: &Graph, weights: &Weights, docs: &[Doc]) -> Vec<f64> {
    let mut gained = vec![0.0; graph.n_topics()];
    let mut n_docs = 0.0;
    for doc in docs {
        let count = f64::from(doc.item.count);
        n_docs += count;
        for &(parent, q) in &doc.on {
            let parent = parent as usize;
            for (&child, &edge) in graph.children(parent).iter().zip(graph.child_edges(parent)) {
                if graph.is_topic(child as usize) && !doc.has_on(child) {
                    gained[child as usize] += count * f64::from(q) * weights.edge[edge as usize];
                }
            }
            gained[parent] -= count * weights.leak[parent];
        }
    }
    gained.iter_mut().zip(&weights.leak).for_each(|(gained, leak)| *gained += n_docs * leak);
    gained
}

/// The weights as if a topic were not there.
fn weights_without(graph: &Graph, weights: &Weights, topic: usize, floor: f64, leak_floor: f64) -> Weights {
    let mut without = weights.clone();
    without.leak[topic] = leak_floor;
    graph.edges_into(topic).for_each(|edge| without.edge[edge] = floor);
    graph.child_edges(topic).iter().for_each(|&edge| without.edge[edge as usize] = floor);
    without
}

/// The E-step of some documents at some weights.
fn run(trainer: &mut Trainer<'_>, weights: &Weights, items: &[Item]) -> Result<Vec<Doc>> {
    let mut docs = Vec::with_capacity(items.len());
    let mut take = |results: &DocResults<'_>| {
        for at in 0..results.n_docs() {
            let (topics, q) = results.doc(at);
            let on = topics.iter().zip(q).filter(|(_, q)| **q >= Q_MISSED).map(|(&topic, &q)| (topic, q));
            docs.push(Doc { item: items[results.first_item + at], elbo: results.elbo[at], on: on.collect() });
        }
        Ok(())
    };
    trainer.results_at(weights, items, &mut take)?;
    Ok(docs)
}
