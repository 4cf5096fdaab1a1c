//! From the moments of a set to parameters, in closed form, with derivatives.
//!
//! Subsets of a set (a, b, c) are masks: a is 1, b is 2, c is 4. `m[mask]` is the share of documents in which no token of the subset is
//! present; of a singly-coupled set, what couples other than the topic divided out. With the covariances `c_ab = m_ab - m_a m_b`,
//! the third cumulant k, and `d_j = P(j absent | topic off) - P(j absent | on)`,
//!
//! ```text
//! c_bc = p(1-p) d_b d_c,   k = p(1-p)(2p-1) d_a d_b d_c,   so   R = sqrt(k^2 + 4 c_ab c_ac c_bc) = p(1-p) d_a d_b d_c
//! p = (1 + k/R) / 2,   d_a = R / c_bc,   f_a = (m_a - (1-p) d_a) / (m_a + p d_a).
//! ```
//!
//! A factor of `m[mask]` for every mask with a, as the leak of a, cancels in p and f.

/// Covariances below this are as good as zero.
pub const COVARIANCE_FLOOR: f64 = 1e-9;

/// One value for every subset; that of the empty one is first.
pub type BySubset = [f64; 8];

/// A value and its derivatives by the moments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Derived {
    /// The value.
    pub value: f64,
    /// Its derivative by every moment.
    pub slope: BySubset,
}

/// What a triplet says about its first token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FromTriplet {
    /// P(topic on).
    pub prior: Derived,
    /// P(edge to a fails).
    pub failure: Derived,
    /// `P(a absent | topic off)`, what else switches a on.
    pub off: f64,
    /// A covariance was not positive and was raised to [`COVARIANCE_FLOOR`]: the values say little.
    pub degenerate: bool,
}

/// The parameters of a singly-coupled triplet. Not finite only where the moments are not, or are all zero.
pub fn triplet(m: &BySubset) -> FromTriplet {
    let [_, a, b, ab, c, ac, bc, abc] = *m;
    let raw = [ab - a * b, ac - a * c, bc - b * c];
    let degenerate = raw.iter().any(|&cov| cov.is_nan() || cov < COVARIANCE_FLOOR);
    let [c_ab, c_ac, c_bc] = raw.map(|cov| cov.max(COVARIANCE_FLOOR));
    let k = abc - a * bc - b * ac - c * ab + 2.0 * a * b * c;
    let product = c_ab * c_ac * c_bc;
    let r = (k * k + 4.0 * product).sqrt();

    // By k, c_ab, c_ac and c_bc; `r` is at least 2 sqrt(product) > 0.
    let r_by = [k / r, 2.0 * c_ac * c_bc / r, 2.0 * c_ab * c_bc / r, 2.0 * c_ab * c_ac / r];
    // 1 + k/r without cancellation where k is near -r.
    let p = if k < 0.0 { 2.0 * product / (r * (r - k)) } else { 0.5 * (1.0 + k / r) };
    let by_r = -0.5 * k / (r * r);
    let p_by = [2.0 * product / (r * r * r), by_r * r_by[1], by_r * r_by[2], by_r * r_by[3]];
    let d = r / c_bc;
    let d_by = [r_by[0] / c_bc, r_by[1] / c_bc, r_by[2] / c_bc, (r_by[3] - d) / c_bc];
    let (off, on) = (a + p * d, a - (1.0 - p) * d);
    let f = on / off;
    let f_by: [f64; 4] = std::array::from_fn(|by| {
        let (p_by, d_by) = (p_by[by], d_by[by]);
        let (off_by, on_by) = (p_by * d + p * d_by, p_by * d - (1.0 - p) * d_by);
        (on_by - f * off_by) / off
    });

    // From k and the covariances to the moments.
    let to_moments = |by: [f64; 4]| {
        let mut slope = [0.0; 8];
        slope[7] = by[0];
        slope[1] = by[0] * (2.0 * b * c - bc) - by[1] * b - by[2] * c;
        slope[2] = by[0] * (2.0 * a * c - ac) - by[1] * a - by[3] * c;
        slope[4] = by[0] * (2.0 * a * b - ab) - by[2] * a - by[3] * b;
        slope[3] = by[1] - by[0] * c;
        slope[5] = by[2] - by[0] * b;
        slope[6] = by[3] - by[0] * a;
        slope
    };
    let mut failure = Derived { value: f, slope: to_moments(f_by) };
    failure.slope[1] += (1.0 - f) / off;
    let prior = Derived { value: p, slope: to_moments(p_by) };
    FromTriplet { prior, failure, off, degenerate }
}

/// What a pair says about its first token, where the topic's prior and the edge to the second are known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FromPair {
    /// P(edge to a fails), by the moments of the pair.
    pub failure: Derived,
    /// Its derivative by the prior.
    pub by_prior: f64,
    /// Its derivative by the failure of the known edge.
    pub by_known: f64,
}

/// With `rho = m_ab / (m_a m_b)` and `t = rho (1 - p + p f_b)`: `f_a = (1-p)(1-t) / (p (t - f_b))`.
pub fn pair(m: &BySubset, p: f64, f_known: f64) -> FromPair {
    let [_, a, b, ab, ..] = *m;
    let rho = ab / (a * b);
    let known_influence = 1.0 - p + p * f_known;
    let t = rho * known_influence;
    let rest = t - f_known;
    let f = (1.0 - p) * (1.0 - t) / (p * rest);
    let by_t = -(1.0 - p) * (1.0 - f_known) / (p * rest * rest);
    let by_rho = by_t * known_influence;
    let mut slope = [0.0; 8];
    slope[1] = -by_rho * rho / a;
    slope[2] = -by_rho * rho / b;
    slope[3] = by_rho / (a * b);
    FromPair {
        failure: Derived { value: f, slope },
        by_prior: -(1.0 - t) / (p * p * rest) + by_t * rho * (f_known - 1.0),
        by_known: f / rest + by_t * rho * p,
    }
}
