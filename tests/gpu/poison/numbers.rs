//! Weights at the ends of their range, denormals, and no numbers at all.

use super::whole_runs::{on_poison, run_on};
use super::*;

fn is_finite((stats, elbo): &(Stats, Vec<f64>)) -> bool {
    let sums = [&stats.edge, &stats.leak, &stats.topic_q, elbo];
    sums.into_iter().flatten().all(|number| number.is_finite())
}

/// Two topics and three tokens with parents, one without.
fn extreme_network(leak: f64, edge: [f64; 2]) -> Network {
    let edges = [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (1, 4)];
    let edges: Vec<(u32, u32, f64)> =
        edges.iter().zip(edge.iter().cycle()).map(|(e, &w)| (e.0, e.1, w)).collect();
    network_of(2, 4, &edges, vec![leak; 6])
}

#[test]
fn extreme_weights_give_numbers_where_the_cpu_backend_does() {
    with_gpu(|gpu| {
        let docs = [vec![], vec![0], vec![3], vec![0, 1, 2], vec![0, 1, 2, 3]];
        // f'(w0) is a denormal f32 at a leak of 90 and zero at 1e6.
        for leak in [1e-30, 1e-9, 0.1, 90.0, 1e6] {
            for edge in [[1e-30, 1e-30], [1e6, 1e6], [1e-30, 1e6], [1e-45, 1.0], [1.0, 0.5]] {
                let network = extreme_network(leak, edge);
                for bound in [Bound::Tail, Bound::Full] {
                    let what = format!("leak {leak:e}, edges {edge:?}, {bound}");
                    let params = Params::derive(&network.graph, &network.weights, bound).unwrap();
                    let cpu = run_on(&mut CpuEStep::new(), &network, &params, &docs, bound).unwrap();
                    assert!(is_finite(&cpu), "{what}: CPU");
                    let backend = &mut on_poison(gpu, POISONS[0]);
                    let on_gpu = run_on(backend, &network, &params, &docs, bound)
                        .unwrap_or_else(|e| panic!("{what}: {e}"));
                    assert!(is_finite(&on_gpu), "{what}: {on_gpu:?}");
                }
            }
        }
    });
}

#[test]
fn denormal_words_in_the_network_give_numbers() {
    with_gpu(|gpu| {
        let docs = [vec![], vec![0, 1, 2], vec![0, 1, 2, 3]];
        let network = extreme_network(0.1, [1.0, 0.5]);
        let params = Params::derive(&network.graph, &network.weights, Bound::Tail).unwrap();
        for denormal in [f32::from_bits(1), 1e-40, -1e-40] {
            for at in 0..4 {
                let mut params = params.clone();
                match at {
                    // Beside a normal weight: 1 / sum w would be infinite on an adapter that takes denormals as zero.
                    // `Params::derive` makes no weight that small.
                    0 => params.edge[network.graph.edges_into(2).start] = denormal.abs(),
                    1 => params.slope.fill(denormal.abs()),
                    2 => params.bias.fill(denormal),
                    _ => params.tail.fill(denormal),
                }
                let cpu = run_on(&mut CpuEStep::new(), &network, &params, &docs, Bound::Tail).unwrap();
                let on_gpu =
                    run_on(&mut on_poison(gpu, POISONS[1]), &network, &params, &docs, Bound::Tail).unwrap();
                assert!(is_finite(&cpu) && is_finite(&on_gpu), "{denormal:e} at {at}: {on_gpu:?}");
                let bounds = on_gpu.1.iter().zip(&cpu.1);
                bounds.for_each(|(got, want)| assert_close("denormal", *got, *want, F32_BOUND));
            }
        }
    });
}

// No numbers in the network. WGSL lets a compiler assume that there are none: an adapter may fail here where others pass.

const BAD: [f32; 3] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];

/// 0 -> 1 -> token 0 (node 3), 2 -> token 1 (node 4), token 2 (node 5) by itself.
fn chains() -> Network {
    network_of(3, 3, &[(0, 1, 1.0), (1, 3, 1.0), (2, 4, 1.0)], vec![0.1; 6])
}

/// Makes a parameter of a node something that is no number.
fn spoil(network: &Network, params: &Params, node: usize, at: usize, bad: f32) -> Option<Params> {
    let mut params = params.clone();
    match at {
        0 => *params.edge.get_mut(network.graph.edges_into(node).next()?)? = bad,
        1 if network.graph.edges_into(node).is_empty() => return None, // no part of the bound
        1 => params.slope[node] = bad,
        2 => params.bias[node] = bad,
        _ => *params.tail.get_mut(node)? = bad,
    }
    Some(params)
}

#[test]
fn no_number_in_the_network_reaches_the_bounds_of_exactly_the_documents_concerned() {
    with_gpu(|gpu| {
        let (network, docs) = (chains(), [vec![], vec![0], vec![1], vec![2], vec![0, 1], vec![1, 2]]);
        let params = Params::derive(&network.graph, &network.weights, Bound::Tail).unwrap();
        let places = (0..6).flat_map(|node| [0, 1, 2, 3].map(|at| (node, at)));
        for ((node, at), bad) in places.flat_map(|place| BAD.map(|bad| (place, bad))) {
            let Some(params) = spoil(&network, &params, node, at, bad) else { continue };
            let case = Case::with_params(Route::Flat, "no number", &network, &params, &docs, Bound::Tail);
            let concerned: Vec<bool> = (0..docs.len())
                .map(|doc_ix| {
                    let nodes = &case.chunk.nodes[..case.chunk.n_nodes()];
                    nodes.iter().any(|other| other.doc_ix as usize == doc_ix && other.id as usize == node)
                })
                .collect();
            let (memory, dispatches) = (case.memory(POISONS[0]), case.dispatches(20));
            let twin = case.run_twins(&memory, &dispatches);
            let on_gpu = case.run_gpu(gpu, &memory, &dispatches, POISONS[0]);
            for after in [twin, on_gpu] {
                let is_bad = |&bound: &u32| !f32::from_bits(bound).is_finite();
                let found: Vec<bool> = after[&Array::DocBounds].iter().map(is_bad).collect();
                assert_eq!(found, concerned, "{bad} at node {node}, parameter {at}");
            }
        }
    });
}

#[test]
fn a_run_that_meets_no_number_names_the_document_and_the_next_run_is_as_if_nothing_had_been() {
    with_gpu(|gpu| {
        // The document at fault is the first of many chunks: others are still on the device when it is found.
        let network = chains();
        let mut docs = vec![vec![0]];
        docs.resize(1000, vec![1]);
        let params = Params::derive(&network.graph, &network.weights, Bound::Tail).unwrap();
        let mut backend = on_poison(gpu, POISONS[0]);
        let before = run_on(&mut backend, &network, &params, &docs, Bound::Tail).unwrap();
        let places = [1, 3].into_iter().flat_map(|node| [0, 1, 2].map(|at| (node, at)));
        for ((node, at), bad) in places.flat_map(|place| BAD.map(|bad| (place, bad))) {
            let spoiled = spoil(&network, &params, node, at, bad).unwrap();
            match run_on(&mut backend, &network, &spoiled, &docs, Bound::Tail) {
                Err(Error::Numeric(message)) => {
                    assert!(message.starts_with("the bound of document 0 is "), "{message}");
                }
                other => panic!("{bad} at node {node}, parameter {at}: {other:?}"),
            }
            assert_eq!(run_on(&mut backend, &network, &params, &docs, Bound::Tail).unwrap(), before);
        }
    });
}
