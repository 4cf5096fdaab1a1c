//! Graphs learned from co-occurrence: sizes, limits, what the user knows, planted topics, and what they are good for.

#![allow(clippy::unwrap_used)] // helpers of tests are tests too

use noisyor::Error;
use noisyor::capacity::{Chooser, Effort, Shape};
use noisyor::corpus::{Corpus, align, split};
use noisyor::estep::{Monitor, cpu::CpuEStep};
use noisyor::network::{Graph, Network, save};
use noisyor::ranks::Team;
use noisyor::rng::{Stream, rng};
use noisyor::structure::{Anchor, GraphOptions, learn_graph};
use noisyor::train::{Begin, TrainOptions, train};
use rand::RngExt;
use std::collections::BTreeSet;

/// Words of a planted topic; the last word of each is also in the next.
const WORDS: usize = 8;
const TOPICS: usize = 9;
const N_TOKENS: usize = TOPICS * (WORDS - 1);

/// The words of a planted topic: neighbours on the ring of topics share one.
fn planted(topic: usize) -> Vec<u32> {
    (0..WORDS).map(|word| ((topic * (WORDS - 1) + word) % N_TOKENS) as u32).collect()
}

/// Documents of one or two planted topics, and a little noise.
fn planted_corpus(n_docs: u64, seed: u64) -> Corpus {
    let document = |doc: u64| {
        let rng = &mut rng(seed, Stream::SynthDocument(doc));
        let mut tokens = Vec::new();
        for _ in 0..rng.random_range(1..=2) {
            let words = planted(rng.random_range(0..TOPICS));
            tokens.extend(words.into_iter().filter(|_| rng.random_bool(0.6)));
        }
        tokens.push(rng.random_range(0..N_TOKENS as u32));
        tokens
    };
    Corpus::from_tokens((0..n_docs).map(document))
}

fn names(n: usize) -> Vec<String> {
    (0..n).map(|token| format!("w{token}")).collect()
}

fn try_learn(corpus: &Corpus, n_tokens: usize, options: &GraphOptions) -> Result<Network, Error> {
    let tokens = names(n_tokens);
    let alignment = align(corpus, &tokens);
    let all: Vec<u32> = (0..corpus.n_docs() as u32).collect();
    learn_graph(alignment.docs(corpus), &all, &tokens, options, &Monitor::default())
}

fn learn(corpus: &Corpus, n_tokens: usize, options: &GraphOptions) -> Network {
    let network = try_learn(corpus, n_tokens, options).unwrap();
    assert_eq!(network.names.repeated(), None);
    assert_eq!(network.names.topics.len(), network.graph.n_topics());
    assert_eq!(network.weights.fault(&network.graph, &|node| node.to_string()), None);
    assert!((0..network.graph.n_topics()).all(|topic| !network.graph.children(topic).is_empty()));
    network
}

fn options(topics: &[usize]) -> GraphOptions {
    GraphOptions { topics: topics.to_vec(), ..GraphOptions::default() }
}

/// Children of a topic as token numbers.
fn words_of(network: &Network, topic: usize) -> BTreeSet<u32> {
    let first = network.graph.n_topics() as u32;
    network.graph.children(topic).iter().filter(|&&child| child >= first).map(|child| child - first).collect()
}

/// The children of a topic that it is more likely to switch on than any other topic is.
fn main_words(network: &Network, topic: usize) -> BTreeSet<u32> {
    let graph = &network.graph;
    let strongest = |node: usize| {
        let edges = graph.edges_into(node);
        edges.max_by(|&a, &b| network.weights.edge[a].total_cmp(&network.weights.edge[b]))
    };
    let is_main = |&token: &u32| {
        let best = strongest(graph.n_topics() + token as usize).unwrap();
        graph.edge_parents()[best] as usize == topic
    };
    words_of(network, topic).into_iter().filter(is_main).collect()
}

#[test]
fn layers_have_exactly_the_size_asked_for() {
    let corpus = planted_corpus(2_000, 1);
    for sizes in [vec![1], vec![21, 7], vec![63, 63], vec![30, 12, 5, 1], vec![9]] {
        let network = learn(&corpus, N_TOKENS, &options(&sizes));
        let graph = &network.graph;
        assert_eq!(graph.n_topics(), sizes.iter().sum::<usize>());
        // Topics are numbered from the top down, and edges lead from one layer to the next.
        let mut layer_of = vec![];
        sizes.iter().enumerate().rev().for_each(|(at, &size)| layer_of.extend(vec![at + 1; size]));
        layer_of.extend(vec![0; N_TOKENS]);
        assert!(
            graph.edges().all(|(parent, child)| layer_of[parent as usize] == layer_of[child as usize] + 1)
        );
    }
    let sizes = |options: GraphOptions, n_tokens| options.layer_sizes(n_tokens);
    assert_eq!(sizes(GraphOptions::default(), 10_000), [333, 111]);
    assert_eq!(sizes(GraphOptions::default(), 100), [33, 11]);
    assert_eq!(sizes(GraphOptions::default(), 5), [1]);
    assert_eq!(sizes(GraphOptions { layers: Some(3), ..GraphOptions::default() }, 100), [33, 11, 3]);
}

#[test]
fn one_long_document_makes_no_topics() {
    // Of long documents a part is counted, each item standing for several: that must not pass for several documents.
    let themes = planted_corpus(1_000, 1);
    let long: Vec<u32> = (N_TOKENS as u32..N_TOKENS as u32 + 4_000).collect();
    let docs = (0..themes.n_docs()).map(|doc| themes.tokens(doc).to_vec()).chain([long]);
    let network = learn(&Corpus::from_tokens(docs), N_TOKENS + 4_000, &options(&[TOPICS]));
    let first = (network.graph.n_topics() + N_TOKENS) as u32;
    assert!(network.graph.edges().all(|(_, child)| child < first), "{:?}", network.names.topics);
}

#[test]
fn parents_and_edges_are_limited() {
    let corpus = planted_corpus(2_000, 1);
    let most_parents = |network: &Network| {
        (0..network.graph.n_nodes()).map(|node| network.graph.parents(node).len()).max().unwrap()
    };
    for parents in [1, 2, 4] {
        let network = learn(&corpus, N_TOKENS, &GraphOptions { parents, ..options(&[15, 5]) });
        assert_eq!(most_parents(&network), parents);
    }
    let whole = learn(&corpus, N_TOKENS, &options(&[15, 5]));
    let n_edges = whole.graph.n_edges();
    for most in [n_edges + 1, n_edges - 1, N_TOKENS + 15, N_TOKENS, 20] {
        let network = learn(&corpus, N_TOKENS, &GraphOptions { max_edges: Some(most), ..options(&[15, 5]) });
        assert_eq!(network.graph.n_edges(), most.min(n_edges));
        let orphans = |network: &Network| {
            (5..network.graph.n_nodes()).filter(|&node| network.graph.parents(node).is_empty()).count()
        };
        // Nobody loses the last parent as long as there is anything else to lose.
        if most >= N_TOKENS + 15 {
            assert_eq!(orphans(&network), orphans(&whole));
        }
    }
}

#[test]
fn the_same_bytes_whatever_the_threads() {
    let corpus = planted_corpus(3_000, 2);
    let folder = tempfile::tempdir().unwrap();
    let bytes = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let network = pool.install(|| learn(&corpus, N_TOKENS, &options(&[21, 7])));
        let path = folder.path().join("graph.safetensors");
        save(&network, &path).unwrap();
        std::fs::read(path).unwrap()
    };
    let one = bytes(1);
    assert!(one == bytes(2) && one == bytes(5));
}

#[test]
fn planted_topics_are_found() {
    let network = learn(&planted_corpus(6_000, 3), N_TOKENS, &options(&[TOPICS]));
    let mut found = BTreeSet::new();
    for topic in 0..TOPICS {
        let words = main_words(&network, topic);
        let shared = |planted: &Vec<u32>| planted.iter().filter(|word| words.contains(word)).count();
        let best = (0..TOPICS).max_by_key(|&at| shared(&planted(at))).unwrap();
        assert_eq!(shared(&planted(best)), words.len(), "topic {topic} is not pure: {words:?}");
        found.insert(best);
    }
    assert_eq!(found.len(), TOPICS, "every planted topic is found once");
    // A word of two topics has both, and they are its strongest.
    for at in 0..TOPICS {
        let word = planted(at)[WORDS - 1];
        let node = TOPICS + word as usize;
        let mut edges: Vec<usize> = network.graph.edges_into(node).collect();
        edges.sort_by(|&a, &b| network.weights.edge[b].total_cmp(&network.weights.edge[a]));
        assert!(edges.len() >= 2, "word {word} of two topics has {} parents", edges.len());
        let main = |edge: usize| {
            let words = main_words(&network, network.graph.edge_parents()[edge] as usize);
            (0..TOPICS).find(|&topic| words.iter().all(|word| planted(topic).contains(word))).unwrap()
        };
        let parents: BTreeSet<usize> = edges[..2].iter().map(|&edge| main(edge)).collect();
        assert_eq!(parents, BTreeSet::from([at, (at + 1) % TOPICS]));
    }
}

#[test]
fn anchors_are_topics_with_their_words_and_names() {
    let corpus = planted_corpus(2_000, 1);
    // Words that never occur together, too: the user knows better.
    let anchors = vec![
        Anchor { name: "mine".into(), tokens: vec![0, 30, 45] },
        Anchor { name: String::new(), tokens: vec![1, 2] },
        Anchor { name: "one: word".into(), tokens: vec![60] },
    ];
    let given = GraphOptions { anchors: anchors.clone(), ..options(&[12, 4]) };
    for max_edges in [None, Some(40)] {
        let network = learn(&corpus, N_TOKENS, &GraphOptions { max_edges, ..given.clone() });
        for (at, anchor) in anchors.iter().enumerate() {
            let topic = 4 + at;
            let words = words_of(&network, topic);
            assert!(anchor.tokens.iter().all(|token| words.contains(token)), "{anchor:?}: {words:?}");
            if !anchor.name.is_empty() {
                assert_eq!(network.names.topics[topic], anchor.name);
            }
        }
    }
}

#[test]
fn excluded_words_share_no_topic() {
    let corpus = planted_corpus(2_000, 1);
    let groups = vec![planted(0), vec![20, 21, 22]];
    let network = learn(&corpus, N_TOKENS, &GraphOptions { exclude: groups.clone(), ..options(&[15, 5]) });
    let free = learn(&corpus, N_TOKENS, &options(&[15, 5]));
    let most = |network: &Network, group: &[u32]| {
        let shared = |topic| words_of(network, topic).iter().filter(|word| group.contains(word)).count();
        (5..20).map(shared).max().unwrap()
    };
    for group in &groups {
        assert!(most(&free, group) > 1, "else this tests nothing");
        assert_eq!(most(&network, group), 1);
    }
}

#[test]
fn rare_pairs_do_not_count() {
    // 0 and 1 together four times, 2 and 3 eight times; the rest alone.
    let mut docs = vec![vec![0, 1]; 4];
    docs.extend(vec![vec![2, 3]; 8]);
    docs.extend(vec![vec![4]; 40]);
    let corpus = Corpus::from_tokens(docs);
    let pairs = |min_support| {
        let network = learn(&corpus, 5, &GraphOptions { min_support, ..options(&[2]) });
        (0..2).map(|topic| words_of(&network, topic)).filter(|words| words.len() == 2).count()
    };
    assert_eq!([4, 5, 8, 9].map(pairs), [2, 1, 1, 0]);
}

#[test]
fn odd_corpora_give_a_graph_or_a_clear_error() {
    let learn_docs = |docs: Vec<Vec<u32>>, n_tokens| {
        try_learn(&Corpus::from_tokens(docs), n_tokens, &GraphOptions::default())
    };
    for (docs, n_tokens) in [
        (vec![vec![0]], 1),
        (vec![vec![0]; 9], 1),
        (vec![vec![0], vec![1], vec![2]], 3),
        (vec![(0..40).collect(); 50], 40),
        (vec![vec![0, 1]; 50], 100),
        (vec![vec![]; 50].into_iter().chain([vec![3]]).collect(), 4),
        ((0..30).map(|at| vec![at]).collect(), 30),
    ] {
        let corpus = Corpus::from_tokens(docs);
        let network = learn(&corpus, n_tokens, &GraphOptions::default());
        assert!(network.graph.n_topics() >= 1);
    }
    for docs in [vec![], vec![vec![]; 5]] {
        let error = learn_docs(docs, 3).unwrap_err().to_string();
        assert!(error.contains("no token occurs"), "{error}");
    }
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let corpus = planted_corpus(50, 1);
    let anchor = |name: &str, tokens: &[u32]| Anchor { name: name.into(), tokens: tokens.to_vec() };
    let anchored = |anchors| GraphOptions { anchors, ..options(&[2]) };
    for (options, part) in [
        (options(&[64]), "63 tokens"),
        (options(&[10, 11]), "10 topics"),
        (options(&[10, 0]), "0 topics"),
        (GraphOptions { layers: Some(0), ..GraphOptions::default() }, "0 layers"),
        (GraphOptions { layers: Some(9), ..GraphOptions::default() }, "0 topics"),
        (GraphOptions { parents: 0, ..GraphOptions::default() }, "0 parents"),
        (GraphOptions { min_support: 0, ..GraphOptions::default() }, "0 documents"),
        (GraphOptions { max_edges: Some(5), ..options(&[6]) }, "5 edges"),
        (anchored(vec![anchor("a", &[1]), anchor("b", &[1]), anchor("c", &[1])]), "3 topics are given"),
        (anchored(vec![anchor("a", &[1]), anchor("a", &[2])]), "twice"),
        (anchored(vec![anchor("w3", &[1])]), "'w3'"),
        (anchored(vec![anchor("a\tb", &[1])]), "tabs"),
        (anchored(vec![anchor("a", &[])]), "no words"),
        (anchored(vec![anchor("a", &[63])]), "no token 63"),
        (GraphOptions { parents: 1, ..anchored(vec![anchor("a", &[1]), anchor("b", &[1])]) }, "'w1'"),
        (GraphOptions { exclude: vec![vec![1, 2]], ..anchored(vec![anchor("a", &[2, 1])]) }, "'w1'"),
        (GraphOptions { exclude: vec![vec![1, 99]], ..options(&[2]) }, "no token 99"),
    ] {
        let error = try_learn(&corpus, N_TOKENS, &options).unwrap_err();
        assert_eq!(error.exit_status(), 2);
        assert!(error.to_string().contains(part), "'{part}' is not in: {error}");
    }
}

#[test]
fn a_stop_request_stops() {
    let corpus = planted_corpus(50, 1);
    let (tokens, monitor) = (names(N_TOKENS), Monitor::default());
    monitor.stop.store(true, std::sync::atomic::Ordering::Relaxed);
    let alignment = align(&corpus, &tokens);
    let stopped = learn_graph(alignment.docs(&corpus), &[0, 1], &tokens, &GraphOptions::default(), &monitor);
    assert!(matches!(stopped, Err(Error::Interrupted)));
}

#[test]
fn only_the_given_documents_are_looked_at() {
    let corpus = planted_corpus(1_000, 1);
    let tokens = names(N_TOKENS);
    let alignment = align(&corpus, &tokens);
    let part: Vec<u32> = (0..500).collect();
    let alone = Corpus::from_tokens((0..500).map(|doc| corpus.tokens(doc).to_vec()));
    let options = options(&[15, 5]);
    let network =
        learn_graph(alignment.docs(&corpus), &part, &tokens, &options, &Monitor::default()).unwrap();
    assert!(network == learn(&alone, N_TOKENS, &options));
    assert!(network != learn(&corpus, N_TOKENS, &options));
}

#[test]
fn a_learned_graph_is_better_than_a_random_one() {
    let corpus = planted_corpus(3_000, 4);
    let learned = learn(&corpus, N_TOKENS, &GraphOptions { parents: 2, ..options(&[TOPICS, 3]) }).graph;
    let held_out = |graph: &Graph| {
        let tokens = names(N_TOKENS);
        let alignment = align(&corpus, &tokens);
        let options = TrainOptions { valid: 0.3, epochs: 10, ..TrainOptions::default() }.check().unwrap();
        let outcome = train(
            Begin::New(graph, None),
            alignment.docs(&corpus),
            &options,
            &mut CpuEStep::new(),
            &Monitor::default(),
            &mut |_| Ok(()),
        );
        outcome.unwrap().metrics.unwrap().valid_elbo.unwrap()
    };
    // The same sizes and as many parents, but any.
    let rng = &mut rng(5, Stream::SynthNetwork);
    let mut edges = BTreeSet::new();
    for (_, child) in learned.edges() {
        let (first, n) = if child as usize >= learned.n_topics() { (3, TOPICS as u32) } else { (0, 3) };
        while !edges.insert((first + rng.random_range(0..n), child)) {}
    }
    let edges: Vec<(u32, u32)> = edges.into_iter().collect();
    let (random, _) = Graph::build(learned.n_topics(), N_TOKENS, &edges, &|node| node.to_string()).unwrap();
    let (learned, random) = (held_out(&learned), held_out(&random));
    assert!(learned > random + 0.5, "learned {learned}, random {random}");
}

/// Documents that a token is in, times its parents, over all documents.
fn edges_a_doc(corpus: &Corpus, network: &Network) -> f64 {
    let edges = |token: &u32| network.graph.parents(network.graph.n_topics() + *token as usize).len();
    let of_doc = |doc: usize| corpus.tokens(doc).iter().map(edges).sum::<usize>();
    (0..corpus.n_docs()).map(of_doc).sum::<usize>() as f64 / corpus.n_docs() as f64
}

#[test]
fn edges_by_gain_lead_from_all_layers_to_what_their_documents_hold() {
    let corpus = planted_corpus(3_000, 4);
    let with = |min_gain: f64, doc_edges: Option<usize>| {
        let by_gain = GraphOptions { min_gain: Some(min_gain), doc_edges, ..options(&[TOPICS, 3]) };
        learn(&corpus, N_TOKENS, &by_gain)
    };
    let network = with(2.0, None);
    // The upper topics, which come first, have tokens of their own, and topics.
    for topic in 0..3 {
        assert!(!words_of(&network, topic).is_empty());
        assert!(
            network.graph.children(topic).iter().any(|&child| (child as usize) < network.graph.n_topics())
        );
    }
    // Upper and lower topics together explain a planted topic's words: one of them has nearly all of them.
    for topic in 0..TOPICS {
        let wanted: BTreeSet<u32> = planted(topic).into_iter().collect();
        let best =
            (0..network.graph.n_topics()).map(|t| words_of(&network, t).intersection(&wanted).count()).max();
        assert!(best >= Some(WORDS - 1), "planted topic {topic}: {best:?}");
    }
    let (fewer, cheaper) = (with(50.0, None), with(2.0, Some(6)));
    assert!(fewer.graph.n_edges() < network.graph.n_edges());
    assert!(edges_a_doc(&corpus, &network) > 8.0, "{}", edges_a_doc(&corpus, &network));
    // Beside the cap there are the edges to cores, which must be there.
    assert!(edges_a_doc(&corpus, &cheaper) < 7.5, "{}", edges_a_doc(&corpus, &cheaper));
}

#[test]
fn a_choice_follows_the_documents_held_out_and_can_be_repeated() {
    let corpus = planted_corpus(3_000, 5);
    let tokens = names(N_TOKENS);
    let alignment = align(&corpus, &tokens);
    let (docs, monitor) = (alignment.docs(&corpus), Monitor::default());
    let choose = |options: TrainOptions, given: GraphOptions, effort: Effort| {
        let options = options.check().unwrap();
        let train_docs = options.split(corpus.n_docs()).train;
        let (given, options, monitor) = (&given, &options, &monitor);
        let (tokens, train_docs) = (tokens.as_slice(), train_docs.as_slice());
        let chooser = Chooser {
            docs,
            tokens,
            train_docs,
            graph_docs: train_docs,
            given,
            options,
            effort,
            team: &Team::default(),
            monitor,
        };
        let mut n_told = 0;
        let chosen = chooser.choose(&mut CpuEStep::new(), &mut |_| n_told += 1).unwrap();
        assert_eq!(n_told, chosen.trials.len());
        chosen
    };
    let options = TrainOptions { valid: 0.2, test: 0.1, seed: 3, ..TrainOptions::default() };
    let chosen = choose(options.clone(), GraphOptions::default(), Effort::Normal);
    let best = chosen.trials.iter().max_by(|a, b| a.bound.unwrap().total_cmp(&b.bound.unwrap())).unwrap();
    assert!(chosen.trials.len() > 2 && !chosen.limited, "{:?}", chosen.trials);
    assert_eq!(chosen.network.graph.n_edges(), best.edges, "{:?}", chosen.trials);
    // A graph that was learned is learned again by its options.
    let given = GraphOptions { exclude: vec![vec![0, 1]], ..GraphOptions::default() };
    let chosen = choose(options.clone(), given, Effort::Normal);
    let Shape::Learned(shape) = chosen.shape else { panic!("complete: {:?}", chosen.trials) };
    let train_docs = split(corpus.n_docs(), 0.2, 0.1, 3).train;
    let again = learn_graph(docs, &train_docs, &tokens, &shape, &monitor).unwrap();
    assert_eq!((again.graph, again.weights), (chosen.network.graph, chosen.network.weights));
    // Nothing is held out: a part of the training documents decides.
    let unheld = TrainOptions { valid: 0.0, ..options.clone() };
    assert!(
        choose(unheld, GraphOptions::default(), Effort::Quick)
            .trials
            .iter()
            .all(|trial| trial.bound.is_some())
    );
    // Little time: small networks.
    let hasty = choose(options, GraphOptions::default(), Effort::Minutes(1e-6));
    assert!(hasty.limited && hasty.trials.len() == 1, "{:?}", hasty.trials);
}
