//! Documents from the E-step to a file: the E-step computes, the calling thread selects topics, a thread of its own
//! writes. What is finished is kept in parts until the output is in place.

use super::output::{Kind, OutputFormat, STDOUT, Subject, TopicWriter};
use super::parts::{Manifest, Parts};
use super::records::{Records, Selection, TopicQ};
use super::{Shard, Task, on_ranks};
use crate::baseline::{self, Trained};
use crate::corpus::Docs;
use crate::error::{Error, Result};
use crate::estep::{DocResults, EStep, EStepOptions, Monitor, Params, Stats};
use crate::files::folder_of;
use crate::network::{Names, Network, fingerprint};
use crate::ranks::Team;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// A part is finished at so many bytes, however few its documents.
const PART_BYTES: usize = 1 << 26;
/// Records go to the writer in pieces of about this size.
const PIECE_BYTES: usize = 1 << 17;
/// Pieces that wait for the writer at most: some seconds of a machine's work, while a part or a row group is written.
const PIECES_AHEAD: usize = 64;

/// What is inferred, and how.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The model.
    pub by: InferredBy<'a>,
    /// The documents.
    pub docs: Docs<'a>,
    /// Which of them; all, if none is given.
    pub shard: Option<Shard>,
    /// Topics or features below this are left out.
    pub threshold: f32,
    /// How topics are written.
    pub format: OutputFormat,
    /// Whether log-odds are written instead of probabilities.
    pub log_odds: bool,
    /// Documents of a part.
    pub part_docs: usize,
}

/// What documents are described by.
#[derive(Clone, Copy)]
pub enum InferredBy<'a> {
    /// Topics of a network.
    Network {
        /// The network.
        network: &'a Network,
        /// How the E-step is run.
        options: &'a EStepOptions,
        /// Topics that are given as on and written as such; the network and the documents know of them
        /// ([`Network::with_given`](crate::Network::with_given)).
        given: &'a [u32],
        /// Whether q is exact, as of [`ExactEStep`](crate::posterior::ExactEStep), and not of mean field: it is said in files that can.
        is_exact: bool,
    },
    /// Features of a baseline.
    Baseline(&'a Trained),
}

impl<'a> InferredBy<'a> {
    /// Names of what is written.
    fn names(&self) -> &'a Names {
        match self {
            Self::Network { network, .. } => &network.names,
            Self::Baseline(baseline) => &baseline.names,
        }
    }
}

impl Job<'_> {
    /// Documents of a part, unless the user says otherwise.
    pub const PART_DOCS: usize = 1 << 14;

    fn range(&self) -> Range<usize> {
        self.shard.map_or(0..self.docs.n_docs(), |shard| shard.range(self.docs.n_docs()))
    }

    pub(super) fn manifest(&self, backend: &str) -> Manifest<'_> {
        Manifest {
            noisyor: env!("CARGO_PKG_VERSION"),
            model: match self.by {
                InferredBy::Network { network, .. } => fingerprint(network),
                InferredBy::Baseline(baseline) => baseline.fingerprint.clone(),
            },
            corpus: format!("{:016x}", self.docs.corpus().fingerprint()),
            documents: self.docs.n_docs(),
            options: match self.by {
                InferredBy::Network { options, .. } => Some(options),
                InferredBy::Baseline(_) => None,
            },
            threshold: self.threshold,
            format: self.format,
            log_odds: self.log_odds,
            shard: self.shard.map(|shard| shard.to_string()),
            backend: backend.to_owned(),
        }
    }
}

/// An inference on its way to its output. Dropped without [`Inference::commit`], it leaves nothing but finished parts.
pub struct Inference<'a> {
    job: Job<'a>,
    range: Range<usize>,
    /// Derived of a network's weights.
    params: Option<Params>,
    /// Dropped before the folder that it may be written in.
    writing: Writing<'a>,
    /// None where a part would hold all documents, and on standard output.
    parts: Option<Parts>,
}

impl<'a> Inference<'a> {
    /// Opens the output aside, and the folder of its parts: with `resume`, those of an earlier run of the same are taken over.
    /// [`STDOUT`] is standard output, which is written as results come.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] where the folder of parts holds another run or one that was not to be resumed,
    /// [`Error::Io`] where nothing can be written.
    pub fn open(
        output: &Path,
        job: Job<'a>,
        backend: &str,
        resume: bool,
        warn: &mut dyn FnMut(&str),
    ) -> Result<Self> {
        let (range, names) = (job.range(), job.by.names());
        let (params, kind) = match job.by {
            InferredBy::Network { network, options, is_exact, .. } => {
                let params = Params::derive(&network.graph, &network.weights, options.bound)?;
                (Some(params), Kind::Topics { bound: (!is_exact).then_some(options.bound) })
            }
            InferredBy::Baseline(baseline) => (None, Kind::Features { score: baseline.model.score() }),
        };
        // Behind a link, all is done beside what it leads to.
        let stdout = output == Path::new(STDOUT);
        let output = &output.canonicalize().ok().filter(|_| !stdout).unwrap_or_else(|| output.to_owned());
        let folder = Parts::folder_of(output);
        let subject =
            Subject { names, corpus: job.docs.corpus(), n_docs: range.len(), kind, log_odds: job.log_odds };
        let parts = if !stdout && (range.len() > job.part_docs || folder.exists()) {
            Some(Parts::open(folder, &job.manifest(backend), resume, &range, names.topics.len(), warn)?)
        } else {
            None
        };
        let aside = parts.as_ref().map_or(folder_of(output), Parts::folder);
        let topics = TopicWriter::create(aside, output, job.format, subject)?;
        let writing =
            Writing { topics, next: range.start, elbo_sum: 0.0, part: Records::default(), n_parts: 0 };
        Ok(Self { job, range, params, parts, writing })
    }

    /// Documents in all.
    pub fn n_docs(&self) -> usize {
        self.range.len()
    }

    /// Documents that earlier runs have done.
    pub fn n_done_before(&self) -> usize {
        self.parts.as_ref().map_or(0, Parts::n_docs)
    }

    /// Finished parts, and the folder that they are in.
    pub fn kept(&self) -> Option<(usize, &Path)> {
        let parts = self.parts.as_ref()?;
        Some((parts.n_kept() + self.writing.n_parts, parts.folder())).filter(|&(n, _)| n > 0)
    }

    /// Mean bound of the documents written so far.
    pub fn elbo_mean(&self) -> Option<f64> {
        let n_docs = self.writing.next - self.range.start;
        (n_docs > 0).then(|| self.writing.elbo_sum / n_docs as f64)
    }

    /// Writes the finished parts that the documents begin with.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] or [`Error::Input`] where a part cannot be read,
    /// [`Error::Interrupted`] where the monitor says stop.
    pub fn replay(&mut self, monitor: &Monitor) -> Result<()> {
        let Self { parts: Some(parts), writing, .. } = self else { return Ok(()) };
        while parts.has(writing.next) {
            monitor.go_on()?;
            let n_docs = writing.write(&parts.read(writing.next)?)?;
            monitor.docs_done.fetch_add(n_docs as u64, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Computes what is missing with a network, and writes all that is not written yet. The sums are those of the documents that were
    /// computed.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where the output cannot be written; else as [`run`](super::run).
    pub fn run(&mut self, estep: &mut dyn EStep, monitor: &Monitor) -> Result<Stats> {
        self.run_on(&Team::default(), estep, monitor)
    }

    /// The same on the first of several ranks, while the others [`help`](super::help).
    ///
    /// # Errors
    ///
    /// As [`Inference::run`]; [`Error::Rank`] where another rank failed.
    pub fn run_on(&mut self, team: &Team, estep: &mut dyn EStep, monitor: &Monitor) -> Result<Stats> {
        team.share_error(self.compute_on(team, estep, monitor))
    }

    fn compute_on(&mut self, team: &Team, estep: &mut dyn EStep, monitor: &Monitor) -> Result<Stats> {
        let (InferredBy::Network { network, options, given, .. }, Some(params)) = (self.job.by, &self.params)
        else {
            return Err(Error::Usage("a baseline has no E-step".into()));
        };
        on_ranks::compare(team, &self.job)?;
        let docs = self.job.docs;
        let mut selection = Selection::new(self.job.threshold, params, network.graph.n_topics(), given);
        let task = Task { network, params, docs, options, monitor };
        let mut stats = Stats::default();
        let mut describe = |range: Range<usize>, each: &mut Each<'_>| {
            if team.has_others() {
                on_ranks::tell(team, &range)?;
                stats.merge(&on_ranks::share(team, &task, range, &mut selection, estep, each)?);
                return Ok(());
            }
            let mut sink = |results: &DocResults<'_>| {
                (0..results.n_docs()).try_for_each(|at| each(results.elbo[at], selection.select(results, at)))
            };
            stats.merge(&task.run_range(range, estep, Some(&mut sink))?);
            Ok(())
        };
        write_all(&self.job, &self.range, self.parts.as_ref(), &mut self.writing, &mut describe, monitor)?;
        on_ranks::tell(team, &(0..0))?;
        Ok(stats)
    }

    /// The same with a baseline.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where the output cannot be written, [`Error::Interrupted`] where the monitor says stop, documents with unknown tokens that
    /// the model does not take.
    pub fn run_baseline(&mut self, monitor: &Monitor) -> Result<()> {
        let InferredBy::Baseline(Trained { model, .. }) = self.job.by else {
            return Err(Error::Usage("a network needs an E-step".into()));
        };
        let (docs, threshold, mut kept) = (self.job.docs, self.job.threshold, Vec::new());
        let mut describe = |range: Range<usize>, each: &mut Each<'_>| {
            let doc_ixs: Vec<u32> = (range.start as u32..range.end as u32).collect();
            baseline::describe(model.as_ref(), &docs, &doc_ixs, monitor, |_, score, features| {
                let features = features.iter().zip(0..).map(|(&q, topic)| TopicQ { topic, q });
                kept.clear();
                kept.extend(features.filter(|feature| feature.q >= threshold));
                kept.sort_unstable_by(TopicQ::strongest_first);
                each(score, &kept)
            })
        };
        write_all(&self.job, &self.range, self.parts.as_ref(), &mut self.writing, &mut describe, monitor)
    }

    /// Puts the output in place; then the parts are no longer needed.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where it cannot be written.
    pub fn commit(self) -> Result<()> {
        self.writing.topics.commit()?;
        self.parts.map_or(Ok(()), Parts::remove)
    }
}

/// What comes to the writer, in the order of the documents.
enum Piece {
    Computed(Records),
    /// A part of an earlier run, by its first document; the writer reads it, so that no more than one is in memory.
    Kept(usize),
}

/// Takes a document's score and what describes it.
pub(super) type Each<'a> = dyn FnMut(f64, &[TopicQ]) -> Result<()> + 'a;

/// Computes the documents of a range, in order.
type Describe<'a> = dyn FnMut(Range<usize>, &mut Each<'_>) -> Result<()> + 'a;

/// Computes on this thread while another one writes.
fn write_all(
    job: &Job<'_>,
    range: &Range<usize>,
    parts: Option<&Parts>,
    writing: &mut Writing<'_>,
    describe: &mut Describe<'_>,
    monitor: &Monitor,
) -> Result<()> {
    let begin = writing.next;
    let (to_writer, pieces) = sync_channel(PIECES_AHEAD);
    std::thread::scope(|scope| {
        let writing = scope.spawn(move || writing.take_all(&pieces, job, parts));
        let computed = compute(begin..range.end, parts, describe, monitor, to_writer);
        match writing.join() {
            Ok(written) => written.and(computed),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Sends all documents of a range to the writer: finished parts as they are, what is computed between them.
fn compute(
    range: Range<usize>,
    parts: Option<&Parts>,
    describe: &mut Describe<'_>,
    monitor: &Monitor,
    to_writer: SyncSender<Piece>,
) -> Result<()> {
    // A writer that is gone says itself why.
    let send = |piece| to_writer.send(piece).map_err(|_| Error::Interrupted);
    let mut next = range.start;
    while next < range.end {
        monitor.go_on()?;
        if let Some(n_docs) = parts.and_then(|parts| parts.docs_at(next)) {
            send(Piece::Kept(next))?;
            next += n_docs;
            continue;
        }
        let end = parts.and_then(|parts| parts.next_behind(next)).unwrap_or(range.end);
        let mut records = Records::default();
        describe(next..end, &mut |score, topics| {
            records.push(score, topics);
            if records.n_bytes() >= PIECE_BYTES {
                send(Piece::Computed(std::mem::take(&mut records)))?;
            }
            Ok(())
        })?;
        send(Piece::Computed(records))?;
        next = end;
    }
    Ok(())
}

/// The writer's side.
struct Writing<'a> {
    topics: TopicWriter<'a>,
    /// The next document.
    next: usize,
    elbo_sum: f64,
    /// What was computed since the last part.
    part: Records,
    /// Parts finished by this run.
    n_parts: usize,
}

impl Writing<'_> {
    fn take_all(&mut self, pieces: &Receiver<Piece>, job: &Job<'_>, parts: Option<&Parts>) -> Result<()> {
        for piece in pieces {
            match (piece, parts) {
                (Piece::Kept(begin), Some(kept)) => {
                    self.finish_part(job, parts)?;
                    self.write(&kept.read(begin)?)?;
                }
                (Piece::Kept(_), None) => unreachable!("kept parts come from a folder of parts"),
                (Piece::Computed(records), None) => {
                    self.write(&records)?;
                }
                (Piece::Computed(records), Some(_)) => {
                    for (elbo, topics) in records.iter() {
                        self.write_doc(elbo, topics)?;
                        self.part.push(elbo, topics);
                        if self.part.n_docs() == job.part_docs || self.part.n_bytes() >= PART_BYTES {
                            self.finish_part(job, parts)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Keeps what was computed since the last part. A corpus that is not verified yet may be damaged, and so would be its parts.
    fn finish_part(&mut self, job: &Job<'_>, parts: Option<&Parts>) -> Result<()> {
        if let Some(parts) = parts.filter(|_| self.part.n_docs() > 0 && job.docs.corpus().is_verified()) {
            parts.write(self.next - self.part.n_docs(), &self.part)?;
            self.n_parts += 1;
        }
        self.part.clear();
        Ok(())
    }

    fn write(&mut self, records: &Records) -> Result<usize> {
        records.iter().try_for_each(|(elbo, topics)| self.write_doc(elbo, topics))?;
        Ok(records.n_docs())
    }

    fn write_doc(&mut self, elbo: f64, topics: &[TopicQ]) -> Result<()> {
        self.topics.write(self.next, elbo, topics)?;
        self.elbo_sum += elbo;
        self.next += 1;
        Ok(())
    }
}
