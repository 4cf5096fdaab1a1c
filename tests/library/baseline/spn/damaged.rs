//! Structures and arrays that are not sound are refused, and say why.

use super::Rows;
use noisyor::baseline::spn::plain::State;
use noisyor::baseline::spn::{Node, Spn, SpnOptions, Structure};
use noisyor::baseline::{Model, Tensors, Training};
use noisyor::{Error, Monitor};
use serde_json::json;

fn told<T>(result: Result<T, Error>) -> String {
    match result {
        Err(Error::Usage(told)) => told,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was taken"),
    }
}

#[test]
fn structures_that_are_no_distributions() {
    let leaf = |token| Node::Leaf { token };
    let (sum, product) =
        (|nodes: &[u32]| Node::Sum(nodes.to_vec()), |nodes: &[u32]| Node::Product(nodes.to_vec()));
    let cases = [
        (vec![], "0: a network has 1"),
        (vec![leaf(0), leaf(2), product(&[0, 1])], "token 2 of 2"),
        (vec![leaf(0), product(&[0, 1])], "child 1 is not before it"),
        (vec![leaf(0), leaf(1), product(&[0, 7])], "child 7 is not before it"),
        (vec![leaf(0), leaf(1), sum(&[])], "a sum without children"),
        (vec![leaf(0), leaf(1), sum(&[0, 1])], "not complete"),
        (vec![leaf(0), leaf(1), leaf(0), product(&[0, 1, 2])], "not decomposable"),
        (vec![leaf(0), leaf(1), product(&[0, 1]), product(&[2, 0])], "not decomposable"),
        (vec![leaf(0), leaf(1), product(&[0])], "1 of 2 tokens"),
        (vec![leaf(0)], "2 tokens are more"),
    ];
    for (nodes, want) in cases {
        let told = told(Structure::new(2, &nodes));
        assert!(told.contains(want), "{nodes:?}: {told}");
    }
    assert!(Structure::new(2, &[leaf(0), leaf(1), product(&[0, 1])]).is_ok());
}

fn model() -> Spn {
    let state = |on: bool| if on { State::Present } else { State::Absent };
    let states: Vec<Vec<State>> =
        (0..100).map(|i| vec![state(i % 2 == 0), state(i % 2 == 0), state(i % 3 == 0)]).collect();
    let rows = Rows::of(&states, 3);
    let (monitor, train) = (Monitor::default(), rows.all());
    let training =
        Training { docs: rows.docs(), train: &train, valid: &[], n_tokens: 3, seed: 1, monitor: &monitor };
    Spn::start(SpnOptions::default(), &training).unwrap()
}

#[test]
fn damaged_arrays() {
    let good = model().tensors();
    assert!(Spn::load(good.clone()).is_ok());
    let n_params = model().weights().len();
    // Every number of every array of whole numbers, replaced by others: refused, or a network that is sound.
    for name in ["kinds", "tokens", "child_begin", "children"] {
        let len = good.clone().take_u32(name, None).unwrap().len();
        let mut n_refused = 0;
        for at in 0..len {
            for value in [0, 1, 2, 4, 5, 9, 1 << 20, u32::MAX] {
                let mut tensors = good.clone();
                let mut values = tensors.take_u32(name, None).unwrap();
                values[at] = value;
                match Spn::load(tensors.with_u32(name, &[len], values)) {
                    Ok(spn) => {
                        assert!(spn.scores(&Rows::of(&[vec![State::Absent; 3]], 3).docs(), &[0])[0] <= 1e-9)
                    }
                    Err(error) => {
                        assert!(matches!(error, Error::Usage(_)), "{error}");
                        n_refused += 1;
                    }
                }
            }
        }
        assert!(n_refused >= len, "{name}: {n_refused} of {len} refused");
    }
    for name in ["weights", "state_params", "state_alpha"] {
        for value in [0.0, -0.1, f64::NAN, f64::INFINITY] {
            let mut tensors = good.clone();
            let mut values = tensors.take_f64(name, n_params).unwrap();
            values[1] = value;
            told(Spn::load(tensors.with_f64(name, &[n_params], values)));
        }
    }
    let mut tensors = good.clone();
    tensors.take_f64("weights", n_params).unwrap();
    assert!(
        told(Spn::load(tensors.with_f64("weights", &[n_params], vec![0.7; n_params]))).contains("add up to")
    );
    for name in ["kinds", "tokens", "child_begin", "children"] {
        let mut tensors = good.clone();
        tensors.take_u32(name, None).unwrap();
        told(Spn::load(tensors.clone()));
        told(Spn::load(tensors.with_u32(name, &[1], vec![0])));
    }
    for facts in [
        json!({}),
        json!({ "n_tokens": 1u64 << 40, "options": {} }),
        json!({ "n_tokens": 3, "options": { "prior": -1 } }),
    ] {
        told(Spn::load(Tensors::new(&facts)));
    }
}

#[test]
fn a_finished_model_is_not_trained_further() {
    let mut tensors = model().tensors();
    let n_params = model().weights().len();
    tensors.take_f64("state_params", n_params).unwrap();
    let mut spn = Spn::load(tensors).unwrap();
    let rows = Rows::of(&[vec![State::Absent; 3]], 3);
    let monitor = Monitor::default();
    let training =
        Training { docs: rows.docs(), train: &[0], valid: &[], n_tokens: 3, seed: 1, monitor: &monitor };
    assert!(told(spn.pass(&training, 0).map(|_| ())).contains("finished"));
}

#[test]
fn options_out_of_range() {
    let default = SpnOptions::default;
    for (options, name) in [
        (SpnOptions { prior: 0.0, ..default() }, "`prior`"),
        (SpnOptions { smoothing: f64::NAN, ..default() }, "`smoothing`"),
        (SpnOptions { p_value: 1.5, ..default() }, "`p_value`"),
        (SpnOptions { clusters: 1, ..default() }, "`clusters`"),
        (SpnOptions { min_rows: 0, ..default() }, "`min_rows`"),
        (SpnOptions { batch: 0, ..default() }, "`batch`"),
    ] {
        assert!(told(options.check()).contains(name));
    }
}
