// What a node says to its parents in the search: by how much beta(a) of the node grows if the parent comes on, or falls if it
// goes off, with a = w0 + the weights of the parents that are on. One row is a node.
// The terms stand in the slots; beta(a) - beta(w0) takes kappa's place.
// Its arrays are declared from the table of kernels (src/estep/device/kernel.rs).

// (beta(w0 + a) - beta(w0) - a, f'(w0 + a)) where the slope is f'(w0): with t = f'(w0) (1 - exp(-a)), log1p(t) and
// f'(w0) exp(-a) / (1 + t). Without a, which may be large where a difference of two of these is small.
fn lifted_beyond(slope: f32, a: f32) -> vec2<f32> {
    let e = exp_neg(min(a, X_CAP));
    let t = slope * e.y;
    return vec2<f32>(log1p_pos(t), slope * e.x / (1.0 + t));
}

@compute @workgroup_size(WORKGROUP)
fn flip_terms(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let ix = row_index(group, local);
    let lane = lane_index(local);
    let inside = ix < args.n_rows;
    let row = rows[args.row_begin + select(0u, ix, inside)];
    let node = nodes[row];
    let at_work = inside && doc_state[node.doc_ix] >= args.alternation;
    if (may_leave(at_work)) {
        return;
    }
    let begin = node.edge_begin;
    let end = select(begin, nodes[row + 1u].edge_begin, at_work);
    let slope = node_slope(node.id);
    let weights = weight_begin(node.id) - begin;

    var sum = vec4<f32>();
    for (var e = begin + lane; e < end; e += LANES) {
        sum.x += select(0.0, edge_weight(weights + e), is_on(node_state[edges[e].parent]));
    }
    let a = row_sum(local, sum).x;
    let now = lifted_beyond(slope, a);
    for (var e = begin + lane; e < end; e += LANES) {
        let edge = edges[e];
        let w = edge_weight(weights + e);
        var beyond = 0.0;
        if (is_on(node_state[edge.parent])) {
            beyond = now.x - lifted_beyond(slope, max(a - w, 0.0)).x;
        } else {
            beyond = lifted_beyond(now.y, w).x;
        }
        slots[edge.slot] = Slot(row, w + beyond);
    }
    if (at_work && lane == 0u) {
        node_state[2u * args.n_nodes + row] = a + now.x;
    }
}
