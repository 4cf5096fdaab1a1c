//! A document without the topics that cannot come on: its E-step then has a fraction of the edges.
//!
//! Whatever the states of the other topics, topic k on is worth over k off at most
//!
//! ```text
//! U_k = beta(w0_k + sum of w into k) - S_k + sum over positive children c of [beta(w0_c + w_kc) - beta(w0_c)]
//! ```
//!
//! since beta is concave: a child that another parent explains gains less. The same bounds the log-odds of mean field, because
//! `r (f(w0 + w / r) - f(w0))` is largest at r = 1, and by Jensen's inequality for the parents of k. A topic with `U_k < -12` has
//! `q_k < 6.2e-6`: it is taken to be off, with r = 0 for its edges. So is an upper topic without children left.
//!
//! The term of an edge depends on the weights alone. So all there is to do for most topics of a document is to add these up.

use super::document::DocState;
use super::gradient::Accumulator;
use super::instruction_set::in_versions;
use crate::batch::{Batch, DocRecord, EdgeRecord, NodeRecord};
use crate::estep::Params;
use crate::network::Graph;
use crate::numeric::{X_CAP, exp_neg, log1p_pos};

/// A topic whose log-odds are below this whatever happens is left out.
const CERTAINLY_OFF: f32 = -12.0;
/// The place of a topic that is left out.
const LEFT_OUT: u32 = u32::MAX;

/// What U_k is made of, at given weights.
#[derive(Debug)]
pub(super) struct UpperTerms {
    /// `beta(w0_c + w) - beta(w0_c)` of every edge.
    edge: Vec<f32>,
    /// `beta(w0_k + sum of w into k) - S_k` of every topic.
    topic: Vec<f32>,
    /// The layer of every topic, the lowest being 1; empty where there is but one.
    levels: Vec<u32>,
    n_levels: u32,
}

in_versions! { pub(super) fn upper_terms(graph: &Graph, params: &Params) -> UpperTerms = UpperTerms::derive }

impl UpperTerms {
    #[inline(always)]
    fn derive(graph: &Graph, params: &Params) -> Self {
        let lift = |slope: f32, w: f32| w + log1p_pos(slope * exp_neg(w.min(X_CAP)).1);
        let mut edge = vec![0.0; graph.n_edges()];
        for child in 0..graph.n_nodes() {
            let range = graph.edges_into(child);
            let slope = params.slope[child];
            for (term, &w) in edge[range.clone()].iter_mut().zip(&params.edge[range]) {
                *term = lift(slope, w);
            }
        }
        let all_parents = |topic: usize| params.edge[graph.edges_into(topic)].iter().sum::<f32>();
        let topic = (0..graph.n_topics())
            .map(|topic| params.bias[topic] + lift(params.slope[topic], all_parents(topic)))
            .collect();
        let n_levels = params.n_levels;
        let levels = if n_levels > 1 { graph.levels() } else { Vec::new() };
        Self { edge, topic, levels, n_levels }
    }
}

/// The document at hand without the topics that cannot come on, and where its E-step stands.
#[derive(Debug, Default)]
pub(super) struct Reduced {
    /// That document alone.
    pub(super) batch: Batch,
    pub(super) state: DocState,
    /// U_k of the whole document's topics.
    upper: Vec<f32>,
    /// Their nodes in `batch`, or [`LEFT_OUT`].
    places: Vec<u32>,
    /// The whole document's node for every node of `batch`.
    wholes: Vec<u32>,
    /// Topics of the network that are left out.
    left_out: Vec<u32>,
}

impl Reduced {
    /// Takes up a document of a batch.
    #[inline(always)]
    pub(super) fn take(&mut self, graph: &Graph, whole: &Batch, doc_ix: usize, terms: &UpperTerms) {
        self.find_upper(graph, whole, doc_ix, terms);
        let doc = whole.docs[doc_ix];
        let (begin, tokens, end) = (doc.node_begin, doc.token_begin, whole.docs[doc_ix + 1].node_begin);
        let Self { batch, upper, places, wholes, left_out, .. } = self;
        batch.colour_ends.clear();
        places.clear();
        wholes.clear();
        left_out.clear();
        let mut at = begin;
        for &colour_end in &whole.colour_ends[doc_ix * graph.n_colours()..][..graph.n_colours()] {
            for at in at..colour_end {
                if cannot_come_on(upper[(at - begin) as usize]) {
                    places.push(LEFT_OUT);
                    left_out.push(whole.nodes[at as usize].id);
                } else {
                    places.push(wholes.len() as u32);
                    wholes.push(at);
                }
            }
            at = colour_end;
            batch.colour_ends.push(wholes.len() as u32);
        }
        let n_topics = wholes.len();
        wholes.extend(tokens..end);
        // Nodes and edges by child. Meanwhile slot_begin counts the edges out of a topic: `slot` is the place among those.
        let edge_ids = batch.edge_ids.get_or_insert_default();
        edge_ids.clear();
        batch.edges.clear();
        batch.nodes.clear();
        let node = |&at: &u32| NodeRecord {
            id: whole.nodes[at as usize].id,
            edge_begin: 0,
            slot_begin: 0,
            doc_ix: 0,
        };
        batch.nodes.extend(wholes.iter().map(node));
        for (node, &at) in wholes.iter().enumerate() {
            batch.nodes[node].edge_begin = batch.edges.len() as u32;
            let ids = graph.edges_into(batch.nodes[node].id as usize);
            let first = whole.nodes[at as usize].edge_begin as usize;
            for (edge, id) in whole.edges[first..first + ids.len()].iter().zip(ids) {
                let parent = places[(edge.parent - begin) as usize];
                if parent != LEFT_OUT {
                    let slot = &mut batch.nodes[parent as usize].slot_begin;
                    batch.edges.push(EdgeRecord { parent, slot: *slot });
                    edge_ids.push(id as u32);
                    *slot += 1;
                }
            }
        }
        let n_edges = batch.edges.len() as u32;
        let mut slot_begin = 0;
        for node in &mut batch.nodes[..n_topics] {
            let n_slots = std::mem::replace(&mut node.slot_begin, slot_begin);
            slot_begin += n_slots;
        }
        batch.nodes[n_topics..].iter_mut().for_each(|node| node.slot_begin = n_edges);
        batch.nodes.push(NodeRecord { id: u32::MAX, edge_begin: n_edges, slot_begin: n_edges, doc_ix: 1 });
        batch.slot_children.clear();
        batch.slot_children.resize(n_edges as usize, 0);
        for node in 0..wholes.len() {
            for e in batch.nodes[node].edge_begin..batch.nodes[node + 1].edge_begin {
                let edge = &mut batch.edges[e as usize];
                edge.slot += batch.nodes[edge.parent as usize].slot_begin;
                batch.slot_children[edge.slot as usize] = node as u32;
            }
        }
        let n_nodes = wholes.len() as u32;
        batch.docs.clear();
        batch.docs.push(DocRecord {
            node_begin: 0,
            token_begin: n_topics as u32,
            edge_begin: 0,
            count: doc.count,
        });
        batch.docs.push(DocRecord {
            node_begin: n_nodes,
            token_begin: n_nodes,
            edge_begin: n_edges,
            count: 0,
        });
    }

    /// U_k of all topics of the document, from the tokens upwards.
    #[inline(always)]
    fn find_upper(&mut self, graph: &Graph, whole: &Batch, doc_ix: usize, terms: &UpperTerms) {
        let (topics, end) = (whole.topics(doc_ix), whole.docs[doc_ix + 1].node_begin as usize);
        let begin = topics.start;
        let upper = &mut self.upper;
        upper.clear();
        upper.extend(whole.nodes[topics.clone()].iter().map(|node| terms.topic[node.id as usize]));
        for token in topics.end..end {
            tell_parents(graph, whole, token, begin, terms, upper);
        }
        for level in 1..terms.n_levels {
            for topic in topics.clone() {
                let is_of_level = terms.levels[whole.nodes[topic].id as usize] == level;
                if is_of_level && !cannot_come_on(upper[topic - begin]) {
                    tell_parents(graph, whole, topic, begin, terms, upper);
                }
            }
        }
    }

    /// Topics left out are of the document all the same, and off: what that adds to its bound. They are counted in `sums`.
    #[inline(always)]
    pub(super) fn count_left_out(&self, params: &Params, count: u32, sums: Option<&mut Accumulator>) -> f64 {
        if let Some(sums) = sums {
            sums.count_off(&self.left_out, f64::from(count));
        }
        -self.left_out.iter().map(|&topic| f64::from(params.tail[topic as usize])).sum::<f64>()
    }
}

/// Whether a topic of this U is left out. What is not finite stays, and is found out.
#[inline(always)]
fn cannot_come_on(upper: f32) -> bool {
    upper < CERTAINLY_OFF && upper.is_finite()
}

/// Adds what a node is worth to each of its parents, whose document begins at the node `begin`.
#[inline(always)]
fn tell_parents(
    graph: &Graph,
    whole: &Batch,
    node: usize,
    begin: usize,
    terms: &UpperTerms,
    upper: &mut [f32],
) {
    let ids = graph.edges_into(whole.nodes[node].id as usize);
    let first = whole.nodes[node].edge_begin as usize;
    for (edge, term) in whole.edges[first..first + ids.len()].iter().zip(&terms.edge[ids]) {
        upper[edge.parent as usize - begin] += term;
    }
}
