//! `noisyor bench`: E-step throughput of the backends, side by side on the same documents.

mod doctor;
mod on_ranks;
mod table;

use super::common::{interruptible, print};
use super::corpus_args::CorpusArgs;
use super::estep_args::EStepArgs;
use super::flags::with_flags;
use super::gpu::{self, Gpu, Wanted};
use super::{Common, progress::Progress};
use anyhow::Result;
use clap::ValueEnum;
use noisyor::bench::{Card, Contender, Doctor, Report, bench, bench_ranks, diagnose, n_runs};
use noisyor::corpus::{Corpus, Item, align, sample_corpus, sample_network};
use noisyor::estep::cpu::CpuEStep;
use noisyor::estep::device::twin::TwinMachine;
use noisyor::estep::device::{DeviceOptions, Route};
use noisyor::estep::{EStepOptions, Monitor, Params, Work};
use noisyor::network::{Network, load_model};
use noisyor::synth::{Preset, Sampler, random_network};
use noisyor::{Error, Result as LibResult};
use rayon::prelude::*;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// E-step throughput of CPU and GPU, side by side on the same documents
///
/// Without arguments: the bundled sample under its own network. Backends are set against the first one listed. Where their answers
/// differ (mean bound by more than 1e-5 of itself, q by more than 1e-4 in the mean, or gradient sums by more than 1e-5 of their
/// total) no speed-up is shown and the exit status is 5.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  noisyor bench
  noisyor bench --preset dblp --docs 5000 --backend cpu,gpu --device 0
  noisyor bench --preset dblp --docs 20000 --backend gpu --doctor
  noisyor bench --model run/model.safetensors documents.jsonl --no-gradients --json
  mpirun -n 4 noisyor bench --preset dblp --docs 20000 --mpi")]
pub(crate) struct Args {
    /// Corpus, to be run under --model [default: the bundled sample]
    #[arg(requires = "model")]
    corpus: Option<PathBuf>,
    /// Model of the corpus: .safetensors, .json or .tsv
    #[arg(long, value_name = "FILE", requires = "corpus", conflicts_with = "preset")]
    model: Option<PathBuf>,
    /// A random network of this size, and documents sampled from it: tiny, qmr, dblp or yelp
    #[arg(long, value_parser = Preset::NAMES)]
    preset: Option<String>,
    /// Documents: the first N [default: all of a corpus; 2000 of tiny and qmr, 500 of dblp, 200 of yelp]
    #[arg(long, value_name = "N")]
    docs: Option<u32>,
    /// Seed of the preset's network and documents [default: 0]
    #[arg(long, requires = "preset")]
    seed: Option<u64>,
    /// Backends to measure; `twins` runs the GPU's kernels one row after another on one thread of the CPU
    /// [default: cpu,gpu; without a GPU adapter cpu alone]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "LIST")]
    backend: Option<Vec<Backend>>,
    /// Which GPU: its number or a part of its name, as `noisyor devices` lists them
    #[arg(long, value_name = "SUBSTRING|INDEX")]
    device: Option<String>,
    /// GPU: device memory to use at most; with it, all that is left beside the chunks in flight is for packed documents that
    /// stay on the device [default: all of it, and 2048 for packed documents]
    #[arg(long, value_name = "N")]
    device_mb: Option<u64>,
    /// How documents go through the GPU's kernels [default: the fastest of them on the first documents]
    #[arg(long, value_enum)]
    route: Option<RouteArg>,
    /// GPU: set every kernel's bandwidth against what it should move and against copies on the device, and name the likely causes
    /// of a shortfall
    #[arg(long)]
    doctor: bool,
    /// Timed runs of every backend, after a warm-up
    #[arg(long, value_name = "N", default_value_t = 3)]
    repeat: usize,
    /// Measure several ranks beside one alone, and what their communication costs: for a program that mpirun starts
    #[arg(long, conflicts_with_all = ["doctor", "no_gradients"])]
    mpi: bool,
    /// Leave out the gradient sums that training needs
    #[arg(long)]
    no_gradients: bool,
    #[command(flatten)]
    reading: CorpusArgs,
    #[command(flatten)]
    estep: EStepArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Backend {
    Cpu,
    Gpu,
    Twins,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RouteArg {
    /// A thread for every short row
    Flat,
    /// Short rows in batches, through workgroup memory
    Stream,
    /// Documents in bins of 16 KB of workgroup memory
    #[value(name = "16kb-bins")]
    SmallBins,
    /// Documents in bins of 32 KB
    #[value(name = "32kb-bins")]
    LargeBins,
}

impl From<RouteArg> for Route {
    fn from(route: RouteArg) -> Self {
        match route {
            RouteArg::Flat => Self::Flat,
            RouteArg::Stream => Self::Stream,
            RouteArg::SmallBins => Self::SmallBins,
            RouteArg::LargeBins => Self::LargeBins,
        }
    }
}

/// The name of the GPU in the report.
const GPU: &str = "gpu";

/// Documents of a preset where none are given: all runs together take about ten seconds on software Vulkan.
fn default_docs(preset: &Preset) -> u32 {
    match preset.name {
        "dblp" => 500,
        "yelp" => 200,
        _ => 2_000,
    }
}

/// Everything there is to say.
#[derive(Serialize)]
struct Output<'a> {
    input: String,
    topics: usize,
    tokens: usize,
    edges: usize,
    threads: usize,
    estep: &'a EStepOptions,
    #[serde(flatten)]
    report: Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    doctor: Option<Doctor>,
}

pub(crate) fn run(args: Args, common: &Common) -> Result<()> {
    let options = args.estep.options()?;
    let (mut contenders, card) = args.contenders(common)?;
    let monitor = interruptible(common)?;
    let (input, network, corpus) = args.inputs(&monitor, common)?;
    corpus.all_known("bench")?;
    let alignment = align(&corpus, &network.names.tokens);
    let n_docs = args.docs.map_or(corpus.n_docs(), |docs| corpus.n_docs().min(docs as usize));
    let items = Item::each(&(0..n_docs as u32).collect::<Vec<_>>());
    let graph = &network.graph;
    let params = Params::derive(graph, &network.weights, options.bound)?;
    let (docs, gradients) = (alignment.docs(&corpus), !args.no_gradients);
    let work = Work {
        graph,
        params: &params,
        docs,
        items: &items,
        options: &options,
        gradients,
        kept_on: None,
        monitor: &monitor,
    };

    if args.mpi {
        return on_ranks(&work, &input, contenders, args.repeat, common);
    }
    let n_docs_run = n_docs * n_runs(&contenders, args.repeat);
    let progress = Progress::start(common, &monitor, "measuring", n_docs_run as u64);
    let report = bench(&work, args.repeat, &mut contenders, &mut |what| progress.line(what))?;
    drop(progress);
    let of_gpu = |card| {
        let rows = report.rows.iter().filter(|row| row.backend == GPU);
        let mut doctor =
            Doctor { card, rows: rows.filter_map(|row| diagnose(row, &options, &card)).collect() };
        for finding in doctor.rows.iter_mut().flat_map(|row| &mut row.findings) {
            finding.remedy = with_flags(&finding.remedy);
        }
        doctor
    };
    let doctor = card.map(of_gpu);
    let output = Output {
        input,
        topics: graph.n_topics(),
        tokens: graph.n_tokens(),
        edges: graph.n_edges(),
        threads: rayon::current_num_threads(),
        estep: &options,
        report,
        doctor,
    };
    if common.json {
        print(format_args!("{}\n", serde_json::to_string(&output)?))?;
    } else {
        print(table::text(&output))?;
        if let Some(doctor) = &output.doctor {
            print(doctor::text(doctor))?;
        }
    }
    Ok(verdict(&output.report)?)
}

/// Measures ranks with the one backend that there is.
fn on_ranks(
    work: &Work<'_>,
    input: &str,
    mut contenders: Vec<Contender>,
    repeat: usize,
    common: &Common,
) -> Result<()> {
    let (Some(contender), true) = (contenders.pop(), contenders.is_empty()) else {
        return Err(Error::Usage("--mpi measures one backend; give one with --backend".into()).into());
    };
    let report = bench_ranks(work, repeat, contender.estep, &common.team, &mut |what| common.say(what))?;
    match common.json {
        true => print(format_args!("{}\n", serde_json::to_string(&report)?))?,
        false => print(on_ranks::text(input, &report))?,
    }
    match report.same_sums {
        true => Ok(()),
        false => Err(Error::Numeric("the sums of the ranks are not those of one alone".into()).into()),
    }
}

/// An error where a backend's answers differ.
fn verdict(report: &Report) -> LibResult<()> {
    match report.rows.iter().find(|row| !row.answers_agree) {
        None => Ok(()),
        Some(row) => Err(Error::Numeric(format!(
            "the answers of {} differ from those of {}: mean bound by {:.1e}, q by {:.1e} in the mean, \
             gradient sums by {:.1e} of their total; one of them is wrong, or \
             documents end elsewhere by chance: a smaller --estep-tol tells which",
            row.backend,
            report.rows[0].backend,
            row.elbo_difference,
            row.difference.q_mean,
            row.difference.sums
        ))),
    }
}

impl Args {
    /// Whether ranks share the work.
    pub(crate) fn is_shared(&self) -> bool {
        self.mpi
    }

    /// A name for what is measured on, a network and documents.
    fn inputs(&self, monitor: &Arc<Monitor>, common: &Common) -> Result<(String, Network, Corpus)> {
        if self.corpus.is_none() && self.reading.is_given() {
            return Err(Error::Usage(
                "options such as --format say how to read a corpus, and none is given".into(),
            )
            .into());
        }
        if let Some(name) = &self.preset {
            let preset =
                Preset::of(name).ok_or_else(|| Error::Usage(format!("there is no preset '{name}'")))?;
            common.say(format_args!("making a random network with {} edges", preset.n_edges));
            let seed = self.seed.unwrap_or(0);
            let network = random_network(&preset, seed)?;
            let n_docs = self.docs.unwrap_or_else(|| default_docs(&preset));
            let corpus = sample(&network, seed, n_docs, monitor, common)?;
            return Ok((format!("preset {name}"), network, corpus));
        }
        match (&self.model, &self.corpus) {
            (Some(model), Some(corpus)) => {
                let input = corpus.display().to_string();
                let network = load_model(model)?;
                let (corpus, _) = self.reading.read_for(corpus, &network.names.tokens, common, monitor)?;
                corpus.verify()?;
                Ok((input, network, corpus))
            }
            _ => Ok(("sample".to_owned(), sample_network()?, sample_corpus()?)),
        }
    }

    /// The backends, and what is known of the GPU where it is to be judged.
    fn contenders(&self, common: &Common) -> LibResult<(Vec<Contender>, Option<Card>)> {
        let usual = || if self.mpi { vec![Backend::Cpu] } else { vec![Backend::Cpu, Backend::Gpu] };
        let list = self.backend.clone().unwrap_or_else(usual);
        if (1..list.len()).any(|at| list[..at].contains(&list[at])) {
            return Err(Error::Usage("--backend lists a backend twice; once is enough".into()));
        }
        if !list.contains(&Backend::Gpu) {
            let device = self.device.as_ref().map(|device| format!("--device {device}"));
            let device_mb = self.device_mb.map(|mb| format!("--device-mb {mb}"));
            let others =
                self.route.map(|_| "--route").or(self.doctor.then_some("--doctor")).map(str::to_owned);
            if let Some(option) = device.or(device_mb).or(others) {
                return Err(Error::Usage(format!(
                    "{option} makes no sense without gpu in --backend; add gpu, or leave it out"
                )));
            }
        }
        let (mut contenders, mut card) = (Vec::new(), None);
        for backend in list {
            contenders.push(match backend {
                Backend::Cpu => {
                    let estep = CpuEStep::new();
                    let threads = match rayon::current_num_threads() {
                        1 => "1 thread".to_owned(),
                        n => format!("{n} threads"),
                    };
                    let device = format!("{threads}, {}", estep.instructions().name());
                    Contender { name: "cpu".into(), device, estep: Box::new(estep) }
                }
                Backend::Gpu => match self.open_gpu(common) {
                    Ok(gpu) => {
                        let kind = if gpu.is_hardware { "" } else { ", software" };
                        card = gpu
                            .copy_bytes_per_s
                            .map(|copy_bytes_per_s| Card { is_hardware: gpu.is_hardware, copy_bytes_per_s });
                        Contender { name: GPU.into(), device: gpu.name + kind, estep: gpu.estep }
                    }
                    Err(error @ Error::Device(_)) if !self.wants_gpu() && gpu::adapters().is_empty() => {
                        common.say(format_args!("gpu is left out: {error}"));
                        continue;
                    }
                    Err(error) => return Err(error),
                },
                Backend::Twins => {
                    let estep = gpu::on_device(TwinMachine::new(), DeviceOptions::default(), common);
                    Contender { name: "twins".into(), device: "1 thread".into(), estep }
                }
            });
        }
        Ok((contenders, card))
    }

    /// Whether the user asked for a GPU, rather than taking what there is.
    fn wants_gpu(&self) -> bool {
        self.backend.is_some() || self.device.is_some() || self.device_mb.is_some() || self.doctor
    }

    fn open_gpu(&self, common: &Common) -> LibResult<Gpu> {
        let max_bytes = self.device_mb.map(|mb| mb.saturating_mul(1 << 20));
        let default = DeviceOptions::default();
        let resident_bytes = max_bytes.unwrap_or(default.resident_bytes);
        let options = DeviceOptions { resident_bytes, route: self.route.map(Route::from), ..default };
        gpu::open(
            Wanted { device: self.device.clone(), max_bytes, timestamps: true, copies: self.doctor, options },
            common,
        )
    }
}

fn sample(
    network: &Network,
    seed: u64,
    n_docs: u32,
    monitor: &Arc<Monitor>,
    common: &Common,
) -> LibResult<Corpus> {
    let _progress = Progress::start(common, monitor, "sampling", u64::from(n_docs));
    let sampler = Sampler::new(network);
    let one = |doc_ix: u32| {
        monitor.docs_done.fetch_add(1, Ordering::Relaxed);
        match monitor.stop.load(Ordering::Relaxed) {
            true => Err(Error::Interrupted),
            false => Ok(sampler.sample(seed, u64::from(doc_ix)).tokens),
        }
    };
    let docs = (0..n_docs).into_par_iter().map(one).collect::<LibResult<Vec<_>>>()?;
    Ok(Corpus::from_tokens(docs))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sample on the CPU, and the same as another backend whose answers differ.
    #[test]
    fn answers_that_differ_are_shown_without_a_speedup_and_end_in_status_5() {
        let (network, corpus) = (sample_network().unwrap(), sample_corpus().unwrap());
        let alignment = noisyor::corpus::align(&corpus, &network.names.tokens);
        let (options, items, monitor) = (EStepOptions::default(), Item::each(&[0, 1, 2]), Monitor::default());
        let params = Params::derive(&network.graph, &network.weights, options.bound).unwrap();
        let (graph, docs) = (&network.graph, alignment.docs(&corpus));
        let work = Work {
            graph,
            params: &params,
            docs,
            items: &items,
            options: &options,
            gradients: true,
            kept_on: None,
            monitor: &monitor,
        };
        let cpu = Contender { name: "cpu".into(), device: String::new(), estep: Box::new(CpuEStep::new()) };
        let mut report = bench(&work, 1, &mut [cpu], &mut |_| ()).unwrap();
        assert!(verdict(&report).is_ok());

        let mut wrong = report.rows[0].clone();
        (wrong.backend, wrong.answers_agree, wrong.speedup) = ("wrong".into(), false, None);
        report.rows.push(wrong);
        let error = verdict(&report).unwrap_err();
        assert_eq!(error.exit_status(), 5);
        assert!(error.to_string().contains("answers of wrong differ from those of cpu"), "{error}");
        let input = "sample".to_owned();
        let output = Output {
            input,
            topics: 0,
            tokens: 0,
            edges: 0,
            threads: 1,
            estep: &options,
            report,
            doctor: None,
        };
        let text = table::text(&output);
        let line = text.lines().find(|line| line.ends_with("answers differ: no speed-up shown")).unwrap();
        assert!(line.starts_with("wrong ") && line.len() <= 110, "{text}");
        assert!(serde_json::to_string(&output).unwrap().contains(r#""speedup":null"#));
    }
}
