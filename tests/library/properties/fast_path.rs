//! The fast path against the oracle.

use super::*;

#[test]
fn fast_bound_and_sums_are_the_oracles_where_the_e_step_ends() {
    const ALTERNATIONS: usize = 12;
    for (seed, network, docs) in random_cases(200, 30, 40) {
        let (corpus, alignment) = corpus_of(&network, docs.clone());
        for bound in [Bound::Local, Bound::Tail, Bound::Full] {
            let max_alternations = ALTERNATIONS as u32;
            // The probe begins where the plain start does.
            let (start, tolerance) = (Start::Plain, 0.0);
            let options =
                EStepOptions { bound, start, max_alternations, tolerance, ..EStepOptions::default() };
            let ran = run_docs(&network, &docs, &options);
            let params = Params::derive(&network.graph, &network.weights, bound).unwrap();
            let mut total = Stats::new(&network.graph, true);
            for (doc, tokens) in docs.iter().enumerate() {
                let name = format!("seed {seed} doc {doc} {bound}");
                let mut probe =
                    Probe::new(&network.graph, &alignment.docs(&corpus), doc as u32, bound, &params);
                alternate(&mut probe, ALTERNATIONS);
                // Colours at once are topics one after another: the same bits.
                assert_eq!(probe.elbo(), ran.elbo[doc], "{name}");
                assert_eq!(f32s(&point_of(&network, &probe).q), ran.q[doc], "{name}");
                assert_oracle(&name, &probe, &network, tokens, bound);
                add_stats(&mut total, &Stats { elbo_sum: probe.elbo(), ..probe.stats() });
            }
            assert_sums(&format!("seed {seed} {bound}"), &ran.stats, &total, F64_SUMS);
        }
    }
}

#[test]
fn one_colour_at_once_is_one_topic_after_another() {
    for (seed, network, docs) in random_cases(300, 20, 25) {
        let oracle = oracle(&network, &docs[1]);
        let inside = vec![true; network.graph.n_topics()];
        let mut at_once = random_point(&network, &inside, &mut rng(seed));
        let mut in_turn = at_once.clone();
        for colour in 0..network.graph.n_colours() {
            update_colour(&oracle, &inside, &mut at_once, colour);
            let topics = (0..inside.len()).filter(|&topic| network.graph.colour(topic) == colour);
            topics.for_each(|topic| oracle.update_q(&mut in_turn, topic));
            assert_eq!(at_once, in_turn, "seed {seed} colour {colour}");
        }
    }
}
