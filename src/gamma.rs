//! The gamma function's logarithm and its derivatives, for Dirichlet distributions. Arguments are above 0.
//!
//! Below `FAR` the recurrence `G(x + 1) = x G(x)` moves the argument up; from there on Stirling's series is good to 1e-15 of its value.

/// Where the series begin.
const FAR: f64 = 12.0;

/// log G(x).
pub fn ln_gamma(mut x: f64) -> f64 {
    let mut product = 1.0;
    while x < FAR {
        product *= x;
        x += 1.0;
    }
    let i = 1.0 / (x * x);
    let series = (1.0 / 12.0 - i * (1.0 / 360.0 - i * (1.0 / 1260.0 - i * (1.0 / 1680.0 - i / 1188.0)))) / x;
    (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series - product.ln()
}

/// psi(x), the derivative of log G(x).
pub fn digamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < FAR {
        sum -= 1.0 / x;
        x += 1.0;
    }
    let i = 1.0 / (x * x);
    let series = i
        * (1.0 / 12.0
            - i * (1.0 / 120.0
                - i * (1.0 / 252.0
                    - i * (1.0 / 240.0 - i * (1.0 / 132.0 - i * (691.0 / 32760.0 - i / 12.0))))));
    sum + x.ln() - 0.5 / x - series
}

/// psi'(x), the second derivative of log G(x).
pub fn trigamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < FAR {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let i = 1.0 / (x * x);
    let series = 1.0 / 6.0
        - i * (1.0 / 30.0
            - i * (1.0 / 42.0 - i * (1.0 / 30.0 - i * (5.0 / 66.0 - i * (691.0 / 2730.0 - i * 7.0 / 6.0)))));
    sum + 1.0 / x + 0.5 * i + series * i / x
}

/// KL(Dir(b) || Dir(a)).
pub fn dirichlet_kl(b: &[f64], a: &[f64]) -> f64 {
    let sum = |x: &[f64]| x.iter().sum::<f64>();
    let (b_sum, a_sum) = (sum(b), sum(a));
    let psi_sum = digamma(b_sum);
    let terms = b.iter().zip(a).map(|(&b, &a)| ln_gamma(a) - ln_gamma(b) + (b - a) * (digamma(b) - psi_sum));
    ln_gamma(b_sum) - ln_gamma(a_sum) + terms.sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        // Below 12, terms of about 20 cancel, each good to 2e-15.
        let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-14 * b.abs().max(1.0), "{a} is not {b}");
        close(ln_gamma(0.5), std::f64::consts::PI.sqrt().ln());
        close(ln_gamma(1.0), 0.0);
        close(ln_gamma(2.0), 0.0);
        close(ln_gamma(11.0), 3_628_800f64.ln());
        close(ln_gamma(1e-3), 6.907_178_885_383_853);
        close(ln_gamma(1e5), 1_051_287.708_973_657);
        const EULER: f64 = 0.577_215_664_901_532_9;
        close(digamma(1.0), -EULER);
        close(digamma(0.5), -EULER - 2.0 * std::f64::consts::LN_2);
        close(digamma(10.0), 2.251_752_589_066_721);
        close(digamma(0.01), -100.560_885_457_868_68);
        close(trigamma(1.0), std::f64::consts::PI.powi(2) / 6.0);
        close(trigamma(0.5), std::f64::consts::PI.powi(2) / 2.0);
        close(trigamma(0.1), 101.433_299_150_792_75);
        close(trigamma(30.0), 0.033_895_060_357_739_94);
    }

    #[test]
    fn each_is_the_derivative_of_the_one_before() {
        for x in [0.02, 0.3, 1.7, 4.0, 11.99, 12.01, 80.0, 3e4] {
            let h = 1e-5 * x;
            let slope = |f: fn(f64) -> f64| (f(x + h) - f(x - h)) / (2.0 * h);
            assert!((slope(ln_gamma) - digamma(x)).abs() < 1e-7 * digamma(x).abs().max(1.0), "{x}");
            assert!((slope(digamma) - trigamma(x)).abs() < 1e-7 * trigamma(x).max(1.0), "{x}");
        }
    }

    #[test]
    fn the_divergence_is_zero_at_the_same_and_above_elsewhere() {
        assert!(dirichlet_kl(&[0.3, 2.0], &[0.3, 2.0]).abs() < 1e-14);
        // By hand: KL(Dir(2, 1) || Dir(1, 1)) = log 2 + E[log x] = log 2 - 1/2.
        assert!((dirichlet_kl(&[2.0, 1.0], &[1.0, 1.0]) - (2f64.ln() - 0.5)).abs() < 1e-14);
    }
}
