//! Interruption, nothing held out, hardly any documents, options, weights that are given.

use super::*;

#[test]
fn an_interrupt_at_any_stage_leaves_a_network() {
    let known = (0..(THEMES - 1) * WORDS).map(|token| (token / WORDS, token));
    let data = Data::new(flat(known.chain([(THEMES - 1, N_TOKENS - 1)])), planted_docs(300, 1));
    let name = |stage: RefineStage| format!("{stage:?}").split('(').next().unwrap().to_owned();
    let all = data.stages(refined(36)).1.into_iter().chain(data.stages(refined(20)).1);
    let stages: BTreeSet<String> = all.map(|(stage, _)| name(stage)).collect();
    assert!(stages.len() >= 4, "{stages:?}");
    for wanted in stages.iter().filter(|stage| *stage != "Undone") {
        for budget in [36, 20] {
            let (monitor, mut at) = (Monitor::default(), None);
            let mut on_event = |event: &Event<'_>| {
                let where_it_stands = matches!(event, Event::Safe { .. });
                assert!(at.is_none() || where_it_stands, "it goes on after a stop request");
                if let Event::Refined { stage, n_edges } = *event
                    && name(stage) == *wanted
                {
                    at = Some(n_edges);
                    monitor.stop.store(true, Ordering::Relaxed);
                }
                Ok(())
            };
            let outcome = data.train_on(refined(budget), &monitor, &mut on_event).unwrap();
            let Some(n_edges) = at else { continue };
            assert_eq!(outcome.ended, Ended::Interrupted);
            // A start within the budget was trained first; else it is the graph as it stands.
            match outcome.metrics {
                Some(metrics) => assert_eq!(metrics.n_edges, outcome.graph.n_edges(), "{wanted}"),
                None => assert_eq!(outcome.graph.n_edges(), n_edges, "{wanted}"),
            }
        }
    }
}

#[test]
fn a_listener_that_fails_ends_refinement_with_its_error() {
    let data = Data::new(random(1), planted_docs(100, 1));
    let mut on_event = |event: &Event<'_>| match event {
        Event::Refined { .. } => Err(Error::Usage("the disk is full".into())),
        _ => Ok(()),
    };
    let result = data.train_on(refined(36), &Monitor::default(), &mut on_event);
    assert!(matches!(result, Err(Error::Usage(message)) if message == "the disk is full"));
}

#[test]
fn without_validation_the_training_part_decides() {
    let data = Data::new(random(2), planted_docs(400, 2));
    let all: Vec<u32> = (0..400).collect();
    let run = |refine| data.train(TrainOptions { valid: 0.0, ..options(refine) });
    let (plain, refined) = (run(None), run(Some(short(None))));
    assert!(refined.metrics.as_ref().unwrap().valid_elbo.is_none());
    let (plain, refined) = (data.bound(&plain, &all), data.bound(&refined, &all));
    assert!(refined > plain + 1.0, "{refined} after {plain}");
}

#[test]
fn hardly_any_documents_are_refined_without_a_panic() {
    let two_levels = network_of(3, 2, &[(0, 1, 0.5), (0, 2, 0.5), (1, 3, 0.5), (2, 4, 0.5)], vec![0.05; 5]);
    let one_token = network_of(1, 1, &[(0, 1, 0.5)], vec![0.05; 2]);
    let bare = network_of(2, 2, &[(0, 2, 0.5)], vec![0.05; 4]);
    for network in [two_levels, one_token, bare] {
        let last = network.graph.n_tokens() as u32 - 1;
        for docs in [
            vec![vec![]],
            vec![vec![0]],
            vec![vec![0], vec![last]],
            vec![vec![], vec![], vec![0, last]],
            vec![vec![0, last]; 3],
            vec![vec![]; 40],
            vec![(0..=last).collect(); 40],
        ] {
            for (valid, budget) in [(0.0, None), (0.3, Some(1)), (0.3, Some(100))] {
                let data = Data::new(network.clone(), docs.clone());
                let refine = RefineOptions { max_edges: budget, ..RefineOptions::default() };
                let outcome = data.train(TrainOptions { valid, ..options(Some(refine)) });
                let most = budget.unwrap_or(network.graph.n_edges());
                assert!(outcome.graph.n_edges() <= most, "{docs:?} {budget:?}");
            }
        }
    }
}

#[test]
fn numbers_that_make_no_sense_are_refused() {
    let good = RefineOptions::default;
    for bad in [
        RefineOptions { max_edges: Some(0), ..good() },
        RefineOptions { epochs: 0, ..good() },
        RefineOptions { rounds: 0, ..good() },
    ] {
        assert!(matches!(options(Some(bad)).check(), Err(Error::Usage(_))));
    }
    assert!(options(Some(good())).check().is_ok());
    // What may be left out, is.
    let data = Data::new(random(1), planted_docs(60, 1));
    let none = RefineOptions { first_epochs: 0, reseeds: 0, swaps: 0, ..short(Some(30)) };
    assert_eq!(data.train(options(Some(none))).graph.n_edges(), 30);
}

#[test]
fn given_weights_are_where_training_starts() {
    let mut data = Data::new(random(1), planted_docs(100, 1));
    let n_edges = data.network.graph.n_edges();
    data.network.weights.edge[0] = 1e-9;
    data.network.weights.edge[1] = 50.0;
    data.network.weights.leak[2] = 1e-12;
    let start = TrainOptions { init: Init::Graph, max_steps: Some(0), ..options(None) };
    let outcome = data.train(start.clone());
    let mut expected = Weights { ..data.network.weights.clone() };
    expected.edge[0] = start.floor;
    expected.edge[1] = start.cap;
    expected.leak[2] = start.floor.min(0.1 / 80.0);
    expected.round_to_f32();
    assert_eq!(outcome.weights, expected);
    assert_eq!(outcome.metrics.unwrap().step, 0);
    // Any other start leaves them alone.
    let other = data.train(TrainOptions { init: Init::Data, ..start.clone() });
    assert!((0..n_edges).all(|edge| other.weights.edge[edge] != expected.edge[edge]));
    let (graph, docs) = (&data.network.graph, data.alignment.docs(&data.corpus));
    let (start, monitor) = (start.check().unwrap(), Monitor::default());
    let result =
        train(Begin::New(graph, None), docs, &start, &mut CpuEStep::new(), &monitor, &mut |_| Ok(()));
    assert!(matches!(result, Err(Error::Usage(message)) if message.contains("`init` data")));
}
