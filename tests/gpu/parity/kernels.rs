//! Every kernel against its twin, dispatch by dispatch from the same state.

use super::*;
use noisyor::estep::Params;
use noisyor::estep::device::marks::{CLAMPED_OFF, CLAMPED_ON};
use noisyor::estep::device::{
    Access, Array, Dispatch, DispatchPlan, KERNELS, Machine, Place, Read, Route, network_words,
};
use std::collections::{BTreeMap, BTreeSet};

/// What kernels write. DocState first: it is the only one that is not poisoned.
pub const STATE: [Array; 8] = [
    Array::DocState,
    Array::NodeState,
    Array::EdgeState,
    Array::Slots,
    Array::DocBounds,
    Array::EdgeTotals,
    Array::NodeTotals,
    Array::Kept,
];
/// Where all arrays are.
pub const HERE: Place = Place { packed: 0, set: 0 };
/// Rounds of a search: more than the documents with few flips need.
const N_ROUNDS: u32 = 12;
/// In every word that no kernel has written yet.
const POISON: f32 = 1.2345e20;

/// 150 topics above 150 topics above 200 tokens: short rows and long ones, of edges, children, documents and positions.
pub fn mixed_rows() -> Case {
    let rng = &mut ChaCha8Rng::seed_from_u64(5);
    let mut edges = Vec::new();
    for child in 150..500u32 {
        let parents = if child < 300 { 0..150 } else { 0..300 };
        let all = child == 150 || child == 300;
        let share = if all { 1.0 } else { rng.random_range(0.002..0.02) };
        for parent in parents {
            if rng.random::<f64>() < share || parent == child % 150 {
                edges.push((parent, child, 10f64.powf(rng.random_range(-2.0..0.5))));
            }
        }
        // A topic with many children: the document with every token holds more than 128 of them.
        if child > 300 {
            edges.push((299, child, rng.random_range(0.05..0.5)));
        }
    }
    edges.sort_by_key(|edge| (edge.0, edge.1));
    edges.dedup_by_key(|edge| (edge.0, edge.1));
    let leak = (0..500).map(|_| 10f64.powf(rng.random_range(-4.0..-1.0))).collect();
    let mut network = network_of(300, 200, &edges, leak);
    network.weights.round_to_f32();
    let mut docs: Vec<Vec<u32>> = Vec::new();
    for doc in 0..300 {
        let share = rng.random_range(0.005..0.1);
        // Few documents have the token with all parents, and each has one of three common ones.
        let share_of = |token: u32| if token == 0 { 0.03 } else { share };
        let has = |&token: &u32| rng.random::<f64>() < share_of(token) || token == 1 + doc % 3;
        docs.push((0..200).filter(has).collect());
    }
    docs.extend([Vec::new(), (0..200).collect()]);
    Case::new("rows of all kinds", network, docs).counts(|at| 1 + at as u32 % 3)
}

/// The same with weights from the floor to the cap, as training leaves them.
pub fn at_the_floor() -> Case {
    let mut case = mixed_rows();
    let rng = &mut ChaCha8Rng::seed_from_u64(6);
    for w in &mut case.network.weights.edge {
        *w = [1e-5, 1e-5, 20.0, *w][rng.random_range(0..4)];
    }
    case.network.weights.leak.iter_mut().for_each(|w| *w = [1e-6, *w][rng.random_range(0..2)]);
    case.network.weights.round_to_f32();
    case.name += ", floor and cap";
    case
}

pub fn words(
    machine: &mut dyn Machine,
    dispatches: &[Dispatch],
    sizes: &BTreeMap<Array, usize>,
) -> Vec<Vec<u32>> {
    let read = |array: &Array| Read { array: *array, words: 0..sizes.get(array).map_or(0, |size| size / 4) };
    machine.submit(HERE, dispatches, &STATE.iter().map(read).collect::<Vec<_>>()).unwrap();
    machine.start(&[HERE.set]).unwrap();
    machine.wait(HERE.set).unwrap()
}

/// Loads a chunk as a flight does, and poisons what is not written at the start.
pub fn load(machine: &mut dyn Machine, case: &Case, plan: &DispatchPlan, chunk: &Chunk) {
    let params = Params::derive(&case.network.graph, &case.network.weights, case.options.bound).unwrap();
    let network = network_words(&case.network.graph, &params);
    machine.reserve(HERE, Array::Network, 4 * network.len()).unwrap();
    machine.write(HERE, Array::Network, 0, bytemuck::cast_slice(&network)).unwrap();
    for (array, n_bytes) in plan.array_bytes(chunk) {
        machine.reserve(HERE, array, n_bytes).unwrap();
        let poison = vec![POISON; if STATE[1..].contains(&array) { n_bytes / 4 } else { 0 }];
        machine.write(HERE, array, 0, bytemuck::cast_slice(&poison)).unwrap();
    }
    let arrays: [(Array, &[u8]); 8] = [
        (Array::Docs, bytemuck::cast_slice(&chunk.docs)),
        (Array::Nodes, bytemuck::cast_slice(&chunk.nodes)),
        (Array::Edges, bytemuck::cast_slice(&chunk.edges)),
        (Array::Rows, bytemuck::cast_slice(&chunk.rows.list)),
        (Array::Touched, bytemuck::cast_slice(&chunk.touched)),
        (Array::EdgeOwners, bytemuck::cast_slice(&chunk.edge_owners)),
        (Array::Positions, bytemuck::cast_slice(&chunk.positions)),
        (Array::DocState, &vec![0; 4 * chunk.n_docs()]),
    ];
    arrays.into_iter().for_each(|(array, bytes)| machine.write(HERE, array, 0, bytes).unwrap());
    machine
        .write(HERE, Array::Edges, 8 * chunk.n_edges(), bytemuck::cast_slice(&chunk.slot_children))
        .unwrap();
    if plan.pieces {
        // Every seventh node clamped on, another seventh off.
        let mark = |node: usize| [CLAMPED_ON, CLAMPED_OFF].get(node % 7).map_or(0.0, |&mark| mark as f32);
        let marks: Vec<f32> = (0..chunk.n_nodes()).map(mark).collect();
        machine.write(HERE, Array::NodeState, 12 * marks.len(), bytemuck::cast_slice(&marks)).unwrap();
    }
}

/// What a word is to the comparison.
enum Word {
    Integer,
    R,
    Kappa,
    Other,
}

fn word(dispatch: &Dispatch, array: Array, at: usize) -> Word {
    let updates_r = ["init_r", "r_update"].contains(&dispatch.kernel.name);
    match array {
        Array::DocState => Word::Integer,
        Array::EdgeState if at.is_multiple_of(2) => Word::R,
        Array::NodeState if updates_r && at >= 2 * dispatch.args.n_nodes as usize => Word::Kappa,
        _ => Word::Other,
    }
}

/// How an array differs: the worst of its words, the mean of kappa, and how many integers are not the same. (Where w / r is tiny
/// kappa's denominator is a difference of nearly equal numbers, and a single kappa may be anything.)
fn difference(dispatch: &Dispatch, array: Array, twin: &[u32], gpu: &[u32]) -> (f64, f64, usize) {
    let (mut worst, mut kappa, mut n_unlike) = (0.0f64, 0.0, 0);
    for (at, (&t, &g)) in twin.iter().zip(gpu).enumerate().filter(|(_, (t, g))| t != g) {
        let (t, g) = (f64::from(f32::from_bits(t)), f64::from(f32::from_bits(g)));
        let error = (t - g).abs() / (1.0 + t.abs());
        // What is not a number is as far off as can be.
        let error = if error.is_nan() { f64::INFINITY } else { error };
        match word(dispatch, array, at) {
            Word::Integer => n_unlike += 1,
            Word::R => worst = worst.max((t - g).abs() / t.abs()),
            Word::Kappa => kappa += error / f64::from(dispatch.args.n_rows),
            Word::Other => worst = worst.max(error),
        }
    }
    (worst, kappa, n_unlike)
}

/// The dispatches of all starts, up to the end.
pub fn dispatches(plan: &DispatchPlan, chunk: &Chunk, n_alternations: u32) -> Vec<Dispatch> {
    let (mut dispatches, tries) = (Vec::new(), plan.tries());
    for plan in &tries {
        dispatches.extend(plan.start(chunk));
        if plan.searches() {
            (0..N_ROUNDS)
                .for_each(|round| dispatches.extend(plan.rounds(chunk, &chunk.rows, round..round + 1)));
            dispatches.extend(plan.settle(chunk));
        }
        for alternation in 0..n_alternations {
            dispatches.extend(plan.alternations(chunk, &chunk.rows, alternation..alternation + 1));
        }
        // Without the host's marks: documents that moved are kept, or restored.
        if tries.len() > 1 {
            dispatches.extend(plan.keep(chunk));
        }
    }
    if tries.len() > 1 {
        dispatches.extend(plan.restore(chunk));
    }
    dispatches
}

/// Runs a case's dispatches one by one on both machines, each from the twin's state; which kernels ran, with which lanes.
fn compare(
    gpu: &mut dyn Machine,
    case: &Case,
    n_alternations: u32,
    gate: f64,
) -> BTreeSet<(&'static str, Lanes)> {
    let (chunks, graph) = (case.chunks(), &case.network.graph);
    let chunk = &chunks[0];
    let params = Params::derive(graph, &case.network.weights, case.options.bound).unwrap();
    let plan = DispatchPlan::new(graph, params.n_levels, &case.options, true, true);
    let plan =
        DispatchPlan { pieces: case.options.clamp > 0, route: case.device.route.unwrap_or_default(), ..plan };
    let twins = &mut TwinMachine::new();
    load(twins, case, &plan, chunk);
    load(gpu, case, &plan, chunk);
    let sizes: BTreeMap<Array, usize> = plan.array_bytes(chunk).into_iter().collect();
    let mut dispatches = dispatches(&plan, chunk, n_alternations);
    let n_before_end = dispatches.len();
    dispatches.extend(plan.finish(chunk));
    let (mut seen, mut most) = (BTreeSet::new(), (0.0f64, 0.0f64));
    let mut state = words(twins, &[], &sizes);
    for (at, dispatch) in dispatches.iter().enumerate() {
        if at == n_before_end && case.options.tolerance > 0.0 {
            let n_done = state[0].iter().filter(|&&moved| moved < n_alternations / 2).count();
            assert!((1..chunk.n_docs()).contains(&n_done), "some documents are done early, and some are not");
        }
        seen.insert((dispatch.kernel.name, dispatch.lanes));
        for (array, words) in STATE.iter().zip(&state).filter(|(_, words)| !words.is_empty()) {
            gpu.write(HERE, *array, 0, bytemuck::cast_slice(words)).unwrap();
        }
        state = words(twins, &[*dispatch], &sizes);
        let on_gpu = words(gpu, &[*dispatch], &sizes);
        for ((array, twin), gpu) in STATE.into_iter().zip(&state).zip(&on_gpu) {
            let name = format!("{}, {:?} rows, {}", dispatch.kernel.name, dispatch.lanes, array.name());
            if dispatch.kernel.arrays.iter().all(|&(other, access)| other != array || access == Access::Read)
            {
                assert!(twin == gpu, "{name}: written by a kernel that only reads it");
            }
            let (worst, kappa, n_unlike) = difference(dispatch, array, twin, gpu);
            // Its r iterations begin at q that differ already, and r goes with the fourth power of q at most.
            let gate = if dispatch.kernel.name == "alternate" { 5.0 * gate } else { gate };
            let unlike = if array == Array::DocState { KERNEL_DOCS * chunk.n_docs() as f64 } else { 0.0 };
            assert!(n_unlike as f64 <= unlike, "{name}: {n_unlike} numbers are not the same");
            assert!(worst <= gate, "{name}: {worst:e} above {gate:e}");
            assert!(kappa <= KERNEL_KAPPA, "{name}: kappa {kappa:e} above {KERNEL_KAPPA:e}");
            most = (most.0.max(worst), most.1.max(kappa));
        }
    }
    let finished: Vec<&Vec<u32>> = state[4..7].iter().collect();
    assert!(finished.iter().all(|words| !words.contains(&POISON.to_bits())), "results that nobody wrote");
    let (name, n, (worst, kappa)) = (&case.name, dispatches.len(), most);
    println!("{name}: {n} dispatches, {worst:.1e} apart at most, mean kappa {kappa:.1e}");
    seen
}

#[test]
fn every_kernel_does_what_its_twin_does() {
    let Some(mut gpu) = gpu_machine(GpuOptions::default()) else { return };
    let start = Start::Tempered(Temper { from: 4.0, alternations: 4 });
    let tempered = EStepOptions { start, ..EStepOptions::default() };
    let best = EStepOptions { start: Start::Best, ..EStepOptions::default() };
    let mut seen = BTreeSet::new();
    for route in Route::ALL {
        seen.extend(compare(&mut gpu, &mixed_rows().by(route), 12, KERNEL));
        seen.extend(compare(&mut gpu, &mixed_rows().options(best.clone()).by(route), 14, KERNEL));
    }
    let pieces = EStepOptions { clamp: 1, ..best.clone() };
    seen.extend(compare(&mut gpu, &mixed_rows().options(pieces), 14, KERNEL));
    compare(&mut gpu, &mixed_rows().options(EStepOptions::paper(Bound::Local)), 2, KERNEL);
    compare(&mut gpu, &mixed_rows().options(tempered), 10, KERNEL);
    let plain = EStepOptions { start: Start::Plain, ..EStepOptions::default() };
    compare(&mut gpu, &at_the_floor().options(plain), 12, KERNEL);
    // With topics wholly on, log-odds are small differences of sums over weights of 20: 5.2e-6 was measured.
    compare(&mut gpu, &at_the_floor(), 12, 2.0 * KERNEL);
    for kernel in KERNELS {
        for &lanes in kernel.lanes() {
            assert!(seen.remove(&(kernel.name, lanes)), "{} never ran with {lanes:?} rows", kernel.name);
        }
    }
}
