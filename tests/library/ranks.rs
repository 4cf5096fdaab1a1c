//! Several ranks, as threads: the same bytes as one process, whatever their number, and one end for all of them.

#![allow(clippy::unwrap_used)]

use crate::common::*;
use noisyor::capacity::Effort;
use noisyor::corpus::{Alignment, Corpus, CorpusSource, Item, Place};
use noisyor::estep::cpu::CpuEStep;
use noisyor::estep::{DocResults, EStep, EStepOptions, Monitor, Params, Scale, Sink, Stats, Sums, Work};
use noisyor::infer::{self, Inference, InferredBy, Job, OutputFormat};
use noisyor::mcmc::{Augmentation, McmcOptions, Model};
use noisyor::network::{Network, load_model};
use noisyor::ranks::{RankedEStep, Team, on_threads};
use noisyor::run::{Changes, Given, NetworkSource, Observer, Run, RunConfig};
use noisyor::structure::GraphRequest;
use noisyor::synth::{Preset, Sampler, random_network as preset_network};
use noisyor::train::{
    BatchSize, Begin, Ended, Event, Outcome, RefineOptions, RenewOptions, StepRule, TrainOptions, train,
};
use noisyor::{Error, Result};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const NUMBERS: [usize; 3] = [2, 3, 4];
const EM: StepRule = StepRule::Em { lambda: 1.0 };

/// A network of three layers, and documents sampled from it: blocks for four ranks, and more.
struct Data {
    network: Network,
    corpus: Corpus,
    alignment: Alignment,
    docs: Vec<Vec<u32>>,
}

fn data(n_docs: u64) -> Data {
    let network = preset_network(&Preset::of("tiny").unwrap(), 3).unwrap();
    let sampler = Sampler::new(&network);
    let docs: Vec<Vec<u32>> = (0..n_docs).map(|doc| sampler.sample(7, doc).tokens).collect();
    let (corpus, alignment) = corpus_of(&network, docs.clone());
    Data { network, corpus, alignment, docs }
}

fn ranked(team: &Team) -> RankedEStep {
    RankedEStep::new(Box::new(CpuEStep::new()), team.clone(), Arc::default())
}

fn trained(data: &Data, options: &TrainOptions, estep: &mut dyn EStep) -> Outcome {
    let (begin, docs) =
        (Begin::New(&data.network.graph, Some(&data.network.weights)), data.alignment.docs(&data.corpus));
    let options = options.clone().check().unwrap();
    let mut outcome = train(begin, docs, &options, estep, &Monitor::default(), &mut |_| Ok(())).unwrap();
    if let Some(metrics) = &mut outcome.metrics {
        (metrics.seconds, metrics.docs_per_s, metrics.edges_per_s) = (0.0, 0.0, 0.0);
    }
    outcome
}

/// Everything that training does gives the same on any number of ranks.
fn same_training(data: &Data, options: &TrainOptions) {
    let plain = trained(data, options, &mut CpuEStep::new());
    for n_ranks in NUMBERS {
        for outcome in on_threads(n_ranks, |team| trained(data, options, &mut ranked(&team))) {
            assert_eq!(outcome, plain, "{n_ranks} ranks");
        }
    }
}

fn options(step: StepRule, batch: BatchSize, epochs: u32) -> TrainOptions {
    TrainOptions { step, batch, epochs, valid: 0.2, ..TrainOptions::default() }
}

#[test]
fn mini_batches_and_full_batches_give_the_same_on_any_number_of_ranks() {
    let data = data(1500);
    for batch in [BatchSize::Docs(400), BatchSize::Full] {
        same_training(&data, &options(EM, batch, 3));
        same_training(&data, &TrainOptions { keep_starts: true, ..options(EM, batch, 2) });
    }
    let (smooth, condense, control_variates) = (true, true, true);
    let more = TrainOptions { smooth, condense, control_variates, ..options(EM, BatchSize::Docs(400), 2) };
    same_training(&data, &more);
}

#[test]
fn refinement_renewal_and_samples_give_the_same_on_any_number_of_ranks() {
    let data = data(700);
    let refine = RefineOptions {
        max_edges: Some(data.network.graph.n_edges()),
        first_epochs: 2,
        epochs: 1,
        reseeds: 2,
        rounds: 1,
        swaps: 3,
    };
    same_training(&data, &TrainOptions { refine: Some(refine), ..options(EM, BatchSize::Full, 1) });
    let renew = RenewOptions { rounds: 2, idle: 2, first_epochs: 1, epochs: 1, sample: 300, candidates: 6 };
    same_training(&data, &TrainOptions { renew: Some(renew), ..options(EM, BatchSize::Full, 1) });
    let mcmc = McmcOptions {
        model: Model::Full,
        sweeps: 3,
        burn_in: 1,
        augmentation: Augmentation::Cascade,
        pseudo_count: 1.0,
    };
    same_training(&data, &options(StepRule::Mcmc(mcmc), BatchSize::Docs(300), 2));
}

/// Bits of sums, and every document's results as the sink gets them.
fn estep_answers(data: &Data, items: &[Item], estep: &mut dyn EStep) -> (Stats, Vec<(u32, u32, u64)>) {
    let graph = &data.network.graph;
    let options = EStepOptions::default();
    let params = Params::derive(graph, &data.network.weights, options.bound).unwrap();
    let docs = data.alignment.docs(&data.corpus);
    let monitor = Monitor::default();
    let work = Work {
        graph,
        params: &params,
        docs,
        items,
        options: &options,
        gradients: true,
        kept_on: None,
        monitor: &monitor,
    };
    let mut seen: Vec<(u32, u32, u64)> = Vec::new();
    let mut sink = |results: &DocResults<'_>| {
        assert_eq!(results.first_item, seen.iter().map(|&(item, ..)| item as usize + 1).max().unwrap_or(0));
        for at in 0..results.n_docs() {
            let (topics, q) = results.doc(at);
            let item = (results.first_item + at) as u32;
            seen.push((item, u32::MAX, results.elbo[at].to_bits()));
            seen.extend(topics.iter().zip(q).map(|(&topic, q)| (item, topic, u64::from(q.to_bits()))));
        }
        Ok(())
    };
    let stats = estep.run(&work, Some(&mut sink)).unwrap();
    (stats, seen)
}

#[test]
fn shares_in_several_pieces_give_the_same_sums_and_results_in_order() {
    let data = data(300);
    // So many that shares of three ranks come in pieces.
    let doc_ixs: Vec<u32> = (0..30_000).map(|at| at * 7 % 300).collect();
    let items = Item::each(&doc_ixs);
    let plain = estep_answers(&data, &items, &mut CpuEStep::new());
    assert_eq!(plain.0.n_docs, 30_000.0);
    for n_ranks in [2, 3] {
        for answers in on_threads(n_ranks, |team| {
            let answers = estep_answers(&data, &items, &mut ranked(&team));
            let spent = team.spent();
            assert!(spent.n_calls >= 2 && spent.bytes > 0);
            answers
        }) {
            assert!(answers == plain, "{n_ranks} ranks");
        }
    }
}

/// A run of a corpus in memory.
fn config(data: &Data, network: NetworkSource, options: TrainOptions) -> (RunConfig, Vec<Vec<u32>>) {
    let mut config = RunConfig::new(CorpusSource::new(Place::Memory), network);
    config.options = options;
    config.backend.backend = noisyor::run::Backend::Cpu;
    (config, data.docs.clone())
}

fn given(docs: &[Vec<u32>], team: &Team) -> Given {
    Given { corpus: Some(Corpus::from_tokens(docs.to_vec())), team: team.clone(), ..Given::default() }
}

fn run_all(mut run: Run, observer: &mut dyn Observer) -> Result<Ended> {
    let trained = run.train(observer)?;
    let figures = run.evaluate(&trained, observer)?;
    run.finish(&trained, &figures)?;
    Ok(trained.outcome.ended)
}

fn file(folder: &Path, name: &str) -> Vec<u8> {
    std::fs::read(folder.join(name)).unwrap()
}

/// Lines of metrics without times.
fn metrics(folder: &Path) -> Vec<serde_json::Value> {
    let text = String::from_utf8(file(folder, "metrics.jsonl")).unwrap();
    let line = |line: &str| {
        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
        let fields = line.as_object_mut().unwrap();
        for own in [
            "seconds",
            "docs_per_s",
            "edges_per_s",
            "ranks",
            "sent_bytes_per_step",
            "communication_s_per_step",
            "waiting_share",
        ] {
            fields.remove(own);
        }
        line
    };
    text.lines().map(line).collect()
}

#[test]
fn runs_with_learned_and_chosen_networks_write_the_same_files_on_any_number_of_ranks() {
    let data = data(1200);
    let learned = NetworkSource::Learned(GraphRequest { topics: vec![12, 3], ..GraphRequest::default() });
    let chosen = NetworkSource::Chosen {
        effort: Effort::Minutes(0.01),
        epochs: Some(2),
        known: GraphRequest::default(),
    };
    for source in [learned, chosen] {
        let options = TrainOptions { test: 0.1, epochs: 2, valid: 0.2, ..source.default_options() };
        let (config, docs) = config(&data, source, options);
        let folder = tempfile::tempdir().unwrap();
        let path = |n_ranks: usize| folder.path().join(n_ranks.to_string());
        for n_ranks in [1, 2, 4] {
            let ended = on_threads(n_ranks, |team| {
                let (config, path) = (config.clone(), path(n_ranks));
                let run = Run::prepare(config, Some(&path), given(&docs, &team), Arc::default(), &mut ())?;
                assert_eq!(run.path() == path, team.is_first());
                run_all(run, &mut ())
            });
            assert!(ended.into_iter().all(|ended| ended.unwrap() == Ended::Finished));
        }
        for n_ranks in [2, 4] {
            for name in ["model.safetensors", "graph.safetensors"] {
                assert!(file(&path(n_ranks), name) == file(&path(1), name), "{name}, {n_ranks} ranks");
            }
            assert_eq!(metrics(&path(n_ranks)), metrics(&path(1)));
            let text = String::from_utf8(file(&path(n_ranks), "metrics.jsonl")).unwrap();
            let line: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
            assert_eq!(line["ranks"], n_ranks);
            assert!(line["sent_bytes_per_step"].as_f64().unwrap() > 0.0);
        }
        assert!(!String::from_utf8(file(&path(1), "metrics.jsonl")).unwrap().contains("ranks"));
    }
}

/// Asks one rank to stop after so many evaluations.
struct Stopping<'a>(usize, &'a Monitor);

impl Observer for Stopping<'_> {
    fn trains(&mut self, event: &Event<'_>, _: &TrainOptions) {
        if let Event::Evaluated { .. } = event {
            self.0 -= 1;
            self.1.stop.store(self.0 == 0, Ordering::Relaxed);
        }
    }
}

fn small_run(data: &Data) -> (RunConfig, Vec<Vec<u32>>) {
    let learned = NetworkSource::Learned(GraphRequest { topics: vec![12, 3], ..GraphRequest::default() });
    let options = TrainOptions { epochs: 6, valid: 0.2, ..learned.default_options() };
    config(data, learned, TrainOptions { batch: BatchSize::Docs(300), ..options })
}

#[test]
fn a_stop_of_one_rank_stops_all_and_another_number_of_ranks_goes_on_to_the_same_bytes() {
    let data = data(1000);
    let (config, docs) = small_run(&data);
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    let run =
        Run::prepare(config.clone(), Some(&whole), given(&docs, &Team::default()), Arc::default(), &mut ());
    assert_eq!(run_all(run.unwrap(), &mut ()).unwrap(), Ended::Finished);
    for (stopped, resumed, stopping) in [(3, 2, 1), (2, 4, 0), (4, 1, 3), (1, 3, 0)] {
        let path = folder.path().join(format!("{stopped}-{resumed}"));
        let ended = on_threads(stopped, |team| {
            let monitor = Arc::new(Monitor::default());
            let run = Run::prepare(
                config.clone(),
                Some(&path),
                given(&docs, &team),
                Arc::clone(&monitor),
                &mut (),
            )?;
            match team.rank() == stopping {
                true => run_all(run, &mut Stopping(2, &monitor)),
                false => run_all(run, &mut ()),
            }
        });
        assert!(ended.into_iter().all(|ended| ended.unwrap() == Ended::Interrupted), "{stopped} ranks");
        let ended = on_threads(resumed, |team| {
            let run = Run::resume(&path, Changes::default(), given(&docs, &team), Arc::default(), &mut ())?;
            run_all(run, &mut ())
        });
        assert!(ended.into_iter().all(|ended| ended.unwrap() == Ended::Finished), "{resumed} ranks");
        assert!(
            file(&path, "model.safetensors") == file(&whole, "model.safetensors"),
            "{stopped}, {resumed}"
        );
        assert_eq!(metrics(&path), metrics(&whole));
    }
}

/// The CPU, whose device is lost after so many runs.
struct Failing(CpuEStep, usize);

impl EStep for Failing {
    fn name(&self) -> String {
        self.0.name()
    }

    fn run_packed(&mut self, work: &Work<'_>, scale: Scale, sink: Option<&mut Sink<'_>>) -> Result<Sums> {
        self.1 = self.1.checked_sub(1).ok_or_else(|| Error::Device("the device is lost".into()))?;
        self.0.run_packed(work, scale, sink)
    }

    fn run_docs(&self, options: &EStepOptions) -> usize {
        self.0.run_docs(options)
    }
}

#[test]
fn a_rank_that_fails_ends_all_with_its_name_at_a_state_that_can_be_gone_on_from() {
    let data = data(800);
    let options = options(EM, BatchSize::Docs(200), 3).check().unwrap();
    let docs = data.alignment.docs(&data.corpus);
    let new = || Begin::New(&data.network.graph, Some(&data.network.weights));
    let plain =
        train(new(), docs, &options, &mut CpuEStep::new(), &Monitor::default(), &mut |_| Ok(())).unwrap();
    for failing in 0..3 {
        let ends = on_threads(3, |team| {
            let inner: Box<dyn EStep> = match team.rank() == failing {
                true => Box::new(Failing(CpuEStep::new(), 5)),
                false => Box::new(CpuEStep::new()),
            };
            let mut estep = RankedEStep::new(inner, team.clone(), Arc::default());
            let mut last = None;
            let ended = train(new(), docs, &options, &mut estep, &Monitor::default(), &mut |event| {
                if let Event::Safe { state, .. } = event {
                    last = Some(Box::new((*state).clone()));
                }
                Ok(())
            });
            (team.share_error(ended), last.unwrap())
        });
        for (rank, (ended, last)) in ends.into_iter().enumerate() {
            let error = ended.unwrap_err();
            if rank == failing {
                assert!(matches!(error, Error::Device(_)), "{error}");
            } else {
                assert_eq!(error.exit_status(), 6);
                let message = error.to_string();
                assert!(message.starts_with(&format!("rank {failing} (")), "{message}");
                assert!(message.contains("the device is lost"), "{message}");
            }
            // Where every rank stood, one goes on to the same end.
            let begin = Begin::At(&data.network.graph, last);
            let rest =
                train(begin, docs, &options, &mut CpuEStep::new(), &Monitor::default(), &mut |_| Ok(()));
            assert_eq!(rest.unwrap().weights, plain.weights);
        }
    }
}

#[test]
fn ranks_with_other_documents_or_options_are_refused_by_name() {
    let data = data(400);
    let (config, docs) = small_run(&data);
    let folder = tempfile::tempdir().unwrap();
    let refused = |name: &str, other: &(dyn Fn(&mut RunConfig, &mut Vec<Vec<u32>>) + Sync), what: &str| {
        let path = folder.path().join(name);
        let ends = on_threads(3, |team| {
            let (mut config, mut docs) = (config.clone(), docs.clone());
            if team.rank() == 2 {
                other(&mut config, &mut docs);
            }
            Run::prepare(config, Some(&path), given(&docs, &team), Arc::default(), &mut ()).map(|_| ())
        });
        for ended in ends {
            let error = ended.unwrap_err();
            let message = error.to_string();
            assert_eq!(error.exit_status(), 2, "{message}");
            assert!(message.contains("rank 2 (") && message.contains(what), "{message}");
        }
        assert!(!path.exists(), "nothing is left behind");
    };
    refused("documents", &|_, docs| docs[7].push(3), "fingerprint of the documents");
    refused("fewer", &|_, docs| docs.truncate(399), "number of documents");
    refused("seed", &|config, _| config.options.seed = 5, "`options.seed`: 0 and 5");
    refused("rule", &|config, _| config.options.estep.clamp = 2, "`options.estep.clamp`");
}

fn infer_to(
    path: &Path,
    data: &Data,
    network: &Network,
    resume: bool,
    stop_after: usize,
    team: &Team,
) -> Result<()> {
    let options = EStepOptions::default();
    let docs = data.alignment.docs(&data.corpus);
    let by = InferredBy::Network { network, options: &options, given: &[], is_exact: false };
    let format = OutputFormat::of(path, None)?;
    let job = Job { by, docs, shard: None, threshold: 0.01, format, log_odds: false, part_docs: 3000 };
    let mut estep = Stopped(CpuEStep::new(), AtomicUsize::new(stop_after));
    if !team.is_first() {
        return infer::help(&job, team, &mut estep, &Monitor::default());
    }
    let mut batch = Inference::open(path, job, "cpu", resume, &mut |_| ())?;
    batch.replay(&Monitor::default())?;
    batch.run_on(team, &mut estep, &Monitor::default())?;
    batch.commit()
}

/// The CPU, interrupted after so many runs.
struct Stopped(CpuEStep, AtomicUsize);

impl EStep for Stopped {
    fn name(&self) -> String {
        self.0.name()
    }

    fn run_packed(&mut self, work: &Work<'_>, scale: Scale, sink: Option<&mut Sink<'_>>) -> Result<Sums> {
        let left = self.1.get_mut();
        *left = left.checked_sub(1).ok_or(Error::Interrupted)?;
        self.0.run_packed(work, scale, sink)
    }

    fn run_docs(&self, options: &EStepOptions) -> usize {
        self.0.run_docs(options)
    }
}

#[test]
fn inference_writes_the_same_bytes_on_any_number_of_ranks_and_goes_on_with_another() {
    let data = data(40_000);
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    infer_to(&at("plain.tsv"), &data, &data.network, false, usize::MAX, &Team::default()).unwrap();
    for n_ranks in NUMBERS {
        let path = at(&format!("{n_ranks}.tsv"));
        for ended in
            on_threads(n_ranks, |team| infer_to(&path, &data, &data.network, false, usize::MAX, &team))
        {
            ended.unwrap();
        }
        assert!(
            file(folder.path(), &format!("{n_ranks}.tsv")) == file(folder.path(), "plain.tsv"),
            "{n_ranks} ranks"
        );
    }
    let path = at("stopped.tsv");
    for ended in on_threads(3, |team| infer_to(&path, &data, &data.network, false, 1, &team)) {
        assert!(matches!(ended, Err(Error::Interrupted)), "{ended:?}");
    }
    assert!(at("stopped.tsv.parts").is_dir() && !path.exists());
    for ended in on_threads(2, |team| infer_to(&path, &data, &data.network, true, usize::MAX, &team)) {
        ended.unwrap();
    }
    assert!(file(folder.path(), "stopped.tsv") == file(folder.path(), "plain.tsv"));
}

#[test]
fn parts_of_a_corpus_are_put_together_in_their_order() {
    let data = data(900);
    let folder = tempfile::tempdir().unwrap();
    let line = |doc: &Vec<u32>| {
        let tokens: Vec<String> = doc.iter().map(|token| format!("\"word{token}\"")).collect();
        format!("{{\"tokens\":[{}]}}", tokens.join(","))
    };
    let lines: Vec<String> = data.docs.iter().map(line).collect();
    std::fs::write(folder.path().join("whole.jsonl"), lines.join("\n")).unwrap();
    for (part, lines) in lines.chunks(250).enumerate() {
        std::fs::write(folder.path().join(format!("docs-{part}.jsonl")), lines.join("\n")).unwrap();
    }
    let config = |name: &str| {
        let (mut config, _) = small_run(&data);
        config.corpus = CorpusSource::file(folder.path().join(name));
        config.options.epochs = 2;
        config
    };
    let run = |name: &str, output: &str, team: Team| {
        let given = Given { team, ..Given::default() };
        let run =
            Run::prepare(config(name), Some(&folder.path().join(output)), given, Arc::default(), &mut ());
        run.and_then(|run| run_all(run, &mut ()))
    };
    run("whole.jsonl", "whole", Team::default()).unwrap();
    for n_ranks in [1, 2, 4] {
        let output = format!("of-{n_ranks}");
        for ended in on_threads(n_ranks, |team| run("docs-{part}.jsonl", &output, team)) {
            assert_eq!(ended.unwrap(), Ended::Finished);
        }
        let model = |folder: &Path| load_model(&folder.join("model.safetensors")).unwrap();
        assert!(model(&folder.path().join(&output)) == model(&folder.path().join("whole")));
    }
    // A faulty line is one of its part.
    std::fs::write(folder.path().join("docs-2.jsonl"), "{\"tokens\":[\"a\"]}\n{\"tokens\":7}\n").unwrap();
    for ended in on_threads(2, |team| run("docs-{part}.jsonl", "faulty", team)) {
        let message = ended.unwrap_err().to_string();
        assert!(message.contains("docs-2.jsonl:2"), "{message}");
    }
    std::fs::remove_file(folder.path().join("docs-2.jsonl")).unwrap();
    for ended in on_threads(2, |team| run("docs-{part}.jsonl", "gap", team)) {
        let message = ended.unwrap_err().to_string();
        assert!(
            message.contains("docs-3.jsonl is there") && message.contains("docs-2.jsonl is not"),
            "{message}"
        );
    }
}
