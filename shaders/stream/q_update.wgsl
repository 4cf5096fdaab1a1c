// q of the topics of one colour (q_update.wgsl). A workgroup has a batch of topics.
// Its arrays are declared from the table of kernels (src/estep/device/kernel.rs).

@compute @workgroup_size(THREADS)
fn q_update(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    q_batch(batch_of(group), local, args.alternation);
}
