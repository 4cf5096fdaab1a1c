//! One chunk's way through the kernels: load, search where that is the start, alternate until every document stands still, then
//! bounds and sums. Where several starts are tried, all of that but the sums for each of them.

use super::clamp::Setting;
use super::marks::{CLAMPED_OFF, CLAMPED_ON, KEPT_ON};
use super::{Array, Dispatch, DispatchPlan, Fault, Machine, Place, Read};
use crate::batch::{Chunk, Rows};
use crate::estep::MIN_BETTER;
use std::sync::Arc;

/// Alternations, or rounds of a search, between two looks at which documents are done.
pub const BURST: u32 = 4;
/// The same for bins, at first; then as many as were made before.
const BIN_BURST: u32 = 16;
/// The lists of rows are made anew when at most this share of their nodes is still at work. (Threads of documents that are done
/// return at once, but a few documents take ten times the alternations of most: without this the sample takes four times as
/// long on software Vulkan, `dblp` a third longer.)
const COMPACT_AT: f64 = 0.75;

/// Loads a chunk's arrays; its packed documents may be there already.
fn load(
    machine: &mut dyn Machine,
    place: Place,
    plan: &DispatchPlan,
    chunk: &Chunk,
    is_packed_there: bool,
) -> Result<(), Fault> {
    for (array, n_bytes) in plan.array_bytes(chunk) {
        if !(array.is_packed() && is_packed_there) {
            machine.reserve(place, array, n_bytes)?;
        }
    }
    if !is_packed_there {
        machine.write(place, Array::Docs, 0, bytemuck::cast_slice(&chunk.docs))?;
        machine.write(place, Array::Nodes, 0, bytemuck::cast_slice(&chunk.nodes))?;
        machine.write(place, Array::Edges, 0, bytemuck::cast_slice(&chunk.edges))?;
        machine.write(
            place,
            Array::Edges,
            8 * chunk.n_edges(),
            bytemuck::cast_slice(&chunk.slot_children),
        )?;
        machine.write(place, Array::Rows, 0, bytemuck::cast_slice(&chunk.rows.list))?;
        machine.write(place, Array::Touched, 0, bytemuck::cast_slice(&chunk.touched))?;
        machine.write(place, Array::EdgeOwners, 0, bytemuck::cast_slice(&chunk.edge_owners))?;
        machine.write(place, Array::Positions, 0, bytemuck::cast_slice(&chunk.positions))?;
    }
    machine.write(place, Array::DocState, 0, bytemuck::cast_slice(&vec![0u32; chunk.n_docs()]))
}

/// The marks of topics, by nodes.
fn marks(chunk: &Chunk, settings: &[Setting]) -> Vec<f32> {
    let mut marks = vec![0.0; chunk.n_nodes()];
    for (doc_ix, setting) in settings.iter().enumerate() {
        let topics = chunk.topics(doc_ix);
        for at in setting.begin_on.iter().map(|&topic| topic as usize).filter(|&at| at < topics.len()) {
            marks[topics.start + at] = KEPT_ON as f32;
        }
        for &(topic, on) in &setting.clamps {
            let mark = if on { CLAMPED_ON } else { CLAMPED_OFF };
            marks[topics.start + topic as usize] = mark as f32;
        }
    }
    marks
}

/// What a flight waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// What every topic is worth alone.
    Alone,
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
    place: Place,
    /// One plan for each start, and which is at hand.
    plans: Vec<DispatchPlan>,
    at: usize,
    phase: Phase,
    rows: Rows,
    /// Nodes in `rows`.
    n_nodes: usize,
    /// Rounds or alternations that were started.
    step: u32,
    doc_state: Vec<u32>,
    spent: Vec<Alternations>,
    /// Edges of documents that searched, summed over rounds.
    n_searched: u64,
    /// Every document's best bound, where several starts are tried.
    best: Vec<f32>,
    /// What every topic is worth alone, and the log-odds of the best start, where topics to clamp are chosen by them.
    alone: Vec<f32>,
    log_odds: Vec<f32>,
    /// The weights of pieces.
    weights: Vec<f32>,
}

/// How long a document took, over all starts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Alternations {
    pub(super) n: u32,
    /// How often it had not converged.
    pub(super) n_unconverged: u32,
}

impl std::ops::AddAssign for Alternations {
    fn add_assign(&mut self, other: Self) {
        self.n += other.n;
        self.n_unconverged += other.n_unconverged;
    }
}

/// What a chunk's flight brings home.
pub(super) struct Landed {
    pub(super) chunk: Arc<Chunk>,
    pub(super) spent: Vec<Alternations>,
    /// Edges of documents that searched, summed over rounds.
    pub(super) n_searched: u64,
    pub(super) doc_bounds: Vec<f32>,
    pub(super) edge_totals: Vec<f32>,
    pub(super) node_totals: Vec<[f32; 2]>,
    /// q of every node, where it is kept.
    pub(super) q: Vec<f32>,
    /// What every topic is worth alone, and its log-odds, by nodes, where they are kept.
    pub(super) alone: Vec<f32>,
    pub(super) log_odds: Vec<f32>,
    /// The weights of pieces; none where documents are whole.
    pub(super) weights: Vec<f32>,
}

impl Flight {
    /// Loads a chunk, whose packed documents may be there already, and hands over its start, with the settings of each document where there are
    /// any.
    pub(super) fn start(
        machine: &mut dyn Machine,
        (place, is_packed_there): (Place, bool),
        plan: &DispatchPlan,
        chunk: Arc<Chunk>,
        settings: &[Setting],
    ) -> Result<Self, Fault> {
        load(machine, place, plan, &chunk, is_packed_there)?;
        if plan.pieces || plan.begins_on {
            let marks = marks(&chunk, settings);
            machine.write(place, Array::NodeState, 12 * chunk.n_nodes(), bytemuck::cast_slice(&marks))?;
        }
        let mut flight = Self {
            plans: plan.tries(),
            at: 0,
            phase: Phase::Alternate,
            rows: Rows::default(),
            n_nodes: 0,
            step: 0,
            doc_state: Vec::new(),
            spent: vec![Alternations::default(); chunk.n_docs()],
            n_searched: 0,
            best: Vec::new(),
            alone: Vec::new(),
            log_odds: Vec::new(),
            weights: settings.iter().map(|setting| setting.weight).collect(),
            chunk,
            place,
        };
        flight.begin(machine, Vec::new())?;
        Ok(flight)
    }

    fn plan(&self) -> &DispatchPlan {
        &self.plans[self.at]
    }

    /// Begins the start at hand.
    fn begin(&mut self, machine: &mut dyn Machine, mut dispatches: Vec<Dispatch>) -> Result<(), Fault> {
        let (plan, chunk) = (self.plan(), &self.chunk);
        dispatches.extend(plan.start(chunk));
        if plan.searches() && plan.keep_interest {
            dispatches.extend(plan.alone(chunk));
            let gains = self.section(2);
            self.phase = Phase::Alone;
            return machine.submit(self.place, &dispatches, &[gains]);
        }
        self.enter(machine, if self.plan().searches() { Phase::Search } else { Phase::Alternate }, dispatches)
    }

    /// A section of the nodes' state.
    fn section(&self, section: usize) -> Read {
        let n_nodes = self.chunk.n_nodes();
        Read { array: Array::NodeState, words: section * n_nodes..(section + 1) * n_nodes }
    }

    /// The log-odds, where they are kept.
    fn log_odds(&self) -> Read {
        let log_odds = self.section(1);
        if self.plan().keep_interest { log_odds } else { Read { words: 0..0, ..log_odds } }
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

    /// Hands over some rounds or alternations.
    fn burst(&mut self, machine: &mut dyn Machine, mut dispatches: Vec<Dispatch>) -> Result<(), Fault> {
        let (plan, chunk, rows) = (self.plan(), &self.chunk, &self.rows);
        let in_search = self.phase == Phase::Search;
        let end = self.step + self.burst_len(plan.bin_steps(rows, in_search));
        let end = end.min(self.max_steps());
        dispatches.extend(match in_search {
            true => plan.rounds(chunk, rows, self.step..end),
            false => plan.alternations(chunk, rows, self.step..end),
        });
        self.step = end;
        let doc_state = Read { array: Array::DocState, words: 0..self.chunk.n_docs() };
        machine.submit(self.place, &dispatches, &[doc_state])
    }

    /// Rounds or alternations at most.
    fn max_steps(&self) -> u32 {
        match self.phase {
            Phase::Search => self.plan().max_rounds,
            _ => self.plan().options.max_alternations,
        }
    }

    /// How many rounds or alternations to start, of which a bin can make so many in one dispatch. Where all documents are in bins, those
    /// that are done cost next to nothing, and a dispatch that finds nobody at work ends at once.
    fn burst_len(&self, bin_steps: u32) -> u32 {
        let all_binned = self.chunk.rows.n_unbinned() == 0;
        match bin_steps {
            0 => BURST,
            n if all_binned => n.min(BIN_BURST.max(self.step)),
            n => n.min(BURST),
        }
    }

    /// Nodes at work, as far as the lists of rows tell.
    pub(super) fn n_at_work(&self) -> usize {
        match self.phase {
            Phase::Search | Phase::Alternate => self.n_nodes,
            Phase::Alone | Phase::Compare | Phase::Finish => self.chunk.n_nodes(),
        }
    }

    /// Waits for what was started and hands over what follows; the results once nothing does.
    pub(super) fn advance(&mut self, machine: &mut dyn Machine) -> Result<Option<Landed>, Fault> {
        let mut read = machine.wait(self.place.set)?.into_iter();
        let first = read.next().unwrap_or_default();
        match self.phase {
            Phase::Finish => return Ok(Some(self.land(first, read))),
            Phase::Alone => {
                self.alone = bytemuck::cast_vec(first);
                self.enter(machine, Phase::Search, Vec::new())?;
            }
            Phase::Compare => {
                let log_odds = bytemuck::cast_vec(read.next().unwrap_or_default());
                self.compare(machine, bytemuck::cast_vec(first), log_odds)?;
            }
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
        if n_active > 0 && self.step < self.max_steps() {
            if (n_active as f64) <= COMPACT_AT * self.n_nodes as f64 {
                self.compact(machine, n_active)?;
            }
            return self.burst(machine, Vec::new());
        }
        if self.phase == Phase::Search {
            self.n_searched += self.searched_edges();
            let settle = self.plan().settle(&self.chunk);
            return self.enter(machine, Phase::Alternate, settle);
        }
        for (doc_ix, state) in self.doc_state.iter().enumerate() {
            let (n, unconverged) = self.plan().n_alternations(*state);
            self.spent[doc_ix] += Alternations { n, n_unconverged: u32::from(unconverged) };
        }
        let bounds = self.plan().bounds(&self.chunk);
        if self.plans.len() == 1 {
            // Where pieces are summed their weights take the place of the bounds, which are known.
            return self.finish(machine, if self.is_weighted() { Vec::new() } else { bounds });
        }
        self.phase = Phase::Compare;
        let read = Read { array: Array::DocBounds, words: 0..self.chunk.n_docs() };
        machine.submit(self.place, &bounds, &[read, self.log_odds()])
    }

    /// Keeps what this start was the best for; of equals, the first. After the last start every document gets its best back.
    fn compare(
        &mut self,
        machine: &mut dyn Machine,
        bounds: Vec<f32>,
        log_odds: Vec<f32>,
    ) -> Result<(), Fault> {
        let is_first = self.at == 0;
        if is_first {
            (self.best, self.log_odds) = (vec![0.0; bounds.len()], vec![0.0; log_odds.len()]);
        }
        // A bound that is no number must not go unnoticed.
        let better: Vec<bool> = (bounds.iter().zip(&self.best))
            .map(|(bound, best)| is_first || *bound > best + MIN_BETTER || bound.is_nan())
            .collect();
        for (doc_ix, _) in better.iter().enumerate().filter(|(_, better)| **better) {
            self.best[doc_ix] = bounds[doc_ix];
            if self.plan().keep_interest {
                let nodes = self.chunk.topics(doc_ix);
                self.log_odds[nodes.clone()].copy_from_slice(&log_odds[nodes]);
            }
        }
        let is_last = self.at + 1 == self.plans.len();
        // Documents without nodes have nothing to keep, and no kernel would take the mark away again.
        let has_nodes = self.chunk.docs.windows(2).map(|doc| doc[0].node_begin < doc[1].node_begin);
        let concerned: Vec<u32> =
            has_nodes.zip(better).map(|(has, better)| u32::from(has && better != is_last)).collect();
        machine.write(self.place, Array::DocState, 0, bytemuck::cast_slice(&concerned))?;
        if is_last {
            let restore = self.plan().restore(&self.chunk);
            return self.finish(machine, restore);
        }
        let keep = self.plan().keep(&self.chunk);
        self.at += 1;
        self.begin(machine, keep)
    }

    /// Whether the sums are over pieces with weights.
    fn is_weighted(&self) -> bool {
        self.plan().pieces && self.plan().gradients
    }

    /// Hands over the sums; the results are read after them.
    fn finish(&mut self, machine: &mut dyn Machine, mut dispatches: Vec<Dispatch>) -> Result<(), Fault> {
        self.phase = Phase::Finish;
        if self.is_weighted() {
            machine.write(self.place, Array::DocBounds, 0, bytemuck::cast_slice(&self.weights))?;
        }
        let (plan, chunk) = (self.plan(), &self.chunk);
        dispatches.extend(plan.sums(chunk));
        let words = |array, n: usize| Read { array, words: 0..n };
        let reads = [
            words(Array::DocBounds, chunk.n_docs()),
            words(Array::EdgeTotals, chunk.n_touched_edges()),
            words(Array::NodeTotals, 2 * chunk.touched_ids.len()),
            words(Array::NodeState, if plan.keep_q { chunk.n_nodes() } else { 0 }),
            self.log_odds(),
        ];
        machine.submit(self.place, &dispatches, &reads)
    }

    fn land(&mut self, bounds: Vec<u32>, mut read: impl Iterator<Item = Vec<u32>>) -> Landed {
        let mut next = || read.next().unwrap_or_default();
        let one_start = self.plans.len() == 1;
        let last_bounds = bytemuck::cast_vec(bounds);
        Landed {
            chunk: Arc::clone(&self.chunk),
            spent: std::mem::take(&mut self.spent),
            n_searched: self.n_searched,
            weights: std::mem::take(&mut self.weights),
            alone: std::mem::take(&mut self.alone),
            doc_bounds: if one_start { last_bounds } else { std::mem::take(&mut self.best) },
            edge_totals: bytemuck::cast_vec(next()),
            node_totals: next()
                .chunks_exact(2)
                .map(|pair| [f32::from_bits(pair[0]), f32::from_bits(pair[1])])
                .collect(),
            q: bytemuck::cast_vec(next()),
            log_odds: if one_start { bytemuck::cast_vec(next()) } else { std::mem::take(&mut self.log_odds) },
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

    /// Edges of the documents of a search that is over, summed over rounds: a document was at work up to the round that is its state.
    fn searched_edges(&self) -> u64 {
        let docs = self.chunk.docs.windows(2).zip(&self.doc_state);
        docs.map(|(doc, &last)| u64::from(doc[1].edge_begin - doc[0].edge_begin) * (u64::from(last) + 1))
            .sum()
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
        let in_search = self.phase == Phase::Search;
        let rows = self.chunk.rows.filter(&self.chunk, begin, in_search, |doc_ix| active[doc_ix as usize]);
        // There is room for as many records again.
        if rows.list.len() > begin {
            return Ok(());
        }
        machine.write(self.place, Array::Rows, 8 * begin, bytemuck::cast_slice(&rows.list))?;
        (self.rows, self.n_nodes) = (rows, n_active);
        Ok(())
    }
}
