//! What chunks bring home is added up: block by block in fixed point, and document by document to the sink.

use super::flight::Landed;
use crate::error::Result;
use crate::estep::cpu::not_finite;
use crate::estep::{DocResults, Rounding, Sink, Stats, Sums, Work};

/// Adds a chunk's results, block by block.
pub(super) fn add(
    work: &Work<'_>,
    home: &Landed,
    sums: &mut Sums,
    sink: &mut Option<&mut Sink<'_>>,
) -> Result<()> {
    let chunk = &home.chunk;
    let elbo: Vec<f64> =
        home.doc_bounds.iter().map(|&bound| work.params.constant + f64::from(bound)).collect();
    if let Some(bad) = elbo.iter().position(|elbo| !elbo.is_finite()) {
        return Err(not_finite(work.items[chunk.items.start + bad], elbo[bad]));
    }
    for block in &chunk.blocks {
        let mut totals = Stats::default();
        for doc_ix in block.docs.clone() {
            let (doc, next) = (chunk.docs[doc_ix], chunk.docs[doc_ix + 1]);
            let spent = home.spent[doc_ix];
            let n_edges = u64::from(next.edge_begin - doc.edge_begin);
            totals.add_doc(doc.count, elbo[doc_ix], n_edges, spent.n);
            totals.n_unconverged += u64::from(spent.n_unconverged);
        }
        sums.add_totals(&totals)?;
        if work.gradients {
            add_sums(work, home, &block.touched, sums, totals.n_docs)?;
        }
    }
    if let Some(sink) = sink {
        let (mut topic_offsets, mut topics, mut q) = (vec![0], Vec::new(), Vec::new());
        for doc_ix in 0..chunk.n_docs() {
            let range = chunk.topics(doc_ix);
            topics.extend(chunk.nodes[range.clone()].iter().map(|node| node.id));
            q.extend_from_slice(&home.q[range]);
            topic_offsets.push(topics.len());
        }
        let (first_item, topic_offsets, topics, q) = (chunk.items.start, &topic_offsets, &topics, &q);
        sink(&DocResults { first_item, topic_offsets, topics, q, elbo: &elbo })?;
    }
    Ok(())
}

/// Adds the sums of a block of so many documents, touched node by touched node.
pub(super) fn add_sums(
    work: &Work<'_>,
    home: &Landed,
    touched: &[std::ops::Range<usize>; 2],
    sums: &mut Sums,
    n_docs: f64,
) -> Result<()> {
    let chunk = &home.chunk;
    let mut rounding = Rounding::of(sums.scale(), n_docs);
    for at in touched.iter().cloned().flatten() {
        let of_node =
            (home.node_totals[at], chunk.touched_docs[at], &home.edge_totals[chunk.touched_edges(at)]);
        let node = chunk.touched_ids[at] as usize;
        sums.add_node((work.graph, work.params), node, of_node, &mut rounding);
    }
    rounding.check()
}
