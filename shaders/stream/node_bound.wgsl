// Terms of the bound (node_bound.wgsl). A workgroup has a batch of nodes.
// Its arrays are declared from the table of kernels (src/estep/device/kernel.rs).

@compute @workgroup_size(THREADS)
fn node_bound(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let batch = batch_of(group);
    let own = own_row(batch, local, 0u);
    claim(own.begin, own.end, local);
    if (own.at_work) {
        row_words[local] = vec3<u32>(own.node.edge_begin - own.begin, 0u, 0u);
    }
    workgroupBarrier();
    for (var i = local; i < n_entries(batch); i += THREADS) {
        let edge = edges[row_words[stage[i].y].x + i];
        put(i, slots[edge.slot] * node_state[edge.parent]);
    }
    workgroupBarrier();
    if (own.at_work) {
        set_bound_term(own.row, own.node.id, sum_found(own.begin, own.end));
    }
}
