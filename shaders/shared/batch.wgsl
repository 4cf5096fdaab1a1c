// A batch of rows in workgroup memory. Every row has a thread that marks the row's entries as its own; then entries are dealt out to all
// threads, side by side; then each row's thread takes what was found at its entries, in their order. So sums are those of thread_rows.wgsl.

// By entry: what was found, and the row it belongs to or NOBODY.
var<workgroup> stage: array<vec2<u32>, BATCH_ENTRIES>;
// By row: three words that its entries need.
var<workgroup> row_words: array<vec3<u32>, BATCH_ROWS>;

// A thread's row. Its entries of the batch are edges, then slots.
struct OwnRow {
    row: u32,
    node: NodeRecord,
    // First entry, first slot, end.
    begin: u32,
    middle: u32,
    end: u32,
    at_work: bool,
}

fn own_row(batch: vec2<u32>, local: u32, step: u32) -> OwnRow {
    var own = OwnRow();
    if (local < (batch.y & 0xffffu)) {
        let record = rows[batch.x + local];
        own.row = record.x;
        own.node = nodes[own.row];
        own.begin = record.y & 0x3ffu;
        own.middle = own.begin + ((record.y >> 10u) & 0xffu);
        own.end = own.middle + (record.y >> 18u);
        own.at_work = is_at_work(own.node.doc_ix, step);
    }
    return own;
}

fn n_entries(batch: vec2<u32>) -> u32 {
    return batch.y >> 16u;
}

// Claims entries for a thread's row.
fn claim(begin: u32, end: u32, owner: u32) {
    for (var i = begin; i < end; i++) {
        stage[i].y = owner;
    }
}

fn put(i: u32, found: f32) {
    stage[i].x = bitcast<u32>(found);
}

fn found_at(i: u32) -> f32 {
    return bitcast<f32>(stage[i].x);
}

fn sum_found(begin: u32, end: u32) -> f32 {
    var sum = 0.0;
    for (var i = begin; i < end; i++) {
        sum += found_at(i);
    }
    return sum;
}

fn max_found(begin: u32, end: u32) -> f32 {
    var most = 0.0;
    for (var i = begin; i < end; i++) {
        most = max(most, found_at(i));
    }
    return most;
}
