// What the topics of a batch are worth with a chain of ancestors (flip_chain.wgsl).
fn flip_chain_batch(batch: vec2<u32>, local: u32, round: u32) {
    let own = own_row(batch, local, round);
    var searches = own.at_work && own.begin < own.middle;
    if (searches) {
        searches = !is_on(node_state[own.row]);
    }
    claim(own.begin, own.middle, select(NOBODY, local, searches));
    claim(own.middle, own.end, NOBODY);
    if (searches) {
        row_words[local] = vec3<u32>(own.node.edge_begin - own.begin, 0u, 0u);
    }
    let values = 2u * args.n_nodes;
    workgroupBarrier();
    for (var i = local; i < n_entries(batch); i += THREADS) {
        let owner = stage[i].y;
        if (owner != NOBODY) {
            let edge = edges[row_words[owner].x + i];
            var joint = 0.0;
            if (!is_on(node_state[edge.parent])) {
                joint = slots[edge.slot] + node_state[values + edge.parent];
            }
            put(i, joint);
        }
    }
    workgroupBarrier();
    if (searches) {
        var best = 0.0;
        var place = -1.0;
        for (var i = own.begin; i < own.middle; i++) {
            let joint = found_at(i);
            if (joint > best) {
                best = joint;
                place = f32(i - own.begin);
            }
        }
        node_state[values + own.row] = node_state[args.n_nodes + own.row] + best;
        edge_state[own.node.edge_begin].r = place;
    }
    // The next batch uses the same memory.
    workgroupBarrier();
}
