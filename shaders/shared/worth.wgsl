// What a topic's flip gains, given the sum of its children's terms (flip_gain.wgsl).
fn set_worth(row: u32, sum: f32) {
    let value_at = 2u * args.n_nodes + row;
    let own = bias_of(row) + node_state[value_at];
    let gain = own + sum;
    let on = is_on(node_state[row]);
    let mark = u32(node_state[3u * args.n_nodes + row]);
    let stays = (mark & select(ON_TRIAL | GONE | CLAMPED_OFF, CLAMPED_ON, on)) != 0u;
    let value = select(select(gain, -gain, on), -NOWHERE, stays);
    node_state[args.n_nodes + row] = select(value, own, on);
    node_state[value_at] = value;
}
