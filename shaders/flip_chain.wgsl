// What a topic that is off is worth together with the best chain of ancestors that are off:
// value_k = g_k + max(0, max over parents p that are off of (term_pk + value_p)). One row is a topic of one colour.
// Which parent, counted among the topic's edges, or -1, takes the place of the first edge's r.
// Its arrays are declared from the table of kernels (src/estep/device/kernel.rs).

@compute @workgroup_size(WORKGROUP)
fn flip_chain(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let ix = row_index(group, local);
    let lane = lane_index(local);
    let inside = ix < args.n_rows;
    let row = rows[args.row_begin + select(0u, ix, inside)].x;
    let node = nodes[row];
    let begin = node.edge_begin;
    let end = nodes[row + 1u].edge_begin;
    let searches = inside && doc_state[node.doc_ix] >= args.alternation;
    let at_work = searches && begin < end && !is_on(node_state[row]);
    if (may_leave(at_work)) {
        return;
    }

    let values = 2u * args.n_nodes;
    var best = 0.0;
    // The negative number of the best edge, so that the largest is the first.
    var place = -NOWHERE;
    for (var e = begin + lane; e < select(begin, end, at_work); e += LANES) {
        let edge = edges[e];
        if (!is_on(node_state[edge.parent])) {
            let joint = slots[edge.slot] + node_state[values + edge.parent];
            if (joint > best) {
                best = joint;
                place = -f32(e - begin);
            }
        }
    }
    let most = row_max(local, best);
    place = row_max(local, select(-NOWHERE, place, best == most));
    if (at_work && lane == 0u) {
        node_state[values + row] = node_state[args.n_nodes + row] + most;
        edge_state[begin].r = select(-1.0, -place, most > 0.0);
    }
}
