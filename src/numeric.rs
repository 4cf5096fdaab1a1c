//! The functions of Eq. 5 and their kin: f32 for the fast path, f64 for the oracle beside it.
//!
//! With `t = f'(w0) (1 - exp(-x))` and `x = w / r`, everything an edge needs is
//! `f(u) - f(w0) = log1p(t)`, `f'(u) = f'(w0) exp(-x) / (1 + t)` and
//! `1 / (1 - exp(-u)) = (1 + f'(w0)) / (1 + t)`, with no cancellation anywhere.
//!
//! The f32 functions have no branches and no call into libm: loops over them are vectorised by the compiler,
//! and since a fused multiply-add is exactly defined, every machine and vector width gives the same bits.
//! (x86 processors from before 2013 have none and emulate it, slowly.)

/// Beyond this `exp(-x)` no longer matters in f32.
pub const X_CAP: f32 = 80.0;
/// Shares below this are taken as zero.
pub const R_MIN: f32 = 1e-20;
/// Gains of shares below this are taken as zero: their parents are off for good. The fourth power of a smaller one is denormal, and
/// processors that count those as an exception take nearly twice the time for an E-step.
pub const G_MIN: f32 = 1e-9;
/// Weights below this are computed as this, so that `f'(w0)` and `w / sum w` stay finite in f32.
pub const WEIGHT_MIN: f64 = 1e-30;

pub(crate) const LOG2_E: f32 = std::f32::consts::LOG2_E;
// ln 2 in two parts, the first with its low bits zero, so that n * LN2_HI is exact for |n| < 2^9.
pub(crate) const LN2_HI: f32 = 0.693_359_4;
pub(crate) const LN2_LO: f32 = -2.121_944_4e-4;
// Adding and subtracting 1.5 * 2^23 rounds to the nearest integer.
const ROUND: f32 = 12_582_912.0;

/// `(exp(-x), 1 - exp(-x))` for `x` in `[0, X_CAP]`, each to a few ulp.
#[inline(always)]
pub fn exp_neg(x: f32) -> (f32, f32) {
    let rounded = x.mul_add(-LOG2_E, ROUND);
    let n = rounded - ROUND;
    let z = n.mul_add(-LN2_LO, n.mul_add(-LN2_HI, -x));
    // exp(z) - 1 on |z| <= ln 2 / 2, by its series; in pairs, which shortens the chain of dependent steps.
    let z2 = z * z;
    let p01 = z.mul_add(1.0 / 6.0, 0.5);
    let p23 = z.mul_add(1.0 / 120.0, 1.0 / 24.0);
    let p45 = z.mul_add(1.0 / 5040.0, 1.0 / 720.0);
    let p = z2.mul_add(z2.mul_add(p45, p23), p01);
    let p = z2.mul_add(p, z);
    // The low bits of `rounded` are n; shifted into the exponent they give 2^n.
    let scale = f32::from_bits(rounded.to_bits().wrapping_add(127) << 23);
    (scale.mul_add(p, scale), (-scale).mul_add(p, 1.0 - scale))
}

/// `log(1 + t)` for `t >= 0`, finite.
#[inline(always)]
pub fn log1p_pos(t: f32) -> f32 {
    // 1 + t = 2^k (1 + z) with 1 + z in [sqrt(1/2), sqrt(2)); z is formed from t, not from the rounded 1 + t.
    let k = ((1.0 + t).to_bits().wrapping_sub(0x3f35_04f3) as i32) >> 23;
    let scale = f32::from_bits(((127 - k) as u32) << 23);
    let z = t.mul_add(scale, scale - 1.0);
    // log(1 + z) = 2 atanh(z / (2 + z))
    let s = z / (2.0 + z);
    let s2 = s * s;
    let p = s2.mul_add(2.0 / 9.0, 2.0 / 7.0);
    let p = s2.mul_add(p, 2.0 / 5.0);
    let p = s2.mul_add(p, 2.0 / 3.0);
    let log = (s * s2).mul_add(p, 2.0 * s);
    let k = k as f32;
    k.mul_add(LN2_HI, k.mul_add(LN2_LO, log))
}

/// `1 / (1 + exp(-g))`.
#[inline(always)]
pub fn sigmoid(g: f32) -> f32 {
    let (e, _) = exp_neg(g.abs().min(X_CAP));
    let small = e / (1.0 + e);
    if g < 0.0 { small } else { 1.0 - small }
}

/// `log(1 + exp(g))`.
#[inline(always)]
pub fn softplus(g: f32) -> f32 {
    let (e, _) = exp_neg(g.abs().min(X_CAP));
    g.max(0.0) + log1p_pos(e)
}

/// f64 versions: as plain as the mathematics allows.
pub mod f64 {
    /// `f(a) = log(1 - exp(-a))` (Eq. 5).
    pub fn log1mexp(a: f64) -> f64 {
        if a < std::f64::consts::LN_2 { (-(-a).exp_m1()).ln() } else { (-(-a).exp()).ln_1p() }
    }

    /// `f'(a) = 1 / (exp(a) - 1)` (Eq. 5).
    pub fn log1mexp_slope(a: f64) -> f64 {
        1.0 / a.exp_m1()
    }

    /// `beta = log(exp(w0) - 1)`, the log-odds of a node that only its leak can switch on.
    pub fn beta(leak: f64) -> f64 {
        leak + log1mexp(leak)
    }

    /// `1 / (1 + exp(-g))`.
    pub fn sigmoid(g: f64) -> f64 {
        if g < 0.0 { g.exp() / (1.0 + g.exp()) } else { 1.0 / (1.0 + (-g).exp()) }
    }

    /// `log(sum of exp(x))`; minus infinity for none.
    pub fn log_sum_exp(xs: impl IntoIterator<Item = f64, IntoIter: Clone>) -> f64 {
        let xs = xs.into_iter();
        let most = xs.clone().fold(f64::NEG_INFINITY, f64::max);
        if most.is_finite() { most + xs.map(|x| (x - most).exp()).sum::<f64>().ln() } else { most }
    }

    /// `log(1 + exp(g))`.
    pub fn softplus(g: f64) -> f64 {
        g.max(0.0) + (-g.abs()).exp().ln_1p()
    }

    /// log of a sum of exponentials, term by term.
    #[derive(Debug, Clone, Copy)]
    pub struct LogSum {
        largest: f64,
        /// Sum of exp(term - largest).
        scaled: f64,
    }

    impl Default for LogSum {
        fn default() -> Self {
            Self { largest: f64::NEG_INFINITY, scaled: 0.0 }
        }
    }

    impl LogSum {
        /// Adds `exp(term)`.
        pub fn add(&mut self, term: f64) {
            if term == f64::NEG_INFINITY {
                return;
            }
            if term > self.largest {
                self.scaled = self.scaled * (self.largest - term).exp() + 1.0;
                self.largest = term;
            } else {
                self.scaled += (term - self.largest).exp();
            }
        }

        /// The logarithm; minus infinity of nothing.
        pub fn log(self) -> f64 {
            self.largest + self.scaled.ln()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logspace(lo: f64, hi: f64, n: usize) -> impl Iterator<Item = f32> {
        (0..=n).map(move |i| (lo.ln() + (hi / lo).ln() * i as f64 / n as f64).exp() as f32)
    }

    // 4e-7 is between three and six ulp: the series are exact to half an ulp, the rest is rounding.
    fn assert_relative(name: &str, x: f32, got: f32, want: f64) {
        let error = (f64::from(got) - want).abs() / want.abs();
        assert!(error < 4e-7, "{name}({x:e}) = {got:e}, want {want:e}: relative error {error:e}");
    }

    #[test]
    fn exp_neg_is_accurate_over_its_range() {
        for x in logspace(1e-30, f64::from(X_CAP), 200_000) {
            let (e, one_minus_e) = exp_neg(x);
            assert_relative("exp_neg", x, e, (-f64::from(x)).exp());
            assert_relative("1 - exp_neg", x, one_minus_e, -(-f64::from(x)).exp_m1());
        }
        assert_eq!(exp_neg(0.0), (1.0, 0.0));
    }

    #[test]
    fn log1p_pos_is_accurate_over_its_range() {
        for t in logspace(1e-30, 1e30, 400_000) {
            assert_relative("log1p_pos", t, log1p_pos(t), f64::from(t).ln_1p());
        }
        assert_eq!(log1p_pos(0.0), 0.0);
    }

    #[test]
    fn sigmoid_and_softplus_are_accurate() {
        for x in logspace(1e-6, 80.0, 100_000) {
            for g in [x, -x] {
                assert_relative("sigmoid", g, sigmoid(g), self::f64::sigmoid(f64::from(g)));
                assert_relative("softplus", g, softplus(g), self::f64::softplus(f64::from(g)));
            }
        }
        assert_eq!(sigmoid(1e9), 1.0);
        assert!(sigmoid(-1e9) < 1e-34);
        assert_eq!(softplus(1e9), 1e9);
    }
}
