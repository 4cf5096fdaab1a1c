//! A training loop of one's own: documents go through the E-step, and the weight step is written here.

use noisyor::corpus::{Item, align};
use noisyor::estep::{Bound, EStep, EStepOptions, Params, Stats, Work, cpu::CpuEStep};
use noisyor::network::load_bytes;
use noisyor::{Corpus, Error, Graph, Monitor, Result, Weights};

/// The closed-form M-step. The bound's gradients are `N - Q` for an edge and `L - D` for a leak, with the sums N (`edge`), Q (`topic_q`),
/// L (`leak`) and D (`n_docs`): both are zero where `w N / Q` and `w0 L / D` stay what they are.
fn step(graph: &Graph, weights: &mut Weights, stats: &Stats) {
    for (edge, &parent) in graph.edge_parents().iter().enumerate() {
        let q = stats.topic_q[parent as usize].max(1e-9);
        weights.edge[edge] = (weights.edge[edge] * stats.edge[edge] / q).clamp(1e-5, 20.0);
    }
    for (leak, &sum) in weights.leak.iter_mut().zip(&stats.leak) {
        *leak = (*leak * sum / stats.n_docs).clamp(1e-5, 20.0);
    }
}

fn main() -> Result<()> {
    // Every topic is linked to every token; training finds out which is for which.
    let tokens = ["ball", "team", "song", "band"];
    let edges: String =
        ["a", "b"].iter().flat_map(|topic| tokens.map(|token| format!("{topic}\t{token}\n"))).collect();
    let loaded = load_bytes("graph.tsv".as_ref(), edges.as_bytes())?;
    let graph = loaded.graph;
    let corpus = Corpus::from_tokens((0..200).map(|i| if i % 2 == 0 { vec![0, 1] } else { vec![2, 3] }));
    let alignment = align(&corpus, &loaded.names.tokens);

    // Identical documents share one E-step: two items, of a hundred documents each.
    let items = Item::shared(&alignment.docs(&corpus), &(0..200).collect::<Vec<_>>());
    assert_eq!(items.len(), 2);

    // The two topics must not start alike.
    let mut weights = Weights { edge: vec![0.5; graph.n_edges()], leak: vec![0.1; graph.n_nodes()] };
    weights.edge.iter_mut().enumerate().for_each(|(edge, w)| *w += 0.05 * (edge % 3) as f64);

    let options = EStepOptions { bound: Bound::Local, ..EStepOptions::default() };
    let (monitor, mut estep) = (Monitor::default(), CpuEStep::new());
    let (mut first, mut last) = (None, f64::NEG_INFINITY);
    for round in 0..60 {
        let params = Params::derive(&graph, &weights, options.bound)?;
        let work = Work {
            graph: &graph,
            params: &params,
            docs: alignment.docs(&corpus),
            items: &items,
            options: &options,
            gradients: true,
            kept_on: None,
            monitor: &monitor,
        };
        let stats = estep.run(&work, None)?;
        last = stats.elbo_mean();
        first.get_or_insert(last);
        if round % 10 == 0 {
            println!("round {round:2}: {last:.4} nats a document");
        }
        step(&graph, &mut weights, &stats);
    }
    println!("from {:.4} to {last:.4}", first.ok_or(Error::Interrupted)?);
    assert!(last > -1.5, "two kinds of document cost log 2 each, and a little more: {last}");
    Ok(())
}
