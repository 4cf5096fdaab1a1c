// The network's parameters, in one array: w of every edge, then four words a node: f'(w0), beta - S, the tail's term, and
// where its edges begin.

fn edge_weight(edge: u32) -> f32 {
    return bitcast<f32>(network[edge]);
}

fn node_slope(id: u32) -> f32 {
    return bitcast<f32>(network[args.params_begin + 4u * id]);
}

fn node_bias(id: u32) -> f32 {
    return bitcast<f32>(network[args.params_begin + 4u * id + 1u]);
}

fn node_tail(id: u32) -> f32 {
    return bitcast<f32>(network[args.params_begin + 4u * id + 2u]);
}

fn weight_begin(id: u32) -> u32 {
    return network[args.params_begin + 4u * id + 3u];
}
