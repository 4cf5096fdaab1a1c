// The f32 functions of src/numeric.rs: the same series, since built-in logarithms are good to three digits near 1.
// `fma` may or may not be fused; n * LN2_HI is exact either way, because LN2_HI's low bits are zero. tests/gpu/accuracy.rs measures
// what the adapter's compiler makes of all this.

// (exp(-x), 1 - exp(-x)) for x in [0, X_CAP].
fn exp_neg(x: f32) -> vec2<f32> {
    let n = round(x * -LOG2_E);
    // The minimum changes nothing, as the inner sum lies within 0.38. But no compiler adds up the two parts of ln 2 across it: n times
    // their sum, rounded, would be off by up to 4e-6.
    let z = fma(n, -LN2_LO, min(fma(n, -LN2_HI, -x), 0.5));
    let z2 = z * z;
    let p01 = fma(z, 1.0 / 6.0, 0.5);
    let p23 = fma(z, 1.0 / 120.0, 1.0 / 24.0);
    let p45 = fma(z, 1.0 / 5040.0, 1.0 / 720.0);
    let p = fma(z2, fma(z2, fma(z2, p45, p23), p01), z);
    let scale = bitcast<f32>(u32(i32(n) + 127) << 23u);
    return vec2<f32>(fma(scale, p, scale), fma(-scale, p, 1.0 - scale));
}

// log(1 + t) for t >= 0, finite.
fn log1p_pos(t: f32) -> f32 {
    let k = (bitcast<i32>(1.0 + t) - 0x3f3504f3) >> 23u;
    let scale = bitcast<f32>(u32(127 - k) << 23u);
    let z = fma(t, scale, scale - 1.0);
    let s = z / (2.0 + z);
    let s2 = s * s;
    let p = fma(s2, fma(s2, fma(s2, 2.0 / 9.0, 2.0 / 7.0), 2.0 / 5.0), 2.0 / 3.0);
    let log = fma(s * s2, p, 2.0 * s);
    let n = f32(k);
    // Here their sum would do: its error is small beside n ln 2.
    return fma(n, LN2_HI, fma(n, LN2_LO, log));
}

// 1 / (1 + exp(-g)).
fn sigmoid(g: f32) -> f32 {
    let e = exp_neg(min(abs(g), X_CAP)).x;
    let small = e / (1.0 + e);
    return select(1.0 - small, small, g < 0.0);
}

// log(1 + exp(g)).
fn softplus(g: f32) -> f32 {
    return max(g, 0.0) + log1p_pos(exp_neg(min(abs(g), X_CAP)).x);
}
