// What a topic on is worth over the topic off, all others held: g = beta(a) - S + the terms of its children that are on.
// One row is a topic. What the topic's flip gains, g or -g, takes the place of the lift; g of a topic that is off, and of one that is on
// its own part of the log joint, beta(a) - S, that of the log-odds. A topic that must stay off, or on, never gains.
// Its arrays are declared from the table of kernels (src/estep/device/kernel.rs).

@compute @workgroup_size(WORKGROUP)
fn flip_gain(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let ix = row_index(group, local);
    let lane = lane_index(local);
    let inside = ix < args.n_rows;
    let row = rows[args.row_begin + select(0u, ix, inside)].x;
    let node = nodes[row];
    let at_work = inside && doc_state[node.doc_ix] >= args.alternation;
    if (may_leave(at_work)) {
        return;
    }

    var sum = vec4<f32>();
    let slot_end = select(node.slot_begin, nodes[row + 1u].slot_begin, at_work);
    for (var s = node.slot_begin + lane; s < slot_end; s += LANES) {
        sum.x += select(0.0, slots[s], is_on(node_state[child_of(s)]));
    }
    sum = row_sum(local, sum);
    if (at_work && lane == 0u) {
        set_worth(row, sum.x);
    }
}
