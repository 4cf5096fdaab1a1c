//! One chunk's way through the kernels: load, search where that is the start, alternate until every document stands still, then
//! bounds and sums. Where several starts are tried, all of that but the sums for each of them.

use super::{Array, Dispatch, Fault, Machine, Plan, Read};
use crate::batch::{Chunk, Rows};
use crate::estep::MIN_BETTER;
use std::sync::Arc;

/// Alternations, or rounds of a search, between two looks at which documents are done.
const BURST: u32 = 4;
/// The lists of rows are made anew when at most this share of their nodes is still at work. (Threads of documents that are done
/// return at once, but a few documents take ten times the alternations of most: without this the sample takes four times as
/// long on software Vulkan, `dblp` a third longer.)
const COMPACT_AT: f64 = 0.75;

/// Loads a chunk's arrays.
pub(super) fn load(machine: &mut dyn Machine, set: usize, plan: &Plan, chunk: &Chunk) -> Result<(), Fault> {
    for (array, n_bytes) in plan.array_bytes(chunk) {
        machine.reserve(set, array, n_bytes)?;
    }
    machine.write(set, Array::Docs, 0, bytemuck::cast_slice(&chunk.docs))?;
    machine.write(set, Array::Nodes, 0, bytemuck::cast_slice(&chunk.nodes))?;
    machine.write(set, Array::Edges, 0, bytemuck::cast_slice(&chunk.edges))?;
    machine.write(set, Array::Rows, 0, bytemuck::cast_slice(&chunk.rows.list))?;
    machine.write(set, Array::Touched, 0, bytemuck::cast_slice(&chunk.touched))?;
    machine.write(set, Array::EdgeOwners, 0, bytemuck::cast_slice(&chunk.edge_owners))?;
    machine.write(set, Array::Positions, 0, bytemuck::cast_slice(&chunk.positions))?;
    machine.write(set, Array::DocState, 0, bytemuck::cast_slice(&vec![0u32; chunk.n_docs()]))
}

/// What a flight waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Rounds of the search.
    Search,
    /// Alternations.
    Alternate,
    /// The bounds of one of several starts.
    Compare,
    /// The results.
    Finish,
}

/// A chunk on a device.
pub(super) struct Flight {
    pub(super) chunk: Arc<Chunk>,
    set: usize,
    /// One plan for each start, and which is at hand.
    plans: Vec<Plan>,
    at: usize,
    phase: Phase,
    rows: Rows,
    /// Nodes in `rows`.
    n_nodes: usize,
    /// Rounds or alternations that were started.
    step: u32,
    doc_state: Vec<u32>,
    spent: Vec<Alternations>,
    /// Every document's best bound, where several starts are tried.
    best: Vec<f32>,
}

/// How long a document took, over all starts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Alternations {
    pub(super) n: u32,
    /// How often it had not converged.
    pub(super) n_unconverged: u32,
}

/// What a chunk's flight brings home.
pub(super) struct Landed {
    pub(super) chunk: Arc<Chunk>,
    pub(super) spent: Vec<Alternations>,
    pub(super) doc_bounds: Vec<f32>,
    pub(super) edge_totals: Vec<f32>,
    pub(super) node_totals: Vec<[f32; 2]>,
    /// q of every node, where it is kept.
    pub(super) q: Vec<f32>,
}

impl Flight {
    /// Loads a chunk and starts it.
    pub(super) fn start(
        machine: &mut dyn Machine,
        set: usize,
        plan: &Plan,
        chunk: Arc<Chunk>,
    ) -> Result<Self, Fault> {
        load(machine, set, plan, &chunk)?;
        let mut flight = Self {
            plans: plan.tries(),
            at: 0,
            phase: Phase::Alternate,
            rows: Rows::default(),
            n_nodes: 0,
            step: 0,
            doc_state: Vec::new(),
            spent: vec![Alternations::default(); chunk.n_docs()],
            best: Vec::new(),
            chunk,
            set,
        };
        flight.begin(machine, Vec::new())?;
        Ok(flight)
    }

    fn plan(&self) -> &Plan {
        &self.plans[self.at]
    }

    /// Begins the start at hand.
    fn begin(&mut self, machine: &mut dyn Machine, mut dispatches: Vec<Dispatch>) -> Result<(), Fault> {
        dispatches.extend(self.plan().start(&self.chunk));
        self.enter(machine, if self.plan().searches() { Phase::Search } else { Phase::Alternate }, dispatches)
    }

    /// Begins the search or the alternations, with all documents.
    fn enter(
        &mut self,
        machine: &mut dyn Machine,
        phase: Phase,
        dispatches: Vec<Dispatch>,
    ) -> Result<(), Fault> {
        (self.phase, self.step) = (phase, 0);
        (self.rows, self.n_nodes) = (self.chunk.rows.clone(), self.chunk.n_nodes());
        self.burst(machine, dispatches)
    }

    /// Starts some rounds or alternations.
    fn burst(&mut self, machine: &mut dyn Machine, mut dispatches: Vec<Dispatch>) -> Result<(), Fault> {
        let (plan, chunk, rows) = (self.plan(), &self.chunk, &self.rows);
        let mut end = self.step + BURST;
        if self.phase == Phase::Search {
            dispatches.extend((self.step..end).flat_map(|round| plan.round(chunk, rows, round)));
        } else {
            end = end.min(plan.options.max_alternations);
            let alternation = |alternation| plan.alternation(chunk, rows, alternation);
            dispatches.extend((self.step..end).flat_map(alternation));
        }
        self.step = end;
        let doc_state = Read { array: Array::DocState, words: 0..self.chunk.n_docs() };
        machine.submit(self.set, &dispatches, &[doc_state])
    }

    /// Waits for what was started and starts what follows; the results once nothing does.
    pub(super) fn advance(&mut self, machine: &mut dyn Machine) -> Result<Option<Landed>, Fault> {
        let mut read = machine.wait(self.set)?.into_iter();
        let first = read.next().unwrap_or_default();
        match self.phase {
            Phase::Finish => return Ok(Some(self.land(first, read))),
            Phase::Compare => self.compare(machine, bytemuck::cast_vec(first))?,
            Phase::Search | Phase::Alternate => {
                self.doc_state = first;
                self.go_on(machine)?;
            }
        }
        Ok(None)
    }

    /// Goes on with the documents that are not done, or to what comes next.
    fn go_on(&mut self, machine: &mut dyn Machine) -> Result<(), Fault> {
        let n_active = self.n_active_nodes();
        let at_most = self.phase == Phase::Alternate && self.step == self.plan().options.max_alternations;
        if n_active > 0 && !at_most {
            if (n_active as f64) <= COMPACT_AT * self.n_nodes as f64 {
                self.compact(machine, n_active)?;
            }
            return self.burst(machine, Vec::new());
        }
        if self.phase == Phase::Search {
            let settle = self.plan().settle(&self.chunk);
            return self.enter(machine, Phase::Alternate, settle);
        }
        for (doc_ix, state) in self.doc_state.iter().enumerate() {
            let (n, unconverged) = self.plan().n_alternations(*state);
            self.spent[doc_ix].n += n;
            self.spent[doc_ix].n_unconverged += u32::from(unconverged);
        }
        let bounds = self.plan().bounds(&self.chunk);
        if self.plans.len() == 1 {
            return self.finish(machine, bounds);
        }
        self.phase = Phase::Compare;
        let read = Read { array: Array::DocBounds, words: 0..self.chunk.n_docs() };
        machine.submit(self.set, &bounds, &[read])
    }

    /// Keeps what this start was the best for; of equals, the first. After the last start every document gets its best back.
    fn compare(&mut self, machine: &mut dyn Machine, bounds: Vec<f32>) -> Result<(), Fault> {
        let is_first = self.at == 0;
        if is_first {
            self.best = vec![0.0; bounds.len()];
        }
        // A bound that is no number must not go unnoticed.
        let better: Vec<bool> = (bounds.iter().zip(&self.best))
            .map(|(bound, best)| is_first || *bound > best + MIN_BETTER || bound.is_nan())
            .collect();
        for (doc_ix, _) in better.iter().enumerate().filter(|(_, better)| **better) {
            self.best[doc_ix] = bounds[doc_ix];
        }
        let is_last = self.at + 1 == self.plans.len();
        // Documents without nodes have nothing to keep, and no kernel would take the mark away again.
        let has_nodes = self.chunk.docs.windows(2).map(|doc| doc[0].node_begin < doc[1].node_begin);
        let concerned: Vec<u32> =
            has_nodes.zip(better).map(|(has, better)| u32::from(has && better != is_last)).collect();
        machine.write(self.set, Array::DocState, 0, bytemuck::cast_slice(&concerned))?;
        if is_last {
            let restore = self.plan().restore(&self.chunk);
            return self.finish(machine, restore);
        }
        let keep = self.plan().keep(&self.chunk);
        self.at += 1;
        self.begin(machine, keep)
    }

    /// Starts the sums; the results are read after them.
    fn finish(&mut self, machine: &mut dyn Machine, mut dispatches: Vec<Dispatch>) -> Result<(), Fault> {
        self.phase = Phase::Finish;
        let (plan, chunk) = (self.plan(), &self.chunk);
        dispatches.extend(plan.sums(chunk));
        let words = |array, n: usize| Read { array, words: 0..n };
        let reads = [
            words(Array::DocBounds, chunk.n_docs()),
            words(Array::EdgeTotals, chunk.n_touched_edges()),
            words(Array::NodeTotals, 2 * chunk.touched_ids.len()),
            words(Array::NodeState, if plan.keep_q { chunk.n_nodes() } else { 0 }),
        ];
        machine.submit(self.set, &dispatches, &reads)
    }

    fn land(&mut self, bounds: Vec<u32>, mut read: impl Iterator<Item = Vec<u32>>) -> Landed {
        let mut next = || read.next().unwrap_or_default();
        let last_bounds = bytemuck::cast_vec(bounds);
        Landed {
            chunk: Arc::clone(&self.chunk),
            spent: std::mem::take(&mut self.spent),
            doc_bounds: if self.plans.len() == 1 { last_bounds } else { std::mem::take(&mut self.best) },
            edge_totals: bytemuck::cast_vec(next()),
            node_totals: next()
                .chunks_exact(2)
                .map(|pair| [f32::from_bits(pair[0]), f32::from_bits(pair[1])])
                .collect(),
            q: bytemuck::cast_vec(next()),
        }
    }

    /// Documents at work in the round or alternation to come.
    fn is_active(&self, doc_ix: usize) -> bool {
        let (plan, state) = (self.plan(), self.doc_state[doc_ix]);
        if self.phase == Phase::Search {
            return state >= self.step;
        }
        let hot = plan.n_hot();
        self.step <= hot || plan.options.tolerance == 0.0 || state >= self.step - hot
    }

    fn n_active_nodes(&self) -> usize {
        let docs = self.chunk.docs.windows(2).enumerate();
        let active = docs.filter(|(doc_ix, _)| self.is_active(*doc_ix));
        active.map(|(_, doc)| (doc[1].node_begin - doc[0].node_begin) as usize).sum()
    }

    /// Leaves the rows of documents that are done out of the lists.
    fn compact(&mut self, machine: &mut dyn Machine, n_active: usize) -> Result<(), Fault> {
        let begin = self.chunk.rows.list.len();
        let active: Vec<bool> = (0..self.chunk.n_docs()).map(|doc_ix| self.is_active(doc_ix)).collect();
        let keep_node = |row: u32| active[self.chunk.nodes[row as usize].doc_ix as usize];
        let mut rows = self.chunk.rows.filter(begin, keep_node);
        if self.phase == Phase::Search {
            self.chunk.rows.filter_others(begin, keep_node, |doc_ix| active[doc_ix as usize], &mut rows);
        }
        machine.write(self.set, Array::Rows, 4 * begin, bytemuck::cast_slice(&rows.list))?;
        (self.rows, self.n_nodes) = (rows, n_active);
        Ok(())
    }
}
