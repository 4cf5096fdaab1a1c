// Where r begins (init_r.wgsl). A workgroup has a batch of nodes.
// Its arrays are declared from the table of kernels (src/estep/device/kernel.rs).

@compute @workgroup_size(THREADS)
fn init_r(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let batch = batch_of(group);
    let own = own_row(batch, local, 0u);
    claim(own.begin, own.end, local);
    if (own.at_work) {
        row_words[local] = vec3<u32>(own.node.edge_begin - own.begin, weights_of(own.row) - own.begin, 0u);
    }
    workgroupBarrier();
    for (var i = local; i < n_entries(batch); i += THREADS) {
        let words = row_words[stage[i].y];
        put(i, edge_weight(words.y + i) * node_state[edges[words.x + i].parent]);
    }
    workgroupBarrier();
    if (own.at_work) {
        row_scales[local] = vec2<f32>(1.0 / sum_found(own.begin, own.end), slope_of(own.row));
    }
    workgroupBarrier();
    for (var i = local; i < n_entries(batch); i += THREADS) {
        let owner = stage[i].y;
        let words = row_words[owner];
        let scales = row_scales[owner];
        let r = found_at(i) * scales.x;
        let terms = edge_terms(edge_weight(words.y + i), scales.y, r);
        edge_state[words.x + i] = EdgeState(r, terms.gain);
        slots[edges[words.x + i].slot] = terms.m;
        put(i, terms.curve);
    }
    workgroupBarrier();
    if (own.at_work) {
        node_state[2u * args.n_nodes + own.row] = max_found(own.begin, own.end);
        atomicStore(&doc_state[own.node.doc_ix], 0u);
    }
}
