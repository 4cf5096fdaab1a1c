//! Kernel times by timestamp queries: two a step.

use super::open::Open;
use crate::estep::device::{Dispatch, Fault, Spent};
use wgpu::{
    Buffer, BufferDescriptor, BufferUsages, CommandEncoder, ComputePassTimestampWrites, QuerySet,
    QuerySetDescriptor, QueryType,
};

/// Queries to a set at most, on any adapter.
const MAX_QUERIES: u32 = 4096;

/// Timestamps of one set's submissions.
pub(super) struct Timing {
    queries: QuerySet,
    resolved: Buffer,
    nanoseconds_a_tick: f64,
}

impl Timing {
    pub(super) fn new(open: &Open) -> Result<Self, Fault> {
        open.guarded(|device| Self {
            queries: device.create_query_set(&QuerySetDescriptor {
                label: Some("timestamps"),
                ty: QueryType::Timestamp,
                count: MAX_QUERIES,
            }),
            resolved: device.create_buffer(&BufferDescriptor {
                label: Some("timestamps"),
                size: 8 * u64::from(MAX_QUERIES),
                usage: BufferUsages::QUERY_RESOLVE | BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            }),
            nanoseconds_a_tick: f64::from(open.queue.get_timestamp_period()),
        })
    }

    /// How many of so many steps are timed.
    pub(super) fn n_timed(n_steps: usize) -> usize {
        n_steps.min(MAX_QUERIES as usize / 2)
    }

    /// The queries of a step.
    pub(super) fn writes(&self, step: usize) -> Option<ComputePassTimestampWrites<'_>> {
        (step < MAX_QUERIES as usize / 2).then_some(ComputePassTimestampWrites {
            query_set: &self.queries,
            beginning_of_pass_write_index: Some(2 * step as u32),
            end_of_pass_write_index: Some(2 * step as u32 + 1),
        })
    }

    /// Copies the timestamps behind what is read back.
    pub(super) fn resolve(&self, encoder: &mut CommandEncoder, n_timed: usize, staging: &Buffer, at: u64) {
        encoder.resolve_query_set(&self.queries, 0..2 * n_timed as u32, &self.resolved, 0);
        encoder.copy_buffer_to_buffer(&self.resolved, 0, staging, at, 16 * n_timed as u64);
    }

    /// Adds up the times of a submission. A step has one kernel; its time is dealt out to the dispatches
    /// by their rows.
    pub(super) fn add(&self, steps: &[Vec<Dispatch>], ticks: &[u64], spent: &mut Spent) {
        for (step, ticks) in steps.iter().zip(ticks.chunks_exact(2)) {
            let seconds = ticks[1].saturating_sub(ticks[0]) as f64 * self.nanoseconds_a_tick * 1e-9;
            let n_rows: f64 = step.iter().map(|dispatch| f64::from(dispatch.args.n_rows)).sum();
            for dispatch in step {
                let share = f64::from(dispatch.args.n_rows) / n_rows;
                spent.add_kernel(dispatch.kernel.name, Some(share * seconds));
            }
        }
    }
}
