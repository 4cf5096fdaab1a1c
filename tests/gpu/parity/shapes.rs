//! Documents and networks of unusual shapes.

use super::*;

const ONE_BLOCK: ChunkLimits =
    ChunkLimits { block_docs: usize::MAX, block_size: usize::MAX, chunk_size: usize::MAX };

/// Blocks as ever, all in one chunk.
fn one_chunk() -> ChunkLimits {
    ChunkLimits { chunk_size: usize::MAX, ..DeviceOptions::default().limits }
}

fn only_chunk(case: &Case) -> Chunk {
    let mut chunks = case.chunks();
    assert_eq!(chunks.len(), 1, "{}", case.name);
    chunks.remove(0)
}

/// Whether so many rows need more workgroups than one dimension has.
fn folds(lanes: Lanes, n_rows: u32) -> bool {
    lanes.n_groups(n_rows) > MAX_GROUPS
}

/// Topics over tokens: every token has `parents(token)`.
fn flat(n_topics: usize, n_tokens: usize, parents: impl Fn(usize) -> Vec<u32>) -> Network {
    let rng = &mut ChaCha8Rng::seed_from_u64(9);
    let mut edges = Vec::new();
    for token in 0..n_tokens {
        for topic in parents(token) {
            edges.push((topic, (n_topics + token) as u32, rng.random_range(0.05..1.5)));
        }
    }
    let leak = (0..n_topics + n_tokens).map(|_| rng.random_range(0.001..0.05)).collect();
    let mut network = network_of(n_topics, n_tokens, &edges, leak);
    network.weights.round_to_f32();
    network
}

#[test]
fn a_topic_with_more_than_65_535_active_children_agrees() {
    // Software Vulkan ends loops after 65,535 rounds: no thread may walk such a row alone.
    const TOKENS: usize = 70_001;
    let network = flat(3, TOKENS, |token| vec![0, 1 + token as u32 % 2]);
    let case = Case::new("70,001 children", network, [(0..TOKENS as u32).collect(), vec![1, 5]]);
    let chunk = only_chunk(&case);
    let longest = chunk.nodes.windows(2).map(|pair| pair[1].slot_begin - pair[0].slot_begin).max();
    assert_eq!(longest, Some(TOKENS as u32));
    assert_parity(&case);
}

#[test]
fn all_tokens_of_a_dense_network_agree() {
    let network = flat(150, 400, |_| (0..150).collect());
    let docs = [(0..400).collect(), (0..200).collect(), (0..400).step_by(3).collect()];
    let case = Case::new("dense", network, docs);
    let plain = EStepOptions { start: Start::Plain, ..EStepOptions::default() };
    assert_parity(&case.clone().options(plain));
    // From the greedy start the sums of these three documents are 2e-5 apart, above their gate (q and bounds are within theirs):
    // with 150 parents each, rounding of r grows from alternation to alternation, and there are no other documents to average it out.
    let cpu = case.on_cpu();
    let mut others = vec![case.on_twins()];
    others.extend(gpu_estep(&case.device).map(|mut gpu| case.on(&mut gpu)));
    for other in others {
        let gap = Gap::between(&cpu, &other);
        println!("dense, greedy: {gap}");
        assert!(
            gap.bound <= PARITY_BOUND && gap.q_mean <= PARITY_Q_MEAN && gap.q_high <= 2.0 * PARITY_Q_HIGH
        );
        assert!(gap.sums <= 10.0 * PARITY_SUMS && gap.sums_high <= 2.0 * PARITY_SUMS_HIGH, "{gap}");
    }
}

#[test]
fn in_degrees_of_1_300_and_5_000_agree() {
    for degree in [1usize, 300, 5_000] {
        let network = flat(degree, 5, |token| (0..degree as u32).skip(token % 2).collect());
        let network = if degree == 1 { flat(1, 5, |_| vec![0]) } else { network };
        let docs = vec![vec![0], vec![1, 2], vec![0, 1, 2, 3, 4], vec![]];
        assert_parity(&Case::new(&format!("in-degree {degree}"), network, docs));
    }
}

#[test]
fn no_items_give_empty_sums() {
    let mut case = Case::sample(10);
    case.items.clear();
    let cpu = assert_parity(&case);
    assert_eq!((cpu.stats.n_docs, cpu.elbo.len()), (0.0, 0));
}

#[test]
fn one_document_agrees() {
    assert_parity(&Case::sample(1));
}

#[test]
fn empty_documents_agree() {
    for options in [EStepOptions::default(), EStepOptions::paper(Bound::Local)] {
        let docs = vec![Vec::new(); 300];
        let case = Case::new("empty", random_network(1, 10, 10), docs).options(options);
        let cpu = assert_parity(&case);
        assert!(cpu.elbo.iter().all(|&elbo| elbo == cpu.elbo[0]));
    }
    // Under the full bound they have topics, and no tokens.
    let full = EStepOptions { bound: Bound::Full, ..EStepOptions::default() };
    assert_parity(&Case::new("empty, full", random_network(1, 10, 10), vec![Vec::new(); 300]).options(full));
}

#[test]
fn tokens_without_parents_agree() {
    let network = network_of(2, 4, &[(0, 2, 0.5), (1, 2, 0.3)], vec![0.1, 0.2, 0.05, 0.1, 0.3, 0.01]);
    let docs = vec![vec![1], vec![1, 2, 3], vec![0, 1], vec![3]];
    assert_parity(&Case::new("orphans", network, docs));
}

#[test]
fn one_hundred_thousand_documents_agree() {
    // 43 tokens of two parents each: more than 65,535 workgroups of 64 short rows, so that dispatches fold.
    const TOKENS: u32 = 43;
    let network = flat(2, TOKENS as usize + 2, |_| vec![0, 1]);
    let docs = (0..100_000u32).map(|doc| (doc % 3..doc % 3 + TOKENS).collect());
    let options = EStepOptions { max_alternations: 2, ..EStepOptions::default() };
    let case = Case::new("100,000 documents", network, docs).options(options).limits(one_chunk());
    let rows = only_chunk(&case).rows;
    assert!(folds(Lanes::Thread, rows.several_parents.all.short.len), "{:?}", rows.several_parents);
    assert_parity(&case);
}

#[test]
fn workgroups_of_long_rows_fold_too() {
    // 660 documents with 100 topics of 130 children each: a workgroup a topic.
    let mut network = flat(100, 132, |_| (0..100).collect());
    // After one alternation q is far from 0 and 1: log-odds must not be small differences of large sums.
    network.weights.edge.iter_mut().for_each(|w| *w *= 0.1);
    let docs = (0..660u32).map(|doc| (doc % 3..doc % 3 + 130).collect());
    let options = EStepOptions { max_alternations: 1, ..EStepOptions::default() };
    let case = Case::new("long rows", network, docs).options(options).limits(one_chunk());
    let rows = only_chunk(&case).rows;
    assert!(folds(Lanes::Group, rows.colours[0].all.long.len), "{:?}", rows.colours);
    assert_parity(&case);
}

#[test]
fn an_edge_of_70_000_documents_in_one_block_agrees() {
    let network = flat(4, 20, |token| vec![token as u32 % 4, (token as u32 + 1) % 4]);
    let docs = (0..70_000u32).map(|doc| vec![0, 1 + doc % 19]);
    let case = Case::new("one edge", network, docs).limits(ONE_BLOCK).counts(|at| 1 + at as u32 % 2);
    let chunk = only_chunk(&case);
    let longest = chunk.touched.windows(2).map(|pair| pair[1].position_begin - pair[0].position_begin).max();
    assert_eq!((chunk.blocks.len(), longest), (1, Some(70_000)));
    assert_parity(&case);
}
