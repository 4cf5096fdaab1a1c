//! The run of a baseline from its recipe to its end, in a folder like that of a network: config, metrics, checkpoints, model.
//!
//! Training is a chain of states, one after each pass. A pass that is cancelled has changed nothing, so a run continues to the same bytes.

use super::config::BaselineConfig;
use super::file::format;
use super::scoring::{mean_score, refuse_unknown};
use super::state::{Evaluation, State};
use super::{Model, ModelOptions, Training};
use crate::corpus::{Alignment, Baseline, Corpus, Docs, Parts, Place, Verifying, align, reading_warnings};
use crate::error::{Error, Result};
use crate::files;
use crate::monitor::Monitor;
use crate::ranks::Team;
use crate::run::{
    CheckpointRule, Found, Keeper, Level, Observer, RunFolder, Stage, independent_words, read_corpus,
    refuse_other_corpus, staged, token_names,
};
use crate::sealed::Seal;
use crate::train::Ended;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Goes up whenever [`State`] or what a model holds changes.
const SEAL: Seal = Seal { magic: *b"noisyorB", version: 1, what: "a checkpoint of a baseline" };

/// What may be different when a run is resumed. What is none stays as it was.
#[derive(Debug, Clone, Default)]
pub struct BaselineChanges {
    /// Where the corpus is now.
    pub corpus: Option<PathBuf>,
    /// Passes at most.
    pub epochs: Option<u32>,
    /// Passes without a gain before stopping.
    pub patience: Option<u32>,
    /// When checkpoints are written.
    pub checkpoints: Option<CheckpointRule>,
}

/// The run of a baseline that is ready to train.
pub struct BaselineRun {
    config: BaselineConfig,
    folder: RunFolder,
    is_new: bool,
    changed: bool,
    corpus: Corpus,
    alignment: Alignment,
    tokens: Vec<String>,
    parts: Parts,
    state: Option<State>,
    monitor: Arc<Monitor>,
}

/// What came of it.
pub struct BaselineOutcome {
    /// The best model.
    pub model: Box<dyn Model>,
    /// Its evaluation.
    pub evaluation: Evaluation,
    /// How training ended.
    pub ended: Ended,
    /// The mean score of the test part; none without one, or where training was cancelled.
    pub test_score: Option<f64>,
    /// Independent words, with the frequencies of the training part: of the documents held out, and of the test part.
    pub independent: [Option<Baseline>; 2],
}

impl BaselineRun {
    /// Reads what a new run works on, and makes its folder: `output`, which must be new or empty, or else the next free `runs/NNN`.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with options and files; there is no folder then.
    pub fn prepare(
        mut config: BaselineConfig,
        output: Option<&Path>,
        given: Option<Corpus>,
        monitor: Arc<Monitor>,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        config.corpus = config.corpus.absolute();
        config.check()?;
        Self::open(config, None, output, given, monitor, observer)
    }

    /// The run in a folder, to be continued where it stood: the end is the same as if it had never stopped.
    ///
    /// # Errors
    ///
    /// A folder that holds no such run, is damaged, or in use; a corpus that is not what it was.
    pub fn resume(
        path: &Path,
        changes: BaselineChanges,
        given: Option<Corpus>,
        monitor: Arc<Monitor>,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        // The config first: another kind of run has another kind of checkpoints.
        BaselineConfig::read(path)?;
        let (folder, Found { config: (text, file), checkpoint, damaged }) = RunFolder::open_for(path, SEAL)?;
        for damage in &damaged {
            observer.says(Level::Warning, &format!("{damage}; the one before it is used"));
        }
        let mut config = BaselineConfig::from_json(&text, &file)?;
        (config.run.ended, config.run.test_score) = (None, None);
        let changed = changes.corpus.is_some() || changes.epochs.is_some() || changes.patience.is_some();
        if let Some(path) = changes.corpus {
            config.corpus.place = Place::File(path);
            config.corpus = config.corpus.absolute();
        }
        if given.is_some() {
            config.corpus.place = Place::Memory;
        }
        config.epochs = changes.epochs.unwrap_or(config.epochs);
        config.patience = changes.patience.unwrap_or(config.patience);
        config.checkpoints = changes.checkpoints.unwrap_or(config.checkpoints);
        config.check()?;
        let state: Option<State> = checkpoint.map(|(_, checkpoint)| checkpoint.state);
        if let Some(State { passes, .. }) = state.as_ref().filter(|state| state.passes > config.epochs) {
            let asked = config.epochs;
            return Err(Error::Usage(format!(
                "`epochs` is {asked}, and the run has {passes} behind it; give more"
            )));
        }
        let message = match &state {
            Some(State { passes, seconds, .. }) => {
                format!("resuming {} after {passes} epochs and {seconds:.0} s of training", path.display())
            }
            None => format!("{} had not begun to train; it starts from the beginning", path.display()),
        };
        observer.says(Level::Info, &message);
        Self::open(config, Some((folder, state, changed)), None, given, monitor, observer)
    }

    fn open(
        mut config: BaselineConfig,
        resumed: Option<(RunFolder, Option<State>, bool)>,
        output: Option<&Path>,
        given: Option<Corpus>,
        monitor: Arc<Monitor>,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let (corpus, ingested) =
            read_corpus(&config.corpus, given, &Team::default(), None, &monitor, observer)?;
        if corpus.n_docs() == 0 || corpus.n_tokens() == 0 {
            return Err(Error::Usage("the corpus has no documents to train on, or no tokens in them".into()));
        }
        reading_warnings(&ingested).iter().for_each(|message| observer.says(Level::Warning, message));
        let remedy = "name its new place when you resume the run, or start a new run";
        refuse_other_corpus(&config.run.corpus_fingerprint, &corpus, config.corpus.name(), remedy)?;
        let parts = config.split(corpus.n_docs());
        let tokens = token_names(&corpus);
        let alignment = align(&corpus, &tokens);
        let facts = &mut config.run;
        facts.docs = corpus.n_docs() as u64;
        facts.corpus_fingerprint = format!("{:016x}", corpus.fingerprint());
        facts.tokens = tokens.len() as u64;
        facts.train_docs = parts.train.len() as u64;
        facts.valid_docs = parts.valid.len() as u64;
        facts.test_docs = parts.test.len() as u64;
        let is_new = resumed.is_none();
        let (mut folder, state, changed) = match resumed {
            Some(resumed) => resumed,
            None => (RunFolder::create_for(output, SEAL)?, None, false),
        };
        if !is_new && !folder.cut_metrics()? {
            let message = format!("{}/metrics.jsonl: lines are missing at its end", folder.path().display());
            observer.says(Level::Warning, &message);
        }
        Ok(Self { config, folder, is_new, changed, corpus, alignment, tokens, parts, state, monitor })
    }

    /// The run's folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// What is written down of it.
    pub fn config(&self) -> &BaselineConfig {
        &self.config
    }

    fn docs(&self) -> Docs<'_> {
        self.alignment.docs(&self.corpus)
    }

    /// Trains, saves the best model, and scores the test part. If it cannot work, a new run leaves no folder; one that was cancelled can be
    /// resumed.
    ///
    /// # Errors
    ///
    /// Cancellation before the first pass ended, failing disks, documents that the model cannot learn from.
    pub fn train(&mut self, observer: &mut dyn Observer) -> Result<BaselineOutcome> {
        let verifying = Verifying::start(&self.corpus, &self.monitor);
        let trained = self.train_from(observer);
        observer.ended();
        match verifying.finish(trained) {
            Ok((state, ended)) => self.finish(state, ended, observer),
            Err(error) => {
                if self.is_new && !matches!(error, Error::Interrupted) {
                    self.folder.discard_if_empty();
                }
                Err(error)
            }
        }
    }

    /// From the state there is, or the start, to the end.
    fn train_from(&mut self, observer: &mut dyn Observer) -> Result<(State, Ended)> {
        self.folder.write_config(&self.config)?;
        let Self { config, folder, changed, corpus, alignment, parts, state, monitor, .. } = self;
        let training = Training {
            docs: alignment.docs(corpus),
            train: &parts.train,
            valid: &parts.valid,
            n_tokens: config.run.tokens as usize,
            seed: config.seed,
            monitor,
        };
        let name = config.baseline.name();
        let mut keeper = Keeper::new(config.checkpoints, state.as_ref().map(|state| state.step), *changed);
        let (mut state, mut model) = match state.take() {
            Some(state) => {
                let model = ModelOptions::load(name, state.model.clone())
                    .map_err(|e| Error::input(folder.path(), None, format!("the checkpoint: {e}")))?;
                (state, model)
            }
            None => {
                let model = staged(observer, Stage::StartingBaseline, None::<u64>, || {
                    config.baseline.start(&training)
                })?;
                (State::of(model.as_ref()), model)
            }
        };
        refuse_unknown(model.as_ref(), &training.docs)?;
        let facts = &mut config.run;
        facts.parameters = Some(model.n_parameters() as u64);
        facts.score = Some(model.score());
        facts.score_of = model.score_of().map(str::to_owned);
        folder.write_config(config)?;
        let message = format!(
            "{} documents, {} tokens; {name} with {} parameters, on {} threads",
            corpus.n_docs(),
            training.n_tokens,
            model.n_parameters(),
            rayon::current_num_threads()
        );
        observer.says(Level::Info, &message);
        let n_docs = (parts.train.len() + parts.valid.len()) as u64;
        observer.begins(
            Stage::FittingBaseline,
            Some(n_docs * u64::from(config.epochs.saturating_sub(state.passes))),
        );
        loop {
            let ended = match () {
                () if state.passes >= config.epochs || state.converged => Some(Ended::Finished),
                () if state.patience.is_over(config.patience) => Some(Ended::EarlyStop),
                () => None,
            };
            let cancelled = monitor.go_on().is_err();
            let last = ended.is_some() || cancelled;
            keeper.look((state.step, last), (corpus, monitor), observer, || {
                folder.save_state(&state, state.passes > 0)
            })?;
            if let Some(ended) = ended.or(cancelled.then_some(Ended::Interrupted)) {
                return Ok((state, ended));
            }
            match state.advance(model.as_mut(), &training, config.patience) {
                Ok(evaluation) => {
                    folder.write_line(&evaluation)?;
                    observer.evaluated(&evaluation);
                }
                // The state before the pass is still there.
                Err(Error::Interrupted) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Saves the best model and computes what is told of it.
    fn finish(&mut self, state: State, ended: Ended, observer: &mut dyn Observer) -> Result<BaselineOutcome> {
        if state.passes == 0 {
            return Err(Error::Interrupted);
        }
        let (evaluation, tensors) = state.best.ok_or(Error::Interrupted)?;
        let name = self.config.baseline.name();
        let model = ModelOptions::load(name, tensors)?;
        let training = json!({
            "program": concat!("noisyor ", env!("CARGO_PKG_VERSION")), "options": self.config.baseline,
            "docs": self.parts.train.len(), "epoch": evaluation.epoch, "train_score": evaluation.train_score,
            "valid_score": evaluation.valid_score, "score": evaluation.score,
        });
        let bytes = format(model.as_ref(), &self.tokens, &training.to_string())?;
        files::replace_by(&self.folder.aside(), &self.folder.model_path(), &bytes)?;
        let n_test = self.parts.test.len() as u64;
        let docs = self.docs();
        let scored = match ended {
            Ended::Interrupted => Ok(None),
            _ => staged(observer, Stage::Evaluating, n_test, || {
                mean_score(model.as_ref(), &docs, &self.parts.test, &self.monitor)
            }),
        };
        let (test_score, ended) = match scored {
            Err(Error::Interrupted) => (None, Ended::Interrupted),
            scored => (scored?, ended),
        };
        let independent = independent_words(&docs, &self.parts, self.tokens.len());
        self.config.run.ended = Some(ended.in_words().to_owned());
        self.config.run.test_score = test_score;
        self.folder.write_config(&self.config)?;
        Ok(BaselineOutcome { model, evaluation, ended, test_score, independent })
    }
}
