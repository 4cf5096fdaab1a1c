//! Searches that begin at a configuration that was kept: twins and GPU as the CPU.

use super::*;
use noisyor::estep::OnLists;

/// Lists of topics at random, most of them poor.
fn random_lists(case: &Case, seed: u64) -> OnLists {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let mut lists = OnLists::default();
    for chunk in case.chunks() {
        for doc_ix in 0..chunk.n_docs() {
            let q: Vec<f32> = chunk.topics(doc_ix).map(|_| rng.random_range(0.0..0.6)).collect();
            lists.push(&q);
        }
    }
    lists
}

fn kept(case: Case, seed: u64) -> Case {
    Case { kept_on: Some(random_lists(&case, seed)), ..case }
}

#[test]
fn searches_from_kept_configurations_agree() {
    for bound in [Bound::Tail, Bound::Local, Bound::Full] {
        let options = EStepOptions { bound, ..EStepOptions::default() };
        assert_parity(&kept(Case::sample(300).options(options.clone()), 1));
        assert_parity(&kept(Case::preset("tiny", 300).options(options), 2));
    }
    let best = EStepOptions { start: Start::Best, ..EStepOptions::default() };
    assert_parity(&kept(Case::sample(300).options(best), 3));
}

#[test]
fn lists_find_their_documents_in_every_chunk() {
    let limits = ChunkLimits { block_docs: 7, block_size: 1 << 20, chunk_size: 500 };
    let case = kept(Case::preset("tiny", 600).limits(limits), 4);
    assert!(case.chunks().len() > 3);
    let cpu = assert_parity(&case);
    // Where a search begins matters: otherwise their agreement would say nothing.
    let cold = Case { kept_on: None, ..case }.on_cpu();
    let n_other = cpu.elbo.iter().zip(&cold.elbo).filter(|(a, b)| (*a - *b).abs() > 0.01).count();
    assert!(n_other > 3, "{n_other} documents of 600 end elsewhere");
}

#[test]
fn a_start_without_a_search_does_not_look_at_lists() {
    let case = Case::sample(200).options(EStepOptions { start: Start::Plain, ..EStepOptions::default() });
    let kept = kept(case.clone(), 5);
    assert_eq!(case.on_cpu().elbo, kept.on_cpu().elbo);
    assert_eq!(case.on_twins().elbo, kept.on_twins().elbo);
}

#[test]
fn an_e_step_that_begins_where_it_ended_ends_there_again() {
    let case = Case::sample(300);
    let cold = case.on_cpu();
    let mut lists = OnLists::default();
    for (chunk, first) in case.chunks().iter().map(|chunk| (chunk, chunk.items.start)) {
        for doc_ix in 0..chunk.n_docs() {
            let topics = chunk.nodes[chunk.topics(doc_ix)].iter();
            lists.push(&topics.map(|node| cold.q[first + doc_ix][node.id as usize]).collect::<Vec<f32>>());
        }
    }
    let warm = Case { kept_on: Some(lists), ..case }.on_cpu();
    let lost = cold.elbo.iter().zip(&warm.elbo).map(|(cold, warm)| cold - warm).fold(0.0, f64::max);
    println!("a document loses up to {lost:.5}");
    assert!(lost < 0.01, "a document loses {lost} nats");
}
