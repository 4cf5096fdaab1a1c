//! Values of all nodes for a tile of rows, bottom up, and how much of each row goes through every edge, top down.
//!
//! ```text
//! l_k = log V_k     leaf: log w[x]     product: sum_j l_j     sum: logsumexp_j(log w_kj + l_j)
//! n_kj(x) = n_k(x) w_kj V_j / V_k      n_root = 1             n_k = sum of n over the edges into k (of a product: its own n)
//! ```
//!
//! Shares w_kj V_j / V_k are known from the way up, so the way down has no logarithm and no minus infinity: a node of value zero has no
//! share in its sums. Where a row has no probability at all, its n are zero.

use super::lanes::{exp, ln};
use super::program::{Logs, Op, Program};
use super::tile::{Lists, TILE, Tile, Where};
use multiversion::multiversion;

/// A number for every row of a tile.
pub(super) type Rows = [f64; TILE];

/// Lanes of sums over rows.
const LANES: usize = 16;
/// Rows that are kept in registers.
const STRIP: usize = 32;

/// What a thread reuses from tile to tile.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) tile: Tile,
    /// l, by slot.
    pub(super) values: Vec<Rows>,
    /// Shares, by edge; with [`Scratch::up`] alone, of the sum at hand.
    shares: Vec<Rows>,
    /// n, by slot.
    n: Vec<Rows>,
    /// Vectors and their factors.
    terms: Vec<(u32, f64)>,
}

impl Scratch {
    /// log V_root of every row of the tile. Shares are kept for the way down if they are wanted.
    pub(super) fn up(&mut self, program: &Program, logs: &Logs, keep_shares: bool) -> &Rows {
        self.values.resize(program.ops.len(), [0.0; TILE]);
        let n_shares = if keep_shares { program.child.len() } else { program.widest };
        self.shares.resize(self.shares.len().max(n_shares), [0.0; TILE]);
        up(program, logs, keep_shares, &self.tile, &mut self.values, &mut self.shares, &mut self.terms);
        self.values.last().expect("a network has a root")
    }

    /// Adds n_kj of all rows to `counts`, in the order of the weights; after [`Scratch::up`] with shares.
    pub(super) fn down(&mut self, program: &Program, weights: &[f64], counts: &mut [f64]) {
        self.down_to(program);
        down(program, weights, &self.tile, &self.n, &self.shares, counts);
    }

    /// n of every slot.
    pub(super) fn down_to(&mut self, program: &Program) -> &[Rows] {
        self.n.clear();
        self.n.resize(program.ops.len(), [0.0; TILE]);
        let root = program.ops.len() - 1;
        for row in 0..TILE {
            let is_possible = self.values[root][row] > f64::NEG_INFINITY;
            self.n[root][row] = if is_possible { self.tile.counts[row] } else { 0.0 };
        }
        spread(program, &mut self.n, &self.shares);
        &self.n
    }

    /// n_kj of an edge of a sum, in every row; after [`Scratch::down_to`].
    pub(super) fn through(&self, slot: usize, edge: usize) -> Rows {
        std::array::from_fn(|row| self.n[slot][row] * self.shares[edge][row])
    }
}

/// Everything called from here is inlined, so that it is compiled for the widest vectors this machine has.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt",
    "x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"
))]
fn up(
    program: &Program,
    logs: &Logs,
    keep_shares: bool,
    tile: &Tile,
    values: &mut [Rows],
    shares: &mut [Rows],
    terms: &mut Vec<(u32, f64)>,
) {
    for (slot, op) in program.ops.iter().enumerate() {
        let (below, from_here) = values.split_at_mut(slot);
        let value = &mut from_here[0];
        let [absent, present, unknown] = logs.slots[slot];
        match op {
            Op::Leaf { token, .. } | Op::Indicator { token, .. } => {
                *value = [absent; TILE];
                tile.present.rows_of(*token).iter().for_each(|&row| value[usize::from(row)] = present);
                tile.unknown.rows_of(*token).iter().for_each(|&row| value[usize::from(row)] = unknown);
            }
            Op::Product { edges, leaves } => {
                *value = [absent; TILE];
                let leaves = leaves.start as usize..leaves.end as usize;
                let tokens = &program.leaf_token[leaves.clone()];
                add_leaves(&tile.present, tokens, &logs.present[leaves.clone()], value, terms);
                if !tile.unknown.is_empty() {
                    add_leaves(&tile.unknown, tokens, &logs.unknown[leaves], value, terms);
                }
                for &child in &program.child[edges.start as usize..edges.end as usize] {
                    value.iter_mut().zip(&below[child as usize]).for_each(|(sum, l)| *sum += l);
                }
            }
            Op::Sum { edges, .. } => {
                let edges = edges.start as usize..edges.end as usize;
                let at = if keep_shares { edges.start } else { 0 };
                let shares = &mut shares[at..][..edges.len()];
                sum(&program.child[edges.clone()], &logs.edge[edges], below, value, shares, keep_shares);
            }
        }
    }
}

/// Adds the factors of the leaves whose tokens are in a row.
#[inline(always)]
fn add_leaves(lists: &Lists, tokens: &[u32], factors: &[f64], value: &mut Rows, terms: &mut Vec<(u32, f64)>) {
    terms.clear();
    for (&token, &factor) in tokens.iter().zip(factors) {
        match lists.of(token) {
            Where::Rows(rows) => rows.iter().for_each(|&row| value[usize::from(row) % TILE] += factor),
            Where::Vector(vector) => terms.push((vector, factor)),
        }
    }
    for strip in (0..TILE).step_by(STRIP) {
        let mut sum: [f64; STRIP] = std::array::from_fn(|row| value[strip + row]);
        for &(vector, factor) in terms.iter() {
            let vector = &lists.vector(vector)[strip..strip + STRIP];
            (0..STRIP).for_each(|row| sum[row] = vector[row].mul_add(factor, sum[row]));
        }
        value[strip..strip + STRIP].copy_from_slice(&sum);
    }
}

/// logsumexp of log w + l over the children; `shares` gets those of the children in it.
#[inline(always)]
fn sum(
    children: &[u32],
    log_w: &[f64],
    below: &[Rows],
    value: &mut Rows,
    shares: &mut [Rows],
    keep_shares: bool,
) {
    let mut most = [f64::NEG_INFINITY; TILE];
    for ((&child, &log_w), share) in children.iter().zip(log_w).zip(&mut *shares) {
        let l = &below[child as usize];
        for row in 0..TILE {
            let x = l[row] + log_w;
            share[row] = x;
            most[row] = if x > most[row] { x } else { most[row] };
        }
    }
    let mut total = [0.0; TILE];
    // Where all are minus infinity nothing is subtracted from it.
    let shift: Rows = std::array::from_fn(|row| if most[row] > f64::NEG_INFINITY { most[row] } else { 0.0 });
    for share in &mut *shares {
        for row in 0..TILE {
            share[row] = exp(share[row] - shift[row]);
            total[row] += share[row];
        }
    }
    for row in 0..TILE {
        // The largest term is one; what is below is a row without any.
        value[row] = most[row] + ln(if total[row] > 1.0 { total[row] } else { 1.0 });
    }
    if keep_shares {
        let scale: Rows = std::array::from_fn(|row| 1.0 / total[row]);
        shares.iter_mut().for_each(|share| (0..TILE).for_each(|row| share[row] *= scale[row]));
    }
}

/// n of all slots from that of the root.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt",
    "x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"
))]
fn spread(program: &Program, n: &mut [Rows], shares: &[Rows]) {
    for (slot, op) in program.ops.iter().enumerate().rev() {
        let (below, from_here) = n.split_at_mut(slot);
        let own = &from_here[0];
        match op {
            Op::Leaf { .. } | Op::Indicator { .. } => {}
            Op::Product { edges, .. } => {
                for &child in &program.child[edges.start as usize..edges.end as usize] {
                    below[child as usize].iter_mut().zip(own).for_each(|(n, own)| *n += own);
                }
            }
            Op::Sum { edges, .. } => {
                for edge in edges.start as usize..edges.end as usize {
                    let (n, share) = (&mut below[program.child[edge] as usize], &shares[edge]);
                    (0..TILE).for_each(|row| n[row] = own[row].mul_add(share[row], n[row]));
                }
            }
        }
    }
}

/// Sums over the rows of n_kj, from n of all slots.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt",
    "x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"
))]
fn down(program: &Program, weights: &[f64], tile: &Tile, n: &[Rows], shares: &[Rows], counts: &mut [f64]) {
    const ONES: Rows = [1.0; TILE];
    for (slot, op) in program.ops.iter().enumerate() {
        let own = &n[slot];
        let mut leaf = |token: u32, param: u32, total: f64| {
            let param = param as usize;
            let present = over(&tile.present, token, own);
            let unknown = if tile.unknown.is_empty() { 0.0 } else { over(&tile.unknown, token, own) };
            let on = weights[param + 1] / (weights[param] + weights[param + 1]);
            // Rounding of the difference must not leave less than nothing.
            counts[param] += (total - present - unknown).max(0.0) + unknown * (1.0 - on);
            counts[param + 1] += present + unknown * on;
        };
        match op {
            Op::Indicator { .. } => {}
            Op::Leaf { token, param } => leaf(*token, *param, dot(own, &ONES)),
            Op::Product { leaves, .. } => {
                let total = dot(own, &ONES);
                for at in leaves.start as usize..leaves.end as usize {
                    leaf(program.leaf_token[at], program.leaf_param[at], total);
                }
            }
            Op::Sum { edges, param } => {
                for (at, edge) in (edges.start as usize..edges.end as usize).enumerate() {
                    counts[*param as usize + at] += dot(own, &shares[edge]);
                }
            }
        }
    }
}

/// Sum over the rows of a token.
#[inline(always)]
fn over(lists: &Lists, token: u32, n: &Rows) -> f64 {
    match lists.of(token) {
        Where::Rows(rows) => rows.iter().map(|&row| n[usize::from(row) % TILE]).sum(),
        Where::Vector(vector) => dot(n, lists.vector(vector)),
    }
}

/// Sum over all rows of a product, in a fixed order.
#[inline(always)]
fn dot(a: &Rows, b: &Rows) -> f64 {
    let mut sums = [0.0; LANES];
    for at in (0..TILE).step_by(LANES) {
        (0..LANES).for_each(|lane| sums[lane] = a[at + lane].mul_add(b[at + lane], sums[lane]));
    }
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        (0..width).for_each(|lane| sums[lane] += sums[lane + width]);
    }
    sums[0]
}
