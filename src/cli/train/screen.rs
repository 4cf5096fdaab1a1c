//! What a run tells, on the screen.

use super::watching::Watching;
use crate::cli::Common;
use crate::cli::common::tell;
use crate::cli::progress::Progress;
use noisyor::baseline::Evaluation;
use noisyor::estep::Monitor;
use noisyor::run::{LearnedGraph, Learning, Level, Observer, OnRanks, Stage, Warner};
use noisyor::train::{BatchSize, Event, TrainOptions};
use std::sync::Arc;

/// Shows what a run tells: messages, progress of stages, training.
pub(crate) struct Screen<'a> {
    common: &'a Common,
    monitor: &'a Arc<Monitor>,
    progress: Option<Progress>,
    watching: Option<Watching>,
}

impl<'a> Screen<'a> {
    pub(crate) fn new(common: &'a Common, monitor: &'a Arc<Monitor>) -> Self {
        Self { common, monitor, progress: None, watching: None }
    }
}

impl Observer for Screen<'_> {
    fn begins(&mut self, stage: Stage, work: Option<u64>) {
        let what = match stage {
            Stage::Reading => "reading",
            Stage::LearningGraph => "learning a graph",
            Stage::ChoosingNetwork => "choosing a network",
            Stage::AttachingTokens => "attaching new tokens",
            Stage::FittingMixture => "fitting a mixture",
            Stage::CountingMoments => "counting moments",
            Stage::StartingBaseline => "preparing",
            Stage::FittingBaseline => "fitting",
            Stage::Evaluating => "evaluating",
        };
        // Training is over when something else begins.
        self.watching = None;
        self.progress = Some(match (stage, work) {
            (Stage::Reading, n_bytes) => Progress::of_bytes(self.common, self.monitor, what, n_bytes),
            (_, Some(work)) => Progress::start(self.common, self.monitor, what, work),
            (_, None) => Progress::open(self.common, self.monitor, what),
        });
    }

    fn ended(&mut self) {
        self.progress = None;
        self.watching = None;
    }

    fn says(&mut self, level: Level, message: &str) {
        let message = match level {
            Level::Warning => format!("warning: {message}"),
            Level::Info => message.to_owned(),
            Level::Detail if self.common.verbose => message.to_owned(),
            Level::Detail => return,
        };
        match &self.progress {
            Some(progress) => progress.line(&message),
            None => self.common.say(message),
        }
    }

    fn chose(&mut self, learning: &Learning, options: &TrainOptions, limited: bool) {
        let limit = if limited { "; a larger --effort would try more topics" } else { "" };
        let arguments = repeating(learning, options);
        self.common.say(format_args!("chosen, for the best bound of documents held out: {arguments}{limit}"));
    }

    fn trains(&mut self, event: &Event<'_>, options: &TrainOptions) {
        match (event, &self.watching) {
            (Event::Started { .. }, _) => {
                self.watching = Watching::start(event, options, self.common, self.monitor);
            }
            (Event::Safe { state, .. }, Some(watching)) => watching.stands_at(state),
            (Event::Refined { stage, n_edges }, Some(watching)) => watching.refined(*stage, *n_edges),
            (Event::Evaluated { metrics, .. }, Some(watching)) => watching.evaluated(metrics),
            (_, None) => {}
        }
    }

    fn communicates(&mut self, cost: &OnRanks) {
        if let Some(watching) = &self.watching {
            watching.communicates(cost);
        }
    }

    fn evaluated(&mut self, evaluation: &Evaluation) {
        let Some(progress) = &self.progress else { return };
        let line = evaluation.line();
        match self.common.verbose || !progress.is_live() {
            true => progress.line(&line),
            false => progress.message(line),
        }
    }

    fn warner(&self) -> Option<Warner> {
        let warn: Warner = Box::new(|message| tell(format_args!("warning: {message}")));
        (!self.common.quiet).then_some(warn)
    }
}

/// The arguments that train the same network without a choice.
fn repeating(learning: &Learning, options: &TrainOptions) -> String {
    let list = |topics: &[usize]| topics.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    let mut arguments = match &learning.graph {
        LearnedGraph::Complete { topics, .. } => format!("--topics {} --parents all", list(topics)),
        LearnedGraph::Learned(graph) => {
            let gain = graph.min_gain.map_or(String::new(), |gain| format!(" --min-gain {gain}"));
            let edges = graph.doc_edges.map_or(String::new(), |edges| format!(" --doc-edges {edges}"));
            format!("--topics {}{gain}{edges}", list(&graph.topics))
        }
    };
    if let Some(choice) = &learning.choice {
        arguments += &format!(" --epochs {}", choice.epochs);
        if choice.batch != options.batch {
            arguments += &match choice.batch {
                BatchSize::Docs(docs) => format!(" --batch {docs}"),
                BatchSize::Full | BatchSize::Auto => " --batch full".to_owned(),
            };
        }
    }
    if options.smooth {
        arguments += " --smoothing held-out";
    }
    if options.condense {
        arguments += " --condense";
    }
    arguments
}
