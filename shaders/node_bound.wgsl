// A node's terms of the bound (Eq. 9): v (beta - S + sum m q), for a topic less its share of the tail and plus its entropy.
// One row is a node. The term takes kappa's place, which is no longer needed.
// Its arrays are declared from the table of kernels (src/estep/device/kernel.rs).

@compute @workgroup_size(WORKGROUP)
fn node_bound(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let ix = row_index(group, local);
    let lane = lane_index(local);
    let inside = ix < args.n_rows;
    let row = rows[args.row_begin + select(0u, ix, inside)].x;
    let node = nodes[row];
    let end = select(node.edge_begin, nodes[row + 1u].edge_begin, inside);

    var sum = vec4<f32>();
    for (var e = node.edge_begin + lane; e < end; e += LANES) {
        sum.x += slots[edges[e].slot] * node_state[edges[e].parent];
    }
    sum = row_sum(local, sum);
    if (inside && lane == 0u) {
        set_bound_term(row, node.id, sum.x);
    }
}
