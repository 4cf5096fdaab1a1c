//! Training: options, the epoch loop, the weight step, refinement of the graph, what it tells, and the run folder.

mod event;
mod folder;
mod options;
mod refine;
mod run;
mod schedule;
mod step;
mod trainer;

pub use event::{Event, Metrics, RefineStage};
pub use folder::RunFolder;
pub use options::{BatchSize, CheckedOptions, StepRule, TrainOptions};
pub use refine::RefineOptions;
pub use run::{Ended, Outcome, train};
pub use schedule::RateSchedule;
pub use step::Stepper;
