// Several alternations of the documents of a bin: q sweeps colour by colour, then r iterations (q_update.wgsl, r_update.wgsl). A workgroup
// has a bin, with q and m in its memory; r and the edge terms stay in storage. What a document goes through is what it goes through
// outside of a bin.
// Its arrays are declared from the table of kernels (src/estep/device/kernel.rs).

@compute @workgroup_size(THREADS)
fn alternate(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let ix = group.y * args.groups_x + group.x;
    if (ix >= args.n_rows) {
        return;
    }
    let place = rows[args.row_begin + ix];
    let n_colours = place.y;
    let node_range = rows[place.x];
    let edge_range = rows[place.x + 1u];
    let doc_range = rows[place.x + 2u];
    let several = rows[place.x + 3u];
    bin_node = node_range.x;
    bin_doc = doc_range.x;
    m_at = node_range.y - edge_range.x;

    if (local == 0u) {
        atomicStore(&latest, 0u);
    }
    workgroupBarrier();
    for (var i = local; i < doc_range.y; i += THREADS) {
        let state = doc_state[bin_doc + i];
        atomicStore(&states[i], state);
        atomicMax(&latest, state);
    }
    for (var i = local; i < node_range.y; i += THREADS) {
        pool[i] = node_state[bin_node + i];
    }
    for (var i = local; i < edge_range.y; i += THREADS) {
        pool[node_range.y + i] = slots[edge_range.x + i];
    }
    workgroupBarrier();

    // Above T = 1, and without a tolerance, nobody is ever done: the number of the alternation does not grow.
    let grows = select(0u, 1u, bitcast<u32>(args.tolerance) < INFINITY_BITS);
    for (var step = 0u; step < args.n_steps; step++) {
        let alternation = args.alternation + grows * step;
        if (local == 0u) {
            latest_now = atomicLoad(&latest);
        }
        if (workgroupUniformLoad(&latest_now) < alternation) {
            break;
        }
        for (var sweep = 0u; sweep < args.q_sweeps; sweep++) {
            for (var colour = 0u; colour < n_colours; colour++) {
                let batches = rows[place.x + 7u + colour];
                for (var at = batches.x; at < batches.y; at++) {
                    q_batch(rows[at], local, alternation);
                }
            }
        }
        for (var iteration = 0u; iteration < args.r_iterations; iteration++) {
            for (var at = several.x; at < several.y; at++) {
                r_batch(rows[at], local, alternation);
            }
        }
    }

    for (var i = local; i < doc_range.y; i += THREADS) {
        doc_state[bin_doc + i] = atomicLoad(&states[i]);
    }
    for (var i = local; i < node_range.y; i += THREADS) {
        node_state[bin_node + i] = pool[i];
    }
    for (var i = local; i < edge_range.y; i += THREADS) {
        slots[edge_range.x + i] = pool[node_range.y + i];
    }
}
