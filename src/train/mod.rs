//! Training: options, the epoch loop, the weight step, refinement of the graph, what it tells, the run folder and its checkpoints.

mod checkpoint;
mod condense;
mod counts;
mod event;
mod folder;
mod following;
mod options;
mod prior;
mod record;
mod refine;
mod renew;
mod run;
mod schedule;
mod smoothing;
mod state;
mod step;
mod tensorboard;
mod trainer;

pub use crate::batch::SLICE_DOCS;
pub use checkpoint::Checkpoint;
pub(crate) use counts::Ledger;
pub use event::{Event, Metrics, RefineStage};
pub use folder::{Found, RunFolder};
pub use following::{FollowedMetrics, Growth};
pub use options::{BatchSize, CheckedOptions, StepRule, TrainOptions};
pub use prior::{Prior, PriorOptions, topic_marginals};
pub use record::{RunRecord, read_config, read_metrics};
pub use refine::RefineOptions;
pub use renew::RenewOptions;
pub(crate) use run::start_weights;
pub use run::{Begin, Ended, Outcome, train};
pub use schedule::RateSchedule;
pub use smoothing::Smoothing;
pub use state::State;
pub use step::Stepper;
pub use tensorboard::EventFile;
