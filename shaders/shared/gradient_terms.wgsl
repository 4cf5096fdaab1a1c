// 1 / (1 + t) at an edge, where 1 / (1 - exp(-u)) = (1 + f'(w0)) / (1 + t).
fn inverse_1_t(w: f32, slope: f32, r: f32) -> f32 {
    let x = min(w / max(r, R_MIN), X_CAP);
    return 1.0 / (1.0 + slope * exp_neg(x).y);
}

// An edge's part of the leak's term; by fma, or compilers choose in each kernel anew which product to fuse.
fn leak_share(r: f32, q: f32, inv: f32) -> f32 {
    return fma(r * q, inv, r * (1.0 - q));
}
