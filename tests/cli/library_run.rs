//! A run that a program makes with the library is a run like any other: the command line resumes it, and the other way round.

use crate::support::{Folder, text};
use noisyor::capacity::Effort;
use noisyor::corpus::{Corpus, CorpusSource, Place};
use noisyor::network::load;
use noisyor::run::{
    Backend, BackendOptions, Changes, CheckpointRule, Given, NetworkSource, Observer, Run, RunConfig,
};
use noisyor::train::{Ended, Event, TrainOptions};
use std::sync::Arc;
use std::sync::atomic::Ordering;

const OPTIONS: &str = "--epochs 4 --patience 0 --seed 3 --test 0.1 --backend cpu";

/// Documents of a small network, and its graph.
fn with_documents() -> Folder {
    let folder = Folder::new();
    assert!(folder.run("synth --preset tiny --docs 300 -o t -q").status.success());
    folder
}

fn config(folder: &Folder, network: NetworkSource) -> RunConfig {
    let mut config = RunConfig::new(CorpusSource::file(folder.path("t/corpus.svm")), network);
    config.options = TrainOptions { epochs: 4, patience: 0, seed: 3, test: 0.1, ..config.options };
    config.backend = BackendOptions { backend: Backend::Cpu, ..BackendOptions::default() };
    config.checkpoints = CheckpointRule::Steps(1);
    config
}

/// Cancels a training after so many weight steps.
struct StopAt(u64, Arc<noisyor::monitor::Monitor>);

impl Observer for StopAt {
    fn trains(&mut self, event: &Event<'_>, _: &TrainOptions) {
        if let Event::Safe { state, .. } = event
            && state.step() >= self.0
        {
            self.1.stop.store(true, Ordering::SeqCst);
        }
    }
}

fn assert_same_model(folder: &Folder, a: &str, b: &str) {
    let model = |run: &str| folder.bytes(&format!("{run}/model.safetensors"));
    assert!(model(a) == model(b), "{a} and {b}: different models");
}

#[test]
fn a_library_run_is_resumed_by_the_command_line() {
    let folder = with_documents();
    let graph = folder.path("t/network.safetensors");
    folder.run(&format!("train t/corpus.svm --graph t/network.safetensors {OPTIONS} -o whole -q"));
    let monitor = Arc::default();
    let mut observer = StopAt(7, Arc::clone(&monitor));
    let path = folder.path("made");
    let config = config(&folder, NetworkSource::File(graph));
    let mut run = Run::prepare(config, Some(&path), Given::default(), monitor, &mut observer).unwrap();
    let trained = run.train(&mut observer).unwrap();
    assert_eq!(trained.outcome.ended, Ended::Interrupted);
    drop(run);
    let output = folder.run("train --resume made");
    assert!(text(&output.stderr).contains("resuming made at step 7"), "{}", text(&output.stderr));
    assert_same_model(&folder, "made", "whole");
    assert_eq!(folder.json("made/config.json")["run"]["ended"], "finished");
}

#[test]
fn a_run_of_the_command_line_is_resumed_by_the_library() {
    let folder = with_documents();
    let arguments = format!("train t/corpus.svm --topics 6,2 {OPTIONS} -q");
    folder.run(&format!("{arguments} -o whole"));
    folder.run(&format!("{arguments} -o short --steps 5"));
    let changes = Changes { max_steps: Some(1000), ..Changes::default() };
    let mut run =
        Run::resume(&folder.path("short"), changes, Given::default(), Arc::default(), &mut ()).unwrap();
    let trained = run.train(&mut ()).unwrap();
    let figures = run.evaluate(&trained, &mut ()).unwrap();
    run.finish(&trained, &figures).unwrap();
    drop(run);
    // The summary in the model tells how many steps were asked for: weights are compared.
    let network = |run: &str| noisyor::network::load_model(&folder.path(&format!("{run}/model.safetensors")));
    assert_eq!(network("short").unwrap().weights, network("whole").unwrap().weights);
    let elbo = |run: &str| folder.json(&format!("{run}/config.json"))["run"]["test_elbo"].clone();
    assert!(elbo("whole").is_f64() && elbo("whole") == elbo("short"), "{}", elbo("short"));
}

#[test]
fn documents_in_memory_are_trained_and_named_when_the_run_is_resumed() {
    let folder = with_documents();
    let graph = load(&folder.path("t/network.safetensors")).unwrap();
    let source = CorpusSource::file(folder.path("t/corpus.svm"));
    let (corpus, _): (Corpus, _) = source.read(None, &Arc::default()).unwrap();
    let mut config = config(&folder, NetworkSource::Memory);
    config.corpus = CorpusSource::new(Place::Memory);
    let given = Given { corpus: Some(corpus), graph: Some(graph), ..Given::default() };
    let monitor = Arc::default();
    let mut observer = StopAt(7, Arc::clone(&monitor));
    let path = folder.path("made");
    let mut run = Run::prepare(config, Some(&path), given, monitor, &mut observer).unwrap();
    run.train(&mut observer).unwrap();
    drop(run);
    folder.fails("train --resume made", 2, &["in the memory of the program", "name a file"]);
    folder.run("train --resume made t/corpus.svm -q");
    folder.run(&format!("train t/corpus.svm --graph t/network.safetensors {OPTIONS} -o whole -q"));
    assert_same_model(&folder, "made", "whole");
}

#[test]
fn the_usual_options_of_the_library_are_those_of_the_command_line() {
    let folder = with_documents();
    folder.run("train t/corpus.svm --effort quick --epochs 1 -o run -q");
    let typed: RunConfig = noisyor::run::read_config(&folder.path("run")).unwrap();
    let mut network = NetworkSource::chosen();
    if let NetworkSource::Chosen { effort, epochs, .. } = &mut network {
        (*effort, *epochs) = (Effort::Quick, Some(1));
    }
    let usual = RunConfig::new(CorpusSource::file(folder.path("t/corpus.svm")).absolute(), network);
    let (batch, epochs) = (typed.options.batch, 1);
    assert_eq!(typed.options, TrainOptions { batch, epochs, ..usual.options });
    assert_eq!((typed.network, typed.corpus), (usual.network, usual.corpus));
    assert_eq!((typed.backend, typed.checkpoints), (usual.backend, usual.checkpoints));
}

#[test]
fn a_config_of_an_earlier_version_is_refused_by_name() {
    let folder = with_documents();
    folder.run(&format!("train t/corpus.svm --topics 6,2 {OPTIONS} -o run -q"));
    let old = serde_json::json!({
        "version": "0.1.0", "options": {}, "run": { "arguments": ["train", "t/corpus.svm"], "directory": "/" },
    });
    folder.write("run/config.json", old.to_string());
    folder.fails("report run", 2, &["config.json", "earlier noisyor", "its model can"]);
    let newer = serde_json::json!({ "format": 3 });
    folder.write("run/config.json", newer.to_string());
    folder.fails("report run", 2, &["config.json", "format is 3", "this version reads 2"]);
}

#[test]
fn options_of_a_corpus_are_options_of_training_too() {
    let folder = Folder::new();
    let docs: String = (0..60)
        .map(|at| format!("the ball and team {} word{at}\n", if at % 2 == 0 { "goal" } else { "song" }))
        .collect();
    folder.write("docs.txt", docs);
    folder.run("corpus docs.txt --max-vocab 3 --stop-words none -o docs.corpus -q");
    folder.run(&format!("train docs.corpus --topics 2 {OPTIONS} -o from_corpus -q"));
    folder
        .run(&format!("train docs.txt --max-vocab 3 --stop-words none --topics 2 {OPTIONS} -o from_text -q"));
    assert_same_model(&folder, "from_corpus", "from_text");
    // A run knows how it read its text.
    let page = folder.run("report from_text -o page.html");
    assert!(page.status.success() && !text(&page.stderr).contains("warning"), "{}", text(&page.stderr));
    folder.fails("train docs.corpus --max-vocab 3 -o run", 2, &["--max-vocab", "a native corpus"]);
    folder.write("graph.tsv", "t\tball\n");
    folder.fails("train docs.txt --graph graph.tsv --min-df 2 -o run", 2, &["--min-df", "leave it out"]);
    folder.fails("train --max-vocab 3", 2, &["none is given"]);
    assert!(!folder.path("run").exists());
}
