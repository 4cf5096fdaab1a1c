// q stands in storage.

fn q_of(node: u32) -> f32 {
    return node_state[node];
}

fn set_q(node: u32, q: f32) {
    node_state[node] = q;
}
