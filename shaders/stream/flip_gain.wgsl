// What a topic on is worth over the topic off (flip_gain.wgsl). A workgroup has a batch of topics.
// Its arrays are declared from the table of kernels (src/estep/device/kernel.rs).

@compute @workgroup_size(THREADS)
fn flip_gain(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    flip_gain_batch(batch_of(group), local, args.alternation);
}
