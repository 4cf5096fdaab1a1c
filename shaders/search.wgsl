// Several rounds of the search for the documents of a bin (flip_terms.wgsl, flip_gain.wgsl, flip_chain.wgsl, flip_best.wgsl). A workgroup
// has a bin; everything stays in storage. What a document goes through is what it goes through outside of a bin.
// Its arrays are declared from the table of kernels (src/estep/device/kernel.rs).

// The last step for which a document of the bin is at work.
var<workgroup> latest: atomic<u32>;
var<workgroup> latest_now: u32;

fn is_at_work(doc: u32, step: u32) -> bool {
    return doc_state[doc] >= step;
}

fn stay_at_work(doc: u32, step: u32) {
    doc_state[doc] = step;
    atomicMax(&latest, step);
}

// What was written to storage can be read by all threads of the workgroup.
fn meet() {
    storageBarrier();
    workgroupBarrier();
}

@compute @workgroup_size(THREADS)
fn search(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let ix = group.y * args.groups_x + group.x;
    if (ix >= args.n_rows) {
        return;
    }
    let place = rows[args.row_begin + ix];
    let n_colours = place.y;
    let doc_range = rows[place.x + 2u];
    let several = rows[place.x + 3u];
    let few = rows[place.x + 4u];
    let short_docs = rows[place.x + 5u];
    let long_docs = rows[place.x + 6u];

    if (local == 0u) {
        atomicStore(&latest, 0u);
    }
    workgroupBarrier();
    for (var i = local; i < doc_range.y; i += THREADS) {
        atomicMax(&latest, doc_state[doc_range.x + i]);
    }
    meet();

    for (var step = 0u; step < args.n_steps; step++) {
        let round = args.alternation + step;
        if (local == 0u) {
            latest_now = atomicLoad(&latest);
        }
        if (workgroupUniformLoad(&latest_now) < round) {
            break;
        }
        for (var at = several.x; at < several.y; at++) {
            flip_terms_batch(rows[at], local, round);
        }
        for (var at = few.x; at < few.y; at++) {
            flip_terms_batch(rows[at], local, round);
        }
        meet();
        for (var colour = 0u; colour < n_colours; colour++) {
            let batches = rows[place.x + 7u + colour];
            for (var at = batches.x; at < batches.y; at++) {
                flip_gain_batch(rows[at], local, round);
            }
        }
        meet();
        for (var level = 1u; level < args.n_levels; level++) {
            for (var colour = n_colours; colour > 0u; colour--) {
                let batches = rows[place.x + 6u + colour];
                for (var at = batches.x; at < batches.y; at++) {
                    flip_chain_batch(rows[at], local, round);
                }
                meet();
            }
        }
        lanes_now = 1u;
        for (var first = short_docs.x; first < short_docs.y; first += THREADS) {
            let at = first + local;
            let inside = at < short_docs.y;
            best_flip(rows[select(short_docs.x, at, inside)].x, inside, local, 0u, round);
        }
        lanes_now = WORKGROUP;
        for (var at = long_docs.x; at < long_docs.y; at++) {
            best_flip(rows[at].x, local < WORKGROUP, local, local, round);
        }
        meet();
    }
}
