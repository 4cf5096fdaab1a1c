// A document's bound, without the constant of the empty document: the sum of its nodes' terms. One row is a document.
// Its arrays are declared from the table of kernels (src/estep/device/kernel.rs).

@compute @workgroup_size(WORKGROUP)
fn doc_bound(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let ix = row_index(group, local);
    let lane = lane_index(local);
    let inside = ix < args.n_rows;
    let row = rows[args.row_begin + select(0u, ix, inside)].x;
    let begin = docs[row].node_begin;
    let end = select(begin, docs[row + 1u].node_begin, inside);

    var sum = vec4<f32>();
    for (var at = begin + lane; at < end; at += LANES) {
        sum.x += node_state[2u * args.n_nodes + at];
    }
    sum = row_sum(local, sum);
    if (inside && lane == 0u) {
        doc_bounds[row] = sum.x;
    }
}
