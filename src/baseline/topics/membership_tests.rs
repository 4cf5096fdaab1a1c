//! Fixed points, ascent and extremes of one document.

use super::*;

const P: [[f64; 3]; 2] = [[0.9, 0.2, 0.4], [0.1, 0.7, 0.4]];
const ALPHA: [f64; 2] = [0.3, 0.8];

fn document(prior: Prior<'_>, until: Until) -> Membership {
    let mut document = Membership::default();
    document.begin(2, 3);
    P.iter().enumerate().for_each(|(topic, p)| document.row(topic)[..3].copy_from_slice(p));
    document.climb(prior, None, until);
    document
}

#[test]
fn a_fixed_point_solves_both_equations() {
    let until = Until { sweeps: 10_000, tolerance: 1e-13 };
    for prior in [Prior::Dirichlet(&ALPHA), Prior::None] {
        let document = document(prior, until);
        let e = |topic: usize| match prior {
            Prior::Dirichlet(_) => digamma(document.gamma[topic]).exp(),
            Prior::None => document.gamma[topic],
        };
        for topic in 0..2 {
            let phi = |word: usize| e(topic) * P[topic][word] / (e(0) * P[0][word] + e(1) * P[1][word]);
            let gamma = alpha(prior, topic) + (0..3).map(phi).sum::<f64>();
            assert!((gamma - document.gamma[topic]).abs() < 1e-9, "{gamma} is not {:?}", document.gamma);
            for word in 0..3 {
                assert!((phi(word) - document.phi(word).nth(topic).unwrap()).abs() < 1e-9);
            }
        }
    }
}

#[test]
fn no_sweep_lowers_the_bound() {
    for prior in [Prior::Dirichlet(&ALPHA), Prior::None] {
        let bounds = (0..30).map(|sweeps| document(prior, Until { sweeps, tolerance: 0.0 }).bound(prior));
        let bounds: Vec<f64> = bounds.collect();
        assert!(bounds.windows(2).all(|pair| pair[1] >= pair[0] - 1e-14), "{bounds:?}");
        assert!(bounds[29] > bounds[0] + 1e-3, "{bounds:?}");
    }
}

#[test]
fn words_that_do_not_count_change_nothing() {
    let until = Until { sweeps: 50, tolerance: 1e-6 };
    let mut with = Membership::default();
    with.begin(2, 3);
    P.iter().enumerate().for_each(|(topic, p)| with.row(topic)[..3].copy_from_slice(p));
    with.leave_out(1);
    with.climb(Prior::Dirichlet(&ALPHA), None, until);
    let mut without = Membership::default();
    without.begin(2, 2);
    P.iter().enumerate().for_each(|(topic, p)| without.row(topic)[..2].copy_from_slice(&[p[0], p[2]]));
    without.climb(Prior::Dirichlet(&ALPHA), None, until);
    assert!((with.bound(Prior::Dirichlet(&ALPHA)) - without.bound(Prior::Dirichlet(&ALPHA))).abs() < 1e-13);
    assert!(with.gamma.iter().zip(&without.gamma).all(|(a, b)| (a - b).abs() < 1e-13));
}

#[test]
fn extremes_stay_finite() {
    let alpha = [1e-6; 2];
    let mut document = Membership::default();
    for n_words in [0, 1, 9] {
        document.begin(2, n_words);
        document.row(0)[..n_words].fill(LEAST);
        document.climb(Prior::Dirichlet(&alpha), None, Until { sweeps: 100, tolerance: 1e-9 });
        let bound = document.bound(Prior::Dirichlet(&alpha));
        assert!(bound.is_finite() && bound <= 1e-9, "{n_words}: {bound}");
        assert!(document.gamma.iter().all(|&gamma| gamma >= 1e-6), "{n_words}: {:?}", document.gamma);
    }
}
