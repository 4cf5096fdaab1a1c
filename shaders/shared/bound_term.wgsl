// A node's terms of the bound (node_bound.wgsl), given the sum of m q over its parents.
fn set_bound_term(row: u32, id: u32, sum: f32) {
    var term = node_state[row] * (bias_of(row) + sum);
    if (id < args.n_topics) {
        // Entropy of q = sigmoid(g): softplus(g) - q g.
        let g = node_state[args.n_nodes + row];
        term += softplus(g) - sigmoid(g) * g - node_tail(id);
    }
    node_state[2u * args.n_nodes + row] = term;
}
