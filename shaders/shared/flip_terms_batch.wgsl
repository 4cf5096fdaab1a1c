// What the nodes of a batch say to their parents in the search (flip_terms.wgsl).
fn flip_terms_batch(batch: vec2<u32>, local: u32, round: u32) {
    let own = own_row(batch, local, round);
    claim(own.begin, own.end, select(NOBODY, local, own.at_work));
    if (own.at_work) {
        row_words[local] = vec3<u32>(own.node.edge_begin - own.begin, 0u, 0u);
    }
    workgroupBarrier();
    for (var i = local; i < n_entries(batch); i += THREADS) {
        let owner = stage[i].y;
        if (owner != NOBODY) {
            let e = row_words[owner].x + i;
            put(i, select(0.0, edge_state[e].term, is_on(node_state[edges[e].parent])));
        }
    }
    workgroupBarrier();
    if (own.at_work) {
        let a = sum_found(own.begin, own.end);
        let slope = slope_of(own.row);
        let now = lifted_beyond(slope, a);
        row_lifts[local] = vec4<f32>(a, now.x, now.y, slope);
        node_state[2u * args.n_nodes + own.row] = a + now.x;
    }
    workgroupBarrier();
    for (var i = local; i < n_entries(batch); i += THREADS) {
        let owner = stage[i].y;
        if (owner != NOBODY) {
            let words = row_words[owner];
            let edge = edges[words.x + i];
            let on = is_on(node_state[edge.parent]);
            slots[edge.slot] = flip_term(row_lifts[owner], edge_state[words.x + i].term, on);
        }
    }
    // The next batch uses the same memory.
    workgroupBarrier();
}
