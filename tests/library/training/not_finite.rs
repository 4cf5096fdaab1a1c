//! NaN and infinity.

use super::*;

fn numeric<T: std::fmt::Debug>(result: Result<T>) -> String {
    match result {
        Err(Error::Numeric(message)) => message,
        other => panic!("not a numeric error: {other:?}"),
    }
}

#[test]
fn an_absurd_rate_fails_in_the_first_step_and_names_the_weight() {
    let data = Data::tiny(300);
    let step = StepRule::Paper { rate: 1e200, c: 1e200, schedule: RateSchedule::Constant };
    let result = data.train_on(options(step, BatchSize::Full, 3), &Monitor::default(), &mut |_| Ok(()));
    let message = numeric(result);
    assert!(message.contains("the weight of edge ") && message.contains("after weight step 1:"), "{message}");
}

#[test]
fn sums_that_are_no_numbers_fail_in_the_same_step_and_name_the_weight() {
    let network = nearly_disjoint();
    for bad in [f64::NAN, f64::INFINITY] {
        for rule in [EM, PAPER, ADAM] {
            let mut stats = Stats::new(&network.graph, true);
            stats.n_docs = 2.0;
            stats.topic_q.fill(1.0);
            let step = |stats: &Stats| {
                let mut weights = network.weights.clone();
                let mut stepper = Stepper::new(rule, (1e-5, 1e-5, 20.0), 2, (1, 1));
                (stepper.step(&network.graph, &mut weights, &sums(stats)), weights)
            };
            step(&stats).0.unwrap();
            let mut bad_q = stats.clone();
            bad_q.topic_q[1] = bad;
            let message = numeric(step(&bad_q).0);
            assert!(message.starts_with("the sum of q of topic 1 is "), "{rule:?}: {message}");
            let mut bad_leak = stats.clone();
            bad_leak.leak[3] = bad;
            let message = numeric(step(&bad_leak).0);
            assert!(message.starts_with("the leak of node 3 is "), "{rule:?}: {message}");
            stats.edge[2] = bad;
            let message = numeric(step(&stats).0);
            assert!(message.starts_with("the weight of edge 2 is "), "{rule:?}: {message}");
        }
    }
}

#[test]
fn weights_out_of_range_are_named() {
    let network = network_of(2, 2, &[(0, 2, 1.0), (1, 2, 1.0), (1, 3, 1.0)], vec![0.1; 4]);
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0, 2.0 * MAX_WEIGHT] {
        let derive = |change: &dyn Fn(&mut Weights)| {
            let mut weights = network.weights.clone();
            change(&mut weights);
            numeric(Params::derive(&network.graph, &weights, Bound::Tail))
        };
        let message = derive(&|weights| weights.leak[3] = bad);
        assert!(message.starts_with(&format!("the leak of 'node 3' is {bad}")), "{message}");
        let message = derive(&|weights| weights.edge[1] = bad);
        assert!(message.starts_with(&format!("the weight of 'node 1' -> 'node 2' is {bad}")), "{message}");
    }
}

#[test]
fn parameters_that_are_no_numbers_fail_at_the_document_they_touch() {
    // 0 -> 1 -> token 0 (node 3), 2 -> token 1 (node 4); document 1 is the only one to hold token 0.
    let network = network_of(3, 2, &[(0, 1, 1.0), (1, 3, 1.0), (2, 4, 1.0)], vec![0.1; 5]);
    let (corpus, alignment) = corpus_of(&network, [vec![1], vec![0], vec![1]]);
    let items = Item::each(&[2, 1, 0]);
    let run = |change: &dyn Fn(&mut Params)| {
        let options = EStepOptions::default();
        let mut params = Params::derive(&network.graph, &network.weights, options.bound).unwrap();
        change(&mut params);
        let (graph, docs, monitor) = (&network.graph, alignment.docs(&corpus), &Monitor::default());
        let work = Work {
            graph,
            params: &params,
            docs,
            items: &items,
            options: &options,
            gradients: true,
            kept_on: None,
            monitor,
        };
        CpuEStep::new().run(&work, None)
    };
    run(&|_| ()).unwrap();
    let edge_into = |node: usize| network.graph.edges_into(node).start;
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for node in [1, 3] {
            for message in [
                numeric(run(&|params| params.edge[edge_into(node)] = bad)),
                numeric(run(&|params| params.bias[node] = bad)),
                numeric(run(&|params| params.slope[node] = bad)),
            ] {
                assert!(
                    message.starts_with("the bound of document 1 is "),
                    "{bad} at node {node}: {message}"
                );
            }
        }
        numeric(run(&|params| params.constant = f64::from(bad)));
    }
}
