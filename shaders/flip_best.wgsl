// One step of every document's search (shared/best_flip.wgsl). One row is a document.
// Its arrays are declared from the table of kernels (src/estep/device/kernel.rs).

fn is_at_work(doc: u32, step: u32) -> bool {
    return doc_state[doc] >= step;
}

fn stay_at_work(doc: u32, step: u32) {
    doc_state[doc] = step;
}

@compute @workgroup_size(WORKGROUP)
fn flip_best(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let ix = row_index(group, local);
    let inside = ix < args.n_rows;
    let row = rows[args.row_begin + select(0u, ix, inside)].x;
    best_flip(row, inside, local, lane_index(local), args.alternation);
}
