// One iteration of Eq. 10 (r_update.wgsl). A workgroup has a batch of nodes.
// Its arrays are declared from the table of kernels (src/estep/device/kernel.rs).

@compute @workgroup_size(THREADS)
fn r_update(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    r_batch(batch_of(group), local, args.alternation);
}
