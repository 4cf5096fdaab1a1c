// What a node says to its parents in the search: by how much beta(a) of the node grows if the parent comes on, or falls if it
// goes off, with a = w0 + the weights of the parents that are on. One row is a node.
// The terms stand in the slots; beta(a) - beta(w0) takes kappa's place.
// Its arrays are declared from the table of kernels (src/estep/device/kernel.rs).

@compute @workgroup_size(WORKGROUP)
fn flip_terms(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let ix = row_index(group, local);
    let lane = lane_index(local);
    let inside = ix < args.n_rows;
    let row = rows[args.row_begin + select(0u, ix, inside)].x;
    let node = nodes[row];
    let at_work = inside && doc_state[node.doc_ix] >= args.alternation;
    if (may_leave(at_work)) {
        return;
    }
    let begin = node.edge_begin;
    let end = select(begin, nodes[row + 1u].edge_begin, at_work);
    let slope = slope_of(row);

    var sum = vec4<f32>();
    for (var e = begin + lane; e < end; e += LANES) {
        sum.x += select(0.0, edge_state[e].term, is_on(node_state[edges[e].parent]));
    }
    let a = row_sum(local, sum).x;
    let now = lifted_beyond(slope, a);
    for (var e = begin + lane; e < end; e += LANES) {
        let edge = edges[e];
        let w = edge_state[e].term;
        let on = is_on(node_state[edge.parent]);
        slots[edge.slot] = flip_term(vec4<f32>(a, now, slope), w, on);
    }
    if (at_work && lane == 0u) {
        node_state[2u * args.n_nodes + row] = a + now.x;
    }
}
