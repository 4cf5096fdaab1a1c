//! Training: options, the epoch loop, the weight step, what it tells, and the run folder.

mod event;
mod folder;
mod options;
mod run;
mod schedule;
mod step;

pub use event::{Event, Metrics};
pub use folder::RunFolder;
pub use options::{BatchSize, CheckedOptions, StepRule, TrainOptions};
pub use run::{Ended, Outcome, train};
pub use schedule::RateSchedule;
pub use step::Stepper;
