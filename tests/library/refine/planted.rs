//! What is planted is found, within the budget, and nothing else decides.

use super::*;

/// The six strongest words of every topic.
fn strongest(outcome: &Outcome) -> Vec<BTreeSet<u32>> {
    let Outcome { graph, weights, .. } = outcome;
    let words = |topic: usize| {
        let mut edges: Vec<(f64, u32)> = (graph.children(topic).iter().zip(graph.child_edges(topic)))
            .map(|(&child, &edge)| (weights.edge[edge as usize], child - THEMES))
            .collect();
        edges.sort_by(|a, b| b.0.total_cmp(&a.0));
        edges.into_iter().take(WORDS as usize).map(|(_, token)| token).collect()
    };
    (0..graph.n_topics()).map(words).collect()
}

#[test]
fn a_useless_topic_finds_the_theme_that_no_topic_has() {
    // The last topic has words of noise, and the complete graph is too large to start from.
    let known = (0..(THEMES - 1) * WORDS).map(|token| (token / WORDS, token));
    let noise = (N_TOKENS - WORDS..N_TOKENS).map(|token| (THEMES - 1, token));
    let data = Data::new(flat(known.chain(noise)), planted_docs(800, 1));
    let n_edges = data.network.graph.n_edges();
    let (outcome, stages) = data.stages(options(Some(short(None))));
    assert!(matches!(stages[0].0, RefineStage::Reseeded(_)), "{stages:?}");
    assert!(outcome.reseeded.contains(&(THEMES - 1)), "{:?}", outcome.reseeded);
    let theme: BTreeSet<u32> = ((THEMES - 1) * WORDS..THEMES * WORDS).collect();
    assert!(strongest(&outcome).contains(&theme), "{:?}", strongest(&outcome));
    assert!(outcome.graph.n_edges() <= n_edges);
    let plain = data.train(options(None));
    assert_eq!(plain.graph, data.network.graph);
    let bound = |outcome: &Outcome| outcome.metrics.as_ref().unwrap().valid_elbo.unwrap();
    assert!(bound(&outcome) > bound(&plain) + 0.5, "{} after {}", bound(&outcome), bound(&plain));
}

#[test]
fn a_refined_graph_is_better_than_the_one_it_came_from_on_documents_never_seen() {
    let data = Data::new(random(3), planted_docs(1_000, 2));
    let (plain, refined) = (options(None), options(Some(short(None))));
    let bound = |options: TrainOptions| {
        let options = TrainOptions { test: 0.3, ..options };
        let test = options.split(data.corpus.n_docs()).test;
        assert_eq!(test.len(), 300);
        let outcome = data.train(options);
        assert!(outcome.graph.n_edges() <= data.network.graph.n_edges());
        data.bound(&outcome, &test)
    };
    let (plain, refined) = (bound(plain), bound(refined));
    assert!(refined > plain + 1.0, "{refined} after {plain}");
}

#[test]
fn the_budget_is_kept_to_the_edge() {
    let data = Data::new(random(3), planted_docs(300, 4));
    let n_pairs = (THEMES * N_TOKENS) as usize;
    for budget in [1, 10, 34, 50, n_pairs - 1, n_pairs, n_pairs + 100] {
        let (outcome, stages) = data.stages(refined(budget));
        let n_edges = outcome.graph.n_edges();
        // Topics that begin anew have fewer edges than the complete graph, so a large budget need not be used up.
        assert!(if budget < 100 { n_edges == budget } else { n_edges <= budget.min(n_pairs) }, "{stages:?}");
        assert_eq!(outcome.metrics.unwrap().n_edges, n_edges);
        assert_eq!(stages[0].0 == RefineStage::Densified, n_pairs <= 10 * budget);
        if stages[0].0 == RefineStage::Densified {
            assert_eq!(stages[0].1, n_pairs);
        }
    }
    // Without one, as many as there were.
    let outcome = data.train(options(Some(short(None))));
    assert_eq!(outcome.graph.n_edges(), data.network.graph.n_edges());
}

#[test]
fn the_same_seed_gives_the_same_bits_on_1_2_and_8_threads() {
    // More documents than are added up at once, and identical ones do not share.
    let data = Data::new(random(5), planted_docs(1_500, 5));
    let refine = RefineOptions { reseeds: 1, rounds: 2, swaps: 1, ..short(Some(40)) };
    let run = |n_threads, seed| {
        let options = TrainOptions { share_identical: false, seed, ..options(Some(refine.clone())) };
        on_threads(n_threads, || data.stages(TrainOptions { epochs: 2, ..options }))
    };
    let timeless = |(mut outcome, stages): (Outcome, Vec<(RefineStage, usize)>)| {
        let metrics = outcome.metrics.as_mut().unwrap();
        (metrics.seconds, metrics.docs_per_s, metrics.edges_per_s) = (0.0, 0.0, 0.0);
        (outcome, stages)
    };
    let one = timeless(run(1, 0));
    assert!(one == timeless(run(2, 0)), "2 threads");
    assert!(one == timeless(run(8, 0)), "8 threads");
    assert!(one.0.weights != run(2, 1).0.weights, "another seed");
}

#[test]
fn what_test_documents_hold_changes_nothing() {
    let options = TrainOptions { test: 0.3, ..refined(40) };
    let docs = planted_docs(400, 6);
    let parts = split(docs.len(), options.valid, options.test, options.seed);
    let model = |docs: Vec<Vec<u32>>| {
        let outcome = Data::new(random(6), docs).train(options.clone());
        let metrics = outcome.metrics.unwrap();
        (outcome.graph, outcome.weights, outcome.reseeded, metrics.train_elbo, metrics.valid_elbo)
    };
    let expected = model(docs.clone());
    let mut empty = docs.clone();
    parts.test.iter().for_each(|&doc| empty[doc as usize].clear());
    assert!(expected == model(empty));
    // Documents that training holds too.
    let mut copies = docs.clone();
    for (&test, &train) in parts.test.iter().zip(parts.train.iter().rev()) {
        copies[test as usize] = docs[train as usize].clone();
    }
    assert!(expected == model(copies));
    let mut other = docs;
    other[parts.train[0] as usize] = (0..N_TOKENS).collect();
    assert!(expected != model(other));
}

/// The CPU, noting which documents it is given, and how many at once at most.
struct Watched(CpuEStep, BTreeSet<u32>, usize);

impl EStep for Watched {
    fn name(&self) -> String {
        self.0.name()
    }

    fn run_packed(&mut self, work: &Work<'_>, scale: Scale, sink: Option<&mut Sink<'_>>) -> Result<Sums> {
        self.1.extend(work.items.iter().map(|item| item.doc_ix));
        self.2 = self.2.max(work.items.len());
        self.0.run_packed(work, scale, sink)
    }

    fn run_docs(&self, options: &EStepOptions) -> usize {
        self.0.run_docs(options)
    }
}

#[test]
fn no_test_document_stands_for_identical_ones_of_other_parts() {
    // Of forty different documents ten copies each.
    let docs: Vec<Vec<u32>> = planted_docs(40, 7).into_iter().cycle().take(400).collect();
    let data = Data::new(random(7), docs);
    let options = TrainOptions { test: 0.3, ..refined(40) }.check().unwrap();
    let (graph, docs, monitor) = (&data.network.graph, data.alignment.docs(&data.corpus), Monitor::default());
    let mut watched = Watched(CpuEStep::new(), BTreeSet::new(), 0);
    train(Begin::New(graph, None), docs, &options, &mut watched, &monitor, &mut |_| Ok(())).unwrap();
    assert!(options.split(docs.n_docs()).test.iter().all(|doc| !watched.1.contains(doc)));
    // They do share.
    assert!(watched.2 <= 40, "{}", watched.2);
}
