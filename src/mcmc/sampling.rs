//! Chains of many documents at given weights, and the sums that a weight step takes from their samples.
//!
//! Every document has a chain of its own, with random numbers of its own for every step, and the chain goes on where it was. Documents
//! are summed in blocks, and blocks in fixed point: threads change nothing.

use super::McmcOptions;
use super::configuration::Configuration;
use super::joint::{Joint, Shared};
use super::sums::DocSums;
use crate::batch::BLOCK_DOCS;
use crate::corpus::{Docs, Item};
use crate::error::Result;
use crate::estep::cpu::Accumulator;
use crate::estep::{BlockSums, Bound, OnLists, Params, Scale, Stats, Sums};
use crate::monitor::Monitor;
use crate::network::{Graph, Weights};
use crate::rng::{Stream, rng};
use rayon::prelude::*;
use std::sync::atomic::Ordering;

/// Blocks whose sums are kept at a time, before they are added up.
const BLOCKS_AHEAD: usize = 64;

/// Documents to sample under a network.
#[derive(Clone, Copy)]
pub struct Sampling<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// Its weights.
    pub weights: &'a Weights,
    /// The documents.
    pub docs: Docs<'a>,
    /// Which of them, and how often each counts.
    pub items: &'a [Item],
    /// How.
    pub options: McmcOptions,
    /// Seed of the random numbers, and the number of the step: each has its own.
    pub seed: (u64, u64),
    /// Where the chain of each item ended before; none: chains begin with all topics off.
    pub chains: Option<&'a OnLists>,
    /// Progress out, stop requests in.
    pub monitor: &'a Monitor,
}

/// One thread's memory.
struct Worker {
    joint: Joint,
    x: Configuration,
    places: Vec<u32>,
    of_doc: DocSums,
    sums: Accumulator,
}

impl Sampling<'_> {
    /// Runs the chains: N, L and Q as means over the counted sweeps, summed over the documents, and where the chains ended. Samples are
    /// no bound: that of the sums is minus infinity.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`](crate::Error::Interrupted) where the monitor says stop.
    pub fn run(&self) -> Result<(Stats, OnLists)> {
        let (sums, ends) = self.run_in(Scale::of(self.items)?)?;
        Ok((self.stats(&sums)?, ends))
    }

    /// The numbers of sums.
    pub(crate) fn stats(&self, sums: &Sums) -> Result<Stats> {
        let stats = sums.to_stats(self.graph, &self.params()?);
        Ok(Stats { elbo_sum: f64::NEG_INFINITY, ..stats })
    }

    /// Units of sums do not depend on the bound.
    pub(crate) fn params(&self) -> Result<Params> {
        Params::derive(self.graph, self.weights, Bound::Full)
    }

    /// The same sums in units that fit all documents of the sum that these are a part of.
    ///
    /// # Errors
    ///
    /// As [`Sampling::run`].
    pub(crate) fn run_in(&self, scale: Scale) -> Result<(Sums, OnLists)> {
        let params = self.params()?;
        let shared = Shared::new(self.graph, self.weights);
        let (mut all, mut ends) = (Sums::new(self.graph, true, scale), OnLists::default());
        let blocks: Vec<(usize, &[Item])> = self.items.chunks(BLOCK_DOCS).enumerate().collect();
        let worker = || Worker {
            joint: Joint::new(self.graph, self.options.model),
            x: Configuration::default(),
            places: Vec::new(),
            of_doc: DocSums::default(),
            sums: Accumulator::new(self.graph),
        };
        for some in blocks.chunks(BLOCKS_AHEAD) {
            let run = |worker: &mut Worker, &(at, items): &(usize, &[Item])| {
                let (sums, ends) = worker.run_block(self, &shared, at * BLOCK_DOCS, items)?;
                Ok((scale.fixed(self.graph, &params, sums)?, ends))
            };
            let done: Vec<(BlockSums<i64>, OnLists)> =
                some.par_iter().map_init(worker, run).collect::<Result<_>>()?;
            for (sums, of_block) in &done {
                all.add(self.graph, sums)?;
                ends.append(of_block);
            }
            self.docs.corpus().release();
        }
        Ok((all, ends))
    }
}

impl Worker {
    fn run_block(
        &mut self,
        sampling: &Sampling<'_>,
        shared: &Shared<'_>,
        first_item: usize,
        items: &[Item],
    ) -> Result<(BlockSums, OnLists)> {
        let McmcOptions { sweeps, burn_in, .. } = sampling.options;
        let mut begins = sampling.chains.map(|chains| chains.from(first_item));
        let (mut totals, mut ends) = (Stats::default(), OnLists::default());
        for item in items {
            sampling.monitor.go_on()?;
            self.joint.load(shared, &sampling.docs, *item);
            self.begin(|places| match &mut begins {
                Some(begins) => begins.next_into(places),
                None => places.clear(),
            });
            let (seed, step) = sampling.seed;
            let rng = &mut rng(seed, Stream::Gibbs { step, doc: item.doc_ix });
            (0..burn_in).for_each(|_| self.x.sweep(&self.joint, rng));
            self.of_doc.clear(&self.joint);
            for _ in 0..sweeps {
                self.x.sweep(&self.joint, rng);
                self.of_doc.add(&self.joint, &self.x.on, 1.0 / f64::from(sweeps));
            }
            self.of_doc.add_to(&mut self.sums, &self.joint, shared.graph, f64::from(item.count));
            ends.push_places((0u32..).zip(&self.x.on).filter(|(_, on)| **on).map(|(place, _)| place));
            let n_edges = self.joint.batch.n_edges() as u64;
            totals.add_doc(item.count, 0.0, n_edges, burn_in.saturating_add(sweeps));
            sampling.monitor.docs_done.fetch_add(u64::from(item.count), Ordering::Relaxed);
        }
        let mut sums = self.sums.take(shared.graph);
        sums.totals = totals;
        Ok((sums, ends))
    }

    /// A chain's state, by the places of the topics that are on; those of a damaged list may be beyond the topics, or come twice.
    fn begin(&mut self, read: impl FnOnce(&mut Vec<u32>)) {
        read(&mut self.places);
        self.x.clear(&self.joint);
        for &place in &self.places {
            if self.x.on.get(place as usize) == Some(&false) {
                self.x.flip(&self.joint, place as usize);
            }
        }
    }
}
