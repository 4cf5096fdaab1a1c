// Keeps q and r of documents for which this start was the best so far; those have doc_state 1, the others 0. One row is a node.
// Its arrays are declared from the table of kernels (src/estep/device/kernel.rs).

@compute @workgroup_size(WORKGROUP)
fn keep(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let ix = row_index(group, local);
    let lane = lane_index(local);
    let inside = ix < args.n_rows;
    let row = rows[args.row_begin + select(0u, ix, inside)].x;
    let node = nodes[row];
    if (!inside || doc_state[node.doc_ix] == 0u) {
        return;
    }
    for (var e = node.edge_begin + lane; e < nodes[row + 1u].edge_begin; e += LANES) {
        kept[args.n_nodes + e] = edge_state[e].r;
    }
    if (lane == 0u) {
        kept[row] = node_state[row];
    }
}
