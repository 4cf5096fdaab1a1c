//! What is computed of a trained network: the bound of its test part, and what to compare it with.

use super::observer::{Level, Observer, Stage, staged};
use super::source::NetworkSource;
use super::start::{Start, Working};
use super::{Run, Trained};
use crate::corpus::{Baseline, Docs, Parts, Place, align, known_share, sample_network, token_frequency};
use crate::error::{Error, Result};
use crate::estep::Stats;
use crate::infer;
use crate::network::Network;
use crate::train::{CheckedOptions, Ended};

/// Bounds of a trained network.
#[derive(Debug, Clone)]
pub struct Figures {
    /// What the reference is, and its bound of the documents held out: the network that the sample comes from, or the weights that
    /// a graph or model came with.
    pub reference: (&'static str, Option<f64>),
    /// The bound of the test part, in nats a document.
    pub test_elbo: Option<f64>,
    /// Independent words, with the frequencies of the training part: of the documents held out, and of the test part.
    pub baselines: [Option<Baseline>; 2],
    /// Whether it was cancelled, and figures are missing.
    pub interrupted: bool,
}

impl Run {
    /// Computes the bounds of the test part and of the reference.
    ///
    /// # Errors
    /// Failing devices. Cancellation is no error: figures are missing then.
    pub fn evaluate(&mut self, trained: &Trained, observer: &mut dyn Observer) -> Result<Figures> {
        let team = self.team.clone();
        team.share_error(self.figures(trained, observer))
    }

    fn figures(&mut self, trained: &Trained, observer: &mut dyn Observer) -> Result<Figures> {
        let Self { config, inputs, estep, team, monitor, .. } = self;
        let Trained { network, outcome, options, start } = trained;
        // Of a run that was stopped nobody waits for these.
        let mut evaluation = Evaluation {
            options,
            interrupted: outcome.ended == Ended::Interrupted,
            working: Working { estep: estep.as_mut(), team, monitor, observer },
        };
        let (what, reference) = reference(&config.network, &config.corpus.place, start)?;
        let reference_elbo = match reference {
            Some(network) => {
                let alignment = align(&inputs.corpus, &network.names.tokens);
                evaluation.elbo(&network, alignment.docs(&inputs.corpus), &inputs.parts.valid)?
            }
            None => None,
        };
        let test_elbo = evaluation.elbo(network, inputs.docs(), &inputs.parts.test)?;
        let interrupted = evaluation.interrupted;
        let baselines = independent_words(&inputs.docs(), &inputs.parts, network.graph.n_tokens());
        Ok(Figures { reference: (what, reference_elbo), test_elbo, baselines, interrupted })
    }

    /// Writes down how the run ended. Ranks end together.
    ///
    /// # Errors
    /// Failing disks, ranks that failed.
    pub fn finish(&mut self, trained: &Trained, figures: &Figures) -> Result<()> {
        self.config.run.ended = Some(trained.outcome.ended.in_words().to_owned());
        self.config.run.test_elbo = figures.test_elbo;
        let written = self.folder.as_mut().map_or(Ok(()), |folder| folder.write_config(&self.config));
        self.team.share_error(written)?;
        self.team.gather(Vec::new()).map(|_| ())
    }
}

struct Evaluation<'a> {
    options: &'a CheckedOptions,
    interrupted: bool,
    working: Working<'a>,
}

impl Evaluation<'_> {
    /// The mean bound of some documents; none without documents, or if it was cancelled.
    fn elbo(&mut self, network: &Network, docs: Docs<'_>, doc_ixs: &[u32]) -> Result<Option<f64>> {
        if self.interrupted {
            return Ok(None);
        }
        let Working { estep, monitor, observer, .. } = &mut self.working;
        let run = staged(*observer, Stage::Evaluating, doc_ixs.len() as u64, || {
            infer::run(network, docs, doc_ixs, &self.options.estep, *estep, monitor, None)
        });
        let stats = match run {
            Err(Error::Interrupted) => {
                self.interrupted = true;
                return Ok(None);
            }
            run => run?.0,
        };
        observer.says(Level::Detail, &estep_summary(&stats));
        Ok((stats.n_docs > 0.0).then(|| stats.elbo_mean()))
    }
}

/// How an E-step went, in words.
pub fn estep_summary(stats: &Stats) -> String {
    let per_item = |sum: u64| sum as f64 / stats.n_items.max(1) as f64;
    format!(
        "{:.2} alternations and {:.1} positive edges a document; {} of {} reached the maximum of alternations",
        per_item(stats.n_alternations),
        per_item(stats.n_edges),
        stats.n_unconverged,
        stats.n_items
    )
}

/// Independent words, of the documents held out and of the test part, where there are any.
pub(crate) fn independent_words(docs: &Docs<'_>, parts: &Parts, n_tokens: usize) -> [Option<Baseline>; 2] {
    let frequency = |doc_ixs: &[u32]| token_frequency(docs, doc_ixs, n_tokens);
    let known = frequency(&parts.train);
    [&parts.valid, &parts.test].map(|part| {
        let is_there = !part.is_empty();
        let told = || known_share(docs, part, n_tokens);
        is_there.then(|| Baseline::among_told(&frequency(part), &told(), &known, parts.train.len()))
    })
}

/// A network to compare with: what the sample was sampled from, or the weights that came with a given graph.
fn reference(
    source: &NetworkSource,
    place: &Place,
    start: &Start,
) -> Result<(&'static str, Option<Network>)> {
    let is_given = matches!(source, NetworkSource::File(_) | NetworkSource::Memory);
    if *place == Place::Sample && !is_given {
        return Ok(("network that the documents were sampled from", Some(sample_network()?)));
    }
    let what = match source {
        NetworkSource::Model { .. } => "model it was trained from, new tokens attached",
        _ => "weights that came with the graph",
    };
    let given = start.weights.clone().filter(|_| start.learning.is_none());
    let (graph, names) = (start.graph.clone(), start.names.clone());
    Ok((what, given.map(|weights| Network { graph, weights, names, training: String::new() })))
}
