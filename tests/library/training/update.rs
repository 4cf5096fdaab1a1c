//! Going on from a model: what it knew stays, what is new is attached and learned.

use super::*;
use noisyor::corpus::{Docs, align};
use noisyor::network::{Init, Names, topic_marginals};
use noisyor::train::{Prior, PriorOptions};
use noisyor::update::{Extended, UpdateOptions, extend, joined_tokens};

/// Documents of each half.
const DOCS: u64 = 6_000;
/// Tokens of each topic of [`nearly_disjoint`] that the old model knows, the first of eight.
const OLD: usize = 4;
/// Weights of a topic that the new documents lack may change by this share: its q there is not quite zero.
const KEPT: f64 = 0.01;
/// Held-out bounds in nats: 600 documents of about 10 tokens whose weights rest on twice the documents, or are the same.
const NOT_WORSE: f64 = 0.01;

/// The network of some of its tokens: the others are not observed.
fn restricted(network: &Network, is_kept: impl Fn(&str) -> bool) -> Network {
    let Network { graph, weights, names, .. } = network;
    let n_topics = graph.n_topics();
    let tokens: Vec<usize> = (0..graph.n_tokens()).filter(|&token| is_kept(&names.tokens[token])).collect();
    let mut edges = Vec::new();
    for (node, old) in (0..n_topics).chain(tokens.iter().map(|token| n_topics + token)).enumerate() {
        for (edge, &parent) in graph.edges_into(old).zip(graph.parents(old)) {
            edges.push((parent, node as u32, weights.edge[edge]));
        }
    }
    let leaks = tokens.iter().map(|token| weights.leak[n_topics + token]);
    let leak = weights.leak[..n_topics].iter().copied().chain(leaks).collect();
    let named = tokens.iter().map(|&token| names.tokens[token].clone()).collect();
    let part = network_of(n_topics, tokens.len(), &edges, leak);
    Network { names: Names { topics: names.topics.clone(), tokens: named }, ..part }
}

fn is_old(name: &str) -> bool {
    let token: usize = name[1..].parse().unwrap();
    token < 48 && token % 8 < OLD
}

/// Documents of a network with names, from the `first` on; `is_kept` by their tokens.
fn sampled(network: &Network, first: u64, is_kept: impl Fn(&[u32]) -> bool) -> Corpus {
    let sampler = Sampler::new(network);
    let docs = (first..).map(|doc| sampler.sample(7, doc).tokens).filter(|tokens| is_kept(tokens));
    let mut corpus = Corpus::from_tokens(docs.take(DOCS as usize));
    corpus.set_token_names(&network.names.tokens);
    corpus
}

fn trained(network: &Network, docs: Docs<'_>, options: TrainOptions) -> (Network, Outcome) {
    let options = options.check().unwrap();
    let (mut estep, monitor) = (CpuEStep::new(), Monitor::default());
    let given = Some(&network.weights);
    let outcome =
        train(Begin::New(&network.graph, given), docs, &options, &mut estep, &monitor, &mut |_| Ok(()))
            .unwrap();
    (Network { weights: outcome.weights.clone(), ..network.clone() }, outcome)
}

/// A model of the old tokens, trained on documents of the `network`.
fn old_model(network: &Network) -> Network {
    let old = restricted(network, is_old);
    let corpus = sampled(network, 0, |_| true);
    let alignment = align(&corpus, &old.names.tokens);
    trained(&old, alignment.docs(&corpus), options(EM, BatchSize::Full, 30)).0
}

fn attaching() -> UpdateOptions {
    UpdateOptions { parents: 8, min_support: 3, estep: EStepOptions::default() }
}

fn extended(model: &Network, corpus: &Corpus, options: &UpdateOptions) -> Extended {
    let tokens = joined_tokens(&model.names, corpus).unwrap();
    let docs = split(corpus.n_docs(), 0.1, 0.0, 0).train;
    extend(model, corpus, &tokens, &docs, options, &mut CpuEStep::new(), &Monitor::default()).unwrap()
}

/// The model after an update that counts it as so many documents, and the held-out documents.
fn updated(model: &Network, corpus: &Corpus, docs: f64) -> (Network, Vec<u32>) {
    let start = extended(model, corpus, &attaching()).network;
    let alignment = align(corpus, &start.names.tokens);
    let tokens = model.names.tokens.len();
    let prior = (docs > 0.0).then_some(PriorOptions { docs, trained_docs: DOCS as f64, tokens });
    let options = TrainOptions { prior, init: Init::Graph, ..options(EM, BatchSize::Full, 20) };
    let valid = options.split(corpus.n_docs()).valid;
    (trained(&start, alignment.docs(corpus), options).0, valid)
}

fn bound(network: &Network, corpus: &Corpus, doc_ixs: &[u32]) -> f64 {
    let alignment = align(corpus, &network.names.tokens);
    let items = Item::each(doc_ixs);
    run_items(network, alignment.docs(corpus), &items, &EStepOptions::default()).stats.elbo_mean()
}

#[test]
fn a_step_with_a_prior_is_the_step_on_all_documents() {
    const LAMBDA: f64 = 2.0;
    const TOKENS: usize = 40;
    let network = nearly_disjoint();
    let (graph, old) = (&network.graph, &network.weights);
    let rule = StepRule::Em { lambda: LAMBDA };
    let (new_stats, range) = (weight_step::random_stats(&network, 1, 40.0), (1e-5, 1e-5, 20.0));
    let options = PriorOptions { docs: 25.0, trained_docs: 50.0, tokens: TOKENS };
    // Any weights, not the old ones: counts are `w N`.
    let mut start = old.clone();
    start.edge.iter_mut().for_each(|w| *w *= 0.7);
    start.leak.iter_mut().for_each(|w| *w *= 1.3);
    let step = |n_docs: usize, prior: Option<Prior>, stats: &Stats| {
        let mut weights = start.clone();
        let mut stepper = Stepper::new(rule, range, n_docs, (1, 1)).with_prior(prior);
        stepper.advance(graph, &mut weights, &sums(stats));
        weights
    };
    // What 25 old documents would have given, half of those that the old weights were trained on.
    let mut both = new_stats.clone();
    both.n_docs += 25.0;
    let q = topic_marginals(graph, old);
    both.topic_q.iter_mut().zip(&q).for_each(|(sum, q)| *sum += 25.0 * q);
    for (edge, &parent) in graph.edge_parents().iter().enumerate() {
        both.edge[edge] += old.edge[edge] * (25.0 * q[parent as usize] + LAMBDA / 2.0) / start.edge[edge];
    }
    (0..graph.n_nodes()).for_each(|node| both.leak[node] += 25.0 * old.leak[node] / start.leak[node]);
    let got = step(40, Some(Prior::new(graph, old, &options, LAMBDA)), &new_stats);
    let (all, new) = (step(65, None, &both), step(40, None, &new_stats));
    // Of tokens that the old documents did not have only the new ones tell.
    let n_nodes = graph.n_topics() + TOKENS;
    let n_edges = graph.edge_offsets()[n_nodes] as usize;
    let close = |got: f64, want: f64| assert!((got - want).abs() <= 1e-12 * want, "{got} {want}");
    for edge in 0..graph.n_edges() {
        close(got.edge[edge], if edge < n_edges { all.edge[edge] } else { new.edge[edge] });
    }
    for node in 0..graph.n_nodes() {
        close(got.leak[node], if node < n_nodes { all.leak[node] } else { new.leak[node] });
    }
    assert!(n_edges < graph.n_edges() && (got.edge[0] - new.edge[0]).abs() > 0.01);
}

#[test]
fn old_edges_stay_as_they_are_where_new_documents_tell_nothing() {
    let network = nearly_disjoint();
    let options = PriorOptions { docs: 25.0, trained_docs: 25.0, tokens: network.graph.n_tokens() };
    let prior = Prior::new(&network.graph, &network.weights, &options, 2.0);
    // A document in which no topic is on.
    let stats = Stats { n_docs: 1.0, ..Stats::new(&network.graph, true) };
    let mut weights = network.weights.clone();
    let stepper = Stepper::new(StepRule::Em { lambda: 2.0 }, (1e-5, 1e-5, 20.0), 1, (1, 1));
    stepper.with_prior(Some(prior)).advance(&network.graph, &mut weights, &sums(&stats));
    let same = |(got, want): (&f64, &f64)| assert!((got - want).abs() < 1e-12, "{got} {want}");
    weights.edge.iter().zip(&network.weights.edge).for_each(same);
}

#[test]
fn marginals_of_topics_are_exact_where_parents_are_independent() {
    let edges = [(0, 1, 1.0), (0, 3, 0.7), (2, 3, 0.3), (1, 4, 1.0)];
    let network = network_of(4, 1, &edges, vec![0.5, 0.01, 0.2, 1e-9, 0.1]);
    let got = topic_marginals(&network.graph, &network.weights);
    let on = |leak: f64| 1.0 - (-leak).exp();
    let (p0, p2) = (on(0.5), on(0.2));
    let mut p3 = 0.0;
    for (x0, x2) in [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)] {
        let p = (if x0 > 0.0 { p0 } else { 1.0 - p0 }) * (if x2 > 0.0 { p2 } else { 1.0 - p2 });
        p3 += p * on(1e-9 + 0.7 * x0 + 0.3 * x2);
    }
    let want = [p0, p0 * on(1.01) + (1.0 - p0) * on(0.01), p2, p3];
    got.iter().zip(want).for_each(|(got, want)| assert_close("marginal", *got, want, F64));
}

#[test]
fn new_tokens_find_their_topics_and_old_ones_keep_their_places() {
    let truth = nearly_disjoint();
    let (old, corpus) = (old_model(&truth), sampled(&truth, 2 * DOCS, |_| true));
    let Extended { network: start, n_new, n_attached, n_new_edges } = extended(&old, &corpus, &attaching());
    assert_eq!((n_new, n_attached), (28, 28));
    assert_eq!(start.graph.n_edges(), old.graph.n_edges() + n_new_edges);
    let (new, valid) = updated(&old, &corpus, DOCS as f64);
    assert_eq!(new.graph, start.graph);
    assert_eq!(new.names.topics, old.names.topics);
    assert_eq!(new.names.tokens[..24], old.names.tokens);
    let old_edges: Vec<_> = old.graph.edges().collect();
    assert_eq!(new.graph.edges().take(old_edges.len()).collect::<Vec<_>>(), old_edges);
    assert_eq!(start.weights.edge[..old_edges.len()], old.weights.edge);
    // Every new token's true edges are there and heavier than all others that it has.
    let first = truth.graph.n_topics();
    for node in first..truth.graph.n_nodes() {
        let name = &truth.names.tokens[node - first];
        let found = first + new.names.tokens.iter().position(|token| token == name).unwrap();
        let weight = |topic: &u32| {
            let at = new.graph.parents(found).iter().position(|parent| parent == topic);
            at.map_or(0.0, |at| new.weights.edge[new.graph.edges_into(found)][at])
        };
        let true_parents = truth.graph.parents(node);
        let least = true_parents.iter().map(weight).fold(f64::INFINITY, f64::min);
        let others = new.graph.parents(found).iter().filter(|topic| !true_parents.contains(topic));
        let most = others.map(weight).fold(0.0, f64::max);
        assert!(least > 0.3 && most < 0.1, "{name}: {least} {most}");
    }
    // The new documents under the updated model, against the old one with tokens that belong to no topic.
    let loose = extended(&old, &corpus, &UpdateOptions { min_support: u32::MAX, ..attaching() });
    assert_eq!((loose.n_attached, loose.n_new_edges), (0, 0));
    let (before, after) = (bound(&loose.network, &corpus, &valid), bound(&new, &corpus, &valid));
    assert!(after > before + 1.0, "new documents: {before} {after}");
    // Old documents, in the old tokens.
    let others = sampled(&truth, 4 * DOCS, |_| true);
    let some: Vec<u32> = (0..600).collect();
    let (before, after) = (bound(&old, &others, &some), bound(&restricted(&new, is_old), &others, &some));
    assert!(after > before - NOT_WORSE, "old documents: {before} {after}");
    // The same documents again: there is nothing left to learn.
    let (again, _) = updated(&new, &corpus, 2.0 * DOCS as f64);
    assert_eq!(again.graph, new.graph);
    let (before, after) = (bound(&new, &corpus, &valid), bound(&again, &corpus, &valid));
    assert!(after > before - NOT_WORSE, "again: {before} {after}");
}

#[test]
fn only_topics_that_have_tokens_get_new_ones() {
    let truth = synth::random_network(&Preset::of("tiny").unwrap(), 3).unwrap();
    let known = &truth.names.tokens[..truth.graph.n_tokens() / 2];
    let old = restricted(&truth, |name| known.iter().any(|token| token == name));
    let corpus = sampled(&truth, 0, |_| true);
    let Extended { network, n_new, n_attached, .. } = extended(&old, &corpus, &attaching());
    assert_eq!(n_new, truth.graph.n_tokens() - known.len());
    assert!(n_attached > n_new / 2, "{n_attached} of {n_new}");
    let is_token = |child: &u32| !old.graph.is_topic(*child as usize);
    let has_tokens = |topic: usize| old.graph.children(topic).iter().any(is_token);
    let [with, without]: [Vec<usize>; 2] = [true, false]
        .map(|wanted| (0..old.graph.n_topics()).filter(|&topic| has_tokens(topic) == wanted).collect());
    assert!(!without.is_empty());
    assert!(without.iter().all(|&topic| network.graph.children(topic) == old.graph.children(topic)));
    assert!(with.iter().any(|&topic| network.graph.children(topic).len() > old.graph.children(topic).len()));
}

#[test]
fn what_new_documents_lack_is_kept_unless_the_model_counts_for_nothing() {
    let truth = nearly_disjoint();
    let old = old_model(&truth);
    // Nothing of the last three topics, shared tokens included.
    let lacks = |tokens: &[u32]| tokens.iter().all(|&token| token < 24 || (48..50).contains(&token));
    let corpus = sampled(&truth, 2 * DOCS, lacks);
    let [kept, lost] = [DOCS as f64, 0.0].map(|docs| updated(&old, &corpus, docs).0);
    let mut n_edges = 0;
    for (edge, &parent) in old.graph.edge_parents().iter().enumerate().filter(|(_, parent)| **parent >= 3) {
        let (was, kept, lost) = (old.weights.edge[edge], kept.weights.edge[edge], lost.weights.edge[edge]);
        assert!((kept - was).abs() < KEPT * was, "edge {edge} of topic {parent}: {was}, then {kept}");
        assert!(lost < 0.1 * was, "edge {edge} of topic {parent}: {was}, then {lost}");
        n_edges += 1;
    }
    assert_eq!(n_edges, 3 * OLD);
    // Documents of all topics, in the old tokens.
    let others = sampled(&truth, 4 * DOCS, |_| true);
    let some: Vec<u32> = (0..600).collect();
    let [was, kept, lost] =
        [&old, &kept, &lost].map(|model| bound(&restricted(model, is_old), &others, &some));
    assert!(was - kept < 0.5 && was - lost > 2.0, "{was} {kept} {lost}");
}

#[test]
fn an_update_is_the_same_on_any_number_of_threads() {
    let truth = nearly_disjoint();
    let (old, corpus) = (restricted(&truth, is_old), sampled(&truth, 0, |_| true));
    let [one, three] = [1, 3].map(|threads| on_threads(threads, || updated(&old, &corpus, DOCS as f64).0));
    assert_eq!(one.graph, three.graph);
    assert_eq!(bits(&one.weights), bits(&three.weights));
}

#[test]
fn tokens_are_joined_by_name_or_by_number() {
    let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let model = Names { topics: names(&["sport"]), tokens: names(&["ball", "team"]) };
    let mut corpus = Corpus::from_tokens([vec![0, 1, 2, 3]]);
    corpus.set_token_names(["goal", "team", "sport", "net"]);
    // No token can have the name of a topic.
    assert_eq!(joined_tokens(&model, &corpus).unwrap(), ["ball", "team", "goal", "net"]);
    let numbered = Corpus::from_tokens([vec![1, 4]]);
    assert_eq!(joined_tokens(&model, &numbered).unwrap(), ["ball", "team", "2", "3", "4"]);
    assert_eq!(joined_tokens(&model, &Corpus::from_tokens([vec![0]])).unwrap(), model.tokens);
    let taken = Names { tokens: names(&["4", "team"]), ..model.clone() };
    let message = joined_tokens(&taken, &numbered).unwrap_err().to_string();
    assert!(message.contains("'4'") && message.contains("`vocab`"), "{message}");
    corpus.set_token_names(["a", "b", "c", "d"]);
    for strange in [corpus, Corpus::from_tokens([vec![], vec![]])] {
        let message = joined_tokens(&model, &strange).unwrap_err().to_string();
        assert!(message.contains("no token that the model knows"), "{message}");
    }
}

#[test]
fn a_model_that_counts_needs_em_and_its_own_weights() {
    let prior = PriorOptions { docs: 10.0, trained_docs: 10.0, tokens: 3 };
    let sound = TrainOptions { prior: Some(prior), init: Init::Graph, ..TrainOptions::default() };
    sound.clone().check().unwrap();
    for (wrong, part) in [
        (TrainOptions { step: ADAM, ..sound.clone() }, "`from_docs` 0"),
        (TrainOptions { step: PAPER, ..sound.clone() }, "`from_docs` 0"),
        (TrainOptions { init: Init::Data, ..sound.clone() }, "`init` graph"),
        (TrainOptions { refine: Some(Default::default()), ..sound.clone() }, "`refine`"),
        (TrainOptions { prior: Some(PriorOptions { docs: f64::NAN, ..prior }), ..sound }, "above 0"),
    ] {
        let message = wrong.check().unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
}
