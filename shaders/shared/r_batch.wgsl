// One iteration of Eq. 10 at the nodes of a batch, and the edge terms at the new r.
fn r_batch(batch: vec2<u32>, local: u32, alternation: u32) {
    let own = own_row(batch, local, alternation);
    claim(own.begin, own.end, select(NOBODY, local, own.at_work));
    if (own.at_work) {
        row_words[local] = vec3<u32>(
            own.node.edge_begin - own.begin, weights_of(own.row) - own.begin, bitcast<u32>(slope_of(own.row)));
    }
    workgroupBarrier();
    // Of every entry r and g; its owner knows its place.
    for (var i = local; i < n_entries(batch); i += THREADS) {
        let owner = stage[i].y;
        if (owner != NOBODY) {
            let e = row_words[owner].x + i;
            let state = edge_state[e];
            let g = share_gain(q_of(edges[e].parent), state.term);
            stage[i] = vec2<u32>(bitcast<u32>(state.r), bitcast<u32>(g));
        }
    }
    workgroupBarrier();
    let kappa_at = 2u * args.n_nodes + own.row;
    if (own.at_work) {
        var sums = vec4<f32>();
        var largest = 0.0;
        for (var i = own.begin; i < own.end; i++) {
            let g = bitcast<f32>(stage[i].y);
            sums += share_terms(found_at(i), g);
            largest = max(largest, g);
        }
        let how = sharing(sums, largest, node_state[kappa_at]);
        let inverse = 1.0 / how.sum;
        for (var i = own.begin; i < own.end; i++) {
            let r = share(how, inverse, found_at(i), bitcast<f32>(stage[i].y));
            stage[i] = vec2<u32>(bitcast<u32>(r), local);
        }
    }
    workgroupBarrier();
    for (var i = local; i < n_entries(batch); i += THREADS) {
        let owner = stage[i].y;
        if (owner != NOBODY) {
            let words = row_words[owner];
            let r = found_at(i);
            let terms = edge_terms(edge_weight(words.y + i), bitcast<f32>(words.z), r);
            edge_state[words.x + i] = EdgeState(r, terms.gain);
            set_m(edges[words.x + i].slot, terms.m);
            put(i, terms.curve);
        }
    }
    workgroupBarrier();
    if (own.at_work) {
        node_state[kappa_at] = max_found(own.begin, own.end);
    }
    // The next batch uses the same memory.
    workgroupBarrier();
}
