//! Colours and the packed batch.

use super::*;

#[test]
fn no_topic_shares_a_colour_with_a_parent() {
    for (seed, network, _) in random_cases(500, 40, 10) {
        let graph = &network.graph;
        let topic_edges = graph.edges().filter(|&(_, child)| graph.is_topic(child as usize));
        for (parent, child) in topic_edges {
            assert_ne!(
                graph.colour(parent as usize),
                graph.colour(child as usize),
                "seed {seed}: {parent} {child}"
            );
        }
        let most = (0..graph.n_topics()).map(|topic| graph.colour(topic)).max();
        assert_eq!(most.map(|most| most + 1), Some(graph.n_colours()), "seed {seed}: unused colours");
    }
}

/// Edges only between neighbouring layers; every node above the tokens has a child.
fn layered(seed: u64) -> Network {
    let rng = &mut rng(seed);
    let sizes: Vec<usize> = (0..rng.random_range(3..7)).map(|_| rng.random_range(1..8)).collect();
    let mut edges = Vec::new();
    let mut first = 0;
    for pair in sizes.windows(2) {
        for parent in first..first + pair[0] {
            let sure = rng.random_range(0..pair[1]);
            let children = (0..pair[1]).filter(|&child| child == sure || rng.random::<f64>() < 0.3);
            edges.extend(children.map(|child| (parent as u32, (first + pair[0] + child) as u32, 0.5)));
        }
        first += pair[0];
    }
    let n_nodes: usize = sizes.iter().sum();
    network_of(first, n_nodes - first, &edges, vec![0.1; n_nodes])
}

#[test]
fn a_layered_graph_takes_two_colours() {
    for seed in 0..300 {
        assert_eq!(layered(seed).graph.n_colours(), 2, "seed {seed}");
    }
    let flat = network_of(3, 2, &[(0, 3, 1.0), (1, 3, 1.0), (2, 4, 1.0)], vec![0.1; 5]);
    assert_eq!(flat.graph.n_colours(), 1);
}

#[test]
fn packed_batches_are_what_their_layout_says() {
    for (seed, network, docs) in random_cases(300, 25, 30) {
        let (corpus, alignment) = corpus_of(&network, docs.clone());
        let items: Vec<Item> =
            (0..docs.len() as u32).map(|doc_ix| Item { doc_ix, count: doc_ix + 1 }).collect();
        for full in [false, true] {
            let mut packer = Packer::new(&network.graph, full);
            let mut batch = Batch::default();
            for max_size in [usize::MAX, 40, 1] {
                let mut done = 0;
                while done < items.len() {
                    let rest = &items[done..];
                    let n = packer.pack(&network.graph, &alignment.docs(&corpus), rest, max_size, &mut batch);
                    assert!(
                        n > 0 && (n == rest.len() || batch.n_nodes() + batch.n_edges() >= max_size),
                        "seed {seed}"
                    );
                    assert_batch(&network, &alignment.docs(&corpus), &rest[..n], full, &batch);
                    done += n;
                }
            }
        }
    }
}

fn assert_batch(network: &Network, docs: &Docs<'_>, items: &[Item], full: bool, batch: &Batch) {
    let graph = &network.graph;
    assert_eq!((batch.n_docs(), batch.n_nodes() + 1), (items.len(), batch.nodes.len()));
    assert_eq!(batch.slot_children.len(), batch.n_edges());
    assert_eq!(batch.colour_ends.len(), items.len() * graph.n_colours());
    let (last_doc, last_node) = (batch.docs[items.len()], batch.nodes[batch.n_nodes()]);
    assert_eq!((batch.docs[0].node_begin, batch.docs[0].edge_begin), (0, 0));
    assert_eq!(
        (last_doc.node_begin as usize, last_doc.edge_begin as usize),
        (batch.n_nodes(), batch.n_edges())
    );
    assert_eq!(last_node.edge_begin as usize, batch.n_edges());
    assert_eq!(last_node.slot_begin as usize, batch.n_edges());
    for (doc_ix, item) in items.iter().enumerate() {
        let tokens: Vec<u32> = docs.tokens(item.doc_ix as usize).collect();
        assert_eq!(batch.docs[doc_ix].count, item.count);
        assert_nodes(&oracle(network, &tokens), full, batch, doc_ix);
        assert_edges(graph, batch, doc_ix);
        assert_slots(graph, batch, doc_ix);
    }
}

/// Topics of the model by colour, then the active tokens.
fn assert_nodes(oracle: &Oracle<'_>, full: bool, batch: &Batch, doc_ix: usize) {
    let (graph, doc, next) = (oracle.graph, batch.docs[doc_ix], batch.docs[doc_ix + 1]);
    let ids =
        |from: u32, to: u32| batch.nodes[from as usize..to as usize].iter().map(|node| node.id as usize);
    let nodes = &batch.nodes[doc.node_begin as usize..next.node_begin as usize];
    assert!(nodes.iter().all(|node| node.doc_ix as usize == doc_ix));
    let inside = if full { vec![true; graph.n_topics()] } else { oracle.local_topics() };
    let mut topics: Vec<usize> = ids(doc.node_begin, doc.token_begin).collect();
    topics.sort_unstable();
    assert_eq!(topics, (0..graph.n_topics()).filter(|&topic| inside[topic]).collect::<Vec<_>>());
    let tokens = ids(doc.token_begin, next.node_begin).map(|id| (id - graph.n_topics()) as u32);
    assert_eq!(tokens.collect::<Vec<_>>(), oracle.tokens);
    let mut begin = doc.node_begin;
    for colour in 0..graph.n_colours() {
        let end = batch.colour_ends[doc_ix * graph.n_colours() + colour];
        assert!(begin <= end && ids(begin, end).all(|topic| graph.colour(topic) == colour));
        begin = end;
    }
    assert_eq!(begin, doc.token_begin);
}

/// A node's edges are all of its edges in the network, in the same order.
fn assert_edges(graph: &Graph, batch: &Batch, doc_ix: usize) {
    let nodes = batch.docs[doc_ix].node_begin as usize..batch.docs[doc_ix + 1].node_begin as usize;
    assert_eq!(batch.nodes[nodes.start].edge_begin, batch.docs[doc_ix].edge_begin);
    for at in nodes {
        let edges = batch.nodes[at].edge_begin as usize..batch.nodes[at + 1].edge_begin as usize;
        let parents: Vec<u32> = batch.edges[edges]
            .iter()
            .map(|edge| {
                assert!(batch.topics(doc_ix).contains(&(edge.parent as usize)));
                batch.nodes[edge.parent as usize].id
            })
            .collect();
        assert_eq!(parents, graph.parents(batch.nodes[at].id as usize));
    }
}

/// The edges out of each topic fill its slots, each once, and `slot_children` has their children.
fn assert_slots(graph: &Graph, batch: &Batch, doc_ix: usize) {
    let (doc, next) = (batch.docs[doc_ix], batch.docs[doc_ix + 1]);
    let mut filled = vec![false; (next.edge_begin - doc.edge_begin) as usize];
    for child in doc.node_begin as usize..next.node_begin as usize {
        for edge in
            &batch.edges[batch.nodes[child].edge_begin as usize..batch.nodes[child + 1].edge_begin as usize]
        {
            let parent = edge.parent as usize;
            let slots = batch.nodes[parent].slot_begin..batch.nodes[parent + 1].slot_begin;
            assert!(slots.contains(&edge.slot), "an edge outside its parent's slots");
            assert_eq!(batch.slot_children[edge.slot as usize] as usize, child);
            let filled = &mut filled[(edge.slot - doc.edge_begin) as usize];
            assert!(!std::mem::replace(filled, true), "two edges in one slot");
        }
    }
    assert!(filled.iter().all(|&filled| filled), "an empty slot");
    let tokens = doc.token_begin as usize..next.node_begin as usize;
    assert!(tokens.into_iter().all(|at| batch.nodes[at].slot_begin == next.edge_begin));
    let first_topic = batch.topics(doc_ix).next().map(|at| batch.nodes[at].slot_begin);
    assert!(first_topic.is_none_or(|begin| begin == doc.edge_begin) && graph.n_nodes() > 0);
}
