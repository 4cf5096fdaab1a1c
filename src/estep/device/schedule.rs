//! Which chunk is where: packed ahead by a thread of their own, several are on the device at a time, and their results are added in
//! order.

use super::cache::{Key, key};
use super::flight::{Flight, Landed};
use super::pass::{Home, Pass};
use super::run::{DeviceEStep, N_FILLING, N_SETS};
use super::{DispatchPlan, Fault, Machine, Place, WORKGROUP, fitting_sets, flight_bytes};
use crate::batch::{Chunk, Chunks};
use crate::error::Error;
use crate::estep::Bound;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::Instant;

/// Chunks packed ahead.
const N_AHEAD: usize = 1;
/// Entries of a row at most: some devices (lavapipe) end loops after 65,535 iterations in all, without a word, and a kernel goes
/// through a row twice, in steps of a workgroup.
const LONGEST_ROW: usize = 30_000 * WORKGROUP as usize;

/// A chunk, and the seconds it took to pack; none if it was packed before.
type Packed = (Arc<Chunk>, Option<f64>);

/// The chunks to come: those that are kept, then those of the packing thread.
struct Feed {
    cached: VecDeque<Arc<Chunk>>,
    packed: Receiver<Packed>,
}

/// Why a run stopped early.
pub(super) enum Stop {
    /// The device failed, with a chunk of so many blocks and such a size.
    Fault(Fault, Option<(usize, usize)>),
    /// The first chunk to come has one block, and that is too large for the device.
    TooLarge(Arc<Chunk>),
    /// Anything else.
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl<M: Machine> DeviceEStep<M> {
    /// Runs until done or stopped; `done` counts the items whose results have landed.
    pub(super) fn attempt(
        &mut self,
        pass: &Pass<'_>,
        done: &mut usize,
        home: &mut dyn Home,
    ) -> Result<(), Stop> {
        let work = &pass.work;
        self.n_flying = 0;
        pass.load_network(&mut self.machine).map_err(|fault| Stop::Fault(fault, None))?;
        // Pieces are others every time.
        let keeps =
            self.options.cache_bytes.max(self.options.resident_bytes as usize) > 0 && pass.pieces.is_none();
        let key = keeps.then(|| key(work, &(self.options.limits, pass.plan.route)));
        if let Some(gone) = key.and_then(|key| self.cache.turn_to(key.graph)) {
            let places = self.residents.forget_graph(gone);
            places.into_iter().for_each(|packed| self.machine.release(packed));
        }
        let mut cached: VecDeque<_> = key.map(|key| self.cache.get(&key)).unwrap_or_default().into();
        cached.retain(|chunk| chunk.items.start >= *done);
        let (limits, next_item) = (self.options.limits, cached.back().map_or(*done, |last| last.items.end));
        std::thread::scope(|scope| {
            let (send, packed) = sync_channel(N_AHEAD);
            scope.spawn(move || {
                let full = work.options.bound == Bound::Full;
                let (graph, docs, items, gradients) = (work.graph, work.docs, work.items, work.gradients);
                let mut chunks = Chunks::new(graph, docs, items, next_item, full, gradients, limits)
                    .with_bins(pass.plan.route.bin_words());
                loop {
                    let begun = Instant::now();
                    let Some(chunk) = chunks.next() else { return };
                    if send.send((Arc::new(chunk), Some(begun.elapsed().as_secs_f64()))).is_err() {
                        return;
                    }
                }
            });
            self.fly(pass, key, Feed { cached, packed }, done, home)
        })
    }

    fn fly(
        &mut self,
        pass: &Pass<'_>,
        key: Option<Key>,
        mut feed: Feed,
        done: &mut usize,
        home: &mut dyn Home,
    ) -> Result<(), Stop> {
        let plan = &pass.plan;
        let mut flights: [Option<Flight>; N_SETS] = Default::default();
        // Chunks land in any order; their results are added in theirs.
        let mut landed: BTreeMap<usize, Landed> = BTreeMap::new();
        let (mut fed, mut to_place) = (true, None);
        loop {
            if pass.work.monitor.stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted.into());
            }
            self.n_flying = flights.iter().flatten().count();
            for set in 0..N_SETS {
                let may_come = set < self.n_sets
                    && landed.len() + self.n_flying < self.n_sets
                    && self.n_filling(&flights) < N_FILLING;
                if flights[set].is_none() && fed && may_come {
                    let waiting = flights.iter().all(Option::is_none);
                    let (chunk, pack_s) =
                        match to_place.take().map_or_else(|| self.next_chunk(&mut feed, waiting), Ok) {
                            Ok(next) => next,
                            Err(TryRecvError::Empty) => continue,
                            Err(TryRecvError::Disconnected) => {
                                fed = false;
                                continue;
                            }
                        };
                    if self.is_too_large(plan, &chunk) {
                        if chunk.blocks.len() == 1 && *done == chunk.items.start {
                            return Err(Stop::TooLarge(chunk));
                        } else if chunk.blocks.len() == 1 {
                            to_place = Some((chunk, pack_s));
                            continue;
                        }
                        let fault =
                            Fault::Refused("an array or a row is larger than the adapter allows".to_owned());
                        return Err(stop(fault, &chunk));
                    }
                    self.host.n_chunks += 1;
                    self.host.pack_s += pack_s.unwrap_or(0.0);
                    self.host.n_cached += u64::from(pack_s.is_none());
                    if let Some(key) = key {
                        self.cache.add(key, &chunk);
                    }
                    self.fit_sets(pass, &chunk);
                    let settings = pass.settings(&chunk);
                    let place = self.place(pass, set, key, &chunk);
                    self.host.n_resident += u64::from(place.1);
                    self.n_flying += 1;
                    let flight = Flight::start(&mut self.machine, place, plan, Arc::clone(&chunk), &settings);
                    flights[set] = Some(flight.map_err(|fault| stop(fault, &chunk))?);
                    self.machine.start(&[set]).map_err(|fault| stop(fault, &chunk))?;
                }
            }
            for sets in self.together(&flights) {
                let mut flying = Vec::new();
                for set in sets {
                    let Some(in_air) = &mut flights[set] else { continue };
                    let advanced = in_air.advance(&mut self.machine);
                    match advanced.map_err(|fault| stop(fault, &in_air.chunk))? {
                        None => flying.push(set),
                        Some(results) => {
                            self.host.n_searched += results.n_searched;
                            landed.insert(results.chunk.items.start, results);
                            flights[set] = None;
                        }
                    }
                }
                if let Some(first) = flying.first().and_then(|&set| flights[set].as_ref()) {
                    self.machine.start(&flying).map_err(|fault| stop(fault, &first.chunk))?;
                }
            }
            while let Some(results) = landed.remove(done) {
                home.land(&results)?;
                *done = results.chunk.items.end;
            }
            if !fed && to_place.is_none() && flights.iter().all(Option::is_none) {
                return Ok(());
            }
        }
    }

    /// Whether a flight's dispatches fill the device.
    fn fills(&self, flight: &Flight) -> bool {
        flight.n_at_work() >= self.options.filling_nodes
    }

    fn n_filling(&self, flights: &[Option<Flight>]) -> usize {
        flights.iter().flatten().filter(|flight| self.fills(flight)).count()
    }

    /// Sets whose flights are advanced together. Those that fill the device go one by one. The others wait for each other while there are
    /// such, until no more chunks can come; without such they go in two groups, so that the device works on one while the host looks at
    /// the other.
    fn together(&self, flights: &[Option<Flight>]) -> Vec<Vec<usize>> {
        let (mut groups, mut small) = (Vec::new(), Vec::new());
        for (set, flight) in flights.iter().enumerate() {
            match flight {
                Some(flight) if self.fills(flight) => groups.push(vec![set]),
                Some(_) => small.push(set),
                None => (),
            }
        }
        if groups.is_empty() {
            let other = small.split_off(small.len().div_ceil(2));
            groups = vec![small, other];
        } else if small.len() + N_FILLING >= self.n_sets {
            groups.push(small);
        }
        groups
    }

    /// Where a chunk's arrays go, and whether its packed documents are there already.
    fn place(&mut self, pass: &Pass<'_>, set: usize, key: Option<Key>, chunk: &Chunk) -> (Place, bool) {
        let own = Place { packed: set, set };
        let Some(key) = key else { return (own, false) };
        if let Some(packed) = self.residents.get(key, chunk) {
            return (Place { packed, set }, true);
        }
        let packed = self.residents.add(key, chunk, &pass.plan, self.n_sets, self.bytes_left(pass));
        (packed.map_or(own, |packed| Place { packed, set }), false)
    }

    /// Memory for all but the network, if there is a limit.
    fn bytes_left(&self, pass: &Pass<'_>) -> Option<u64> {
        self.machine.max_bytes().map(|most| most.saturating_sub(pass.network_bytes()))
    }

    /// Lets no more chunks be in flight than a share of the memory has room for.
    fn fit_sets(&mut self, pass: &Pass<'_>, chunk: &Chunk) {
        if let Some(left) = self.bytes_left(pass) {
            self.n_sets = self.n_sets.min(fitting_sets(left, flight_bytes(&pass.plan, chunk)));
        }
    }

    /// The next packed chunk; waits for it only if there is nothing else to do.
    fn next_chunk(&mut self, feed: &mut Feed, wait: bool) -> Result<Packed, TryRecvError> {
        if let Some(chunk) = feed.cached.pop_front() {
            return Ok((chunk, None));
        }
        if !wait {
            return feed.packed.try_recv();
        }
        let begun = Instant::now();
        let next = feed.packed.recv().map_err(|_| TryRecvError::Disconnected);
        self.host.starved_s += begun.elapsed().as_secs_f64();
        next
    }

    fn is_too_large(&self, plan: &DispatchPlan, chunk: &Chunk) -> bool {
        if chunk.longest_row() > LONGEST_ROW {
            return true;
        }
        let largest = plan.array_bytes(chunk).into_iter().map(|(_, n_bytes)| n_bytes).max().unwrap_or(0);
        largest as u64 > self.machine.max_array_bytes()
    }
}

fn stop(fault: Fault, chunk: &Chunk) -> Stop {
    Stop::Fault(fault, Some((chunk.blocks.len(), chunk.size())))
}
