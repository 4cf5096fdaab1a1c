//! What becomes of topics in the end: empty ones go, others have names.

use super::*;
use noisyor::structure::name_topics;

#[test]
fn topics_that_lead_to_no_token_are_left_out() {
    // 1 has no children, 0 has only 1; 3 has 1 and a token; 2 has a token.
    let edges = [(0, 1, 0.1), (3, 1, 0.2), (2, 4, 0.3), (3, 5, 0.4), (2, 3, 0.5)];
    let mut network = network_of(4, 3, &edges, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    network.drop_empty_topics();
    let smaller = network_of(2, 3, &[(0, 2, 0.3), (1, 3, 0.4), (0, 1, 0.5)], vec![3.0, 4.0, 5.0, 6.0, 7.0]);
    assert_eq!((&network.graph, &network.weights), (&smaller.graph, &smaller.weights));
    assert_eq!(network.names.topics, ["t2", "t3"]);
    assert_eq!(network.names.tokens, ["w0", "w1", "w2"]);
    let before = network.clone();
    network.drop_empty_topics();
    assert_eq!(network, before);
}

#[test]
fn a_network_of_empty_topics_alone_stays_sound() {
    for edges in [&[][..], &[(0, 1, 0.5)]] {
        let mut network = network_of(2, 2, edges, vec![0.1; 4]);
        network.drop_empty_topics();
        let graph = &network.graph;
        assert_eq!(network.weights.fault(graph, &|node| node.to_string()), None);
        assert_eq!(network.names.topics.len(), graph.n_topics());
        assert_eq!(graph.n_tokens(), 2);
    }
}

#[test]
fn topics_are_named_after_their_words_and_no_two_nodes_alike() {
    // Two topics of the same words, one of a single word, one of none, one above the first, and one that keeps its name.
    let edges = [
        (0, 6, 2.0),
        (0, 7, 1.0),
        (1, 6, 1.5),
        (1, 7, 0.5),
        (1, 8, 0.1),
        (2, 8, 1.0),
        (4, 0, 1.0),
        (5, 9, 1.0),
    ];
    let mut network = network_of(6, 4, &edges, vec![0.1; 10]);
    network.names.tokens = ["sun", "sea", "sand", "sand 1"].map(str::to_owned).to_vec();
    network.names.topics[5] = "sun sea".into();
    name_topics(&mut network, &[0, 1, 2, 3, 4]);
    assert_eq!(network.names.repeated(), None);
    let topics = &network.names.topics;
    assert_eq!(topics[5], "sun sea");
    assert_eq!(topics[1], "sun sea sand");
    assert_eq!(topics[2], "sand 2");
    assert!(topics[0].starts_with("sun") && topics[4].starts_with("sun"), "{topics:?}");
    assert!(!topics[3].is_empty());
    // Names that stay are not touched, and old names of those named anew are free.
    let mut again = network.clone();
    name_topics(&mut again, &[1]);
    assert_eq!(again.names, network.names);
}
