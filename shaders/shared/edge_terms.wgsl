// What a positive edge contributes at its r; with x = w / r, t = f'(w0) (1 - exp(-x)), f(u) - f(w0) = log1p(t).

struct EdgeTerms {
    // w + r (f(u) - f(w0)).
    m: f32,
    // f(u) - f(w0) - x f'(u), the slope of a in r.
    gain: f32,
    // -r a'' / a' in r.
    curve: f32,
}

fn edge_terms(w: f32, slope: f32, r: f32) -> EdgeTerms {
    let x = min(w / max(r, R_MIN), X_CAP);
    let e = exp_neg(x);
    let t = slope * e.y;
    let log = log1p_pos(t);
    let u_slope = slope * e.x / (1.0 + t);
    // Near the floor the difference is rounding noise and may be negative.
    let gain = max(log - x * u_slope, 0.0);
    let curve = x * x * u_slope * (1.0 + u_slope) / max(gain, 1e-30);
    return EdgeTerms(fma(r, log, w), gain, curve);
}
