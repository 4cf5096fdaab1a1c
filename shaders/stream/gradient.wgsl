// Gradient terms (gradient.wgsl). A workgroup has a batch of nodes.
// Its arrays are declared from the table of kernels (src/estep/device/kernel.rs).

@compute @workgroup_size(THREADS)
fn gradient(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let batch = batch_of(group);
    let own = own_row(batch, local, 0u);
    claim(own.begin, own.end, local);
    var weight = 0.0;
    var scale = 0.0;
    if (own.at_work) {
        weight = f32(docs[own.node.doc_ix].count);
        if (args.pieces != 0u) {
            weight = doc_bounds[own.node.doc_ix];
        }
        let slope = slope_of(own.row);
        scale = weight * node_state[own.row] * (1.0 + slope);
        row_words[local] = vec3<u32>(own.node.edge_begin - own.begin, weights_of(own.row) - own.begin, 0u);
        row_scales[local] = vec2<f32>(scale, slope);
    }
    workgroupBarrier();
    for (var i = local; i < n_entries(batch); i += THREADS) {
        let owner = stage[i].y;
        let words = row_words[owner];
        let scales = row_scales[owner];
        let r = edge_state[words.x + i].r;
        let q = node_state[edges[words.x + i].parent];
        let inv = inverse_1_t(edge_weight(words.y + i), scales.y, r);
        put(i, leak_share(r, q, inv));
        edge_state[words.x + i].term = scales.x * q * inv;
    }
    workgroupBarrier();
    if (own.at_work) {
        let share = sum_found(own.begin, own.end);
        node_state[args.n_nodes + own.row] = weight * node_state[own.row];
        node_state[2u * args.n_nodes + own.row] = scale * select(share, 1.0, own.begin == own.end);
    }
}
