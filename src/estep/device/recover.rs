//! A device that fails gets less to do or is opened again, and the work goes on where it was.

use super::pass::{Home, Pass};
use super::run::{DeviceEStep, N_FILLING};
use super::schedule::Stop;
use super::{Fault, Machine};
use crate::batch::Chunk;
use crate::error::{Error, Result};

/// Losses in a row, without a chunk landing between them, before giving up.
const MAX_LOSSES: u32 = 3;

impl<M: Machine> DeviceEStep<M> {
    /// Runs a pass, in as many attempts as it takes.
    pub(super) fn run_pass(&mut self, pass: &Pass<'_>, home: &mut dyn Home) -> Result<()> {
        let mut done = 0;
        let (mut n_lost, mut done_before) = (0, 0);
        loop {
            match self.attempt(pass, &mut done, home) {
                Ok(()) => return Ok(()),
                Err(Stop::Error(error)) => return Err(error),
                Err(Stop::TooLarge(chunk)) => {
                    self.tell_of_cpu(&chunk);
                    home.run_on_cpu(pass, &chunk)?;
                    done = chunk.items.end;
                }
                Err(Stop::Fault(fault, of)) => {
                    n_lost = if done > done_before { 0 } else { n_lost };
                    n_lost += u32::from(matches!(fault, Fault::Lost(_)));
                    done_before = done;
                    if n_lost > MAX_LOSSES {
                        return Err(Error::Device(format!(
                            "{}: {fault}, {n_lost} times in a row",
                            self.machine.name()
                        )));
                    }
                    self.recover(fault, of)?;
                }
            }
        }
    }

    /// Makes the machine fit to go on, or gives up.
    fn recover(&mut self, fault: Fault, of: Option<(usize, usize)>) -> Result<()> {
        match (&fault, of) {
            (Fault::Lost(_), _) => {
                (self.on_warning)(&format!("{fault}; opening it again"));
                self.residents.forget();
                self.machine.reopen()
            }
            (Fault::OutOfMemory(_), _) if self.residents.shrink() => {
                (self.on_warning)(&format!("{fault}; continuing with fewer packed documents on the device"));
                self.clear();
                Ok(())
            }
            (Fault::OutOfMemory(_), _) if self.n_flying > N_FILLING => {
                self.n_sets = N_FILLING;
                (self.on_warning)(&format!("{fault}; continuing with two chunks at a time"));
                self.clear();
                Ok(())
            }
            (_, Some((n_blocks, size))) if n_blocks > 1 && self.options.limits.chunk_size > 1 => {
                self.options.limits.chunk_size = (size.min(self.options.limits.chunk_size) / 2).max(1);
                (self.on_warning)(&format!("{fault}; continuing with chunks of half the size"));
                self.cache.clear();
                self.clear();
                Ok(())
            }
            (_, Some(_)) if self.n_sets > 1 => {
                self.n_sets = 1;
                (self.on_warning)(&format!("{fault}; continuing with one chunk at a time"));
                self.clear();
                Ok(())
            }
            _ => Err(Error::Device(format!(
                "{}: {fault}; free some of its memory, raise `device_mb` if it is set, choose another `device`, or use \
                 `backend` cpu",
                self.machine.name()
            ))),
        }
    }

    /// Says once that blocks which no array of the device can hold run on the CPU.
    fn tell_of_cpu(&mut self, chunk: &Chunk) {
        if !std::mem::replace(&mut self.told_of_cpu, true) {
            (self.on_warning)(&format!(
                "{} documents with {} positive edges are too much for one array of {}; they, and others like them, run on the CPU",
                chunk.n_docs(),
                chunk.n_edges(),
                self.machine.name()
            ));
        }
    }
}
