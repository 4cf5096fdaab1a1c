//! A run from its recipe to its end: prepare, train, finish, evaluate; and the folder that all of it is in.
//!
//! A [`RunConfig`] says what is to be done. [`Run::prepare`] opens the backend, reads the documents and makes the folder; [`Run::train`]
//! learns the graph where that is asked for, trains, writes checkpoints and the model; [`Run::evaluate`] computes the figures of the
//! end, and [`Run::finish`] writes them down. [`Run::resume`] continues a run that was stopped, whoever began it. The command line does nothing else: it maps arguments to a
//! config, and prints what an [`Observer`] gets.
//!
//! ```no_run
//! use noisyor::corpus::CorpusSource;
//! use noisyor::run::{Given, NetworkSource, Run, RunConfig};
//! use std::sync::Arc;
//!
//! let config = RunConfig::new(CorpusSource::file("documents.jsonl"), NetworkSource::chosen());
//! let mut run = Run::prepare(config, Some("run".as_ref()), Given::default(), Arc::default(), &mut ())?;
//! let trained = run.train(&mut ())?;
//! let figures = run.evaluate(&trained, &mut ())?;
//! run.finish(&trained, &figures)?;
//! println!("{} topics, test bound {:?}", trained.network.graph.n_topics(), figures.test_elbo);
//! # Ok::<(), noisyor::Error>(())
//! ```

mod backend;
mod checkpoint;
mod config;
mod documents;
mod evaluate;
mod finish;
mod folder;
mod following;
mod inputs;
mod keeper;
mod learning;
mod memory;
mod observer;
mod on_ranks;
mod record;
mod resume;
mod source;
mod start;
mod tensorboard;

pub use backend::{Backend, BackendOptions};
pub use checkpoint::Checkpoint;
pub use config::{CheckpointRule, RunConfig, RunFacts};
pub use documents::RunDocs;
pub(crate) use evaluate::independent_words;
pub use evaluate::{Figures, estep_summary};
pub use folder::{Found, RunFolder};
pub use following::{FollowedMetrics, Growth};
pub use inputs::{Given, token_names};
pub(crate) use inputs::{read_corpus, refuse_other_corpus};
pub(crate) use keeper::Keeper;
pub use learning::{Choice, EveryParent, LearnedGraph, Learning};
pub(crate) use observer::staged;
pub use observer::{Level, Observer, Stage, Warner};
pub use on_ranks::OnRanks;
pub(crate) use record::read_config_text;
pub use record::{RunRecord, read_config, read_metrics};
pub use resume::Changes;
pub use source::NetworkSource;
pub use start::choose;
pub use tensorboard::EventFile;

use crate::corpus::Verifying;
use crate::error::{Error, Result};
use crate::estep::EStep;
use crate::mixture::{MixtureOptions, mixture_work};
use crate::monitor::Monitor;
use crate::network::{Init, Network};
use crate::plan::Device;
use crate::ranks::{RankedEStep, Team};
use crate::train::{Begin, CheckedOptions, Event, Outcome, State, train_parts};
use finish::{finished, model_of};
use inputs::Inputs;
use memory::MemoryLimit;
use on_ranks::Meter;
use resume::Resumed;
use start::{Start, Working};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time between saves of a model that keeps improving.
const SAVE_EVERY: Duration = Duration::from_secs(30);

/// A run that is ready to train.
pub struct Run {
    config: RunConfig,
    options: CheckedOptions,
    path: PathBuf,
    /// None on ranks that write nothing.
    folder: Option<RunFolder>,
    is_new: bool,
    /// Whether the config differs from what the last checkpoint says.
    changed: bool,
    inputs: Inputs,
    /// Where training stood, if it did.
    state: Option<Box<State>>,
    estep: Box<dyn EStep>,
    device: Option<Device>,
    monitor: Arc<Monitor>,
    team: Team,
}

/// What came of a run.
pub struct Trained {
    /// The model.
    pub network: Network,
    /// The training's figures, and how it ended.
    pub outcome: Outcome,
    /// The options as used.
    pub options: CheckedOptions,
    start: Start,
}

impl Run {
    /// Reads what a new run works on, and makes its folder: `output`, which must be new or empty, or else the next free `runs/NNN`.
    ///
    /// # Errors
    /// Everything that is wrong with options, files and devices; there is no folder then.
    pub fn prepare(
        mut config: RunConfig,
        output: Option<&Path>,
        given: Given,
        monitor: Arc<Monitor>,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        config.corpus = config.corpus.absolute();
        config.network = config.network.absolute();
        for path in &mut config.freeze_lists {
            *path = std::path::absolute(&*path).unwrap_or_else(|_| path.clone());
        }
        let team = given.team.clone();
        team.share_error(Self::open(config, None, output, given, monitor, observer))
    }

    /// The run in a folder, to be continued where it stood: the end is the same as if it had never stopped.
    ///
    /// # Errors
    /// A folder that holds no run, is damaged, or in use; a corpus or graph that is not what it was.
    pub fn resume(
        path: &Path,
        changes: Changes,
        given: Given,
        monitor: Arc<Monitor>,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let changes = Changes { corpus_in_memory: given.corpus.is_some(), ..changes };
        let team = given.team.clone();
        let open = || {
            let opened = team.is_first().then(|| Resumed::open(path, changes, observer)).transpose()?;
            let resumed = Resumed::of_first(&team, opened)?;
            Self::open(resumed.config.clone(), Some(resumed), None, given, monitor, observer)
        };
        team.share_error(open())
    }

    fn open(
        mut config: RunConfig,
        resumed: Option<Resumed>,
        output: Option<&Path>,
        given: Given,
        monitor: Arc<Monitor>,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let options = config.check()?;
        let memory = MemoryLimit::of_mb(config.memory_mb);
        let cache_mb = memory.cache_mb(config.backend.cache_mb);
        let backend = BackendOptions { cache_mb, turn: given.team.on_host(), ..config.backend() };
        let (estep, device) = backend.open(observer)?;
        let (is_new, team) = (resumed.is_none(), given.team.clone());
        let (folder, standing, changed) = match resumed {
            Some(Resumed { folder, standing, changed, .. }) => (folder, standing, changed),
            None => (None, None, false),
        };
        let (start, state) = standing.unzip();
        let inputs = Inputs::read(&config, given, start, &monitor, observer)?;
        let remedy = "name its new place when you resume the run, or train from the run's model";
        let before = config.run.corpus_fingerprint.as_str();
        refuse_other_corpus(before, &inputs.corpus, config.corpus.name(), remedy)?;
        let options = inputs.with_prior(&config, options)?;
        memory.apply_to(&inputs.corpus);
        on_ranks::compare(&team, &config, &inputs.corpus, estep.as_ref())?;
        let mut folder = match folder {
            None if is_new && team.is_first() => Some(RunFolder::create(output)?),
            folder => folder,
        };
        if let Some(folder) = folder.as_mut().filter(|_| !is_new)
            && !folder.cut_metrics()?
        {
            let message = format!("{}/metrics.jsonl: lines are missing at its end", folder.path().display());
            observer.says(Level::Warning, &message);
        }
        if !config.run.backend.is_empty() && config.run.backend != estep.name() {
            let message = format!(
                "the run was computed on {} and is continued on {}: the end will be the same to rounding, not to the byte",
                config.run.backend,
                estep.name()
            );
            observer.says(Level::Warning, &message);
        }
        config.run.docs = inputs.corpus.n_docs() as u64;
        config.run.corpus_fingerprint = format!("{:016x}", inputs.corpus.fingerprint());
        config.run.backend = estep.name();
        config.options = options.clone().into_inner();
        let estep = match team.has_others() {
            true => Box::new(RankedEStep::new(estep, team.clone(), Arc::clone(&monitor))),
            false => estep,
        };
        let path = folder.as_ref().map_or_else(PathBuf::new, |folder| folder.path().to_owned());
        // Nobody begins before there is a folder.
        team.gather(Vec::new())?;
        Ok(Self {
            config,
            options,
            path,
            folder,
            is_new,
            changed,
            inputs,
            state,
            estep,
            device,
            monitor,
            team,
        })
    }

    /// The run's folder, on the first rank.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The ranks that work together.
    pub fn team(&self) -> &Team {
        &self.team
    }

    /// What is written down of it.
    pub fn config(&self) -> &RunConfig {
        &self.config
    }

    /// Makes the network that is asked for, trains it, and saves the model. If it cannot work, a new run leaves no folder; one that was
    /// cancelled, or that failed with a graph that took time to learn, can be resumed.
    ///
    /// # Errors
    /// Cancellation before training began, failing devices and disks, documents and graphs that cannot be trained.
    pub fn train(&mut self, observer: &mut dyn Observer) -> Result<Trained> {
        let verifying = Verifying::start(&self.inputs.corpus, &self.monitor);
        let trained = self.make_and_train(observer);
        match verifying.finish(trained) {
            Ok((start, outcome)) => {
                let network = finished(&start, &self.options, &outcome);
                let saved = self.folder.as_ref().map_or(Ok(()), |folder| folder.save_model(&network));
                self.team.share_error(saved)?;
                self.warn_of_budget(&network, observer);
                Ok(Trained { network, outcome, options: self.options.clone(), start })
            }
            Err(error) => {
                observer.ended();
                // A graph that was learned is worth more than the driver or the disk that failed.
                let has_graph = self.config.run.learning.is_some();
                let is_passing = matches!(error, Error::Device(_) | Error::Io { .. } | Error::Rank(_));
                let can_resume = matches!(error, Error::Interrupted) || has_graph && is_passing;
                if let Some(folder) = self.folder.as_ref().filter(|_| self.is_new && !can_resume) {
                    folder.discard_if_empty();
                }
                self.team.share_error(Err(error))
            }
        }
    }

    fn make_and_train(&mut self, observer: &mut dyn Observer) -> Result<(Start, Outcome)> {
        // Whatever happens from now on, the run can begin again with what it was given.
        if let Some(folder) = &mut self.folder {
            folder.write_config(&self.config)?;
        }
        let memory = MemoryLimit::of_mb(self.config.memory_mb);
        let monitor = Arc::clone(&self.monitor);
        let mut working =
            Working { estep: self.estep.as_mut(), team: &self.team, monitor: &monitor, observer };
        let start = Start::make(&self.inputs, &self.options, memory, &mut working)?;
        memory.fit(&self.inputs, &start, &self.options, self.device)?;
        if self.state.is_none() {
            self.options = start.frozen_options(&self.options, &self.config.freeze_lists)?;
            start.keep(self.folder.as_ref(), &mut self.config.run)?;
            let epochs_given = matches!(self.config.network, NetworkSource::Chosen { epochs: Some(_), .. });
            self.options = start.chosen_options(&self.options, epochs_given)?;
            self.config.options = self.options.clone().into_inner();
        }
        let outcome = self.train_from(&start, observer)?;
        Ok((start, outcome))
    }

    fn train_from(&mut self, start: &Start, observer: &mut dyn Observer) -> Result<Outcome> {
        let Self { config, options, folder, changed, inputs, state, estep, monitor, team, .. } = self;
        let state = state.take();
        let graph = &start.graph;
        let message = format!(
            "{} documents, {} topics, {} tokens, {} edges; {} on {} threads{}",
            inputs.corpus.n_docs(),
            graph.n_topics(),
            graph.n_tokens(),
            graph.n_edges(),
            estep.name(),
            rayon::current_num_threads(),
            if team.has_others() { format!(" of each of {} ranks", team.size()) } else { String::new() }
        );
        observer.says(Level::Info, &message);
        // Ranks stop together: not when one is asked to, but when all have heard of it.
        let agreed = Monitor::default();
        let stopping = if team.has_others() { &agreed } else { &**monitor };
        let mut meter = Meter::new(team, state.as_ref().map_or(0, |state| state.step()));
        let mut last_save = Instant::now();
        let mut keeper = Keeper::new(config.checkpoints, state.as_ref().map(|state| state.step()), *changed);
        let begin = match state {
            Some(state) => Begin::At(graph, state),
            None => Begin::New(graph, start.weights.as_ref()),
        };
        if matches!(begin, Begin::New(..)) && options.init == Init::Mixture {
            let work = mixture_work(inputs.parts.train.len(), &MixtureOptions::default());
            observer.begins(Stage::FittingMixture, Some(work));
        }
        if matches!(begin, Begin::New(..)) && options.init == Init::Moments {
            observer.begins(Stage::CountingMoments, Some(inputs.parts.train.len() as u64));
        }
        let docs = inputs.alignment.docs(&inputs.corpus);
        let (parts, options) = (&inputs.parts, &*options);
        train_parts(begin, (docs, parts), options, estep.as_mut(), stopping, &mut |event| {
            let Some(folder) = folder else {
                observer.trains(event, options);
                return Ok(());
            };
            match *event {
                Event::Started { n_train, n_valid, n_test, n_batches, leak_floor, .. } => {
                    observer.ended();
                    let facts = &mut config.run;
                    facts.train_docs = Some(n_train);
                    facts.valid_docs = Some(n_valid);
                    facts.test_docs = Some(n_test);
                    facts.batches_per_epoch = Some(n_batches);
                    facts.leak_floor = Some(leak_floor);
                    folder.write_config(config)?;
                    folder.write_events(config.tensorboard)?;
                }
                Event::Safe { state, last } => {
                    let documents = (&inputs.corpus, &**monitor);
                    keeper
                        .look((state.step(), last), documents, observer, || folder.save_checkpoint(state))?;
                }
                Event::Refined { .. } => {}
                Event::Evaluated { metrics, best, graph, weights } => {
                    let on_ranks = meter.take(metrics.step);
                    folder.write_metrics(metrics, on_ranks)?;
                    on_ranks.iter().for_each(|cost| observer.communicates(cost));
                    if best && last_save.elapsed() > SAVE_EVERY {
                        let model = model_of(start, options, (graph, weights), &[], Some(metrics));
                        folder.save_model(&model)?;
                        last_save = Instant::now();
                    }
                }
            }
            observer.trains(event, options);
            Ok(())
        })
    }

    /// A refinement that was stopped early may leave more edges than were asked for.
    fn warn_of_budget(&self, network: &Network, observer: &mut dyn Observer) {
        let n_edges = network.graph.n_edges();
        let budget = self.options.refine.as_ref().and_then(|refine| refine.max_edges);
        if let Some(most) = budget.filter(|&most| n_edges > most) {
            let message = format!(
                "stopped while refining: the model has {n_edges} edges, more than `max_edges` {most}"
            );
            observer.says(Level::Warning, &message);
        }
    }
}
