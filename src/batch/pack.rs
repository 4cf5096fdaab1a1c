//! Packing: from documents to a [`Batch`]. Depends on the graph and the documents, never on the weights.

use super::layout::{Batch, DocRecord, EdgeRecord, NodeRecord};
use crate::corpus::{Docs, Item};
use crate::local::Ancestors;
use crate::network::Graph;

/// Packs documents into a batch whose memory is reused.
#[derive(Debug)]
pub struct Packer {
    ancestors: Ancestors,
    /// Places of the topics of the document at hand.
    places: Vec<Place>,
    tokens: Vec<u32>,
    full: bool,
}

/// Where a topic of the document stands in the batch.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    node: u32,
    next_slot: u32,
}

impl Packer {
    /// For one graph; `full` takes all topics into every document instead of the ancestors only.
    pub fn new(graph: &Graph, full: bool) -> Self {
        Self {
            ancestors: Ancestors::new(graph),
            places: vec![Place::default(); graph.n_topics()],
            tokens: Vec::new(),
            full,
        }
    }

    /// Packs items into `batch`, replacing its content, until all are packed or the batch has reached
    /// `max_size` nodes and edges; returns how many were packed (at least one, if there are any).
    pub fn pack(
        &mut self,
        graph: &Graph,
        docs: &Docs<'_>,
        items: &[Item],
        max_size: usize,
        batch: &mut Batch,
    ) -> usize {
        batch.docs.clear();
        batch.nodes.clear();
        batch.edges.clear();
        batch.slot_children.clear();
        batch.colour_ends.clear();
        let mut n_packed = 0;
        while n_packed < items.len() && (n_packed == 0 || batch.nodes.len() + batch.edges.len() < max_size) {
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
        let (node_begin, edge_begin) = (batch.nodes.len() as u32, batch.edges.len() as u32);
        let first_token = graph.n_topics() as u32;
        self.tokens.clear();
        self.tokens.extend(docs.tokens(item.doc_ix as usize).map(|token| first_token + token));
        self.ancestors.find(graph, &self.tokens, self.full);
        let topics = self.ancestors.topics();
        batch.colour_ends.extend(self.ancestors.colour_ends().iter().map(|end| node_begin + end));

        // Nodes. Each topic's slots begin where the last one's end.
        let mut slot_begin = edge_begin;
        for &id in topics {
            self.places[id as usize] = Place { node: batch.nodes.len() as u32, next_slot: slot_begin };
            batch.nodes.push(NodeRecord { id, edge_begin, slot_begin, doc_ix });
            slot_begin += self.ancestors.n_children(id);
        }
        let token_begin = batch.nodes.len() as u32;
        batch.nodes.extend(self.tokens.iter().map(|&id| NodeRecord { id, edge_begin, slot_begin, doc_ix }));
        // Edges, and the slots they fill by child: topics first, then tokens.
        batch.slot_children.resize(slot_begin as usize, 0);
        for (node, record) in (node_begin..).zip(&mut batch.nodes[node_begin as usize..]) {
            record.edge_begin = batch.edges.len() as u32;
            batch.edges.extend(graph.parents(record.id as usize).iter().map(|&topic| {
                let place = &mut self.places[topic as usize];
                let slot = place.next_slot;
                place.next_slot += 1;
                batch.slot_children[slot as usize] = node;
                EdgeRecord { parent: place.node, slot }
            }));
        }
        batch.docs.push(DocRecord { node_begin, token_begin, edge_begin, count: item.count });
    }
}
