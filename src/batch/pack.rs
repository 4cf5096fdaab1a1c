//! Packing: from documents to a [`Batch`]. Depends on the graph and the documents, never on the weights.

use super::layout::{Batch, DocRecord, EdgeRecord, NodeRecord};
use crate::corpus::{Docs, Item};
use crate::local::Ancestors;
use crate::network::Graph;

/// Packs documents into a batch whose memory is reused.
#[derive(Debug)]
pub struct Packer {
    ancestors: Ancestors,
    /// Node of the batch of each topic of the document at hand.
    position: Vec<u32>,
    /// Next free slot of each topic of the document at hand.
    next_slot: Vec<u32>,
    full: bool,
}

impl Packer {
    /// For one graph; `full` takes all topics into every document instead of the ancestors only.
    pub fn new(graph: &Graph, full: bool) -> Self {
        Self {
            ancestors: Ancestors::new(graph),
            position: vec![0; graph.n_topics()],
            next_slot: Vec::new(),
            full,
        }
    }

    /// Packs items into `batch`, replacing its content, until all are packed or the batch has reached
    /// `max_edges`; returns how many were packed (at least one, if there are any).
    pub fn pack(
        &mut self,
        graph: &Graph,
        docs: &Docs<'_>,
        items: &[Item],
        max_edges: usize,
        batch: &mut Batch,
    ) -> usize {
        batch.docs.clear();
        batch.nodes.clear();
        batch.edges.clear();
        batch.slot_children.clear();
        batch.colour_ends.clear();
        let mut n_packed = 0;
        while n_packed < items.len() && (n_packed == 0 || batch.edges.len() < max_edges) {
            self.pack_doc(graph, docs, items[n_packed], batch);
            n_packed += 1;
        }
        let (node_end, edge_end) = (batch.nodes.len() as u32, batch.edges.len() as u32);
        batch.docs.push(DocRecord {
            node_begin: node_end,
            token_begin: node_end,
            edge_begin: edge_end,
            count: 0,
        });
        let doc_ix = n_packed as u32;
        batch.nodes.push(NodeRecord { id: u32::MAX, edge_begin: edge_end, slot_begin: edge_end, doc_ix });
        n_packed
    }

    fn pack_doc(&mut self, graph: &Graph, docs: &Docs<'_>, item: Item, batch: &mut Batch) {
        let doc_ix = batch.docs.len() as u32;
        let (node_begin, edge_begin) = (batch.nodes.len(), batch.edges.len());
        let tokens = || docs.tokens(item.doc_ix as usize).map(|token| graph.n_topics() + token as usize);
        let (topics, colour_ends) =
            if self.full { self.ancestors.all(graph) } else { self.ancestors.find(graph, tokens()) };
        let token_begin = node_begin + topics.len();
        batch.colour_ends.extend(colour_ends.iter().map(|&end| node_begin as u32 + end));
        for (at, &topic) in topics.iter().enumerate() {
            self.position[topic as usize] = (node_begin + at) as u32;
        }
        self.next_slot.clear();
        self.next_slot.resize(topics.len(), 0);

        // Nodes and edges; next_slot counts each topic's children.
        for id in topics.iter().map(|&topic| topic as usize).chain(tokens()) {
            let begin = batch.edges.len() as u32;
            batch.nodes.push(NodeRecord { id: id as u32, edge_begin: begin, slot_begin: 0, doc_ix });
            batch.edges.extend(graph.parents(id).iter().map(|&topic| {
                let parent = self.position[topic as usize];
                self.next_slot[parent as usize - node_begin] += 1;
                EdgeRecord { parent, slot: 0 }
            }));
        }
        // Counts to begins.
        let edge_end = batch.edges.len();
        let mut begin = edge_begin as u32;
        for (node, next) in batch.nodes[node_begin..token_begin].iter_mut().zip(&mut self.next_slot) {
            node.slot_begin = begin;
            (begin, *next) = (begin + *next, begin);
        }
        batch.nodes[token_begin..].iter_mut().for_each(|node| node.slot_begin = edge_end as u32);
        // Slots, filled by child: topics first, then tokens.
        batch.slot_children.resize(edge_end, 0);
        for node in node_begin..batch.nodes.len() {
            let from = batch.nodes[node].edge_begin as usize;
            let to = batch.nodes.get(node + 1).map_or(edge_end, |next| next.edge_begin as usize);
            for edge in &mut batch.edges[from..to] {
                let next = &mut self.next_slot[edge.parent as usize - node_begin];
                edge.slot = *next;
                batch.slot_children[*next as usize] = node as u32;
                *next += 1;
            }
        }
        batch.docs.push(DocRecord {
            node_begin: node_begin as u32,
            token_begin: token_begin as u32,
            edge_begin: edge_begin as u32,
            count: item.count,
        });
    }
}
