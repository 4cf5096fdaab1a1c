//! Minimisation of a smooth function by L-BFGS with backtracking (Nocedal 1980).

use std::collections::VecDeque;

const MEMORY: usize = 12;

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Minimises from `x`; the least value. `f` fills in its gradient. A value that is not finite counts as too large.
pub(super) fn minimise(x: &mut [f64], max_steps: usize, mut f: impl FnMut(&[f64], &mut [f64]) -> f64) -> f64 {
    let mut gradient = vec![0.0; x.len()];
    let mut value = f(x, &mut gradient);
    let mut pairs: VecDeque<(Vec<f64>, Vec<f64>)> = VecDeque::new();
    for _ in 0..max_steps {
        if !value.is_finite() || gradient.iter().all(|g| g.abs() < 1e-10) {
            break;
        }
        let mut direction = direction(&gradient, &pairs);
        let mut descent = dot(&gradient, &direction);
        if descent >= 0.0 || !descent.is_finite() {
            pairs.clear();
            direction = gradient.iter().map(|g| -g).collect();
            descent = -dot(&gradient, &gradient);
        }
        // The first step is not longer than one.
        let length = direction.iter().fold(0.0, |most: f64, d| most.max(d.abs()));
        let mut step = if pairs.is_empty() { (1.0 / length).min(1.0) } else { (20.0 / length).min(1.0) };
        let mut next_gradient = vec![0.0; x.len()];
        let found = (0..50).find_map(|_| {
            let next: Vec<f64> = x.iter().zip(&direction).map(|(x, d)| x + step * d).collect();
            let next_value = f(&next, &mut next_gradient);
            if next_value.is_finite() && next_value <= value + 1e-4 * step * descent {
                return Some((next, next_value));
            }
            step *= 0.5;
            None
        });
        let Some((next, next_value)) = found else {
            if pairs.is_empty() {
                break;
            }
            pairs.clear();
            continue;
        };
        let s: Vec<f64> = next.iter().zip(x.iter()).map(|(a, b)| a - b).collect();
        let y: Vec<f64> = next_gradient.iter().zip(&gradient).map(|(a, b)| a - b).collect();
        let fall = value - next_value;
        x.copy_from_slice(&next);
        (value, gradient) = (next_value, next_gradient);
        if dot(&s, &y) > 1e-14 * dot(&y, &y) {
            pairs.push_back((s, y));
            if pairs.len() > MEMORY {
                pairs.pop_front();
            }
        }
        if fall <= 1e-15 * (1.0 + value.abs()) {
            break;
        }
    }
    value
}

/// The two-loop recursion.
fn direction(gradient: &[f64], pairs: &VecDeque<(Vec<f64>, Vec<f64>)>) -> Vec<f64> {
    let mut d: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut alphas = Vec::with_capacity(pairs.len());
    for (s, y) in pairs.iter().rev() {
        let alpha = dot(s, &d) / dot(s, y);
        d.iter_mut().zip(y).for_each(|(d, y)| *d -= alpha * y);
        alphas.push(alpha);
    }
    if let Some((s, y)) = pairs.back() {
        let scale = dot(s, y) / dot(y, y);
        d.iter_mut().for_each(|d| *d *= scale);
    }
    for ((s, y), alpha) in pairs.iter().zip(alphas.iter().rev()) {
        let beta = dot(y, &d) / dot(s, y);
        d.iter_mut().zip(s).for_each(|(d, s)| *d += (alpha - beta) * s);
    }
    d
}
