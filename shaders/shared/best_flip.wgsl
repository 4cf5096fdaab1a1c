// One step of every document's search. One row is a document, which is done when nothing is left to try.
// - The flip that gains most, of several the first, if one gains and a trial is not beyond hope; a topic comes on with its chain of
//   ancestors. A chain that did not gain, but on trial, is undone in the next round; its last topic stays off until the climb is over.
// - Else, if a topic is off on trial and that gained: the trial ends, and the climb goes on.
// - Else the configuration is kept, or what was kept is taken back, and the next topic that is on, and not clamped, goes off on trial.
// The log joint of the configuration that is kept (but for -W0 and the leaks' share) stands behind the sections of node_state, by documents.

// Whether an ancestor comes on with a topic that is off, and which.
fn has_above(topic: u32) -> bool {
    let begin = nodes[topic].edge_begin;
    return begin < nodes[topic + 1u].edge_begin && edge_state[begin].r >= 0.0;
}

fn above(topic: u32) -> u32 {
    let begin = nodes[topic].edge_begin;
    return edges[begin + u32(edge_state[begin].r)].parent;
}

fn best_flip(row: u32, inside: bool, local: u32, lane: u32, round: u32) {
    let doc = docs[row];
    let at_work = inside && is_at_work(row, round);
    if (may_leave(at_work)) {
        return;
    }

    let n_topics = select(0u, doc.token_begin - doc.node_begin, at_work);
    let n_nodes = select(0u, docs[row + 1u].node_begin - doc.node_begin, at_work);
    let parts = args.n_nodes + doc.node_begin;
    let values = 2u * args.n_nodes + doc.node_begin;
    let marks = 3u * args.n_nodes + doc.node_begin;
    let kept_at = 7u * args.n_nodes + row;
    var best = MIN_GAIN;
    // The negative number of the best topic, so that the largest is the first.
    var place = -NOWHERE;
    var tried = -1.0;
    var trial = 0.0;
    var chain = 0.0;
    var sum = vec4<f32>();
    for (var at = lane; at < n_topics; at += lanes()) {
        let value = node_state[values + at];
        if (value > best) {
            best = value;
            place = -f32(at);
        }
        let mark = u32(node_state[marks + at]);
        tried = select(tried, f32(at), (mark & TRIED) != 0u);
        trial = select(trial, 1.0, (mark & ON_TRIAL) != 0u);
        chain = select(chain, 1.0, (mark & CHAIN) != 0u);
        sum.x += select(0.0, node_state[parts + at], is_on(node_state[doc.node_begin + at]));
    }
    for (var at = n_topics + lane; at < n_nodes; at += lanes()) {
        sum.x += node_state[values + at];
    }
    let most = row_max(local, best);
    place = row_max(local, select(-NOWHERE, place, best == most));
    tried = row_max(local, tried);
    let on_trial = row_max(local, trial) > 0.0;
    let joint = row_sum(local, sum).x;
    let chained = row_max(local, chain) > 0.0;
    // Read by all before the barriers below, written by one behind them.
    let won = select(0.0, joint - node_state[kept_at], on_trial);
    let chain_failed = chained && joint <= node_state[kept_at];
    let flips = at_work && !chain_failed && most > MIN_GAIN && won + HOPE * most > MIN_GAIN;
    // The topic to flip, and the last of the chain that comes on with it.
    var first = doc.node_begin;
    var comes_on = false;
    if (flips) {
        first += u32(-place);
        comes_on = !is_on(node_state[first]);
    }
    var last = first;
    while (comes_on && has_above(last)) {
        last = above(last);
    }
    let saves = last != first && !on_trial;
    // The first topic behind the last that was tried that is on, in the configuration to go on from, negative.
    var next = -NOWHERE;
    for (var at = lane; at < n_topics; at += lanes()) {
        let topic = doc.node_begin + at;
        let on = is_on(node_state[topic]);
        var mark = u32(node_state[marks + at]);
        let kept_on = (mark & KEPT_ON) != 0u;
        if (select(on, kept_on, on_trial) && (mark & CLAMPED_ON) == 0u && f32(at) > tried) {
            next = max(next, -f32(at));
        }
        if (saves) {
            mark = (mark & ~KEPT_ON) | select(0u, KEPT_ON, on);
        }
        mark &= ~select(CHAIN, 0u, chain_failed);
        mark |= select(0u, CHAIN, saves && topic == last);
        mark |= select(0u, GONE, flips && !comes_on && topic == first);
        node_state[marks + at] = f32(mark);
    }
    next = row_max(local, next);
    if (!at_work) {
        return;
    }

    var moves = true;
    if (chain_failed) {
        for (var at = lane; at < n_topics; at += lanes()) {
            let mark = u32(node_state[marks + at]);
            node_state[doc.node_begin + at] = select(1.0 - Q_ON, Q_ON, (mark & KEPT_ON) != 0u);
            node_state[marks + at] = f32((mark & ~CHAIN) | select(0u, GONE, (mark & CHAIN) != 0u));
        }
    } else if (flips) {
        if (lane == 0u) {
            node_state[first] = select(1.0 - Q_ON, Q_ON, comes_on);
            for (var topic = first; topic != last;) {
                topic = above(topic);
                node_state[topic] = Q_ON;
            }
            if (saves) {
                node_state[kept_at] = joint;
            }
        }
    } else if (won > MIN_GAIN) {
        for (var at = lane; at < n_topics; at += lanes()) {
            node_state[marks + at] = f32(u32(node_state[marks + at]) & (KEPT_ON | TRIED | CLAMPED));
        }
    } else {
        moves = next > -NOWHERE;
        for (var at = lane; at < n_topics; at += lanes()) {
            let mark = u32(node_state[marks + at]);
            let kept_on = (mark & KEPT_ON) != 0u;
            let on = select(is_on(node_state[doc.node_begin + at]), kept_on, on_trial);
            let is_next = f32(at) == -next;
            let trial = select(0u, KEPT_ON, on) | select(0u, TRIED | ON_TRIAL, is_next);
            node_state[marks + at] = f32((mark & CLAMPED) | trial);
            node_state[doc.node_begin + at] = select(1.0 - Q_ON, Q_ON, on && !is_next);
        }
        if (lane == 0u && !on_trial) {
            node_state[kept_at] = joint;
        }
    }
    if (lane == 0u && moves) {
        stay_at_work(row, round + 1u);
    }
}
