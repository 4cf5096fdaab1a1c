// The flip that gains most, of several the first, if it gains at all; a topic comes on with its chain of ancestors. One row is a
// document, which is done when no flip gains, or after more flips than a search should ever take.

@group(0) @binding(1) var<storage, read> docs: array<DocRecord>;
@group(0) @binding(2) var<storage, read> nodes: array<NodeRecord>;
@group(0) @binding(3) var<storage, read> edges: array<EdgeRecord>;
@group(0) @binding(4) var<storage, read> rows: array<u32>;
@group(0) @binding(5) var<storage, read> edge_state: array<EdgeState>;
@group(0) @binding(6) var<storage, read_write> doc_state: array<u32>;
@group(0) @binding(7) var<storage, read_write> node_state: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn flip_best(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let ix = row_index(group, local);
    let lane = lane_index(local);
    let inside = ix < args.n_rows;
    let row = rows[args.row_begin + select(0u, ix, inside)];
    let doc = docs[row];
    let n_topics = doc.token_begin - doc.node_begin;
    let searches = inside && doc_state[row] >= args.alternation;
    let at_work = searches && args.alternation < 2u * n_topics + 8u;
    if (may_leave(at_work)) {
        return;
    }

    let values = 2u * args.n_nodes + doc.node_begin;
    var best = MIN_GAIN;
    // The negative number of the best topic, so that the largest is the first.
    var place = -NOWHERE;
    for (var at = lane; at < select(0u, n_topics, at_work); at += LANES) {
        let value = node_state[values + at];
        if (value > best) {
            best = value;
            place = -f32(at);
        }
    }
    let most = row_max(local, best);
    place = row_max(local, select(-NOWHERE, place, best == most));
    if (at_work && lane == 0u && most > MIN_GAIN) {
        var topic = doc.node_begin + u32(-place);
        if (is_on(node_state[topic])) {
            node_state[topic] = 1.0 - Q_ON;
        } else {
            loop {
                node_state[topic] = Q_ON;
                let begin = nodes[topic].edge_begin;
                if (begin == nodes[topic + 1u].edge_begin || edge_state[begin].r < 0.0) {
                    break;
                }
                topic = edges[begin + u32(edge_state[begin].r)].parent;
            }
        }
        doc_state[row] = args.alternation + 1u;
    }
}
