//! Training: options, the epoch loop, the weight step, refinement of the graph, what it tells.

mod condense;
pub mod control;
mod counts;
mod event;
mod freeze;
mod options;
mod patience;
mod prior;
mod refine;
mod renew;
mod run;
mod schedule;
mod smoothing;
mod state;
mod step;
mod trainer;

pub use crate::batch::SLICE_DOCS;
pub(crate) use counts::Ledger;
pub use event::{Event, FigureKind, Metrics, RefineStage};
pub use freeze::Freeze;
pub use options::{BatchSize, CheckedOptions, StepRule, TrainOptions};
pub(crate) use patience::Patience;
pub use prior::{Prior, PriorOptions};
pub use refine::RefineOptions;
pub use renew::RenewOptions;
pub(crate) use run::start_weights;
pub use run::{Begin, Ended, Outcome, train, train_parts};
pub use schedule::RateSchedule;
pub use smoothing::Smoothing;
pub use state::State;
pub use step::Stepper;
