// Where q begins: `q_start` for topics, as far from 1 for those that are marked as on, 1 for tokens. One row is a node. The document is
// at work. Of the marks only those of clamped topics stay. The network's parameters of the node are put side by side with
// its neighbours', and, where steps of a search follow, the weights of its edges with theirs.
// Its arrays are declared from the table of kernels (src/estep/device/kernel.rs).

@compute @workgroup_size(WORKGROUP)
fn init_q(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let ix = row_index(group, local);
    if (ix < args.n_rows && lane_index(local) == 0u) {
        let row = rows[args.row_begin + ix].x;
        let node = nodes[row];
        let mark_at = 3u * args.n_nodes + row;
        var mark = 0u;
        if (args.pieces != 0u) {
            mark = u32(node_state[mark_at]);
        }
        let q = select(args.q_start, 1.0 - args.q_start, (mark & (CLAMPED_ON | KEPT_ON)) != 0u);
        node_state[row] = select(1.0, q, node.id < args.n_topics);
        node_state[args.n_nodes + row] = 0.0;
        node_state[mark_at] = f32(mark & CLAMPED);
        node_state[4u * args.n_nodes + row] = node_slope(node.id);
        node_state[5u * args.n_nodes + row] = node_bias(node.id);
        let weights = weight_begin(node.id);
        node_state[6u * args.n_nodes + row] = bitcast<f32>(NORMAL | weights);
        if (args.n_steps > 0u) {
            for (var e = node.edge_begin; e < nodes[row + 1u].edge_begin; e++) {
                edge_state[e].term = edge_weight(weights + e - node.edge_begin);
            }
        }
        atomicStore(&doc_state[node.doc_ix], 0u);
    }
}
