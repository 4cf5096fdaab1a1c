// Where r begins: r = w q / sum w q, which is w / sum w where all q are the same (Sec. 4.1.3), and the edge terms there.
// One row is a node. The document is at work.
// Its arrays are declared from the table of kernels (src/estep/device/kernel.rs).

@compute @workgroup_size(WORKGROUP)
fn init_r(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let ix = row_index(group, local);
    let lane = lane_index(local);
    let inside = ix < args.n_rows;
    let row = rows[args.row_begin + select(0u, ix, inside)].x;
    let node = nodes[row];
    let begin = node.edge_begin;
    let end = select(begin, nodes[row + 1u].edge_begin, inside);
    let weights = weights_of(row) - begin;

    var sum = vec4<f32>();
    for (var e = begin + lane; e < end; e += LANES) {
        sum.x += edge_weight(weights + e) * node_state[edges[e].parent];
    }
    let inverse = 1.0 / row_sum(local, sum).x;
    let slope = slope_of(row);
    var kappa = 0.0;
    for (var e = begin + lane; e < end; e += LANES) {
        let w = edge_weight(weights + e);
        let r = w * node_state[edges[e].parent] * inverse;
        let terms = edge_terms(w, slope, r);
        edge_state[e] = EdgeState(r, terms.gain);
        slots[edges[e].slot] = terms.m;
        kappa = max(kappa, terms.curve);
    }
    kappa = row_max(local, kappa);
    if (inside && lane == 0u) {
        node_state[2u * args.n_nodes + row] = kappa;
        atomicStore(&doc_state[node.doc_ix], 0u);
    }
}
