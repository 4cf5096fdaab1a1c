// N of an edge over one reduction block: the sum of its terms, document after document. One row is an edge that the block
// touches: edge j of a touched node, whose places in the chunk are listed in `positions`.
// Its arrays are declared from the table of kernels (src/estep/device/kernel.rs).

@compute @workgroup_size(WORKGROUP)
fn edge_sums(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let ix = row_index(group, local);
    let lane = lane_index(local);
    let inside = ix < args.n_rows;
    let row = args.row_begin + select(0u, ix, inside);
    let owner = edge_owners[row];
    let j = row - touched[owner].edge_begin;
    let begin = touched[owner].position_begin;
    let end = select(begin, touched[owner + 1u].position_begin, inside);

    var sum = vec4<f32>();
    for (var at = begin + lane; at < end; at += LANES) {
        sum.x += edge_state[nodes[positions[at]].edge_begin + j].term;
    }
    sum = row_sum(local, sum);
    if (inside && lane == 0u) {
        edge_totals[row] = sum.x;
    }
}
