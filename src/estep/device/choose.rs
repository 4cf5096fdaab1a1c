//! Which route documents take through the kernels: the fastest on the first documents of the first run that is large enough. Routes
//! whose results differ by a bit are no choice, so it never shows in the results.

use super::flight::Landed;
use super::pass::{Home, Pass};
use super::run::DeviceEStep;
use super::{DispatchPlan, Machine, Route};
use crate::error::{Error, Result};
use crate::estep::{EStepOptions, Start, Work};
use std::time::{Duration, Instant};

/// Documents of the first trial; the next has eight times as many.
const FIRST_TRIAL: usize = 32;
/// Documents of a trial at most.
const LARGEST_TRIAL: usize = FIRST_TRIAL * 8 * 8 * 8;
/// A trial in which the slowest route takes as long as this tells which one is the fastest.
const LONG_ENOUGH: Duration = Duration::from_millis(50);
/// Timed runs of every route, of which the fastest counts.
const REPEATS: usize = 2;

/// Keeps the bits of what lands.
#[derive(Default, PartialEq)]
struct Bits(Vec<u32>);

impl Home for Bits {
    fn land(&mut self, home: &Landed) -> Result<()> {
        let numbers = home.doc_bounds.iter().chain(&home.edge_totals).chain(home.node_totals.as_flattened());
        self.0.extend(numbers.map(|number| number.to_bits()));
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
                    "{} has too little workgroup memory for the route {}; choose another `route`",
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
        // What a trial packs is not kept.
        let kept = (self.options.cache_bytes, self.options.resident_bytes);
        (self.options.cache_bytes, self.options.resident_bytes) = (0, 0);
        let fastest = self.trials(work, routes);
        (self.options.cache_bytes, self.options.resident_bytes) = kept;
        fastest
    }

    fn trials(&mut self, work: &Work<'_>, routes: &[Route]) -> Result<Route> {
        let options = EStepOptions { start: Start::Plain, clamp: 0, ..work.options.clone() };
        let mut n_docs = FIRST_TRIAL;
        loop {
            let items = &work.items[..n_docs.min(work.items.len())];
            let work = Work { items, options: &options, kept_on: None, ..*work };
            let mut times: Vec<(Duration, Route)> = Vec::new();
            let mut usual = None;
            for &route in routes {
                // The first run of all compiles kernels.
                let bits = self.trial(&work, route)?.1;
                if *usual.get_or_insert_with(|| Bits(bits.0.clone())) == bits {
                    let runs = (0..REPEATS).map(|_| Ok(self.trial(&work, route)?.0));
                    let times_of_route = runs.collect::<Result<Vec<_>>>()?;
                    times.extend(times_of_route.into_iter().min().map(|time| (time, route)));
                }
            }
            let slowest = times.iter().map(|(time, _)| *time).max().unwrap_or_default();
            if slowest >= LONG_ENOUGH || n_docs >= work.items.len().min(LARGEST_TRIAL) {
                let fastest = times.into_iter().min_by_key(|(time, _)| *time);
                return Ok(fastest.map_or(routes[0], |(_, route)| route));
            }
            n_docs *= 8;
        }
    }

    fn trial(&mut self, work: &Work<'_>, route: Route) -> Result<(Duration, Bits)> {
        let plan = DispatchPlan { route, ..DispatchPlan::of(work, false) };
        let (begun, mut bits) = (Instant::now(), Bits::default());
        self.run_pass(&Pass { work: *work, plan, pieces: None }, &mut bits)?;
        Ok((begun.elapsed(), bits))
    }
}
