//! How fast the device copies from buffer to buffer: what kernels are set against that are bound by memory.

use super::buffers::create;
use super::machine::GpuMachine;
use crate::error::{Error, Result};
use crate::estep::device::Fault;
use std::time::Instant;
use wgpu::{BufferUsages, CommandEncoderDescriptor, PollType};

/// Bytes of each of the two buffers at most: more than caches hold.
const MOST_BYTES: u64 = 256 << 20;
/// Copies of a submission, so that handing it over does not count.
const COPIES: u64 = 4;
/// Timed submissions, after one that is not.
const REPEATS: usize = 5;

impl GpuMachine {
    /// Bytes read and written per second, by the median of several submissions.
    ///
    /// # Errors
    ///
    /// [`Error::Device`] where there is no memory for the buffers, or the device fails.
    pub fn copy_bandwidth(&self) -> Result<f64> {
        self.copy_seconds().map_err(|fault| {
            Error::Device(format!(
                "copies cannot be measured: {fault}; give less memory by `device_mb`, or leave out `doctor`"
            ))
        })
    }

    fn copy_seconds(&self) -> Result<f64, Fault> {
        let (open, left) = (self.opened(), self.bytes_left());
        // Copies are of whole words.
        let n_bytes = MOST_BYTES.min(open.limits.max_buffer_size).min(left / 2) / 4 * 4;
        let usage = BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        let from = create(open, "copied from", n_bytes, usage, left)?;
        let to = create(open, "copied to", n_bytes, usage, left)?;
        let mut seconds = Vec::new();
        for _ in 0..=REPEATS {
            let mut encoder = open.device.create_command_encoder(&CommandEncoderDescriptor::default());
            for _ in 0..COPIES {
                encoder.copy_buffer_to_buffer(&from, 0, &to, 0, n_bytes);
            }
            let begun = Instant::now();
            let index = open.queue.submit([encoder.finish()]);
            let polled = open.device.poll(PollType::Wait { submission_index: Some(index), timeout: None });
            seconds.push(begun.elapsed().as_secs_f64());
            open.check()?;
            polled.map_err(|e| Fault::Lost(e.to_string()))?;
        }
        // The first writes zeros into the buffers.
        let timed = &mut seconds[1..];
        timed.sort_by(f64::total_cmp);
        Ok((2 * COPIES * n_bytes) as f64 / timed[timed.len() / 2].max(1e-9))
    }
}
