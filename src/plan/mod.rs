//! What a training run will take, before it starts: memory, device memory, time. Found out by packing some of its documents and
//! by rehearsing the training on them.

mod device;
mod memory;
mod rehearsal;
mod shape;
mod survey;
mod time;

pub use device::DeviceNeed;
pub use memory::{MemoryNeed, available_memory};
pub use rehearsal::Seconds;
pub use time::Times;

use crate::corpus::Docs;
use crate::error::{Error, Result};
use crate::estep::device::DeviceOptions;
use crate::estep::{Bound, EStep, Monitor};
use crate::network::{Graph, Loaded, Names, Weights};
use crate::train::{CheckedOptions, StepRule, TrainOptions, start_weights};
use memory::{Backend, train_memory};
use rehearsal::Stage;
use serde::Serialize;
use shape::Shape;
use survey::Survey;

/// The device that computes the E-step.
#[derive(Debug, Clone, Copy)]
pub struct Device {
    /// Bytes for packed documents that are kept on the host.
    pub cache_bytes: u64,
    /// Bytes for those that stay on the device, at most.
    pub resident_bytes: u64,
    /// Bytes of the device to use in all, if there is a limit.
    pub max_bytes: Option<u64>,
    /// Whether its memory is the host's.
    pub software: bool,
}

/// What a run takes.
#[derive(Debug, Clone, Serialize)]
pub struct Plan {
    /// Documents in all.
    pub docs: usize,
    /// Documents to train on.
    pub train_docs: usize,
    /// E-steps of an epoch: identical documents share one.
    pub distinct_docs: usize,
    /// Documents held out to validate on.
    pub valid_docs: usize,
    /// Documents held out for the test.
    pub test_docs: usize,
    /// Documents of the sample that was rehearsed on.
    pub sample_docs: usize,
    /// Topics of the graph.
    pub topics: usize,
    /// Tokens of the graph.
    pub tokens: usize,
    /// Edges of the graph.
    pub edges: usize,
    /// Weight steps at most.
    pub steps: u64,
    /// Weight steps an epoch.
    pub batches_per_epoch: usize,
    /// Positive nodes a document.
    pub nodes_per_doc: f64,
    /// Positive edges a document.
    pub edges_per_doc: f64,
    /// Alternations a document, in the mean over the run.
    pub alternations_per_doc: f64,
    /// Packed chunks of an epoch, for a device; with the structured bound nobody knows how many pieces there will be.
    pub chunks_per_epoch: Option<usize>,
    /// Host memory, in bytes.
    pub memory: MemoryNeed,
    /// Device memory, in bytes.
    pub device_memory: Option<DeviceNeed>,
    /// Seconds.
    pub time: Times,
}

/// A training to plan.
#[derive(Clone, Copy)]
pub struct Planned<'a> {
    /// The graph, perhaps with weights to start from.
    pub network: &'a Loaded,
    /// The documents.
    pub docs: Docs<'a>,
    /// How it trains.
    pub options: &'a CheckedOptions,
    /// The device that computes; none: the CPU.
    pub device: Option<Device>,
    /// What it took to load graph and documents.
    pub reading: Seconds,
}

/// Plans a training by rehearsing it with its backend, for about so many seconds.
pub fn plan(planned: &Planned<'_>, estep: &mut dyn EStep, budget_s: f64, monitor: &Monitor) -> Result<Plan> {
    let Planned { network, docs, options, device, reading } = *planned;
    let Loaded { graph, names, weights: given, .. } = network;
    if options.refine.is_some() {
        let message = "`refine` changes the graph as it goes, which cannot be planned; leave it out";
        return Err(Error::Usage(message.into()));
    }
    if options.renew.is_some() {
        let message = "`renew` takes as many rounds as help, which cannot be planned; leave it out";
        return Err(Error::Usage(message.into()));
    }
    if matches!(options.step, StepRule::Mcmc(_)) {
        let message = "the time of a plan is that of E-steps, and `step` mcmc samples; plan another step";
        return Err(Error::Usage(message.into()));
    }
    let survey = Survey::of(&docs, options);
    let (train, valid) = (&survey.train, &survey.valid);
    if train.n_docs == 0 {
        return Err(Error::Usage("the corpus has no documents to train on".into()));
    }
    let leak_floor = options.smallest_leak(train.n_docs);
    let start: Weights =
        start_weights(graph, given.as_ref(), &docs, &survey.train_docs, options, leak_floor, monitor)?;
    let shape = shape_of(graph, docs, &survey, options);
    let (memory, device_memory) = needs(graph, names, docs, options, &survey, &shape, device);
    let on_device = device.is_some();
    let stage =
        Stage { graph, docs, options, start: &start, leak_floor, survey: &survey, on_device, monitor };
    let rehearsal = stage.rehearse(estep, budget_s)?;
    let steps = u64::from(options.epochs) * survey.n_batches as u64;
    let steps = options.max_steps.map_or(steps, |most| most.min(steps));
    let time = time::times(&rehearsal, &survey, options, steps, given.is_some(), reading);
    let limits = DeviceOptions::default().limits;
    Ok(Plan {
        docs: docs.n_docs(),
        train_docs: train.n_docs,
        distinct_docs: train.n_items,
        valid_docs: valid.n_docs,
        test_docs: survey.n_test,
        sample_docs: rehearsal.courses.last().map_or(0, |course| course.n_items),
        topics: graph.n_topics(),
        tokens: graph.n_tokens(),
        edges: graph.n_edges(),
        steps,
        batches_per_epoch: survey.n_batches,
        nodes_per_doc: shape.nodes,
        edges_per_doc: shape.edges,
        alternations_per_doc: time.alternations,
        chunks_per_epoch: device
            .filter(|_| options.estep.clamp == 0)
            .map(|_| shape.n_chunks(train.n_items, survey.n_batches, &limits)),
        memory,
        device_memory,
        time,
    })
}

/// Host memory of a training: what [`plan`] finds without rehearsing.
pub fn memory_need(
    graph: &Graph,
    names: &Names,
    docs: Docs<'_>,
    options: &TrainOptions,
    device: Option<Device>,
) -> MemoryNeed {
    let survey = Survey::of(&docs, options);
    let shape = shape_of(graph, docs, &survey, options);
    needs(graph, names, docs, options, &survey, &shape, device).0
}

fn shape_of(graph: &Graph, docs: Docs<'_>, survey: &Survey, options: &TrainOptions) -> Shape {
    Shape::of(graph, &docs, &survey.train.first_slice, options.estep.bound == Bound::Full)
}

fn needs(
    graph: &Graph,
    names: &Names,
    docs: Docs<'_>,
    options: &TrainOptions,
    survey: &Survey,
    shape: &Shape,
    device: Option<Device>,
) -> (MemoryNeed, Option<DeviceNeed>) {
    let device_memory =
        device.map(|device| device::device_need(graph, &docs, survey, shape, &options.estep, device));
    let backend = match (&device_memory, device) {
        (Some(need), Some(Device { cache_bytes, software, .. })) => {
            Backend::Device { need, cache_bytes, software }
        }
        _ => Backend::Cpu,
    };
    let n_threads = rayon::current_num_threads();
    (train_memory(graph, names, &docs, shape, options, n_threads, backend), device_memory)
}
