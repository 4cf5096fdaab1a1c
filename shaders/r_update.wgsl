// One iteration of Eq. 10, plain or accelerated (src/estep/cpu/r_update.rs has the reasons), and the edge terms at the new
// r. One row is a node.
// Its arrays are declared from the table of kernels (src/estep/device/kernel.rs).

// q a'(r); next to nothing is nothing.
fn share_gain(q: f32, slope: f32) -> f32 {
    let g = q * slope;
    return select(g, 0.0, g < G_MIN);
}

@compute @workgroup_size(WORKGROUP)
fn r_update(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let ix = row_index(group, local);
    let lane = lane_index(local);
    let inside = ix < args.n_rows;
    let row = rows[args.row_begin + select(0u, ix, inside)];
    let node = nodes[row];
    let at_work = inside && doc_state[node.doc_ix] >= args.alternation;
    if (may_leave(at_work)) {
        return;
    }
    let begin = node.edge_begin;
    let end = select(begin, nodes[row + 1u].edge_begin, at_work);

    // Sums of r g, r g^2, r g^4, r sqrt(g) with g = q a'(r).
    var sums = vec4<f32>();
    var largest = 0.0;
    for (var e = begin + lane; e < end; e += LANES) {
        let state = edge_state[e];
        let g = share_gain(node_state[edges[e].parent], state.term);
        let g2 = g * g;
        sums += state.r * vec4<f32>(g, g2, g2 * g2, sqrt(g));
        largest = max(largest, g);
    }
    sums = row_sum(local, sums);
    largest = row_max(local, largest);

    let kappa_at = 2u * args.n_nodes + row;
    let kappa = node_state[kappa_at];
    let fast = args.accelerate != 0u;
    let largest2 = largest * largest;
    var sum = sums.x;
    var power = 1u;
    if (fast && kappa <= 0.25 && sums.z > R_MIN && largest2 * largest2 <= GROWTH * sums.z) {
        sum = sums.z;
        power = 4u;
    } else if (fast && kappa <= 0.5 && sums.y > R_MIN && largest2 <= GROWTH * sums.y) {
        sum = sums.y;
        power = 2u;
    } else if (fast && kappa > 1.0) {
        sum = sums.w;
        power = 0u;
    }
    // Nothing to share out, every parent off or every gain noise: r stays.
    let shares = sum > R_MIN;
    let inverse = 1.0 / sum;

    let slope = node_slope(node.id);
    let weights = weight_begin(node.id) - begin;
    var next_kappa = 0.0;
    for (var e = begin + lane; e < end; e += LANES) {
        let edge = edges[e];
        var r = edge_state[e].r;
        if (shares) {
            var g = share_gain(node_state[edge.parent], edge_state[e].term);
            if (power == 0u) {
                g = sqrt(g);
            }
            if (power >= 2u) {
                g *= g;
            }
            if (power == 4u) {
                g *= g;
            }
            r = r * g * inverse;
            r = select(r, 0.0, r < R_MIN);
        }
        let terms = edge_terms(edge_weight(weights + e), slope, r);
        edge_state[e] = EdgeState(r, terms.gain);
        slots[edge.slot].m = terms.m;
        next_kappa = max(next_kappa, terms.curve);
    }
    next_kappa = row_max(local, next_kappa);
    if (at_work && lane == 0u) {
        node_state[kappa_at] = next_kappa;
    }
}
