// What topics are worth with a chain of ancestors (flip_chain.wgsl). A workgroup has a batch of topics.
// Its arrays are declared from the table of kernels (src/estep/device/kernel.rs).

@compute @workgroup_size(THREADS)
fn flip_chain(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    flip_chain_batch(batch_of(group), local, args.alternation);
}
