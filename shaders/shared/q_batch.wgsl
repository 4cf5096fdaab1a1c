// q of the topics of a batch, all of one colour.
fn q_batch(batch: vec2<u32>, local: u32, alternation: u32) {
    let own = own_row(batch, local, alternation);
    claim(own.begin, own.end, select(NOBODY, local, own.at_work));
    if (own.at_work) {
        row_words[local] =
            vec3<u32>(own.node.edge_begin - own.begin, own.node.slot_begin - own.middle, own.middle);
    }
    workgroupBarrier();
    for (var i = local; i < n_entries(batch); i += THREADS) {
        let owner = stage[i].y;
        if (owner != NOBODY) {
            let words = row_words[owner];
            if (i < words.z) {
                let edge = edges[words.x + i];
                put(i, m_of(edge.slot) * q_of(edge.parent));
            } else {
                put(i, slot_term(words.y + i));
            }
        }
    }
    workgroupBarrier();
    if (own.at_work) {
        settle_q(own.row, own.node.doc_ix, sum_found(own.begin, own.end), alternation);
    }
    // The next batch uses the same memory.
    workgroupBarrier();
}
