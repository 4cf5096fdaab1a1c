// One iteration of Eq. 10 (shared/r_step.wgsl), and the edge terms at the new r. One row is a node.
// Its arrays are declared from the table of kernels (src/estep/device/kernel.rs).

@compute @workgroup_size(WORKGROUP)
fn r_update(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let ix = row_index(group, local);
    let lane = lane_index(local);
    let inside = ix < args.n_rows;
    let row = rows[args.row_begin + select(0u, ix, inside)].x;
    let node = nodes[row];
    let at_work = inside && doc_state[node.doc_ix] >= args.alternation;
    if (may_leave(at_work)) {
        return;
    }
    let begin = node.edge_begin;
    let end = select(begin, nodes[row + 1u].edge_begin, at_work);

    var sums = vec4<f32>();
    var largest = 0.0;
    for (var e = begin + lane; e < end; e += LANES) {
        let state = edge_state[e];
        let g = share_gain(node_state[edges[e].parent], state.term);
        sums += share_terms(state.r, g);
        largest = max(largest, g);
    }
    sums = row_sum(local, sums);
    largest = row_max(local, largest);

    let kappa_at = 2u * args.n_nodes + row;
    let how = sharing(sums, largest, node_state[kappa_at]);
    let inverse = 1.0 / how.sum;
    let slope = slope_of(row);
    let weights = weights_of(row) - begin;
    var next_kappa = 0.0;
    for (var e = begin + lane; e < end; e += LANES) {
        let edge = edges[e];
        let state = edge_state[e];
        let r = share(how, inverse, state.r, share_gain(node_state[edge.parent], state.term));
        let terms = edge_terms(edge_weight(weights + e), slope, r);
        edge_state[e] = EdgeState(r, terms.gain);
        slots[edge.slot] = terms.m;
        next_kappa = max(next_kappa, terms.curve);
    }
    next_kappa = row_max(local, next_kappa);
    if (at_work && lane == 0u) {
        node_state[kappa_at] = next_kappa;
    }
}
