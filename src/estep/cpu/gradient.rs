//! Gradient terms of Eqs. 13-16 and the EM sums N, L, Q, accumulated over one block of documents.

use super::document::{DocState, OneDoc};
use crate::estep::BlockSums;
use crate::network::Graph;

/// Dense sums of a block, and the list of the nodes it touched.
#[derive(Debug)]
pub(crate) struct Accumulator {
    edge: Vec<f64>,
    node: Vec<NodeSums>,
    touched: Vec<u32>,
}

#[derive(Debug, Clone, Copy, Default)]
struct NodeSums {
    leak: f64,
    topic_q: f64,
    topic_docs: f64,
    touched: bool,
}

impl Accumulator {
    pub(crate) fn new(graph: &Graph) -> Self {
        Self {
            edge: vec![0.0; graph.n_edges()],
            node: vec![NodeSums::default(); graph.n_nodes()],
            touched: Vec::new(),
        }
    }

    /// Adds one document at its final q and r, or one piece of it: `weight` times, but for n_k, where it counts as `count`.
    ///
    /// `N_ki += v q_k / (1 - exp(-u_ki))`;
    /// `L_i += v [ sum_k r (1 - q_k) / (1 - exp(-w0)) + sum_k q_k r / (1 - exp(-u)) ]`.
    #[inline(always)]
    pub(super) fn add(&mut self, doc: OneDoc<'_>, state: &DocState, count: f64, weight: f64) {
        let OneDoc { graph, batch, doc_ix, params, .. } = doc;
        let (q, terms) = (&state.q[..], &state.terms);
        let (doc, end) = (batch.docs[doc_ix], batch.docs[doc_ix + 1].node_begin as usize);
        let first = doc.edge_begin as usize;
        for at in doc.node_begin as usize..end {
            let (node, next) = (batch.nodes[at], batch.nodes[at + 1]);
            let id = node.id as usize;
            let (from, to) = (node.edge_begin as usize, next.edge_begin as usize);
            let scale = q[at] * (1.0 + params.slope[id]);
            let edges = &batch.edges[from..to];
            let (r, inv) = (&terms.r[from - first..to - first], &terms.inv[from - first..to - first]);
            let (mut share, first_edge) = (0.0, graph.edges_into(id).start);
            for j in 0..edges.len() {
                let edge = batch.edge_ids.as_ref().map_or(first_edge + j, |ids| ids[from + j] as usize);
                let q_k = q[edges[j].parent as usize];
                share += r[j] * (1.0 - q_k) + r[j] * q_k * inv[j];
                self.edge[edge] += weight * f64::from(scale * q_k * inv[j]);
            }
            let sums = &mut self.node[id];
            sums.leak += weight * f64::from(scale * if edges.is_empty() { 1.0 } else { share });
            if at < doc.token_begin as usize {
                sums.topic_q += weight * f64::from(q[at]);
                sums.topic_docs += count;
            }
            self.touch(node.id);
        }
    }

    /// Adds terms of a node: to L, to (Q, n) of a topic, and to N of the edges into it, in their order.
    pub(crate) fn add_node(
        &mut self,
        graph: &Graph,
        id: u32,
        leak: f64,
        [topic_q, topic_docs]: [f64; 2],
        edges: impl Iterator<Item = f64>,
    ) {
        let sums = &mut self.node[id as usize];
        sums.leak += leak;
        sums.topic_q += topic_q;
        sums.topic_docs += topic_docs;
        self.edge[graph.edges_into(id as usize)].iter_mut().zip(edges).for_each(|(sum, term)| *sum += term);
        self.touch(id);
    }

    #[inline(always)]
    fn touch(&mut self, id: u32) {
        let sums = &mut self.node[id as usize];
        if !sums.touched {
            sums.touched = true;
            self.touched.push(id);
        }
    }

    /// Counts a document for topics of it that are off.
    #[inline(always)]
    pub(super) fn count_off(&mut self, topics: &[u32], count: f64) {
        for &topic in topics {
            self.node[topic as usize].topic_docs += count;
            self.touch(topic);
        }
    }

    /// Takes the sums out and leaves zeros.
    pub(crate) fn take(&mut self, graph: &Graph) -> BlockSums {
        let mut sums = BlockSums { nodes: std::mem::take(&mut self.touched), ..BlockSums::default() };
        sums.leak.reserve_exact(sums.nodes.len());
        sums.topic.reserve_exact(sums.nodes.len());
        for &node in &sums.nodes {
            let node = node as usize;
            let node_sums = std::mem::take(&mut self.node[node]);
            sums.leak.push(node_sums.leak);
            sums.topic.push([node_sums.topic_q, node_sums.topic_docs]);
            let edges = &mut self.edge[graph.edges_into(node)];
            sums.edge.extend_from_slice(edges);
            edges.fill(0.0);
        }
        sums
    }
}
