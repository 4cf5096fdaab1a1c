// Q and L of a node over one reduction block: the sums of its terms, document after document. One row is a node that the
// block touches.
// Its arrays are declared from the table of kernels (src/estep/device/kernel.rs).

@compute @workgroup_size(WORKGROUP)
fn node_sums(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let ix = row_index(group, local);
    let lane = lane_index(local);
    let inside = ix < args.n_rows;
    let row = args.row_begin + select(0u, ix, inside);
    let begin = touched[row].position_begin;
    let end = select(begin, touched[row + 1u].position_begin, inside);

    var sum = vec4<f32>();
    for (var at = begin + lane; at < end; at += LANES) {
        let node = positions[at];
        sum.x += node_state[args.n_nodes + node];
        sum.y += node_state[2u * args.n_nodes + node];
    }
    sum = row_sum(local, sum);
    if (inside && lane == 0u) {
        node_totals[row] = sum.xy;
    }
}
