// What a flip of each topic of a batch gains (flip_gain.wgsl).
fn flip_gain_batch(batch: vec2<u32>, local: u32, round: u32) {
    let own = own_row(batch, local, round);
    claim(own.begin, own.middle, NOBODY);
    claim(own.middle, own.end, select(NOBODY, local, own.at_work));
    if (own.at_work) {
        row_words[local] = vec3<u32>(own.node.slot_begin - own.middle, 0u, 0u);
    }
    workgroupBarrier();
    for (var i = local; i < n_entries(batch); i += THREADS) {
        let owner = stage[i].y;
        if (owner != NOBODY) {
            let slot = row_words[owner].x + i;
            put(i, select(0.0, slots[slot], is_on(node_state[child_of(slot)])));
        }
    }
    workgroupBarrier();
    if (own.at_work) {
        set_worth(own.row, sum_found(own.middle, own.end));
    }
    // The next batch uses the same memory.
    workgroupBarrier();
}
