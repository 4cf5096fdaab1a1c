//! Which route documents take through the kernels: the fastest on the first documents of the first run that is large enough, run as the
//! run itself. A route whose results there differ by a bit, or that the device has trouble with, is no choice.

use super::flight::Landed;
use super::pass::{Home, Pass};
use super::run::DeviceEStep;
use super::{DispatchPlan, Machine, Route};
use crate::batch::Chunk;
use crate::error::{Error, Result};
use crate::estep::{EStepOptions, Work};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Documents of the first trial; the next has eight times as many.
const FIRST_TRIAL: usize = 32;
/// Documents of a trial at most.
const LARGEST_TRIAL: usize = FIRST_TRIAL * 8 * 8 * 8;
/// A trial in which the slowest route takes as long as this tells which one is the fastest.
const LONG_ENOUGH: Duration = Duration::from_millis(50);
/// Rounds of a trial's search: enough to tell routes apart. A kernel that computes something else might search for ever.
const TRIAL_ROUNDS: u32 = 64;
/// Timed runs of every route, of which the fastest counts.
const REPEATS: usize = 2;

/// Keeps the bits of what lands.
#[derive(Default, PartialEq)]
struct Bits(Vec<u32>);

impl Home for Bits {
    fn land(&mut self, home: &Landed) -> Result<()> {
        let numbers = home.doc_bounds.iter().chain(&home.edge_totals).chain(home.node_totals.as_flattened());
        self.0.extend(numbers.map(|number| number.to_bits()));
        self.0.extend(home.spent.iter().map(|spent| spent.n));
        Ok(())
    }

    /// What no array of the device can hold tells nothing of routes.
    fn run_on_cpu(&mut self, _: &Pass<'_>, _: &Arc<Chunk>) -> Result<()> {
        Ok(())
    }
}

impl<M: Machine> DeviceEStep<M> {
    /// The route of a run. Runs that are too small for a trial take the machine's usual route.
    pub(super) fn route_for(&mut self, work: &Work<'_>) -> Result<Route> {
        let routes = self.machine.routes();
        if let Some(route) = self.options.route {
            return match routes.contains(&route) {
                true => Ok(route),
                false => Err(Error::Device(format!(
                    "{} has too little workgroup memory for the route {}, or refuses its kernels; choose another `route`",
                    self.machine.name(),
                    route.name()
                ))),
            };
        }
        if !self.machine.tries_routes() || work.items.len() < FIRST_TRIAL * 8 {
            return Ok(routes.first().copied().unwrap_or_default());
        }
        let fastest = self.fastest(work, &routes)?;
        self.options.route = Some(fastest);
        Ok(fastest)
    }

    fn fastest(&mut self, work: &Work<'_>, routes: &[Route]) -> Result<Route> {
        // Pieces go through the same kernels as whole documents.
        let options = EStepOptions { clamp: 0, ..work.options.clone() };
        let mut routes = routes.to_vec();
        let (mut n_docs, n_all) = (FIRST_TRIAL, work.items.len());
        loop {
            let items = &work.items[..n_docs.min(work.items.len())];
            let work = Work { items, options: &options, kept_on: None, ..*work };
            let mut times: Vec<(Duration, Route)> = Vec::new();
            let mut usual = None;
            for &route in &routes {
                if let Some((time, bits)) = self.trials(&work, route)?
                    && *usual.get_or_insert_with(|| Bits(bits.0.clone())) == bits
                {
                    times.push((time, route));
                }
            }
            // Nothing went well: the run itself will tell what is wrong.
            let Some(&(fastest, route)) = times.iter().min_by_key(|(time, _)| *time) else {
                return Ok(routes[0]);
            };
            let slowest = times.iter().map(|(time, _)| *time).max().unwrap_or(fastest);
            if slowest >= LONG_ENOUGH || n_docs >= n_all.min(LARGEST_TRIAL) {
                return Ok(route);
            }
            routes = times.into_iter().map(|(_, route)| route).collect();
            n_docs *= 8;
        }
    }

    /// Runs a route; none if the device had trouble with it, which then has no other consequences.
    fn trials(&mut self, work: &Work<'_>, route: Route) -> Result<Option<(Duration, Bits)>> {
        // What a trial packs is not kept.
        let (options, n_sets, told_of_cpu) = (self.options.clone(), self.n_sets, self.told_of_cpu);
        (self.options.cache_bytes, self.options.resident_bytes) = (0, 0);
        let on_warning = std::mem::replace(&mut self.on_warning, Box::new(|_| ()));
        // The first run of all compiles kernels.
        let ran = self.trial(work, route).and_then(|(_, bits)| {
            let times = (0..REPEATS).map(|_| Ok(self.trial(work, route)?.0)).collect::<Result<Vec<_>>>()?;
            Ok((times.into_iter().min().unwrap_or_default(), bits))
        });
        let had_trouble = self.n_sets != n_sets || self.options.limits != options.limits;
        (self.options, self.n_sets, self.told_of_cpu) = (options, n_sets, told_of_cpu);
        self.on_warning = on_warning;
        match ran {
            Err(Error::Interrupted) => Err(Error::Interrupted),
            Err(_) => {
                self.clear(); // chunks may still be in flight
                Ok(None)
            }
            Ok(_) if had_trouble => Ok(None),
            Ok(ran) => Ok(Some(ran)),
        }
    }

    fn trial(&mut self, work: &Work<'_>, route: Route) -> Result<(Duration, Bits)> {
        let plan = DispatchPlan { route, max_rounds: TRIAL_ROUNDS, ..DispatchPlan::of(work, false) };
        let (begun, mut bits) = (Instant::now(), Bits::default());
        self.run_pass(&Pass { work: *work, plan, pieces: None }, &mut bits)?;
        Ok((begun.elapsed(), bits))
    }
}
