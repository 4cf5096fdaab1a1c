//! Reads a model and scores the documents of a file: the bound of every document, in nats, and what it is a word.
//!
//!     cargo run --example score MODEL CORPUS
//!
//! Without arguments a small model and four documents are written to a temporary folder first.

use noisyor::corpus::{IngestOptions, align, read};
use noisyor::estep::{EStepOptions, cpu::CpuEStep};
use noisyor::network::load_model;
use noisyor::{Error, Monitor, Result, infer};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Two topics, two words each: the third column is the weight; a line without a parent is a leak.
const MODEL: &str = "sport\tball\t2\nsport\tteam\t2\nmusic\tsong\t2\nmusic\tband\t2\n\
                     \tsport\t0.7\n\tmusic\t0.7\n\tball\t0.01\n\tteam\t0.01\n\tsong\t0.01\n\tband\t0.01\n";
const DOCUMENTS: &str = "ball team\nsong band\nball song unheard\n\n";

fn main() -> Result<()> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if let [model, corpus] = &arguments[..] {
        score(model, corpus)?;
        return Ok(());
    }
    let folder = tempfile::tempdir().map_err(|error| Error::io("temporary folder".as_ref(), error))?;
    let (model, corpus) = (folder.path().join("model.tsv"), folder.path().join("documents.txt"));
    for (path, text) in [(&model, MODEL), (&corpus, DOCUMENTS)] {
        std::fs::write(path, text).map_err(|error| Error::io(path, error))?;
    }
    let bounds = score(&model, &corpus)?;
    assert_eq!(bounds.len(), 4);
    assert!(bounds[0] > bounds[2], "words of one topic are likelier than words of two: {bounds:?}");
    Ok(())
}

/// The bound of every document.
fn score(model: &Path, corpus: &Path) -> Result<Vec<f64>> {
    let network = load_model(model)?;
    // Text has the model's words for its vocabulary; all else is left out.
    let monitor = Arc::new(Monitor::default());
    let (corpus, ingested) = read(corpus, &IngestOptions::default(), Some(&network.names.tokens), &monitor)?;
    let alignment = align(&corpus, &network.names.tokens);
    println!("{} words are not in the model", ingested.n_unknown + alignment.n_unknown);

    let mut bounds = Vec::new();
    let mut sink = |results: &noisyor::estep::DocResults<'_>| {
        bounds.extend_from_slice(results.elbo);
        Ok(())
    };
    let doc_ixs: Vec<u32> = (0..corpus.n_docs() as u32).collect();
    let (options, mut estep) = (EStepOptions::default(), CpuEStep::new());
    let docs = alignment.docs(&corpus);
    let (stats, _) = infer::run(&network, docs, &doc_ixs, &options, &mut estep, &monitor, Some(&mut sink))?;
    for (doc_ix, bound) in bounds.iter().enumerate() {
        let n_words = docs.tokens(doc_ix).count();
        println!(
            "{}: {bound:.4}, {:.4} a word of {n_words}",
            corpus.id(doc_ix),
            bound / n_words.max(1) as f64
        );
    }
    println!("mean: {:.4}", stats.elbo_mean());
    Ok(bounds)
}
