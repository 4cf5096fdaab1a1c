//! `noisyor plan`: memory and time of a training run, before it starts.

use super::common::{BackendArgs, interruptible, print};
use super::corpus_args::CorpusArgs;
use super::estep_args::EStepArgs;
use super::train::TrainingArgs;
use super::{Common, progress::Progress};
use anyhow::Result;
use cpu_time::ProcessTime;
use noisyor::Error;
use noisyor::network::load;
use noisyor::plan::{Plan, Planned, Seconds, available_memory, plan};
use noisyor::run::NetworkSource;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Instant;

/// Estimate memory, device memory and time of a training run
///
/// Packs some of the documents, and rehearses the training on a sample for some seconds. Takes the options of `train`, as far as
/// they decide what it costs. Early stopping is not foreseen: a run may end before its epochs do.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  noisyor plan documents.jsonl --graph topics.tsv
  noisyor plan reviews.corpus --graph graph.safetensors --epochs 100 --batch full --threads 16 --json")]
pub(crate) struct Args {
    /// Corpus of any format
    corpus: PathBuf,
    /// Topic graph: a .json, .safetensors or .tsv (parent, child) file
    #[arg(long)]
    graph: Option<PathBuf>,
    /// Seconds to rehearse for, about
    #[arg(long, value_name = "S", default_value_t = 60.0)]
    seconds: f64,
    #[command(flatten)]
    reading: CorpusArgs,
    /// Seed of everything random
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    training: TrainingArgs,
    #[command(flatten)]
    estep: EStepArgs,
    #[command(flatten)]
    backend: BackendArgs,
    /// GPU: memory for packed documents that are kept for later epochs
    #[arg(long, value_name = "N", default_value_t = 2048)]
    cache_mb: usize,
}

pub(crate) fn run(args: Args, common: &Common) -> Result<()> {
    let Some(path) = &args.graph else {
        let message = "a graph is needed: what a run costs depends on its edges. Learn one first, `noisyor graph CORPUS -o \
                       graph.safetensors` with the same --valid, --test and --seed, and give it with --graph";
        return Err(Error::Usage(message.into()).into());
    };
    if !(args.seconds > 0.0 && args.seconds <= 3600.0) {
        let message = format!("--seconds must be above 0 and at most 3600; it is {}", args.seconds);
        return Err(Error::Usage(message).into());
    }
    let source = NetworkSource::File(path.clone());
    let options = args.training.options(args.estep.options()?, None, &source, args.seed)?.check()?;
    let (mut estep, device) = args.backend.open_to_train(common, args.cache_mb)?;
    let monitor = interruptible(common)?;
    let (wall, cpu) = (Instant::now(), ProcessTime::now());
    let network = load(path)?;
    let (corpus, alignment) = args.reading.read_for(&args.corpus, &network.names.tokens, common, &monitor)?;
    if corpus.n_docs() == 0 {
        return Err(Error::Usage("the corpus has no documents to train on".into()).into());
    }
    let reading = Seconds { wall: wall.elapsed().as_secs_f64(), cpu: cpu.elapsed().as_secs_f64() };
    let docs = alignment.docs(&corpus);
    let progress = Progress::open(common, &monitor, "rehearsing");
    let training = Planned { network: &network, docs, options: &options, device, reading };
    let planned = plan(&training, estep.as_mut(), args.seconds, &monitor)?;
    drop(progress);
    let available = available_memory();
    let least = planned.memory.least(corpus.is_mapped());
    if common.json {
        return print(format_args!("{}\n", as_json(&planned, &estep.name(), available, least)));
    }
    print(table(&planned, &estep.name(), available, least))
}

fn as_json(plan: &Plan, backend: &str, available: Option<u64>, least: u64) -> Value {
    let mut value = json!(plan);
    value["backend"] = backend.into();
    value["threads"] = rayon::current_num_threads().into();
    value["available_memory"] = available.into();
    value["fits"] = available.map(|available| least <= available).into();
    value
}

fn table(plan: &Plan, backend: &str, available: Option<u64>, least: u64) -> String {
    let mut text = String::new();
    let mut row = |what: &str, figure: String| {
        let _ = writeln!(text, "{what:<34}{figure}");
    };
    let mb = |bytes: u64| format!("{:.0} MB", bytes as f64 / 1e6);
    let seconds = |s: Seconds| format!("{:.1} s ({:.1} CPU-s)", s.wall, s.cpu);
    let Plan { memory, time, .. } = plan;
    let n_epochs = plan.steps as f64 / plan.batches_per_epoch as f64;
    row("backend", format!("{backend}, {} threads", rayon::current_num_threads()));
    row("graph", format!("{} topics, {} tokens, {} edges", plan.topics, plan.tokens, plan.edges));
    row(
        "documents",
        format!(
            "{}: {} to train on ({} distinct), {} held out, {} for the test",
            plan.docs, plan.train_docs, plan.distinct_docs, plan.valid_docs, plan.test_docs
        ),
    );
    row("rehearsed on", format!("{} documents", plan.sample_docs));
    row(
        "a document",
        format!(
            "{:.1} positive nodes, {:.1} positive edges, {:.1} alternations",
            plan.nodes_per_doc, plan.edges_per_doc, plan.alternations_per_doc
        ),
    );
    if let Some(chunks) = plan.chunks_per_epoch {
        row("chunks an epoch", chunks.to_string());
    }
    row("memory", mb(memory.total));
    let of = [
        ("program", memory.program),
        ("graph, weights, names", memory.network),
        ("sums and weight step", memory.optimiser),
        ("threads of the E-step", memory.workers),
        ("packed documents", memory.packed),
        ("corpus", memory.corpus),
        ("order of the documents", memory.order),
        ("kept starts", memory.kept_starts),
        ("writing a checkpoint", memory.checkpoint),
    ];
    of.iter().filter(|(_, bytes)| *bytes > 0).for_each(|(what, bytes)| row(&format!("  {what}"), mb(*bytes)));
    if memory.behind > 0 {
        row("  for moments, besides", format!("{}, when a thread falls behind", mb(memory.behind)));
    }
    if let Some(device) = &plan.device_memory {
        row("device memory", mb(device.total));
        row("  network", mb(device.network));
        row("  chunks in flight", format!("{}, {} at a time", mb(device.chunks), device.sets));
        row("  packed documents that stay", format!("{} of {}", mb(device.resident), mb(device.all_packed)));
    }
    row("checkpoints on disk", format!("2 of {}", mb(memory.checkpoint_file)));
    row("reading", seconds(time.reading));
    row("an epoch", format!("{}, {:.0} documents/s", seconds(time.epoch), time.docs_per_s));
    row("an evaluation", seconds(time.evaluation));
    row(
        "the run",
        format!(
            "{}: {n_epochs:.4} epochs, {} steps, {} evaluations",
            seconds(time.total),
            plan.steps,
            time.evaluations
        ),
    );
    row("infer, all documents", seconds(time.infer));
    if let Some(available) = available {
        let verdict = if least <= available {
            format!("{} are free: enough", mb(available))
        } else {
            format!("{} are free: NOT ENOUGH; use a smaller graph, or fewer --threads", mb(available))
        };
        row("memory of this machine", verdict);
    }
    text
}
