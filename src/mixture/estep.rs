//! Which component a document comes from: responsibilities, for a block of documents at a time.

use crate::numeric::{X_CAP, exp_neg};
use multiversion::multiversion;
use rayon::prelude::*;

/// Numbers that are added up side by side: a whole vector, whatever the machine's width.
const LANES: usize = 8;
/// Responsibilities below this are dropped: together they are worth less than one document in a few hundred, and almost all are.
const LEAST: f32 = 1e-4;

/// A mixture as documents are compared with it.
#[derive(Debug, Default)]
pub(crate) struct Scores {
    /// Components, padded to whole vectors.
    width: usize,
    /// l_kt, token by token.
    log_odds: Vec<f32>,
    /// c_k less `offset`; of padding, less than any.
    constants: Vec<f32>,
    /// The largest c_k: f32 has more digits for what is left.
    offset: f64,
}

/// Documents of a block: their tokens one after another, and where each ends.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) tokens: Vec<u32>,
    pub(super) ends: Vec<usize>,
}

/// A document's share in a component.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Responsibility {
    /// The document, as a place in its block or slice.
    pub(super) item: u32,
    pub(super) component: u32,
    pub(super) share: f32,
}

impl Scores {
    /// Of shares and probabilities, the latter component by component. Columns behind those of the tokens are their shadows: where a token
    /// is unknown, `-log(1 - P_kt)` takes back what c_k has of it.
    pub(super) fn set(&mut self, shares: &[f64], p: &[f64], n_tokens: usize, n_columns: usize) {
        let (n_components, width) = (shares.len(), shares.len().next_multiple_of(LANES));
        self.width = width;
        self.log_odds.resize(width * n_columns, 0.0);
        self.log_odds.par_chunks_exact_mut(width).enumerate().for_each(|(column, row)| {
            for (component, log_odds) in row[..n_components].iter_mut().enumerate() {
                let p = p[component * n_tokens + column % n_tokens];
                let log = if column < n_tokens { (p / (1.0 - p)).ln() } else { -(-p).ln_1p() };
                *log_odds = log as f32;
            }
        });
        let all_off = |p: &[f64]| p.iter().map(|p| (-p).ln_1p()).sum::<f64>();
        let components = shares.par_iter().enumerate();
        let constants: Vec<f64> =
            components.map(|(at, share)| share.ln() + all_off(&p[at * n_tokens..][..n_tokens])).collect();
        self.offset = constants.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.constants.clear();
        self.constants.extend(constants.iter().map(|c| (c - self.offset) as f32));
        self.constants.resize(self.width, f32::NEG_INFINITY);
    }

    /// log p(d) of every document of a block, and their shares in components.
    pub(super) fn run(
        &self,
        block: &Block,
        scratch: &mut Vec<f32>,
        parts: &mut Vec<Responsibility>,
    ) -> Vec<f64> {
        let mut log_p = Vec::with_capacity(block.ends.len());
        run(self, block, scratch, parts, &mut log_p);
        log_p
    }
}

/// Everything called from here is inlined, so that it is compiled for the widest vectors this machine has.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"))]
fn run(
    scores: &Scores,
    block: &Block,
    scratch: &mut Vec<f32>,
    parts: &mut Vec<Responsibility>,
    log_p: &mut Vec<f64>,
) {
    let (width, mut begin) = (scores.width, 0);
    for (item, &end) in block.ends.iter().enumerate() {
        scratch.clear();
        scratch.extend_from_slice(&scores.constants);
        for &token in &block.tokens[begin..end] {
            let row = &scores.log_odds[token as usize * width..][..width];
            scratch.iter_mut().zip(row).for_each(|(sum, l)| *sum += l);
        }
        begin = end;
        let mut most = [f32::NEG_INFINITY; LANES];
        for lanes in scratch.chunks_exact(LANES) {
            (0..LANES).for_each(|lane| most[lane] = most[lane].max(lanes[lane]));
        }
        let most = most.into_iter().fold(f32::NEG_INFINITY, f32::max);
        let mut sums = [0.0f32; LANES];
        for lanes in scratch.chunks_exact_mut(LANES) {
            for lane in 0..LANES {
                lanes[lane] = exp_neg((most - lanes[lane]).min(X_CAP)).0;
                sums[lane] += lanes[lane];
            }
        }
        let sum: f32 = sums.iter().sum();
        log_p.push(scores.offset + f64::from(most) + f64::from(sum).ln());
        let (least, scale) = (LEAST * sum, 1.0 / sum);
        for (at, lanes) in scratch.chunks_exact(LANES).enumerate() {
            if lanes.iter().any(|&e| e >= least) {
                for (lane, &e) in lanes.iter().enumerate().filter(|(_, e)| **e >= least) {
                    let component = (at * LANES + lane) as u32;
                    parts.push(Responsibility { item: item as u32, component, share: e * scale });
                }
            }
        }
    }
}
