//! The order of nodes, edges and documents.

use super::*;

#[test]
fn an_item_counts_as_often_as_it_says() {
    for (seed, network, docs) in random_cases(100, 12, 15) {
        let (corpus, alignment) = corpus_of(&network, docs.clone());
        let run =
            |items: &[Item]| run_items(&network, alignment.docs(&corpus), items, &EStepOptions::default());
        let doc_ixs: Vec<u32> = (0..docs.len() as u32).collect();
        // The count multiplies in f32, which is exact for powers of two.
        for (count, tolerance) in [(2, F64_SUMS), (4, F64_SUMS), (3, F64_SUMS), (1000, F64_SUMS)] {
            let once: Vec<Item> = doc_ixs.iter().map(|&doc_ix| Item { doc_ix, count }).collect();
            let often: Vec<Item> = (0..count).flat_map(|_| Item::each(&doc_ixs)).collect();
            assert_sums(
                &format!("seed {seed} times {count}"),
                &run(&often).stats,
                &run(&once).stats,
                tolerance,
            );
        }
    }
}

#[test]
fn the_order_of_nodes_and_edges_does_not_matter_in_f64() {
    for (seed, network, docs) in random_cases(200, 12, 15) {
        let rng = &mut rng(seed);
        let reordered = reorder(&network, rng);
        for tokens in &docs {
            let name = format!("seed {seed} {tokens:?}");
            let new_tokens = reordered.tokens(tokens);
            let (old, new) = (oracle(&network, tokens), oracle(&reordered.network, &new_tokens));
            let inside = old.local_topics();
            assert_eq!(moved(&inside, &reordered.node[..inside.len()]), new.local_topics(), "{name}");
            let point = random_point(&network, &inside, rng);
            let (a, b) = (old.sums(&point), new.sums(&reordered.point(&point)));
            reordered.assert_same(&name, [&a.edge, &a.leak, &a.topic_q], [&b.edge, &b.leak, &b.topic_q], F64);
            assert_close(&name, new.elbo(&reordered.point(&point)), old.elbo(&point), F64);
            reordered.assert_same_updates(&name, &old, &new, &point);
        }
    }
}

/// Every q in the old order, then r.
fn update_both(reordered: &Reordered, old: &mut Probe<'_>, new: &mut Probe<'_>) {
    for (at, topic) in old.topics().into_iter().enumerate() {
        let topic = reordered.node[topic as usize] as u32;
        old.update_q(at);
        new.update_q(new.topics().iter().position(|&other| other == topic).unwrap());
    }
    old.update_r();
    new.update_r();
}

#[test]
fn the_order_of_nodes_and_edges_does_not_matter_in_the_fast_path() {
    for (seed, network, docs) in random_cases(200, 12, 15) {
        let rng = &mut rng(seed);
        let reordered = reorder(&network, rng);
        let derive =
            |network: &Network| Params::derive(&network.graph, &network.weights, Bound::Tail).unwrap();
        let params = (derive(&network), derive(&reordered.network));
        for tokens in &docs {
            let (oracle, name) = (oracle(&network, tokens), format!("seed {seed} {tokens:?}"));
            let point = random_point(&network, &oracle.local_topics(), rng);
            let mut old = probe_at(&network, tokens, &params.0, &point);
            let mut new =
                probe_at(&reordered.network, &reordered.tokens(tokens), &params.1, &reordered.point(&point));
            let rounding = F32_TERMS * bound_size(&oracle, &point);
            assert!((old.elbo() - new.elbo()).abs() <= rounding, "{name}: {} {}", old.elbo(), new.elbo());
            let (a, b) = (old.stats(), new.stats());
            reordered.assert_same(
                &name,
                [&a.edge, &a.leak, &a.topic_q],
                [&b.edge, &b.leak, &b.topic_q],
                F32_SUMS,
            );
            update_both(&reordered, &mut old, &mut new);
            let (a, b) = (point_of(&network, &old), point_of(&reordered.network, &new));
            reordered.assert_same_point(&name, &a, &b, (F32_LOG_ODDS, F32_SUMS));
        }
    }
}

#[test]
fn the_order_of_documents_does_not_matter() {
    for seed in 0..30 {
        let network = random_network(seed, 12, 15);
        // More than two blocks.
        let docs = random_docs(&network, seed, 300);
        let ran = run_docs(&network, &docs, &EStepOptions::default());
        let mut order: Vec<usize> = (0..docs.len()).collect();
        order.shuffle(&mut rng(seed));
        let shuffled: Vec<Vec<u32>> = order.iter().map(|&doc| docs[doc].clone()).collect();
        let again = run_docs(&network, &shuffled, &EStepOptions::default());
        assert_same_docs(&format!("seed {seed}"), &order, &ran, &again);
        assert_sums(&format!("seed {seed}"), &ran.stats, &again.stats, F64_SUMS);
    }
}

#[test]
fn the_split_into_batches_does_not_matter() {
    for seed in 0..20 {
        let network = random_network(seed, 12, 15);
        let docs = random_docs(&network, seed, 300);
        let (corpus, alignment) = corpus_of(&network, docs.clone());
        let items = Item::each(&(0..docs.len() as u32).collect::<Vec<_>>());
        let all = run_docs(&network, &docs, &EStepOptions::default());
        for size in [1, 7, 128, 150] {
            let mut parts = Ran { elbo: Vec::new(), q: Vec::new(), stats: Stats::new(&network.graph, true) };
            for chunk in items.chunks(size) {
                let part = run_items(&network, alignment.docs(&corpus), chunk, &EStepOptions::default());
                parts.elbo.extend(part.elbo);
                parts.q.extend(part.q);
                add_stats(&mut parts.stats, &part.stats);
            }
            let order: Vec<usize> = (0..docs.len()).collect();
            assert_same_docs(&format!("seed {seed} size {size}"), &order, &all, &parts);
            assert_sums(&format!("seed {seed} size {size}"), &all.stats, &parts.stats, F64_SUMS);
        }
    }
}

#[test]
fn f64_updates_of_single_topics_and_nodes_never_lower_the_bound() {
    for (seed, network, docs) in random_cases(300, 20, 25) {
        let rng = &mut rng(seed);
        for tokens in &docs {
            let oracle = oracle(&network, tokens);
            let inside = oracle.local_topics();
            let mut topics: Vec<usize> = (0..inside.len()).filter(|&topic| inside[topic]).collect();
            let mut nodes = oracle.positive_nodes(&inside);
            let mut point = random_point(&network, &inside, rng);
            for _ in 0..3 {
                topics.shuffle(rng);
                nodes.shuffle(rng);
                assert_ascends(
                    &format!("seed {seed} topic"),
                    &oracle,
                    &mut point,
                    topics.iter().copied(),
                    |p, t| oracle.update_q(p, t),
                );
                assert_ascends(
                    &format!("seed {seed} node"),
                    &oracle,
                    &mut point,
                    nodes.iter().copied(),
                    |p, n| oracle.update_r(p, n),
                );
            }
        }
    }
}
