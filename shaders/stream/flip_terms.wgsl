// What nodes say to their parents in the search (flip_terms.wgsl). A workgroup has a batch of nodes.
// Its arrays are declared from the table of kernels (src/estep/device/kernel.rs).

@compute @workgroup_size(THREADS)
fn flip_terms(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    flip_terms_batch(batch_of(group), local, args.alternation);
}
