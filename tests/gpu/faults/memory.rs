//! Too little memory, and arrays that are too large.

use super::*;

#[test]
fn chunks_are_halved_until_they_fit() {
    // Blocks of two parts: they must stay what they are when chunks become smaller.
    let limits = ChunkLimits { block_docs: 256, block_size: 1 << 20, chunk_size: usize::MAX };
    let mut case = several_chunks().limits(limits);
    case.device.resident_bytes = 0; // they would go first
    assert_eq!(case.chunks()[0].blocks.len(), 4);
    for trouble in [Trouble::OutOfMemory, Trouble::Refused] {
        let (n_calls, want) = undisturbed(&case, TwinMachine::new());
        for call in [Call::Reserve, Call::Submit, Call::Wait] {
            // Not the network's array: nothing can be done about that one.
            for at in [1, n_calls[call as usize] / 2] {
                let warnings = assert_overcome(&case, TwinMachine::new(), &[(call, at, trouble)], &want);
                assert!(warnings[0].contains("half the size"), "{warnings:?}");
            }
        }
    }
}

/// What a GPU with so much memory gives, and its warnings.
fn with_bytes(case: &Case, max_bytes: u64) -> Option<(Result<Ran>, Vec<String>)> {
    let machine = gpu_machine(GpuOptions { max_bytes: Some(max_bytes), ..GpuOptions::default() })?;
    let mut run = Run::new(case, Faulty::new(machine, &[]));
    Some((run.run(case), run.warnings()))
}

#[test]
fn a_gpu_with_little_memory_gives_the_same_results() {
    // Eight blocks in one chunk to begin with.
    let limits = ChunkLimits { chunk_size: usize::MAX, ..several_chunks().device.limits };
    let case = several_chunks().limits(limits);
    let Some((plenty, warnings)) = with_bytes(&case, 1 << 30) else { return };
    assert!(warnings.is_empty());
    let plenty = plenty.unwrap();
    let mut n_halved = Vec::new();
    for max_bytes in [4 << 20, 3 << 20, 2 << 20] {
        let (little, warnings) = with_bytes(&case, max_bytes).unwrap();
        assert!(little.unwrap() == plenty, "{max_bytes} bytes: other results");
        assert!(warnings.iter().all(|warning| warning.contains("half the size")), "{warnings:?}");
        n_halved.push(warnings.len());
    }
    println!("halved {n_halved:?} times");
    assert!(n_halved.is_sorted() && n_halved[2] >= 2, "{n_halved:?}");
}

#[test]
fn where_two_chunks_do_not_fit_one_at_a_time_does() {
    // One block a chunk: there is nothing to halve.
    let case = one_block_a_chunk(several_chunks());
    let Some((plenty, _)) = with_bytes(&case, 1 << 30) else { return };
    let plenty = plenty.unwrap();
    let one_at_a_time = |max_bytes: u64| {
        let (little, warnings) = with_bytes(&case, max_bytes).unwrap();
        let little = little.ok()?;
        assert!(little == plenty, "{max_bytes} bytes: other results");
        (warnings.len() == 1 && warnings[0].contains("one chunk at a time")).then_some(())
    };
    // From what is too little for anything upwards, in steps of a sixteenth.
    let mut bytes = std::iter::successors(Some(100_000u64), |bytes| Some(bytes + bytes / 16));
    assert!(bytes.by_ref().take_while(|&bytes| bytes < 1 << 24).any(|bytes| one_at_a_time(bytes).is_some()));
}

#[test]
fn empty_documents_take_memory_too() {
    // Nothing but documents: they must end in smaller chunks or in an error, not in halving nothing for ever.
    let case = Case::new("empty", random_network(1, 10, 10), vec![Vec::new(); 20_000]);
    for max_bytes in [400_000, 50_000] {
        let Some((ran, warnings)) = with_bytes(&case, max_bytes) else { return };
        println!("{max_bytes} bytes: {} warnings, done: {}", warnings.len(), ran.is_ok());
        assert!(!warnings.is_empty() && warnings.len() < 30, "{warnings:?}");
    }
}

#[test]
fn too_little_memory_for_one_block_is_an_error_that_says_what_to_do() {
    let case = several_chunks();
    // Enough for the network, and not even for that.
    for max_bytes in [100_000, 1_000] {
        let Some((ran, _)) = with_bytes(&case, max_bytes) else { return };
        let Err(Error::Device(message)) = ran else { panic!("{max_bytes} bytes were enough") };
        let name = gpu_machine(GpuOptions::default()).unwrap().name();
        for part in [name.as_str(), "out of memory", "`device`", "`backend` cpu"] {
            assert!(message.contains(part), "no '{part}' in: {message}");
        }
    }
}

/// Runs with arrays of at most so many bytes; the results, and the warnings.
fn with_arrays<M: Destroy>(case: &Case, machine: M, max_array_bytes: u64) -> (Ran, Vec<String>) {
    let mut run = Run::new(case, Faulty { max_array_bytes, ..Faulty::new(machine, &[]) });
    (run.run(case).unwrap(), run.warnings())
}

/// The largest array of every chunk.
fn largest_arrays(case: &Case) -> Vec<u64> {
    let graph = &case.network.graph;
    let params = Params::derive(graph, &case.network.weights, case.options.bound).unwrap();
    let plan = DispatchPlan::new(graph, params.n_levels, &case.options, true, true);
    let largest = |chunk: &Chunk| plan.array_bytes(chunk).iter().map(|array| array.1 as u64).max().unwrap();
    case.chunks().iter().map(largest).collect()
}

fn one_block_a_chunk(case: Case) -> Case {
    let limits = ChunkLimits { chunk_size: 1, ..case.device.limits };
    case.limits(limits)
}

#[test]
fn arrays_that_are_too_large_halve_the_chunks() {
    let case = several_chunks();
    let (_, want) = undisturbed(&case, TwinMachine::new());
    let most = *largest_arrays(&one_block_a_chunk(several_chunks())).iter().max().unwrap();
    assert!(most < *largest_arrays(&case).iter().max().unwrap());
    let (ran, warnings) = with_arrays(&case, TwinMachine::new(), most);
    assert!(ran == want, "other results");
    assert!(!warnings.is_empty() && warnings.iter().all(|w| w.contains("half the size")), "{warnings:?}");
}

/// Eight blocks, of which the third and the last hold documents with every token.
fn two_large_blocks() -> Case {
    let mut case = several_chunks();
    let mut docs: Vec<Vec<u32>> =
        (0..case.docs().n_docs()).map(|doc| case.docs().tokens(doc).collect()).collect();
    let all: Vec<u32> = (0..case.network.graph.n_tokens() as u32).collect();
    docs[256..300].fill(all.clone());
    docs[896..940].fill(all);
    case.name = "two large blocks".to_owned();
    Case { device: case.device, ..Case::new(&case.name, case.network, docs) }
}

/// Blocks that fit run on the device, others on the CPU; results come in order (`run_on` checks that) and agree.
fn assert_large_blocks_run_on_the_cpu<M: Destroy>(machine: impl Fn() -> Option<M>) {
    let case = two_large_blocks();
    let arrays = largest_arrays(&one_block_a_chunk(two_large_blocks()));
    let most =
        arrays.iter().enumerate().filter(|(at, _)| ![2, 7].contains(at)).map(|(_, &n)| n).max().unwrap();
    assert!(arrays.len() == 8 && arrays[2] > most && arrays[7] > most, "{arrays:?}");
    let Some(first) = machine() else { return };
    let (_, want) = undisturbed(&case, first);
    for case in [two_large_blocks(), one_block_a_chunk(two_large_blocks())] {
        let mut run =
            Run::new(&case, Faulty { max_array_bytes: most, ..Faulty::new(machine().unwrap(), &[]) });
        let ran = run.run(&case).unwrap();
        assert_agree("large blocks on the CPU", &want, &ran);
        let warnings = run.warnings();
        let on_cpu = warnings.iter().filter(|warning| warning.contains("run on the CPU")).count();
        let halved = warnings.iter().filter(|warning| warning.contains("half the size")).count();
        // Said once, however many they are.
        assert_eq!((on_cpu, on_cpu + halved), (1, warnings.len()), "{warnings:?}");
        assert_eq!(run.estep.machine().monitor.docs_done.load(Ordering::Relaxed), 1_000);
        // Nothing that fits may have gone to the CPU: those documents have the device's very bits.
        let small = |ran: &Ran| [&ran.q[..256], &ran.q[384..896]].concat();
        assert!(small(&ran) == small(&want), "small blocks did not run on the device");
    }
}

#[test]
fn blocks_too_large_for_the_twins_run_on_the_cpu() {
    assert_large_blocks_run_on_the_cpu(|| Some(TwinMachine::new()));
}

#[test]
fn blocks_too_large_for_the_gpu_run_on_the_cpu() {
    assert_large_blocks_run_on_the_cpu(|| gpu_machine(GpuOptions::default()));
}

#[test]
fn nothing_fits_and_everything_runs_on_the_cpu() {
    let case = several_chunks();
    let (ran, warnings) = with_arrays(&case, TwinMachine::new(), 16);
    assert_agree("all on the CPU", &case.on_cpu(), &ran);
    assert!(ran.q == case.on_cpu().q, "not the CPU's results");
    assert_eq!(
        warnings.iter().filter(|warning| warning.contains("run on the CPU")).count(),
        1,
        "{warnings:?}"
    );
}

#[test]
fn kept_starts_follow_their_documents_to_the_cpu() {
    let limits = ChunkLimits { chunk_size: 1, ..several_chunks().device.limits };
    let case = Case::preset("tiny", 1_000).limits(limits).beginning_at_random(1);
    assert!(case.chunks().len() > 3);
    let cpu = case.on_cpu();
    let cold = Case { kept_on: None, ..case.clone() }.on_cpu();
    assert!(cpu.q != cold.q, "nothing to see");
    let (ran, _) = with_arrays(&case, TwinMachine::new(), 16);
    assert!(ran.q == cpu.q, "not the CPU's results");
}

#[test]
fn what_a_gpu_refused_is_forgotten_once_it_is_cleared() {
    let Some(mut machine) = gpu_machine(GpuOptions::default()) else { return };
    machine.reserve(Place::default(), Array::Docs, 64).unwrap();
    let refused = machine.write(Place::default(), Array::Docs, 1 << 20, &[0; 64]);
    assert!(matches!(refused, Err(Fault::Refused(_))), "{refused:?}");
    machine.clear();
    let case = several_chunks();
    let (_, want) = undisturbed(&case, gpu_machine(GpuOptions::default()).unwrap());
    assert!(case.on_machine(machine) == want);
}
