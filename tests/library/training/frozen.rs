//! Frozen weights: bit for bit what training started from, whatever the step; all others are trained.

use super::*;
use noisyor::train::{Freeze, RefineOptions, RenewOptions};

/// The tiny network with other weights than those that its documents were sampled from, some beyond what training allows.
fn elsewhere() -> Data {
    let mut data = Data::tiny(300);
    let Weights { leak, edge } = &mut data.network.weights;
    leak.iter_mut().chain(edge.iter_mut()).for_each(|w| *w *= 1.5);
    (edge[0], edge[1], leak[0]) = (1e-7, 31.0, 1e-9);
    data.network.weights.round_to_f32();
    data
}

fn frozen(data: &Data, freeze: Freeze, options: TrainOptions) -> Result<Outcome> {
    let options = TrainOptions { freeze, init: Init::Graph, patience: 0, ..options }.check().unwrap();
    let begin = Begin::New(&data.network.graph, Some(&data.network.weights));
    let docs = data.alignment.docs(&data.corpus);
    train(begin, docs, &options, &mut CpuEStep::new(), &Monitor::default(), &mut |_| Ok(()))
}

/// How many weights differ in their bits.
fn n_changed(now: &[f64], before: &[f64]) -> usize {
    now.iter().zip(before).filter(|(now, before)| now.to_bits() != before.to_bits()).count()
}

#[test]
fn frozen_weights_stay_bit_for_bit_and_all_others_are_trained() {
    let data = elsewhere();
    let before = &data.network.weights;
    for (step, batch) in
        [(EM, BatchSize::Full), (EM, BatchSize::Docs(60)), (PAPER, BatchSize::Full), (ADAM, BatchSize::Full)]
    {
        let options = options(step, batch, 3);
        let run = |freeze: Freeze| frozen(&data, freeze, options.clone()).unwrap().weights;
        let edges = run(Freeze { edges: true, ..Freeze::default() });
        assert_eq!(n_changed(&edges.edge, &before.edge), 0, "{step:?}");
        assert!(n_changed(&edges.leak, &before.leak) > before.leak.len() / 2, "{step:?}");
        let leaks = run(Freeze { leaks: true, ..Freeze::default() });
        assert_eq!(n_changed(&leaks.leak, &before.leak), 0, "{step:?}");
        assert!(n_changed(&leaks.edge, &before.edge) > before.edge.len() / 2, "{step:?}");
        let (of_edges, of_nodes) = (vec![0, 1, 5], vec![0, 9]);
        let some =
            run(Freeze { of_edges: of_edges.clone(), of_nodes: of_nodes.clone(), ..Freeze::default() });
        let kept = |now: &[f64], before: &[f64], at: u32| {
            now[at as usize].to_bits() == before[at as usize].to_bits()
        };
        assert!(of_edges.iter().all(|&edge| kept(&some.edge, &before.edge, edge)), "{step:?}");
        assert!(of_nodes.iter().all(|&node| kept(&some.leak, &before.leak, node)), "{step:?}");
        assert!(n_changed(&some.edge, &before.edge) > before.edge.len() / 2, "{step:?}");
    }
}

#[test]
fn frozen_weights_stay_under_smoothing_and_beside_a_model() {
    let data = elsewhere();
    let edges = || Freeze { edges: true, ..Freeze::default() };
    let smoothed = TrainOptions { smooth: true, ..options(EM, BatchSize::Full, 3) };
    let prior = noisyor::train::PriorOptions {
        docs: 100.0,
        trained_docs: 100.0,
        tokens: data.network.names.tokens.len(),
    };
    let updated = TrainOptions { prior: Some(prior), ..options(EM, BatchSize::Docs(60), 3) };
    for options in [smoothed, updated] {
        let weights = frozen(&data, edges(), options).unwrap().weights;
        assert_eq!(n_changed(&weights.edge, &data.network.weights.edge), 0);
    }
}

#[test]
fn what_cannot_keep_weights_is_refused() {
    let base = TrainOptions {
        freeze: Freeze { edges: true, ..Freeze::default() },
        init: Init::Graph,
        ..TrainOptions::default()
    };
    assert!(base.clone().check().is_ok());
    let (refine, renew) = (Some(RefineOptions::default()), Some(RenewOptions::default()));
    for (options, expected) in [
        (TrainOptions { refine, ..base.clone() }, "`refine`"),
        (TrainOptions { renew, ..base.clone() }, "`renew`"),
        (TrainOptions { condense: true, ..base.clone() }, "`condense`"),
        (TrainOptions { init: Init::Data, ..base.clone() }, "`init`"),
        (
            TrainOptions { freeze: Freeze { edges: true, leaks: true, ..Freeze::default() }, ..base.clone() },
            "nothing is left to train",
        ),
    ] {
        let error = options.check().unwrap_err().to_string();
        assert!(error.contains("`freeze`") && error.contains(expected), "{error}");
    }
    let data = Data::tiny(30);
    let beyond = Freeze { of_edges: vec![u32::MAX], ..Freeze::default() };
    let error = frozen(&data, beyond, options(EM, BatchSize::Full, 1)).unwrap_err();
    assert!(error.to_string().contains("that the graph does not have"), "{error}");
    let options = TrainOptions { freeze: base.freeze, init: Init::Graph, ..options(EM, BatchSize::Full, 1) };
    let error = data.train_on(options, &Monitor::default(), &mut |_| Ok(())).unwrap_err();
    assert!(error.to_string().contains("no weights for `freeze`"), "{error}");
}

#[test]
fn configs_without_frozen_weights_say_nothing_of_them_and_are_read() {
    let options = serde_json::to_value(TrainOptions::default()).unwrap();
    assert!(options.get("freeze").is_none());
    assert_eq!(serde_json::from_value::<TrainOptions>(options).unwrap(), TrainOptions::default());
    let freeze = Freeze { leaks: true, of_edges: vec![3], ..Freeze::default() };
    let options = TrainOptions { freeze, ..TrainOptions::default() };
    let text = serde_json::to_string(&options).unwrap();
    assert_eq!(serde_json::from_str::<TrainOptions>(&text).unwrap(), options);
}

/// Topics a, b above tokens x, y: a -> x, b -> x, b -> y.
fn listed(text: &str) -> Result<Freeze> {
    let (graph, _) = Graph::build(2, 2, &[(0, 2), (1, 2), (1, 3)], &|node| node.to_string()).unwrap();
    let names = |list: [&str; 2]| list.map(str::to_owned).to_vec();
    let names = Names { topics: names(["a", "b"]), tokens: names(["x", "y y"]) };
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let mut freeze = Freeze::default();
    freeze.add_list(file.path(), &graph, &names).map(|()| freeze)
}

#[test]
fn lists_name_edges_and_leaks() {
    let freeze = listed("# kept\nb\ty y\r\n\na\tx\ny y\na\na\n").unwrap();
    assert_eq!((freeze.of_edges, freeze.of_nodes), (vec![0, 2], vec![0, 3]));
    assert!(listed("# nothing\n").unwrap().is_none());
}

#[test]
fn what_the_graph_lacks_is_refused_with_its_line() {
    for (text, expected) in [
        ("a\nc\n", ":2: 'c' is no topic or token"),
        ("a\tc\n", ":1: 'c' is no topic or token"),
        ("\n\na\ty y\n", ":3: the graph has no edge from 'a' to 'y y'"),
        ("a\tx\t0.5\n", ":1: 'a\\tx\\t0.5' is not parent<TAB>child"),
    ] {
        let error = listed(text).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(error.exit_status(), 2);
    }
}
