//! Items that go through the device together, and who gets what they bring home.

use super::clamp::Setting;
use super::flight::{Flight, Landed};
use super::landing::add;
use super::twin::TwinMachine;
use super::{Array, DispatchPlan, Fault, Machine, Place, grown, network_words};
use crate::batch::Chunk;
use crate::error::{Error, Result};
use crate::estep::cpu::CpuEStep;
use crate::estep::{DocResults, EStep, Sink, Sums, Work};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Items that go through the device together, and what is asked of them.
pub(super) struct Pass<'a> {
    pub(super) work: Work<'a>,
    pub(super) plan: DispatchPlan,
    /// The settings of all items, where they are pieces of documents.
    pub(super) pieces: Option<&'a [Setting]>,
}

impl Pass<'_> {
    /// The settings of a chunk's documents; none where they are whole and begin with all topics off.
    pub(super) fn settings(&self, chunk: &Chunk) -> Cow<'_, [Setting]> {
        if let Some(settings) = self.pieces {
            return Cow::Borrowed(&settings[chunk.items.clone()]);
        }
        let Some(lists) = self.work.kept_on.filter(|_| self.plan.begins_on) else { return Cow::default() };
        let mut lists = lists.from(chunk.items.start);
        let mut settings = vec![Setting::default(); chunk.n_docs()];
        settings.iter_mut().for_each(|setting| lists.next_into(&mut setting.begin_on));
        Cow::Owned(settings)
    }

    /// Bytes of the network's array.
    pub(super) fn network_bytes(&self) -> u64 {
        grown(0, 4 * self.work.graph.n_edges() as u64 + 16 * self.work.graph.n_nodes() as u64)
    }

    pub(super) fn load_network(&self, machine: &mut dyn Machine) -> Result<(), Fault> {
        let words = network_words(self.work.graph, self.work.params);
        let network = bytemuck::cast_slice(&words);
        machine.reserve(Place::default(), Array::Network, network.len())?;
        machine.write(Place::default(), Array::Network, 0, network)
    }

    /// Takes a chunk through the kernels' twins.
    fn fly_on_twins(&self, chunk: &Arc<Chunk>) -> Result<Landed, Fault> {
        let mut twins = TwinMachine::new();
        self.load_network(&mut twins)?;
        let (place, settings) = ((Place::default(), false), self.settings(chunk));
        let mut flight = Flight::start(&mut twins, place, &self.plan, Arc::clone(chunk), &settings)?;
        loop {
            twins.start(&[place.0.set])?;
            if let Some(home) = flight.advance(&mut twins)? {
                return Ok(home);
            }
        }
    }
}

/// Who gets what the chunks of a pass bring home, in the order of the items.
pub(super) trait Home {
    /// Takes a chunk's results.
    fn land(&mut self, home: &Landed) -> Result<()>;

    /// Runs a block that no array of the device can hold on the CPU, and takes its results.
    fn run_on_cpu(&mut self, pass: &Pass<'_>, chunk: &Arc<Chunk>) -> Result<()> {
        let home = pass.fly_on_twins(chunk).map_err(|fault| Error::Device(fault.to_string()))?;
        self.land(&home)
    }
}

/// Takes whole documents: sums, and results for the sink.
pub(super) struct Whole<'a, 's, 'f> {
    pub(super) work: &'a Work<'a>,
    pub(super) sums: Sums,
    pub(super) sink: Option<&'s mut Sink<'f>>,
}

impl Home for Whole<'_, '_, '_> {
    fn land(&mut self, home: &Landed) -> Result<()> {
        add(self.work, home, &mut self.sums, &mut self.sink)?;
        let n_docs: u64 = home.chunk.docs.iter().map(|doc| u64::from(doc.count)).sum();
        self.work.monitor.docs_done.fetch_add(n_docs, Ordering::Relaxed);
        Ok(())
    }

    fn run_on_cpu(&mut self, _: &Pass<'_>, chunk: &Arc<Chunk>) -> Result<()> {
        let kept_on = self.work.kept_on.map(|lists| lists.part(chunk.items.clone()));
        let items = &self.work.items[chunk.items.clone()];
        let work = Work { items, kept_on: kept_on.as_ref(), ..*self.work };
        let mut forward = self.sink.as_mut().map(|sink| {
            move |results: &DocResults<'_>| {
                sink(&DocResults { first_item: chunk.items.start + results.first_item, ..*results })
            }
        });
        let sink = forward.as_mut().map(|forward| forward as &mut Sink<'_>);
        self.sums.merge(&CpuEStep::new().run_packed(&work, self.sums.scale(), sink)?);
        Ok(())
    }
}
