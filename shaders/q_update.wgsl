// q of the topics of one colour (shared/q_step.wgsl). One row is a topic. Topics of a colour never read each other's q.
// Its arrays are declared from the table of kernels (src/estep/device/kernel.rs).

@compute @workgroup_size(WORKGROUP)
fn q_update(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let ix = row_index(group, local);
    let lane = lane_index(local);
    let inside = ix < args.n_rows;
    let row = rows[args.row_begin + select(0u, ix, inside)].x;
    let node = nodes[row];
    let at_work = inside && is_at_work(node.doc_ix, args.alternation);
    if (may_leave(at_work)) {
        return;
    }
    let next = nodes[row + 1u];

    var g = vec4<f32>();
    let edge_end = select(node.edge_begin, next.edge_begin, at_work);
    for (var e = node.edge_begin + lane; e < edge_end; e += LANES) {
        g.x += slots[edges[e].slot] * node_state[edges[e].parent];
    }
    let slot_end = select(node.slot_begin, next.slot_begin, at_work);
    for (var s = node.slot_begin + lane; s < slot_end; s += LANES) {
        g.x += slots[s] * node_state[child_of(s)];
    }
    let sum = row_sum(local, g).x;
    if (at_work && lane == 0u) {
        settle_q(row, node.doc_ix, sum, args.alternation);
    }
}
