//! What each kernel may read and what it must write, written down apart from the twins, and held against GPU and twins.

use super::*;

/// The words that a dispatch reads, of arrays that kernels write, and the words that it writes.
#[derive(Default)]
struct Contract {
    reads: BTreeSet<(Array, usize)>,
    writes: BTreeSet<(Array, usize)>,
    /// Words that it may write, with what they then are.
    may_write: BTreeMap<(Array, usize), u32>,
    /// Words that it may write, whatever they then are.
    may_be_anything: BTreeSet<(Array, usize)>,
}

impl Contract {
    fn new(dispatch: &Dispatch, chunk: &Chunk, memory: &Memory) -> Self {
        let mut contract = Self::default();
        let (args, list) = (&dispatch.args, &chunk.rows.list);
        let span = args.row_begin as usize..(args.row_begin + args.n_rows) as usize;
        let batch = |at: usize| {
            let [first, size] = list[at];
            &list[first as usize..][..size as usize % 65_536]
        };
        let listed: Vec<usize> = match (dispatch.kernel.name, dispatch.lanes) {
            ("edge_sums" | "node_sums", _) => span.collect(),
            (_, Lanes::Stream) => span.flat_map(batch).map(|&[row, _]| row as usize).collect(),
            _ => list[span].iter().map(|&[row, _]| row as usize).collect(),
        };
        for row in listed {
            match dispatch.kernel.name {
                "edge_sums" => contract.add_edge_sum(chunk, row),
                "node_sums" => contract.add_node_sum(chunk, row),
                "doc_bound" => contract.add_doc_bound(chunk, row),
                "flip_best" => contract.add_flip(chunk, memory, row, args),
                "alternate" | "search" => {
                    let [first, n_docs] = list[row + 2];
                    for doc in first..first + n_docs {
                        contract.add_binned(dispatch.kernel.name, chunk, memory, doc as usize, args);
                    }
                }
                name => contract.add_node(name, chunk, memory, row, args),
            }
        }
        contract
    }

    /// One step of a document in a bin: what its kernels outside of bins read, but for what was written before, and write.
    fn add_binned(&mut self, kernel: &str, chunk: &Chunk, memory: &Memory, doc: usize, args: &Args) {
        let (record, next) = (chunk.docs[doc], chunk.docs[doc + 1]);
        let nodes = record.node_begin as usize..next.node_begin as usize;
        let (topics, n_nodes) = (nodes.start..record.token_begin as usize, chunk.n_nodes());
        self.read(Array::DocState, [doc]);
        if kernel == "alternate" {
            // The workgroup's memory is filled and emptied.
            let slots = record.edge_begin as usize..next.edge_begin as usize;
            self.read(Array::NodeState, nodes.clone());
            self.write(Array::NodeState, nodes.clone());
            self.read(Array::Slots, slots.clone());
            self.write(Array::Slots, slots);
        }
        if memory[&Array::DocState][doc] < args.alternation {
            return;
        }
        if kernel == "alternate" {
            topics.for_each(|row| self.add_node("q_update", chunk, memory, row, args));
            for row in nodes {
                if chunk.nodes[row + 1].edge_begin - chunk.nodes[row].edge_begin > 1 {
                    self.add_node("r_update", chunk, memory, row, args);
                }
            }
            return;
        }
        nodes.clone().for_each(|row| self.add_node("flip_terms", chunk, memory, row, args));
        for topic in topics {
            let [q, marks, bias, log_odds, kappa] = [0, 3, 5, 1, 2].map(|section| section * n_nodes + topic);
            self.read(Array::NodeState, [q, marks, bias]);
            self.write(Array::NodeState, [log_odds, kappa, marks]);
            let on = f32::from_bits(memory[&Array::NodeState][q]) > 0.5;
            let flipped: f32 = if on { 1.0 - Q_ON } else { Q_ON };
            self.may_write.insert((Array::NodeState, q), flipped.to_bits());
            let edges = chunk.nodes[topic].edge_begin as usize..chunk.nodes[topic + 1].edge_begin as usize;
            if args.n_levels > 1 && !on && !edges.is_empty() {
                self.write(Array::EdgeState, [2 * edges.start]);
            }
            self.read(Array::EdgeState, edges.take(1).map(|e| 2 * e));
        }
        self.read(Array::NodeState, [7 * n_nodes + doc]);
        self.may_be_anything.insert((Array::NodeState, 7 * n_nodes + doc));
        self.may_write.insert((Array::DocState, doc), args.alternation + 1);
    }

    fn read(&mut self, array: Array, words: impl IntoIterator<Item = usize>) {
        self.reads.extend(words.into_iter().map(|word| (array, word)));
    }

    fn write(&mut self, array: Array, words: impl IntoIterator<Item = usize>) {
        self.writes.extend(words.into_iter().map(|word| (array, word)));
    }

    /// Sections of node_state: q, log-odds, kappa, marks, slope, bias, first edge; words of edge_state: r, term; slots: m.
    fn add_node(&mut self, kernel: &str, chunk: &Chunk, memory: &Memory, row: usize, args: &Args) {
        let (node, next, n_nodes) = (chunk.nodes[row], chunk.nodes[row + 1], chunk.n_nodes());
        let [q, log_odds, kappa, marks, slope, bias, first_edge] =
            [0, 1, 2, 3, 4, 5, 6].map(|section| section * n_nodes + row);
        let edges = node.edge_begin as usize..next.edge_begin as usize;
        let parents: Vec<usize> =
            chunk.edges[edges.clone()].iter().map(|edge| edge.parent as usize).collect();
        let places: Vec<usize> = chunk.edges[edges.clone()].iter().map(|edge| edge.slot as usize).collect();
        let m = places.into_iter();
        let doc_ix = node.doc_ix as usize;
        let slots = node.slot_begin as usize..next.slot_begin as usize;
        if !matches!(kernel, "init_q" | "init_r" | "node_bound" | "gradient") {
            self.read(Array::DocState, [doc_ix]);
            let least = if matches!(kernel, "keep" | "restore") { 1 } else { args.alternation };
            if memory[&Array::DocState][doc_ix] < least {
                return;
            }
        }
        match kernel {
            "init_q" => {
                self.read(Array::NodeState, (args.pieces > 0).then_some(marks));
                self.write(Array::DocState, [doc_ix]);
                self.write(Array::NodeState, [q, log_odds, marks, slope, bias, first_edge]);
                let edges = edges.filter(|_| args.n_steps > 0);
                self.write(Array::EdgeState, edges.map(|e| 2 * e + 1));
            }
            "flip_terms" => {
                self.read(Array::NodeState, parents.into_iter().chain([slope]));
                self.read(Array::EdgeState, edges.map(|e| 2 * e + 1));
                self.write(Array::NodeState, [kappa]);
                self.write(Array::Slots, m);
            }
            "flip_gain" => {
                let children = slots.clone().map(|slot| chunk.slot_children[slot] as usize);
                self.read(Array::NodeState, children.chain([q, kappa, marks, bias]));
                self.read(Array::Slots, slots);
                self.write(Array::NodeState, [log_odds, kappa]);
            }
            "flip_chain" => {
                self.read(Array::NodeState, [q]);
                if edges.is_empty() || f32::from_bits(memory[&Array::NodeState][q]) > 0.5 {
                    return;
                }
                let values = parents.iter().map(|parent| 2 * n_nodes + parent);
                self.read(Array::NodeState, parents.iter().copied().chain(values).chain([log_odds]));
                self.read(Array::Slots, m);
                self.write(Array::NodeState, [kappa]);
                self.write(Array::EdgeState, [2 * edges.start]);
            }
            "keep" => {
                self.read(Array::NodeState, [q]);
                self.read(Array::EdgeState, edges.clone().map(|e| 2 * e));
                self.write(Array::Kept, edges.map(|e| n_nodes + e).chain([q]));
            }
            "restore" => {
                self.read(Array::Kept, edges.clone().map(|e| n_nodes + e).chain([q]));
                self.write(Array::NodeState, [q]);
                self.write(Array::EdgeState, edges.map(|e| 2 * e));
            }
            "init_r" => {
                self.read(Array::NodeState, parents.into_iter().chain([slope, first_edge]));
                self.write(Array::DocState, [doc_ix]);
                self.write(Array::NodeState, [kappa]);
                self.write(Array::EdgeState, edges.flat_map(|e| [2 * e, 2 * e + 1]));
                self.write(Array::Slots, m);
            }
            "r_update" => {
                self.read(Array::NodeState, parents.into_iter().chain([kappa, slope, first_edge]));
                self.read(Array::EdgeState, edges.clone().flat_map(|e| [2 * e, 2 * e + 1]));
                self.write(Array::NodeState, [kappa]);
                self.write(Array::EdgeState, edges.flat_map(|e| [2 * e, 2 * e + 1]));
                self.write(Array::Slots, m);
            }
            "q_update" => {
                let children = slots.clone().map(|slot| chunk.slot_children[slot] as usize);
                self.read(Array::NodeState, parents.into_iter().chain(children).chain([q, bias]));
                self.read(Array::NodeState, (args.pieces > 0).then_some(marks));
                self.read(Array::Slots, m.chain(slots));
                self.write(Array::NodeState, [q, log_odds]);
                self.may_write.insert((Array::DocState, doc_ix), args.alternation + 1);
            }
            "node_bound" => {
                self.read(Array::NodeState, parents.into_iter().chain([q, bias]));
                self.read(Array::NodeState, (node.id < args.n_topics).then_some(log_odds));
                self.read(Array::Slots, m);
                self.write(Array::NodeState, [kappa]);
            }
            "gradient" => {
                self.read(Array::NodeState, parents.into_iter().chain([q, slope, first_edge]));
                self.read(Array::EdgeState, edges.clone().map(|e| 2 * e));
                self.read(Array::DocBounds, (args.pieces > 0).then_some(doc_ix));
                self.write(Array::NodeState, [log_odds, kappa]);
                self.write(Array::EdgeState, edges.map(|e| 2 * e + 1));
            }
            other => panic!("no contract for {other}"),
        }
    }

    fn add_doc_bound(&mut self, chunk: &Chunk, row: usize) {
        let nodes = chunk.docs[row].node_begin as usize..chunk.docs[row + 1].node_begin as usize;
        self.read(Array::NodeState, nodes.map(|node| 2 * chunk.n_nodes() + node));
        self.write(Array::DocBounds, [row]);
    }

    /// A step of a search makes q of a topic that is on that of one that is off, and the other way round; of which topics hangs on
    /// all values, marks and the joint. Marks change where a topic goes off or no flip is taken; a trial (mark 4) reads the joint
    /// that was kept, and one that begins keeps it.
    fn add_flip(&mut self, chunk: &Chunk, memory: &Memory, row: usize, args: &Args) {
        self.read(Array::DocState, [row]);
        if memory[&Array::DocState][row] < args.alternation {
            return;
        }
        let (n_nodes, kept) = (chunk.n_nodes(), 7 * chunk.n_nodes() + row);
        let topics = chunk.docs[row].node_begin as usize..chunk.docs[row].token_begin as usize;
        let tokens = topics.end..chunk.docs[row + 1].node_begin as usize;
        let state = |section: usize, topic: usize| {
            f32::from_bits(memory[&Array::NodeState][section * n_nodes + topic])
        };
        let has_mark = |topic: usize, mark: u32| state(3, topic) as u32 & mark != 0;
        let on_trial = topics.clone().any(|topic| has_mark(topic, 4));
        let best = topics.clone().map(|topic| (state(2, topic), topic)).filter(|(gain, _)| *gain > MIN_GAIN);
        let best = best.reduce(|best, next| if next.0 > best.0 { next } else { best });
        let chained = topics.clone().any(|topic| has_mark(topic, 64));
        let parts = topics.clone().map(|topic| if state(0, topic) > 0.5 { state(1, topic) } else { 0.0 });
        let joint: f32 = parts.sum::<f32>() + tokens.clone().map(|token| state(2, token)).sum::<f32>();
        let undoes = chained && joint <= f32::from_bits(memory[&Array::NodeState][kept]);
        // A chain comes on: the configuration before it is kept.
        let has_above = |topic: usize| {
            let begin = chunk.nodes[topic].edge_begin as usize;
            begin < chunk.nodes[topic + 1].edge_begin as usize
                && f32::from_bits(memory[&Array::EdgeState][2 * begin]) >= 0.0
        };
        let chains = best.is_some_and(|(_, topic)| state(0, topic) < 0.5 && has_above(topic));
        for topic in topics.clone() {
            self.read(Array::NodeState, [0, 1, 2, 3].map(|section| section * n_nodes + topic));
            let edges = chunk.nodes[topic].edge_begin as usize..chunk.nodes[topic + 1].edge_begin as usize;
            self.read(Array::EdgeState, edges.take(1).map(|e| 2 * e));
        }
        self.read(Array::NodeState, tokens.map(|token| 2 * n_nodes + token));
        self.read(Array::NodeState, (on_trial || chained).then_some(kept));
        self.may_write.insert((Array::DocState, row), args.alternation + 1);
        for topic in topics.clone() {
            let flipped: f32 = if state(0, topic) > 0.5 { 1.0 - Q_ON } else { Q_ON };
            self.may_write.insert((Array::NodeState, topic), flipped.to_bits());
        }
        self.write(Array::NodeState, topics.map(|topic| 3 * n_nodes + topic));
        let keeps = !on_trial && !undoes && (best.is_none() || chains);
        self.write(Array::NodeState, keeps.then_some(kept));
    }

    fn positions(chunk: &Chunk, owner: usize) -> impl Iterator<Item = usize> {
        let (touched, next) = (chunk.touched[owner], chunk.touched[owner + 1]);
        let positions = &chunk.positions[touched.position_begin as usize..next.position_begin as usize];
        positions.iter().map(|&at| at as usize)
    }

    fn add_edge_sum(&mut self, chunk: &Chunk, row: usize) {
        let owner = chunk.edge_owners[row] as usize;
        let j = row - chunk.touched_edges(owner).start;
        let edges = Self::positions(chunk, owner).map(|at| chunk.nodes[at].edge_begin as usize + j);
        self.read(Array::EdgeState, edges.map(|e| 2 * e + 1));
        self.write(Array::EdgeTotals, [row]);
    }

    fn add_node_sum(&mut self, chunk: &Chunk, row: usize) {
        let n_nodes = chunk.n_nodes();
        let terms = Self::positions(chunk, row).flat_map(|at| [n_nodes + at, 2 * n_nodes + at]);
        self.read(Array::NodeState, terms);
        self.write(Array::NodeTotals, [2 * row, 2 * row + 1]);
    }

    /// Memory with poison wherever the dispatch may not read; inputs stay.
    fn poison(&self, memory: &Memory, poison: u32) -> Memory {
        let mut memory = memory.clone();
        for (&array, words) in memory.range_mut(Array::DocState..) {
            for (at, word) in words.iter_mut().enumerate() {
                *word = if self.reads.contains(&(array, at)) { *word } else { poison };
            }
        }
        memory
    }

    /// What was to be written is, by numbers, and nothing else.
    fn check(&self, name: &str, before: &Memory, twin: &Memory, gpu: &Memory) {
        let number = |word: u32| f32::from_bits(word);
        for (&array, words) in before {
            for (at, &was) in words.iter().enumerate() {
                let (place, twin, gpu) = ((array, at), twin[&array][at], gpu[&array][at]);
                let what = format!("{name}: word {at} of {array:?}, {was:#x}, twin {twin:#x}, GPU {gpu:#x}");
                if self.may_be_anything.contains(&place) {
                    continue;
                }
                if let Some(&then) = self.may_write.get(&place) {
                    assert!([was, then].contains(&twin) && [was, then].contains(&gpu), "{what}: neither");
                } else if !self.writes.contains(&place) {
                    assert!(twin == was && gpu == was, "{what}: touched");
                } else {
                    assert!(number(twin).is_finite() && number(gpu).is_finite(), "{what}: not a number");
                    // An old value that is read cannot be poison: where the twin moves far from it, so must the GPU.
                    let moved = (number(twin) - number(was)).abs() > 0.01 * number(twin).abs();
                    assert!(!moved || gpu != was, "{what}: not written");
                }
            }
        }
    }
}

/// Long rows by single threads and short ones by workgroups, too; and without the last row, batch or bin, which then must stay as it is.
fn variants(dispatch: Dispatch) -> impl Iterator<Item = Dispatch> {
    let n_rows = dispatch.args.n_rows;
    let cut = [n_rows, n_rows - 1].into_iter().filter(|&n_rows| n_rows > 0);
    let lanes = match dispatch.lanes {
        Lanes::Thread | Lanes::Group => vec![Lanes::Thread, Lanes::Group],
        other => vec![other],
    };
    cut.flat_map(move |n_rows| {
        let args = Args { n_rows, ..dispatch.args };
        lanes.clone().into_iter().map(move |lanes| Dispatch { lanes, args, ..dispatch })
    })
}

#[test]
fn every_kernel_reads_and_writes_the_words_of_its_contract_and_no_others() {
    with_gpu(|gpu| {
        let mut seen = BTreeSet::new();
        let cases: Vec<Case> = Route::ALL.into_iter().flat_map(cases).collect();
        for (case, poison) in cases.iter().flat_map(|case| POISONS.map(|poison| (case, poison))) {
            let (chunk, plans) = (&case.chunk, case.plan.tries());
            let [plan, .., plain] = &plans[..] else { panic!("one start") };
            assert!(plan.searches() && !plain.searches());
            let mut memory = case.memory(poison);
            let mut run = |memory: &mut Memory, dispatches: Vec<Dispatch>| {
                for dispatch in dispatches {
                    for dispatch in variants(dispatch) {
                        seen.insert((dispatch.kernel.name, dispatch.lanes));
                        let contract = Contract::new(&dispatch, chunk, memory);
                        let before = contract.poison(memory, poison);
                        let twin = case.run_twins(&before, &[dispatch]);
                        let on_gpu = case.run_gpu(gpu, &before, &[dispatch], poison);
                        contract.check(&format!("{}: {dispatch:?}", case.name), &before, &twin, &on_gpu);
                    }
                    *memory = case.run_twins(memory, &[dispatch]);
                }
            };
            // Every other document is done: it stays as it is.
            let every_other = |memory: &mut Memory| {
                let state = memory.get_mut(&Array::DocState).unwrap();
                state.iter_mut().enumerate().for_each(|(doc_ix, state)| *state = doc_ix as u32 % 2);
            };
            run(&mut memory, plain.start(chunk));
            run(&mut memory, plan.start(chunk));
            // Flips first, then trials.
            (0..12).for_each(|round| run(&mut memory, plan.rounds(chunk, &chunk.rows, round..round + 1)));
            every_other(&mut memory);
            run(&mut memory, plan.rounds(chunk, &chunk.rows, 1..2));
            run(&mut memory, plan.settle(chunk));
            run(&mut memory, plan.alternations(chunk, &chunk.rows, 0..1));
            every_other(&mut memory);
            run(&mut memory, plan.alternations(chunk, &chunk.rows, 1..2));
            every_other(&mut memory);
            run(&mut memory, plan.keep(chunk));
            run(&mut memory, plan.restore(chunk));
            run(&mut memory, plan.finish(chunk));
        }
        for kernel in KERNELS {
            for lanes in kernel.lanes() {
                assert!(seen.contains(&(kernel.name, *lanes)), "{} never ran with {lanes:?}", kernel.name);
            }
        }
    });
}

#[test]
fn a_run_fills_all_state_and_all_outputs_from_nothing_but_the_inputs() {
    with_gpu(|gpu| {
        for case in Route::ALL.into_iter().flat_map(cases) {
            let dispatches = case.dispatches(3);
            let [one, other] = POISONS.map(|poison| {
                let memory = case.memory(poison);
                let twin = case.run_twins(&memory, &dispatches);
                let on_gpu = case.run_gpu(gpu, &memory, &dispatches, poison);
                let state = Array::NodeState..Array::Kept; // one start keeps nothing
                for (array, words) in twin.range(state.clone()).chain(on_gpu.range(state)) {
                    let numbers = words.iter().all(|&word| f32::from_bits(word).is_finite());
                    assert!(numbers, "{}: poison left in {array:?}", case.name);
                }
                let inputs = |memory: &Memory| {
                    memory.range(..Array::DocState).map(|(_, words)| words.clone()).collect()
                };
                let kept: [Vec<Vec<u32>>; 3] = [&memory, &twin, &on_gpu].map(inputs);
                assert!(kept[0] == kept[1] && kept[0] == kept[2], "{}: inputs were written", case.name);
                on_gpu.range(Array::DocState..Array::Kept).map(|(_, words)| words.clone()).collect::<Vec<_>>()
            });
            assert_eq!(one, other, "{}: the bits depend on what was there before", case.name);
        }
    });
}

#[test]
fn a_write_outside_an_array_is_refused_once_and_the_machine_goes_on() {
    with_gpu(|gpu| {
        let case = &cases(Route::Flat)[0];
        let (memory, dispatches) = (case.memory(POISONS[0]), case.dispatches(2));
        let before = case.run_gpu(gpu, &memory, &dispatches, POISONS[0]);
        let refused = gpu.write(HERE, Array::Docs, 1 << 30, &[0; 16]);
        assert!(matches!(refused, Err(Fault::Refused(_))), "{refused:?}");
        assert_eq!(case.run_gpu(gpu, &memory, &dispatches, POISONS[0]), before);
    });
}

#[test]
fn folded_dispatches_write_every_row_and_none_behind_the_last() {
    with_gpu(|gpu| {
        // More workgroups than one dimension holds: the second line of them is nearly all outside.
        let network = network_of(0, 1, &[], vec![0.3]);
        let n_docs = MAX_GROUPS as usize + 3;
        let case = Case::new("folded", &network, &vec![vec![0]; n_docs], Bound::Local);
        let mut memory = case.memory(POISONS[0]);
        let terms: Vec<u32> = (0..4 * n_docs).map(|at| (at as f32).to_bits()).collect();
        memory.insert(Array::NodeState, terms.clone());
        let args = Args { n_rows: n_docs as u32, n_nodes: n_docs as u32, ..Args::default() };
        let args = Args { row_begin: case.chunk.rows.docs.all.short.begin, ..args };
        let dispatch = Dispatch { kernel: &DOC_BOUND, lanes: Lanes::Group, args };
        let after = case.run_gpu(gpu, &memory, &[dispatch], POISONS[0]);
        assert_eq!(after[&Array::DocBounds], terms[2 * n_docs..3 * n_docs]);
    });
}
