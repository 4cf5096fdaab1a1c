// The parameters of a node of the chunk, side by side with its neighbours': init_q takes them from the network.

// f'(w0).
fn slope_of(row: u32) -> f32 {
    return node_state[4u * args.n_nodes + row];
}

// beta - S.
fn bias_of(row: u32) -> f32 {
    return node_state[5u * args.n_nodes + row];
}

// Where the weights of its edges begin in the network. The number stands behind bits that make a normal f32 of it: others may be
// flushed to zero.
fn weights_of(row: u32) -> u32 {
    return bitcast<u32>(node_state[6u * args.n_nodes + row]) & (NORMAL - 1u);
}
