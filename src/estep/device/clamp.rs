//! The structured bound on a device. A piece is another packed copy of its document with some topics clamped, so pieces of many
//! documents go through the kernels together: the documents as they are, then round by round both halves of every piece that is to be
//! split. What is decided between the passes is decided on the host (`estep/pieces.rs`).
//!
//! The pieces that are left run once more, with their weights, for q and the sums: keeping q and r of pieces until then would take more
//! memory than the chunks themselves.

use super::flight::{Alternations, Landed};
use super::landing::add_sums;
use super::pass::{Home, Pass};
use super::run::DeviceEStep;
use super::{DispatchPlan, Machine};
use crate::corpus::Item;
use crate::error::Result;
use crate::estep::cpu::not_finite;
use crate::estep::pieces::{Piece, Pieces};
use crate::estep::{DocResults, Scale, Sink, Stats, Sums, Work};
use std::sync::atomic::Ordering;

/// Documents that are split together, in blocks: enough for full chunks in every round, few enough that their pieces take little
/// memory. Like blocks, they depend on the documents alone.
const GROUP_BLOCKS: usize = 4;

/// What makes a packed document a piece, or a search begin somewhere.
#[derive(Debug, Clone, Default)]
pub(super) struct Setting {
    /// Topics that a search begins with, counted from the document's first.
    pub(super) begin_on: Vec<u32>,
    /// Clamped topics, counted from the document's first, and whether they are on.
    pub(super) clamps: Vec<(u32, bool)>,
    /// How much the piece counts in the sums.
    pub(super) weight: f32,
}

/// A document, and what it took.
struct SplitDoc {
    pieces: Pieces,
    n_edges: u64,
    spent: Alternations,
}

/// Items that are pieces, one after another.
#[derive(Default)]
struct Listed {
    items: Vec<Item>,
    settings: Vec<Setting>,
}

impl Listed {
    fn add(&mut self, item: Item, of: &Pieces, piece: Piece, weight: f64) {
        let clamps = of.chosen().enumerate().filter_map(|(at, topic)| Some((topic, piece.clamp(at)?)));
        self.items.push(item);
        let (clamps, weight) = (clamps.collect(), weight as f32);
        self.settings.push(Setting { clamps, weight, ..Setting::default() });
    }
}

/// Takes documents that are still whole.
struct Wholes<'a> {
    work: Work<'a>,
    docs: Vec<SplitDoc>,
    scratch: Pieces,
}

impl Home for Wholes<'_> {
    fn land(&mut self, home: &Landed) -> Result<()> {
        for doc_ix in 0..home.chunk.n_docs() {
            let topics = home.chunk.topics(doc_ix);
            let (alone, log_odds) = (&home.alone[topics.clone()], &home.log_odds[topics]);
            let bound = self.work.params.constant + f64::from(home.doc_bounds[doc_ix]);
            let both = alone.iter().copied().zip(log_odds.iter().copied());
            self.scratch.begin(bound, self.work.options.clamp, both);
            let (doc, next) = (home.chunk.docs[doc_ix], home.chunk.docs[doc_ix + 1]);
            // A clone has no room to spare.
            self.docs.push(SplitDoc {
                pieces: self.scratch.clone(),
                n_edges: u64::from(next.edge_begin - doc.edge_begin),
                spent: home.spent[doc_ix],
            });
        }
        Ok(())
    }
}

/// Takes halves.
struct Halves {
    /// The bound of an empty document.
    constant: f64,
    /// Bound of each, and how long it took.
    ends: Vec<(f64, Alternations)>,
}

impl Home for Halves {
    fn land(&mut self, home: &Landed) -> Result<()> {
        let bounds = home.doc_bounds.iter().map(|&bound| self.constant + f64::from(bound));
        self.ends.extend(bounds.zip(home.spent.iter().copied()));
        Ok(())
    }
}

/// Takes the pieces that are left: sums, and q of the mixtures.
struct Mixtures<'a, 's, 'f> {
    work: Work<'a>,
    docs: &'a [SplitDoc],
    /// Document and piece to come next.
    next: (usize, usize),
    sums: &'s mut Sums,
    sink: Option<&'s mut Sink<'f>>,
    /// The item of the first document below.
    first_item: usize,
    /// Documents that go to the sink next, the last one perhaps without all of its pieces.
    topic_offsets: Vec<usize>,
    topics: Vec<u32>,
    q: Vec<f32>,
    elbo: Vec<f64>,
}

impl Home for Mixtures<'_, '_, '_> {
    fn land(&mut self, home: &Landed) -> Result<()> {
        if self.work.gradients {
            for block in &home.chunk.blocks {
                // A document's pieces have its weight together.
                let n_docs = home.weights[block.docs.clone()].iter().map(|&weight| f64::from(weight)).sum();
                add_sums(&self.work, home, &block.touched, self.sums, n_docs)?;
            }
        }
        (0..home.chunk.n_docs()).for_each(|doc_ix| self.add_piece(home, doc_ix));
        self.hand_over()?;
        let n_docs: u64 = home.chunk.docs.iter().map(|doc| u64::from(doc.count)).sum();
        self.work.monitor.docs_done.fetch_add(n_docs, Ordering::Relaxed);
        Ok(())
    }
}

impl Mixtures<'_, '_, '_> {
    /// Adds a piece's q to its document's.
    fn add_piece(&mut self, home: &Landed, doc_ix: usize) {
        let (doc, piece) = self.next;
        let pieces = &self.docs[doc].pieces;
        let is_last = piece + 1 == pieces.list().len();
        self.next = if is_last { (doc + 1, 0) } else { (doc, piece + 1) };
        if self.sink.is_none() {
            return;
        }
        let nodes = home.chunk.topics(doc_ix);
        if piece == 0 {
            self.topics.extend(home.chunk.nodes[nodes.clone()].iter().map(|node| node.id));
            self.q.resize(self.topics.len(), 0.0);
        }
        let (weight, begin) = (pieces.weight(piece) as f32, self.topics.len() - nodes.len());
        self.q[begin..].iter_mut().zip(&home.q[nodes]).for_each(|(q, of_piece)| *q += weight * of_piece);
        if is_last {
            self.q[begin..].iter_mut().for_each(|q| *q = q.min(1.0)); // the weights add up to one to rounding
            self.topic_offsets.push(self.topics.len());
            self.elbo.push(pieces.total());
        }
    }

    /// Gives the sink the documents that have all of their pieces.
    fn hand_over(&mut self) -> Result<()> {
        let (n_docs, Some(&end)) = (self.elbo.len(), self.topic_offsets.last()) else { return Ok(()) };
        if let Some(sink) = self.sink.as_mut().filter(|_| n_docs > 0) {
            sink(&DocResults {
                first_item: self.first_item,
                topic_offsets: &self.topic_offsets,
                topics: &self.topics[..end],
                q: &self.q[..end],
                elbo: &self.elbo,
            })?;
        }
        self.topics.drain(..end);
        self.q.drain(..end);
        self.topic_offsets.truncate(1);
        self.elbo.clear();
        self.first_item += n_docs;
        Ok(())
    }
}

impl<M: Machine> DeviceEStep<M> {
    /// Runs the E-step with the structured bound, group by group of documents.
    pub(super) fn run_clamped(
        &mut self,
        work: &Work<'_>,
        scale: Scale,
        mut sink: Option<&mut Sink<'_>>,
    ) -> Result<Sums> {
        let mut sums = Sums::new(work.graph, work.gradients, scale);
        let mut first_item = 0;
        for items in work.items.chunks(self.group_docs()) {
            // Pieces have topics of their own to begin with.
            let work = Work { items, kept_on: None, ..*work };
            let docs = self.split(&work)?;
            sums.add_totals(&totals(&work, &docs)?)?;
            if work.gradients || sink.is_some() {
                self.add_up(&work, &docs, first_item, &mut sums, sink.as_deref_mut())?;
            } else {
                let n_docs: u64 = items.iter().map(|item| u64::from(item.count)).sum();
                work.monitor.docs_done.fetch_add(n_docs, Ordering::Relaxed);
            }
            first_item += items.len();
        }
        Ok(sums)
    }

    /// Documents that are split together.
    pub(super) fn group_docs(&self) -> usize {
        self.limits().block_docs.saturating_mul(GROUP_BLOCKS).max(1)
    }

    /// Splits documents, all of them by their first topic, then by their second and so on.
    fn split(&mut self, work: &Work<'_>) -> Result<Vec<SplitDoc>> {
        let work = Work { gradients: false, ..*work };
        let plan = DispatchPlan {
            keep_interest: true,
            route: self.route_for(&work)?,
            ..DispatchPlan::of(&work, false)
        };
        let mut wholes = Wholes { work, docs: Vec::new(), scratch: Pieces::default() };
        self.run_pass(&Pass { work, plan, pieces: None }, &mut wholes)?;
        let mut docs = wholes.docs;
        for topic in 0..work.options.clamp as usize {
            // Which document and piece; its halves.
            let (mut to_split, mut listed) = (Vec::new(), Listed::default());
            for (doc, SplitDoc { pieces, .. }) in docs.iter().enumerate() {
                let n_pieces = if topic < pieces.chosen().len() { pieces.list().len() } else { 0 };
                for piece in (0..n_pieces).filter(|&piece| pieces.is_to_split(piece)) {
                    let halves = pieces.list()[piece].halves(topic);
                    to_split.push((doc, piece, halves));
                    halves.iter().for_each(|&half| listed.add(work.items[doc], pieces, half, 0.0));
                }
            }
            if to_split.is_empty() {
                break;
            }
            let mut taken = Halves { constant: work.params.constant, ends: Vec::new() };
            self.run_pieces(&work, &listed, false, &mut taken)?;
            for ((doc, piece, mut halves), ends) in to_split.into_iter().zip(taken.ends.chunks_exact(2)) {
                for (half, (bound, spent)) in halves.iter_mut().zip(ends) {
                    half.bound = *bound;
                    docs[doc].spent += *spent;
                }
                docs[doc].pieces.split(piece, halves);
            }
            docs.iter_mut().for_each(|doc| doc.pieces.end_round());
        }
        Ok(docs)
    }

    /// Runs the pieces that are left: sums, and q of the mixtures.
    fn add_up(
        &mut self,
        work: &Work<'_>,
        docs: &[SplitDoc],
        first_item: usize,
        sums: &mut Sums,
        sink: Option<&mut Sink<'_>>,
    ) -> Result<()> {
        let mut listed = Listed::default();
        for (&item, SplitDoc { pieces, .. }) in work.items.iter().zip(docs) {
            for (at, &piece) in pieces.list().iter().enumerate() {
                // The document is counted with its first piece.
                let counted = Item { count: if at == 0 { item.count } else { 0 }, ..item };
                listed.add(counted, pieces, piece, f64::from(item.count) * pieces.weight(at));
            }
        }
        let keep_q = sink.is_some();
        let mut mixtures = Mixtures {
            work: *work,
            docs,
            next: (0, 0),
            sums,
            sink,
            first_item,
            topic_offsets: vec![0],
            topics: Vec::new(),
            q: Vec::new(),
            elbo: Vec::new(),
        };
        self.run_pieces(work, &listed, keep_q, &mut mixtures)
    }

    fn run_pieces(
        &mut self,
        work: &Work<'_>,
        listed: &Listed,
        keep_q: bool,
        home: &mut dyn Home,
    ) -> Result<()> {
        let plan =
            DispatchPlan { pieces: true, route: self.route_for(work)?, ..DispatchPlan::of(work, keep_q) };
        let work = Work { items: &listed.items, ..*work };
        self.run_pass(&Pass { work, plan, pieces: Some(&listed.settings) }, home)
    }
}

/// The scalar sums of documents.
fn totals(work: &Work<'_>, docs: &[SplitDoc]) -> Result<Stats> {
    let mut totals = Stats::default();
    for (item, SplitDoc { pieces, n_edges, spent }) in work.items.iter().zip(docs) {
        if !pieces.total().is_finite() {
            return Err(not_finite(*item, pieces.total()));
        }
        totals.add_doc(item.count, pieces.total(), *n_edges, spent.n);
        totals.n_unconverged += u64::from(spent.n_unconverged);
    }
    Ok(totals)
}
