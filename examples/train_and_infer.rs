//! Learns a network from documents in memory, trains it, and finds the topics of documents that it has not seen.

use noisyor::corpus::{align, split};
use noisyor::estep::{EStepOptions, cpu::CpuEStep};
use noisyor::report::{TopicTree, topic_tree};
use noisyor::structure::{GraphOptions, learn_graph};
use noisyor::train::{Begin, Event, TrainOptions, train};
use noisyor::{Corpus, Monitor, Network, Result, infer};

const WORDS: [&str; 8] = ["ball", "team", "goal", "match", "song", "band", "guitar", "concert"];

fn main() -> Result<()> {
    // A document is the numbers of its tokens: here three words of sport, of music, or of both.
    let three = |first: u32, left_out: u32| {
        (0..4).filter(move |&word| word != left_out).map(move |word| first + word)
    };
    let corpus = Corpus::from_tokens((0..400u32).map(|i| match i % 5 {
        0 | 1 => three(0, i / 5 % 4).collect(),
        2 | 3 => three(4, i / 5 % 4).collect(),
        _ => three(0, i / 5 % 4).chain(three(4, i / 20 % 4)).collect(),
    }));
    let words = WORDS.map(String::from);
    let alignment = align(&corpus, &words);
    let docs = alignment.docs(&corpus);

    // The graph comes from what occurs together in the training part, which depends on the seed alone.
    let options = TrainOptions { valid: 0.2, epochs: 10, ..TrainOptions::default() }.check()?;
    let parts = split(corpus.n_docs(), options.valid, options.test, options.seed);
    let (monitor, mut estep) = (Monitor::default(), CpuEStep::new());
    let of_graph = GraphOptions { topics: vec![2], ..GraphOptions::default() };
    let learned = learn_graph(docs, &parts.train, &words, &of_graph, &monitor)?;

    let mut on_event = |event: &Event<'_>| {
        if let Event::Evaluated { metrics, .. } = event {
            println!(
                "step {:3}: {:.4} nats a document held out",
                metrics.step,
                metrics.valid_elbo.unwrap_or(f64::NAN)
            );
        }
        Ok(()) // an error would end the training
    };
    let begin = Begin::New(&learned.graph, Some(&learned.weights));
    let outcome = train(begin, docs, &options, &mut estep, &monitor, &mut on_event)?;
    let network = Network { graph: outcome.graph, weights: outcome.weights, ..learned };
    print!("{}", TopicTree::text(&topic_tree(&network, 4, 1)));

    // New documents are aligned with the model's tokens, and get the probability q of every topic.
    let new = Corpus::from_tokens([vec![0, 2], vec![5, 6, 7], vec![1, 3, 4, 6]]);
    let alignment = align(&new, &network.names.tokens);
    let mut n_on = Vec::new();
    let mut sink = |results: &noisyor::estep::DocResults<'_>| {
        for at in 0..results.n_docs() {
            let (topics, q) = results.doc(at);
            println!("document {}: topics {topics:?} with q {q:.3?}", results.first_item + at);
            n_on.push(q.iter().filter(|&&q| q > 0.5).count());
        }
        Ok(())
    };
    let estep_options = EStepOptions::default();
    infer::run(
        &network,
        alignment.docs(&new),
        &[0, 1, 2],
        &estep_options,
        &mut estep,
        &monitor,
        Some(&mut sink),
    )?;
    assert_eq!(n_on, [1, 1, 2], "sport, music, and both");
    Ok(())
}
