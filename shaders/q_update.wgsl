// q of the topics of one colour (Eqs. 11, 12): q = sigmoid(g / T). One row is a topic. Topics of a colour never read each
// other's q. The log-odds of clamped topics are pulled up or down. A topic that moved more than the tolerance keeps its document at work for another alternation.
// Its arrays are declared from the table of kernels (src/estep/device/kernel.rs).

@compute @workgroup_size(WORKGROUP)
fn q_update(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let ix = row_index(group, local);
    let lane = lane_index(local);
    let inside = ix < args.n_rows;
    let row = rows[args.row_begin + select(0u, ix, inside)];
    let node = nodes[row];
    let at_work = inside && atomicLoad(&doc_state[node.doc_ix]) >= args.alternation;
    if (may_leave(at_work)) {
        return;
    }
    let next = nodes[row + 1u];

    var g = vec4<f32>();
    let edge_end = select(node.edge_begin, next.edge_begin, at_work);
    for (var e = node.edge_begin + lane; e < edge_end; e += LANES) {
        g.x += slots[edges[e].slot].m * node_state[edges[e].parent];
    }
    let slot_end = select(node.slot_begin, next.slot_begin, at_work);
    for (var s = node.slot_begin + lane; s < slot_end; s += LANES) {
        let slot = slots[s];
        g.x += slot.m * node_state[slot.child];
    }
    var bias = node_bias(node.id);
    if (args.pieces != 0u) {
        let mark = u32(node_state[3u * args.n_nodes + row]);
        bias += select(0.0, PULL, (mark & CLAMPED_ON) != 0u) - select(0.0, PULL, (mark & CLAMPED_OFF) != 0u);
    }
    let logit = (row_sum(local, g).x + bias) * args.inverse_temperature;
    if (at_work && lane == 0u) {
        let q = sigmoid(logit);
        // Bits of non-negative numbers are ordered as the numbers, and NaN above all.
        if (bitcast<u32>(abs(q - node_state[row])) > bitcast<u32>(args.tolerance)) {
            atomicStore(&doc_state[node.doc_ix], args.alternation + 1u);
        }
        node_state[row] = q;
        node_state[args.n_nodes + row] = logit;
    }
}
