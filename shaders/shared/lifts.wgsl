// How beta(a) of a node grows, where its slope is f'(w0).

// (beta(w0 + a) - beta(w0) - a, f'(w0 + a)): with t = f'(w0) (1 - exp(-a)), log1p(t) and
// f'(w0) exp(-a) / (1 + t). Without a, which may be large where a difference of two of these is small.
fn lifted_beyond(slope: f32, a: f32) -> vec2<f32> {
    let e = exp_neg(min(a, X_CAP));
    let t = slope * e.y;
    return vec2<f32>(log1p_pos(t), slope * e.x / (1.0 + t));
}

// What an edge says to its parent, by its weight; `lift` is a, lifted_beyond(slope, a) and slope of the node.
fn flip_term(lift: vec4<f32>, w: f32, parent_is_on: bool) -> f32 {
    if (parent_is_on) {
        return w + (lift.y - lifted_beyond(lift.w, max(lift.x - w, 0.0)).x);
    }
    return w + lifted_beyond(lift.z, w).x;
}
