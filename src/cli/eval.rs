//! `noisyor eval`: the mean bound of a corpus under a model.

mod likelihood;
mod of_baseline;

use super::common::{BackendArgs, interruptible, model_file, print};
use super::corpus_args::{CorpusArgs, refuse_overwriting};
use super::estep_args::EStepArgs;
use super::given::GivenArgs;
use super::mcmc_args::ModelArg;
use super::{Common, calibration, progress::Progress};
use anyhow::Result;
use likelihood::{Asked, Found, LikelihoodArg};
use noisyor::baseline::baseline_file;
use noisyor::corpus::{Baseline, Docs, Verifying, known_share, token_frequency};
use noisyor::estep::{DocResults, EStep, Params};
use noisyor::files::AtomicFile;
use noisyor::infer::{self, Task};
use noisyor::monitor::Monitor;
use noisyor::network::{Network, load_model};
use noisyor::posterior::calibration::Calibration;
use noisyor::posterior::{Cases, Engine, Method, Options};
use noisyor::{Error, Result as LibResult, exact};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Mean bound per document of a corpus under a model
///
/// Beside it stands how likely the documents are if words are independent, each with the frequency that it has in these documents: the best
/// that a model without topics can do. Of a baseline (`noisyor baseline`) it prints the mean score, and what that is. With --given the bound is one of the documents and the given states together.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  noisyor eval run documents.jsonl --bound full --per-doc bounds.tsv
  noisyor eval run documents.jsonl --likelihood=200 --seed 1
  noisyor eval run documents.jsonl --likelihood=mcmc:100000 --mcmc-model local
  noisyor eval run documents.jsonl --upper
  noisyor eval run --calibration=1000")]
pub(crate) struct Args {
    /// Model: .safetensors, .json or .tsv, or a run folder, that of a baseline included
    model: PathBuf,
    /// Corpus; --calibration does without
    #[arg(required_unless_present = "calibration")]
    corpus: Option<PathBuf>,
    /// Also the exact log-likelihood, by enumeration: for networks of up to 22 topics
    #[arg(long)]
    exact: bool,
    /// Also an estimate of the log-likelihood, with its standard error, from N samples of each document's topics (100 if not given),
    /// and a lower bound, the sum over all configurations of topics met: for networks of any size, but samples are of all topics.
    /// With mcmc a lower bound by a Gibbs sampler instead, from N samples of single topics (1000000 if not given), and the mean bound
    /// at its marginals. May be given twice, for both
    #[arg(long, value_name = "N|mcmc[:N]", num_args = 0..=1, require_equals = true, default_missing_value = "100")]
    #[arg(value_parser = LikelihoodArg::parse)]
    likelihood: Vec<LikelihoodArg>,
    /// --likelihood=mcmc: topics that are sampled, all or the ancestors of a document's tokens [default: full]
    #[arg(long, value_enum)]
    mcmc_model: Option<ModelArg>,
    /// Also an upper bound of the log-likelihood: it is then certain to lie between two figures. In networks whose topics have parents the
    /// upper bound is loose
    #[arg(long)]
    upper: bool,
    /// How far q can be trusted: N cases are sampled from the model (1000 if not given), and of topics with a q the share that is on
    /// is counted; beside it the same of the probabilities that `noisyor posterior` has, where they can be exact. With a corpus that has
    /// unknown tokens, the cases have the same ones unknown
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true)]
    calibration: Option<Option<usize>>,
    /// Baselines only: also how well words are predicted from the others of their document, of which a share is held out (0.1 if not given):
    /// comparable among all models that predict words
    #[arg(long, value_name = "SHARE", num_args = 0..=1, require_equals = true)]
    completion: Option<Option<f64>>,
    #[command(flatten)]
    given: GivenArgs,
    /// Seed of the samples of --likelihood and --calibration
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Write each document's figures to a table: doc, elbo, and if asked for exact, upper, likelihood, likelihood_se, ess, configurations,
    /// mcmc_bound, mcmc_elbo
    #[arg(long, value_name = "FILE.tsv")]
    per_doc: Option<PathBuf>,
    #[command(flatten)]
    reading: CorpusArgs,
    #[command(flatten)]
    estep: EStepArgs,
    #[command(flatten)]
    backend: BackendArgs,
}

pub(crate) fn run(args: Args, common: &Common) -> Result<()> {
    if let Some(file) = baseline_file(&args.model)? {
        return of_baseline::run(&args, &file, common);
    }
    if args.completion.is_some() {
        let message = "--completion is for baselines; a network does not predict words one by one";
        return Err(Error::Usage(message.into()).into());
    }
    let options = args.estep.options()?;
    let asked = Asked::new(&args.likelihood, args.mcmc_model, args.seed, &options)?;
    let model = model_file(&args.model)?;
    let Some(corpus_path) = &args.corpus else {
        args.refuse_without_corpus()?;
        let mut estep = args.backend.open(common)?;
        let network = load_model(&model)?;
        let measured = args.calibration(&network, None, estep.as_mut(), common, &interruptible(common)?)?;
        let name = estep.name();
        return measured.map_or(Ok(()), |measured| calibration::print_alone(&measured, &name, common));
    };
    if args.calibration.is_some() && args.given.is_given() {
        let message = "--calibration samples cases in which nothing is given; leave out --given";
        return Err(Error::Usage(message.into()).into());
    }
    if let Some(path) = &args.per_doc {
        refuse_overwriting(path, [&model, corpus_path])?;
    }
    let mut estep = args.backend.open(common)?;
    let model = load_model(&model)?;
    let given = args.given.states(&model)?;
    let with_given = model.with_given(&given)?;
    let network = &with_given.network;
    if args.exact && given.is_empty() {
        exact::check_size(&network.graph)?;
    }
    args.per_doc.iter().for_each(|path| common.say_replaced(path));
    let per_doc = args.per_doc.as_deref().map(AtomicFile::create).transpose()?;
    let monitor = interruptible(common)?;
    let (corpus, alignment) = args.reading.read_for(corpus_path, &model.names.tokens, common, &monitor)?;
    let plain_docs = alignment.docs(&corpus);
    let docs = plain_docs.with_given(network.graph.n_tokens(), &with_given.present);
    let verifying = Verifying::start(&corpus, &monitor);

    let params = Params::derive(&network.graph, &network.weights, options.bound)?;
    let progress = Progress::start(common, &monitor, "evaluating", docs.n_docs() as u64);
    let mut elbo = Vec::new();
    let mut collect = |results: &DocResults<'_>| {
        elbo.extend_from_slice(results.elbo);
        Ok(())
    };
    let sink = per_doc.is_some().then_some(&mut collect as _);
    let all = 0..docs.n_docs();
    let task = Task { network, params: &params, docs, options: &options, monitor: &monitor };
    let run = task.run_range(all, estep.as_mut(), sink);
    let stats = verifying.finish(run)?;
    drop(progress);
    common.say_estep(&stats);
    let exact = if args.exact {
        let progress = Progress::start(common, &monitor, "enumerating", docs.n_docs() as u64);
        let exact = if given.is_empty() {
            exact::log_likelihood_of(&network.graph, &network.weights, &docs, &monitor)?
        } else {
            exact_given(&model, plain_docs, &given, &monitor)?
        };
        drop(progress);
        Some(exact)
    } else {
        None
    };
    let likelihood = asked.run(network, docs, estep.as_mut(), common, &monitor)?;
    let upper = if args.upper {
        let _progress = Progress::start(common, &monitor, "bounding", docs.n_docs() as u64);
        Some(upper_bounds(&model, plain_docs, &given, &monitor)?)
    } else {
        None
    };
    let calibration = args.calibration(&model, Some(plain_docs), estep.as_mut(), common, &monitor)?;
    let figures = Figures { elbo, exact, upper, likelihood };
    if let (Some(file), Some(path)) = (per_doc, &args.per_doc) {
        figures.write(file, path, &docs)?;
    }
    let Figures { exact, upper, likelihood, .. } = figures;

    let n_docs = docs.n_docs();
    let mean = |sum: f64| (n_docs > 0).then(|| sum / n_docs as f64);
    let elbo_mean = mean(stats.elbo_sum);
    let exact_mean = exact.as_ref().and_then(|exact| mean(exact.iter().sum()));
    let upper_mean = upper.as_ref().and_then(|upper| mean(upper.iter().sum()));
    let doc_ixs: Vec<u32> = (0..n_docs as u32).collect();
    let frequency = token_frequency(&docs, &doc_ixs, network.graph.n_tokens());
    let told = known_share(&docs, &doc_ixs, network.graph.n_tokens());
    let baseline = Baseline::among_told(&frequency, &told, &frequency, n_docs);
    if common.json {
        let mut result = json!({
            "docs": n_docs, "bound": options.bound, "elbo_mean": elbo_mean, "elbo_sum": stats.elbo_sum,
            "baseline_mean": mean(n_docs as f64 * baseline.mean),
            "gain_bits_a_word": elbo_mean.filter(|_| given.is_empty()).and_then(|elbo| baseline.gain(elbo).1),
            "exact_mean": exact_mean, "backend": estep.name(),
        });
        if options.clamp > 0 {
            result["clamp"] = json!(options.clamp);
        }
        likelihood.put_into(&mut result);
        if args.upper {
            result["upper_mean"] = json!(upper_mean);
        }
        if let Some(calibration) = &calibration {
            result["calibration"] = calibration.json();
        }
        return print(format_args!("{result}\n"));
    }
    let Some(elbo_mean) = elbo_mean else { return print("no documents\n") };
    let bound = options.bound_label();
    let mut text = format!("{n_docs} documents, mean bound ({bound}) {elbo_mean:.6} nats a document\n");
    // Given states are part of what is bounded, but no words.
    if given.is_empty() {
        text += &format!("{}\n", baseline.describe(elbo_mean));
    }
    if let Some(exact_mean) = exact_mean {
        text +=
            &format!("exact log-likelihood {exact_mean:.6}, {:.6} above the bound\n", exact_mean - elbo_mean);
    }
    if let Some(upper) = upper_mean {
        let deep =
            if Engine::new(&model)?.is_two_layer() { "" } else { "; it is loose, as topics have parents" };
        text += &format!("upper bound {upper:.6}, {:.6} above the lower one{deep}\n", upper - elbo_mean);
    }
    text += &likelihood.text();
    if let Some(calibration) = &calibration {
        text += &format!("\n{}", calibration::table(calibration));
    }
    print(text)
}

impl Args {
    /// Without a corpus there is nothing but calibration.
    fn refuse_without_corpus(&self) -> LibResult<()> {
        let options = [
            ("--exact", self.exact),
            ("--likelihood", !self.likelihood.is_empty()),
            ("--upper", self.upper),
            ("--per-doc", self.per_doc.is_some()),
            ("--given", self.given.is_given()),
            ("options such as --format", self.reading.is_given()),
        ];
        match options.iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => Err(Error::Usage(format!("{option}: of which documents? Name a corpus"))),
            None => Ok(()),
        }
    }

    /// Calibration on sampled cases, where it is asked for.
    fn calibration(
        &self,
        network: &Network,
        asked_as: Option<Docs<'_>>,
        estep: &mut dyn EStep,
        common: &Common,
        monitor: &Arc<Monitor>,
    ) -> LibResult<Option<Calibration>> {
        let Some(n_cases) = self.calibration else { return Ok(None) };
        let options = self.estep.options()?;
        let sampled = calibration::Sampled { n_cases, seed: self.seed, estep: &options, asked_as };
        sampled.measure(network, estep, common, monitor).map(Some)
    }
}

/// The upper bound of every document.
fn upper_bounds(
    network: &Network,
    docs: Docs<'_>,
    given: &[(u32, bool)],
    monitor: &Monitor,
) -> LibResult<Vec<f64>> {
    let options = Options::default();
    let cases = Cases { engine: Engine::new(network)?, docs, given, options: &options };
    let mut bounds = Vec::with_capacity(docs.n_docs());
    let upper = |case: &_, _| cases.engine.upper(case, monitor);
    cases.each(0..docs.n_docs(), monitor, upper, |_, _, upper| {
        bounds.push(upper);
        Ok(())
    })?;
    Ok(bounds)
}

/// `log p` of every document and the given topics together: only the states of the others are enumerated.
fn exact_given(
    network: &Network,
    docs: Docs<'_>,
    given: &[(u32, bool)],
    monitor: &Monitor,
) -> LibResult<Vec<f64>> {
    let options = Options { method: Method::Exact, ..Options::default() };
    let cases = Cases { engine: Engine::new(network)?, docs, given, options: &options };
    let mut exact = Vec::with_capacity(docs.n_docs());
    let run = |case: &_, doc_ix| cases.run(case, doc_ix, monitor);
    cases.each(0..docs.n_docs(), monitor, run, |_, _, posterior| {
        exact.push(0.5 * (posterior.log_p.lower + posterior.log_p.upper));
        Ok(())
    })?;
    Ok(exact)
}

/// What was computed of every document; empty or none where it was not asked for.
struct Figures {
    elbo: Vec<f64>,
    exact: Option<Vec<f64>>,
    upper: Option<Vec<f64>>,
    likelihood: Found,
}

impl Figures {
    fn write(&self, mut file: AtomicFile, path: &Path, docs: &Docs<'_>) -> Result<(), Error> {
        let mut write = || {
            write!(file, "doc\telbo{}", if self.exact.is_some() { "\texact" } else { "" })?;
            write!(file, "{}", if self.upper.is_some() { "\tupper" } else { "" })?;
            writeln!(file, "{}", self.likelihood.columns())?;
            for (doc_ix, elbo) in self.elbo.iter().enumerate() {
                write!(file, "{}\t{elbo}", infer::tsv_field(&docs.corpus().id(doc_ix)))?;
                if let Some(exact) = &self.exact {
                    write!(file, "\t{}", exact[doc_ix])?;
                }
                if let Some(upper) = &self.upper {
                    write!(file, "\t{}", upper[doc_ix])?;
                }
                writeln!(file, "{}", self.likelihood.row(doc_ix))?;
            }
            Ok(())
        };
        write().map_err(|e| Error::io(path, e))?;
        file.commit()
    }
}
