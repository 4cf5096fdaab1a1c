// q of a topic (Eqs. 11, 12): q = sigmoid(g / T). The log-odds of clamped topics are pulled up or down. A topic that moved more than the
// tolerance keeps its document at work for another alternation.
fn settle_q(row: u32, doc: u32, g: f32, alternation: u32) {
    var bias = bias_of(row);
    if (args.pieces != 0u) {
        let mark = u32(node_state[3u * args.n_nodes + row]);
        bias += select(0.0, PULL, (mark & CLAMPED_ON) != 0u) - select(0.0, PULL, (mark & CLAMPED_OFF) != 0u);
    }
    let logit = (g + bias) * args.inverse_temperature;
    let q = sigmoid(logit);
    // Bits of non-negative numbers are ordered as the numbers, and NaN above all.
    if (bitcast<u32>(abs(q - q_of(row))) > bitcast<u32>(args.tolerance)) {
        stay_at_work(doc, alternation + 1u);
    }
    set_q(row, q);
    node_state[args.n_nodes + row] = logit;
}
