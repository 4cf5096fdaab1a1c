//! A topic without a singly-coupled triplet, by an anchor: a token a of which it is the only unknown parent.
//!
//! For a set S of other tokens of the topic, `rho_S = m_aS / (m_a m_S)` contains no parent but the topic, whatever else couples S. With
//! `I = 1 - p + p f_a`, `u = 1/I` and `v = f_a/I`, the odds of the topic given that S is absent are `(u - rho_S) / (rho_S - v)`, which is
//! `p/(1-p) prod of f over S`. So `odds(bc) odds(empty) = odds(b) odds(c)`: for every pair a curve v(u). They meet in the answer.

/// `rho_b`, `rho_c` and `rho_bc` of a pair.
pub(super) type Ratios = [f64; 3];

/// Points at which curves are compared, between I = 0 and the largest I possible.
const GRID: usize = 4000;
const NEWTON_STEPS: usize = 60;

/// v at u by the curve of a pair; the trivial solution v = u is divided out.
fn curve([b, c, bc]: Ratios, u: f64) -> f64 {
    let alpha = (u - 1.0) * (u - bc);
    let beta = (u - b) * (u - c);
    (alpha * b * c - beta * bc) / (u * (u * (b + c - 1.0 - bc) + bc - b * c))
}

/// Mean of the curves at u and the sum of squares about it; none where they say nothing: v is in (0, 1), as f_a < I.
fn spread(pairs: &[Ratios], u: f64) -> Option<(f64, f64)> {
    let n = pairs.len() as f64;
    let mean = pairs.iter().map(|&pair| curve(pair, u)).sum::<f64>() / n;
    let squares = pairs.iter().map(|&pair| (curve(pair, u) - mean).powi(2)).sum::<f64>();
    (mean > 0.0 && mean < 1.0 && squares.is_finite()).then_some((mean, squares))
}

/// Prior and failure of the anchor's edge: a grid over I, then Newton's method on the least squares from its best points.
pub(super) fn solve(pairs: &[Ratios]) -> Option<(f64, f64)> {
    let most = pairs.iter().flatten().copied().fold(1.0, f64::max);
    if !most.is_finite() || pairs.len() < 2 {
        return None;
    }
    let at = |point: usize| most * GRID as f64 / (point as f64 + 0.5);
    let squares: Vec<f64> = (0..GRID)
        .map(|point| spread(pairs, at(point)).map_or(f64::INFINITY, |(_, squares)| squares))
        .collect();
    let mut minima: Vec<usize> = (0..GRID)
        .filter(|&point| {
            let beside =
                |other: Option<usize>| other.and_then(|o| squares.get(o)).copied().unwrap_or(f64::INFINITY);
            squares[point].is_finite()
                && squares[point] <= beside(point.checked_sub(1))
                && squares[point] <= beside(Some(point + 1))
        })
        .collect();
    minima.sort_by(|&a, &b| squares[a].total_cmp(&squares[b]));
    minima.truncate(8);
    let refined = minima.iter().map(|&point| refine(pairs, at(point)));
    let best = refined.min_by(|a, b| a.1.total_cmp(&b.1)).filter(|best| best.1.is_finite());
    best.and_then(|(u, _)| parameters(pairs, u))
}

/// The same from a solution nearby.
pub(super) fn solve_near(pairs: &[Ratios], prior: f64, failure: f64) -> Option<(f64, f64)> {
    let (u, squares) = refine(pairs, 1.0 / (1.0 - prior + prior * failure));
    if squares.is_finite() { parameters(pairs, u) } else { None }
}

fn parameters(pairs: &[Ratios], u: f64) -> Option<(f64, f64)> {
    let (v, _) = spread(pairs, u)?;
    let failure = v / u;
    let prior = (1.0 - 1.0 / u) / (1.0 - failure);
    (prior > 0.0 && prior < 1.0).then_some((prior, failure))
}

/// Gauss-Newton from u, as long as the curves come closer.
fn refine(pairs: &[Ratios], start: f64) -> (f64, f64) {
    let n = pairs.len() as f64;
    let mut best = (start, spread(pairs, start).map_or(f64::INFINITY, |(_, squares)| squares));
    for _ in 0..NEWTON_STEPS {
        let u = best.0;
        let h = 1e-6 * u;
        let slopes: Vec<f64> =
            pairs.iter().map(|&pair| (curve(pair, u + h) - curve(pair, u - h)) / (2.0 * h)).collect();
        let values: Vec<f64> = pairs.iter().map(|&pair| curve(pair, u)).collect();
        let (mean, mean_slope) = (values.iter().sum::<f64>() / n, slopes.iter().sum::<f64>() / n);
        let (mut top, mut bottom) = (0.0, 0.0);
        for (value, slope) in values.iter().zip(&slopes) {
            top += (value - mean) * (slope - mean_slope);
            bottom += (slope - mean_slope) * (slope - mean_slope);
        }
        let step = top / bottom;
        if !step.is_finite() {
            break;
        }
        let closer = (0..20).map(|halved| u - step / f64::from(1 << halved)).find_map(|next| {
            spread(pairs, next).filter(|&(_, squares)| squares < best.1).map(|(_, squares)| (next, squares))
        });
        match closer {
            Some(next) => best = next,
            None => break,
        }
    }
    best
}
