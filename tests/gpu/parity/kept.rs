//! Searches that begin at a configuration that was kept: twins and GPU as the CPU.

use super::*;
use noisyor::estep::OnLists;

#[test]
fn searches_from_kept_configurations_agree() {
    for bound in [Bound::Tail, Bound::Local, Bound::Full] {
        let options = EStepOptions { bound, ..EStepOptions::default() };
        assert_parity(&Case::sample(300).options(options.clone()).beginning_at_random(1));
        assert_parity(&Case::preset("tiny", 300).options(options).beginning_at_random(2));
    }
    let best = EStepOptions { start: Start::Best, ..EStepOptions::default() };
    assert_parity(&Case::sample(300).options(best).beginning_at_random(3));
}

#[test]
fn lists_find_their_documents_in_every_chunk() {
    let limits = ChunkLimits { block_docs: 7, block_size: 1 << 20, chunk_size: 500 };
    let case = Case::preset("tiny", 600).limits(limits).beginning_at_random(4);
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
    let kept = case.clone().beginning_at_random(5);
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
