// A node's gradient terms (Eqs. 13-16), times the document's count or the piece's weight: for every edge v q_k / (1 - exp(-u)); for the leak
// v sum_k r [(1 - q_k) / (1 - exp(-w0)) + q_k / (1 - exp(-u))]; for a topic q. One row is a node.
// The terms take the places of the gain, of kappa and of the log-odds.
// Its arrays are declared from the table of kernels (src/estep/device/kernel.rs).

@compute @workgroup_size(WORKGROUP)
fn gradient(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let ix = row_index(group, local);
    let lane = lane_index(local);
    let inside = ix < args.n_rows;
    let row = rows[args.row_begin + select(0u, ix, inside)].x;
    let node = nodes[row];
    let begin = node.edge_begin;
    let edge_end = nodes[row + 1u].edge_begin;
    let end = select(begin, edge_end, inside);
    var weight = f32(docs[node.doc_ix].count);
    if (args.pieces != 0u) {
        weight = doc_bounds[node.doc_ix];
    }
    let slope = slope_of(row);
    let weights = weights_of(row) - begin;
    let scale = weight * node_state[row] * (1.0 + slope);

    var share = vec4<f32>();
    for (var e = begin + lane; e < end; e += LANES) {
        let r = edge_state[e].r;
        let q = node_state[edges[e].parent];
        let inv = inverse_1_t(edge_weight(weights + e), slope, r);
        share.x += leak_share(r, q, inv);
        edge_state[e].term = scale * q * inv;
    }
    share = row_sum(local, share);
    if (inside && lane == 0u) {
        node_state[args.n_nodes + row] = weight * node_state[row];
        node_state[2u * args.n_nodes + row] = scale * select(share.x, 1.0, begin == edge_end);
    }
}
