//! Every instruction set that the CPU backend is compiled for gives the same bytes.

use super::extremes::extreme_network;
use super::reduced::wide_network;
use super::*;
use crate::common::backends::Case;
use noisyor::estep::cpu::{CpuEStep, InstructionSet};
use noisyor::estep::{EStep, Monitor, Work};
use std::hash::{DefaultHasher, Hasher};

/// What is run: starts, bounds, splits and schedules take different ways through the code.
fn all_options() -> Vec<(&'static str, EStepOptions)> {
    let default = EStepOptions::default();
    let tempered = Start::Tempered(Temper { from: 4.0, alternations: 3 });
    vec![
        ("greedy", default.clone()),
        ("plain", EStepOptions { start: Start::Plain, ..default.clone() }),
        ("tempered", EStepOptions { start: tempered, accelerate_r: false, ..default.clone() }),
        ("full", EStepOptions { bound: Bound::Full, max_alternations: 9, ..default.clone() }),
        ("clamp", EStepOptions { clamp: 3, ..default.clone() }),
        (
            "best",
            EStepOptions { start: Start::Best, bound: Bound::Local, q_sweeps: 2, r_iterations: 3, ..default },
        ),
    ]
}

/// Every bit of the answers: results of single documents, their sums, and the sums where no results are asked for, which takes
/// the way without topics that cannot come on.
fn bytes(case: &Case, instructions: InstructionSet) -> Vec<u64> {
    let mut estep = CpuEStep::with_instructions(instructions);
    let told = case.on(&mut estep);
    let params = Params::derive(&case.network.graph, &case.network.weights, case.options.bound).unwrap();
    let work = Work {
        graph: &case.network.graph,
        params: &params,
        docs: case.docs(),
        items: &case.items,
        options: &case.options,
        gradients: true,
        kept_on: None,
        monitor: &Monitor::default(),
    };
    let untold = estep.run(&work, None).unwrap();
    let mut bytes: Vec<u64> = told.q.iter().flatten().map(|q| u64::from(q.to_bits())).collect();
    bytes.extend(told.elbo.iter().map(|elbo| elbo.to_bits()));
    for stats in [&told.stats, &untold] {
        bytes.extend([stats.n_alternations, stats.n_unconverged, stats.elbo_sum.to_bits()]);
        let sums = stats.edge.iter().chain(&stats.leak).chain(&stats.topic_q).chain(&stats.topic_docs);
        bytes.extend(sums.map(|sum| sum.to_bits()));
    }
    bytes
}

/// All sets of this machine give the same; prints a fingerprint, which `scripts/cross-aarch64.sh` compares between machines.
fn assert_same_bytes(name: &str, cases: impl IntoIterator<Item = Case>) {
    for set in InstructionSet::ALL.into_iter().filter(|set| !set.is_available()) {
        println!("{name}: {} left out, this processor does not have it", set.name());
    }
    let mut hasher = DefaultHasher::new();
    for case in cases {
        for (how, options) in all_options() {
            let case = case.clone().options(options);
            let baseline = bytes(&case, InstructionSet::Baseline);
            for set in InstructionSet::ALL.into_iter().filter(|set| set.is_available()) {
                let differ = bytes(&case, set).iter().zip(&baseline).filter(|(a, b)| a != b).count();
                assert_eq!(
                    differ,
                    0,
                    "{name}, {}, {how}: {} differs from the baseline",
                    case.name,
                    set.name()
                );
            }
            baseline.iter().for_each(|&number| hasher.write_u64(number));
        }
    }
    println!("fingerprint of {name}: {:016x}", hasher.finish());
}

#[test]
fn random_networks() {
    let cases = random_cases(12, 12, 15);
    assert_same_bytes(
        "random networks",
        cases.map(|(seed, network, docs)| Case::new(&format!("seed {seed}"), network, docs)),
    );
}

#[test]
fn rows_of_all_lengths_at_extreme_weights() {
    let case = |seed| {
        let network = extreme_network(seed);
        let docs = random_docs(&network, seed, 2);
        Case::new(&format!("seed {seed}"), network, docs)
    };
    assert_same_bytes("extremes", (0..12).map(case));
}

#[test]
fn many_topics_of_which_most_are_off() {
    let case = |seed| {
        let (network, docs) = wide_network(seed);
        Case::new(&format!("seed {seed}"), network, docs)
    };
    assert_same_bytes("wide networks", (0..3).map(case));
}

#[test]
fn the_sample() {
    assert_same_bytes("the sample", [Case::sample(150)]);
}
