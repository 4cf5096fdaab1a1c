//! What a run reports while it trains.

use super::OnRanks;
use super::learning::Learning;
use crate::baseline::Evaluation;
use crate::train::{Event, TrainOptions};

/// Something that takes a while. Its work is counted in the run's [`Monitor`](crate::monitor::Monitor).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// A corpus is read: in bytes, where their number is known.
    Reading,
    /// A graph is learned.
    LearningGraph,
    /// Networks are tried.
    ChoosingNetwork,
    /// New tokens are attached to a model.
    AttachingTokens,
    /// A mixture is fitted to start from.
    FittingMixture,
    /// Moments are counted to start from.
    CountingMoments,
    /// A baseline gets ready: structure, settings, a start.
    StartingBaseline,
    /// A baseline is fitted.
    FittingBaseline,
    /// Bounds are computed.
    Evaluating,
}

/// How much a message matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For those who want to know everything.
    Detail,
    /// For everybody.
    Info,
    /// Something may not be as it should be.
    Warning,
}

/// Takes warnings from another thread.
pub type Warner = Box<dyn FnMut(&str) + Send>;

/// Gets what a run reports; the unit type listens to nothing.
pub trait Observer {
    /// A stage begins, of so much work if that is known.
    fn begins(&mut self, _stage: Stage, _work: Option<u64>) {}
    /// It is over, or failed.
    fn ended(&mut self) {}
    /// A message.
    fn says(&mut self, _level: Level, _message: &str) {}
    /// A network was chosen; `limited`: it is the largest that there was time for.
    fn chose(&mut self, _learning: &Learning, _options: &TrainOptions, _limited: bool) {}
    /// Training moved on.
    fn trains(&mut self, _event: &Event<'_>, _options: &TrainOptions) {}
    /// What ranks spend on communication, with every evaluation of a training on several.
    fn communicates(&mut self, _cost: &OnRanks) {}
    /// A baseline was evaluated.
    fn evaluated(&mut self, _evaluation: &Evaluation) {}
    /// Where warnings of a device go, which come from threads of its own; none: nowhere.
    fn warner(&self) -> Option<Warner> {
        None
    }
}

impl Observer for () {}

/// Runs a stage and tells its begin and end.
pub(crate) fn staged<T>(
    observer: &mut dyn Observer,
    stage: Stage,
    work: impl Into<Option<u64>>,
    run: impl FnOnce() -> T,
) -> T {
    observer.begins(stage, work.into());
    let result = run();
    observer.ended();
    result
}
