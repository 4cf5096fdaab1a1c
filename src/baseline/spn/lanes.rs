//! exp and log in f64 without branches, so that loops over rows are vectorised; every machine gives the same bits.

const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52: adding it rounds to the nearest whole number
const LN2_HI: f64 = 6.931_471_803_691_238e-1; // its low bits are zero, so that n * LN2_HI is exact
const LN2_LO: f64 = 1.908_214_929_270_587_7e-10;
/// Below this exp(x) is taken as exp(LEAST), 3e-308.
const LEAST: f64 = -708.0;

/// exp(x) for x <= 0, to an ulp or two; minus infinity gives 3e-308.
#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    let x = if x > LEAST { x } else { LEAST };
    let rounded = x.mul_add(std::f64::consts::LOG2_E, ROUND);
    let n = rounded - ROUND;
    let z = n.mul_add(-LN2_LO, n.mul_add(-LN2_HI, x));
    // The series on |z| <= ln 2 / 2; the first term left out is 4e-18.
    let (z2, z4) = (z * z, z * z * z * z);
    let p0 = z2.mul_add(z.mul_add(1.0 / 6.0, 0.5), 1.0 + z);
    let p4 = z2.mul_add(z.mul_add(1.0 / 5040.0, 1.0 / 720.0), z.mul_add(1.0 / 120.0, 1.0 / 24.0));
    let p8 = z2.mul_add(
        z.mul_add(1.0 / 39_916_800.0, 1.0 / 3_628_800.0),
        z.mul_add(1.0 / 362_880.0, 1.0 / 40_320.0),
    );
    let p12 = z.mul_add(1.0 / 6_227_020_800.0, 1.0 / 479_001_600.0);
    let p = z4.mul_add(z4.mul_add(z4.mul_add(p12, p8), p4), p0);
    // The low bits of `rounded` are n; shifted into the exponent they give 2^n.
    p * f64::from_bits(rounded.to_bits().wrapping_add(1023) << 52)
}

/// log(s) for s >= 1, to an ulp or two.
#[inline(always)]
pub(super) fn ln(s: f64) -> f64 {
    // s = 2^k (1 + z) with 1 + z in [sqrt(1/2), sqrt(2))
    let k = s.to_bits().wrapping_sub(0x3fe6_a09e_667f_3bcd) >> 52;
    let z = s * f64::from_bits(1023u64.wrapping_sub(k) << 52) - 1.0;
    // A small whole number as f64 by its bits: vectors have no conversion from u64.
    let k = f64::from_bits(0x4330_0000_0000_0000 | k) - 4_503_599_627_370_496.0;
    // log(1 + z) = 2 atanh(z / (2 + z))
    let q = z / (2.0 + z);
    let q2 = q * q;
    let mut p = 2.0 / 21.0;
    for odd in [19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0] {
        p = q2.mul_add(p, 2.0 / odd);
    }
    k.mul_add(LN2_HI, k.mul_add(LN2_LO, (q * q2).mul_add(p, 2.0 * q)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_agree_with_the_standard_library() {
        for i in 0..20_000 {
            let x = -0.035 * f64::from(i);
            assert!((exp(x) - x.exp()).abs() <= 4e-16 * x.exp(), "{x}: {}", exp(x));
            let s = 1.0 + 1e-3 * f64::from(i) * f64::from(i % 97);
            assert!((ln(s) - s.ln()).abs() <= 4e-16 * s.ln().max(1e-3), "{s}: {}", ln(s));
        }
        assert_eq!((exp(0.0), ln(1.0)), (1.0, 0.0));
        assert!(exp(f64::NEG_INFINITY) < 1e-307 && exp(-1e5) < 1e-307);
    }
}
