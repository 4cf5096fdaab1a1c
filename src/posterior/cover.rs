//! Exact inference with positive terms only: which findings are explained so far.
//!
//! A noisy-OR read causally: every source that is on explains each finding on its own with probability `1 - exp(-w)`. `P[U]` is the
//! probability that exactly the set U of present findings is explained by the sources seen so far; the leaks are sources that are always on.
//!
//! ```text
//! topic j:  P <- (1 - rho_j) P + rho_j ON_j P,
//! ON_j:     for each effect i, over all U without i:  P[U+i] += (1 - exp(-w_ij)) P[U],  P[U] *= exp(-w_ij)
//! E[prod (1 - exp(-a_i))] = P[all]
//! ```
//!
//! Nothing is subtracted: the relative error is about the number of edges times 1e-16, whatever the leaks (inclusion-exclusion loses all
//! digits where leaks are small). A finding enters the table (`Open`) with its first topic, and leaves it (`Close`), where only sets that hold
//! it are kept, after its last: the table has `2^width` entries, where width is how many findings are open at once.
//!
//! Marginals come from the backward vector B (`P[all] = <P, B>` at every step). B goes backward once; P is recomputed by halves, so that
//! about log2 of the number of steps vectors are kept.

use super::Watch;
use super::dag::log_mix;
use super::two_layer::Problem;
use crate::error::Result;
use crate::numeric::f64::{log1mexp, sigmoid};
use multiversion::multiversion;
use rayon::prelude::*;

/// Tables are worked on in blocks of 2^11 entries, 16 kB, so that those of a topic stay in the cache.
const BLOCK_BITS: usize = 11;
/// Smaller tables are not worth several threads.
const PARALLEL_BITS: usize = 15;
/// Tables are scaled to keep their largest entry within this factor of one.
const RANGE: f64 = 1e100;
/// A scaled sum below exp of minus this may have lost terms to underflow.
const SMALLEST: f64 = 600.0;

#[derive(Debug, Clone)]
enum Step {
    /// A finding becomes the highest bit.
    Open { finding: usize },
    /// A topic, with the place and number of its findings and their weights.
    Topic { topic: usize, effects: Vec<(usize, usize, f64)> },
    /// The finding at this place is done.
    Close { finding: usize, place: usize },
}

/// The order of work on some topics and findings.
#[derive(Debug, Clone)]
pub struct Plan {
    steps: Vec<Step>,
    /// Cost of each step, about in multiplications.
    costs: Vec<f64>,
    /// Cost of all, marginals included.
    pub cost: f64,
    /// The largest number of open findings.
    pub width: usize,
}

/// What is open while a plan is made.
struct Planner<'a> {
    problem: &'a Problem,
    open: Vec<usize>,
    is_open: Vec<bool>,
    is_done: Vec<bool>,
    /// Topics of each finding still to come.
    n_waiting: Vec<usize>,
    plan: Plan,
}

impl Plan {
    /// Orders the work so that few findings are open at once: the next finding to be done is always one whose topics open the fewest
    /// others. None where more than `max_width` would be open.
    pub fn new(problem: &Problem, topics: &[usize], findings: &[usize], max_width: usize) -> Option<Self> {
        let mut planner = Planner {
            problem,
            open: Vec::new(),
            is_open: vec![false; problem.n_findings()],
            is_done: vec![false; problem.n_topics()],
            n_waiting: problem.causes.iter().map(Vec::len).collect(),
            plan: Self { steps: Vec::new(), costs: Vec::new(), cost: 0.0, width: 0 },
        };
        let mut waiting = findings.to_vec();
        while let Some(&next) = waiting.iter().min_by_key(|&&finding| (planner.opened_by(finding), finding)) {
            let mut topics: Vec<usize> = problem.causes[next].iter().map(|&(topic, _)| topic).collect();
            topics.retain(|&topic| !planner.is_done[topic]);
            while let Some(at) = (0..topics.len()).min_by_key(|&at| (planner.new_of(topics[at]), topics[at]))
            {
                planner.topic(topics.swap_remove(at));
                if planner.plan.width > max_width {
                    return None;
                }
            }
            waiting.retain(|&finding| planner.n_waiting[finding] > 0);
        }
        debug_assert!(topics.iter().all(|&topic| planner.is_done[topic]));
        let Self { costs, cost, .. } = &mut planner.plan;
        // One pass backward, and half a pass forward for every halving.
        *cost = costs.iter().sum::<f64>() * (2.0 + 0.5 * (costs.len() as f64).log2());
        Some(planner.plan)
    }

    /// log of `P[all]`, with marginals of the topics and posterior means of `f'(a_i)` of the findings; none where time runs out or
    /// numbers leave the range of f64.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`](crate::Error::Interrupted).
    pub fn run(
        &self,
        problem: &Problem,
        marginals: &mut [f64],
        slopes: &mut [f64],
        watch: &Watch<'_>,
    ) -> Result<Option<f64>> {
        let log_p_of = |finding: usize| {
            let causes = problem.causes[finding].iter();
            let off: f64 = causes.map(|&(topic, w)| log_mix(problem.logit[topic], -w)).sum();
            log1mexp(problem.leak[finding] - off)
        };
        let opened = self.steps.iter().filter_map(|step| match *step {
            Step::Open { finding } => Some((finding, -log_p_of(finding))),
            _ => None,
        });
        let opened: Vec<(usize, f64)> = opened.collect();
        let sum: f64 = opened.iter().map(|&(_, minus_log)| minus_log).sum();
        let most = opened.iter().fold(0.0, |most: f64, &(_, minus_log)| most.max(minus_log));
        // Sets are scaled by prod s_i over their findings, so that nothing underflows. With p_i the probability that finding i is
        // explained, prod p_i <= P[all] <= min p_i, since causes make findings occur together: s_i = 1 / p_i makes P[all] at least one.
        // Where that overflows, a smaller power centres the range.
        for power in [1.0, (sum + most) / (2.0 * sum)] {
            let mut scale = vec![1.0; problem.n_findings()];
            opened.iter().for_each(|&(finding, minus_log)| scale[finding] = (power * minus_log).exp());
            let mut sweep = Sweep { problem, scale, back: vec![1.0], log_back: 0.0, marginals, slopes };
            if !sweep.descend(&self.steps, &self.costs, vec![1.0], watch)? {
                return Ok(None);
            }
            let scaled = sweep.back[0].ln() + sweep.log_back;
            if scaled.is_finite() && scaled > -SMALLEST {
                return Ok(Some(scaled - power * sum));
            }
        }
        Ok(None)
    }
}

impl Planner<'_> {
    /// How many findings a topic would open.
    fn new_of(&self, topic: usize) -> usize {
        self.problem.effects[topic].iter().filter(|&&(finding, _)| !self.is_open[finding]).count()
    }

    /// How many findings would be open more, were this one done.
    fn opened_by(&self, finding: usize) -> usize {
        let topics = self.problem.causes[finding].iter().filter(|&&(topic, _)| !self.is_done[topic]);
        let effects = topics.flat_map(|&(topic, _)| &self.problem.effects[topic]);
        let mut new: Vec<usize> =
            effects.map(|&(effect, _)| effect).filter(|&effect| !self.is_open[effect]).collect();
        new.sort_unstable();
        new.dedup();
        new.len()
    }

    fn push(&mut self, step: Step, work: f64) {
        self.plan.width = self.plan.width.max(self.open.len());
        self.plan.costs.push(work * (self.open.len() as f64).exp2());
        self.plan.steps.push(step);
    }

    fn topic(&mut self, topic: usize) {
        self.is_done[topic] = true;
        let problem = self.problem;
        for &(finding, _) in &problem.effects[topic] {
            self.n_waiting[finding] -= 1;
            if !std::mem::replace(&mut self.is_open[finding], true) {
                self.open.push(finding);
                self.push(Step::Open { finding }, 1.0);
            }
        }
        let place = |finding: usize| self.open.iter().position(|&open| open == finding).unwrap_or(0);
        let effects: Vec<_> =
            problem.effects[topic].iter().map(|&(finding, w)| (place(finding), finding, w)).collect();
        let work = effects.len() as f64 + 2.0;
        self.push(Step::Topic { topic, effects }, work);
        for place in (0..self.open.len()).rev() {
            let finding = self.open[place];
            if self.n_waiting[finding] == 0 {
                self.push(Step::Close { finding, place }, 1.0);
                self.open.remove(place);
            }
        }
    }
}

/// The way back from the last step to the first.
struct Sweep<'a> {
    problem: &'a Problem,
    /// s of every finding.
    scale: Vec<f64>,
    back: Vec<f64>,
    /// log of what `back` was divided by.
    log_back: f64,
    marginals: &'a mut [f64],
    slopes: &'a mut [f64],
}

impl Sweep<'_> {
    /// Takes B back over the steps, with P before the first of them. False where time runs out.
    fn descend(&mut self, steps: &[Step], costs: &[f64], p: Vec<f64>, watch: &Watch<'_>) -> Result<bool> {
        if let [step] = steps {
            self.leaf(step, &p);
            return watch.go_on();
        }
        let half = costs.iter().sum::<f64>() / 2.0;
        let mut sum = 0.0;
        let before_half = costs.iter().take_while(|&&cost| {
            sum += cost;
            sum <= half
        });
        let middle = before_half.count().clamp(1, steps.len() - 1);
        let mut later = p.clone();
        for step in &steps[..middle] {
            if !watch.go_on()? {
                return Ok(false);
            }
            self.forward(step, &mut later);
        }
        Ok(self.descend(&steps[middle..], &costs[middle..], later, watch)?
            && self.descend(&steps[..middle], &costs[..middle], p, watch)?)
    }

    /// Probabilities that a leak does not explain its finding, and that it does, scaled.
    fn leak(&self, finding: usize) -> (f64, f64) {
        let leak = self.problem.leak[finding];
        ((-leak).exp(), -(-leak).exp_m1() * self.scale[finding])
    }

    fn kernel(&self, topic: usize, effects: &[(usize, usize, f64)]) -> Kernel {
        let logit = self.problem.logit[topic];
        let bit = |&(place, finding, w): &(usize, usize, f64)| Bit {
            place,
            stay: (-w).exp(),
            explain: -(-w).exp_m1() * self.scale[finding],
        };
        Kernel { on: sigmoid(logit), off: sigmoid(-logit), bits: effects.iter().map(bit).collect() }
    }

    fn forward(&self, step: &Step, p: &mut Vec<f64>) {
        match step {
            Step::Open { finding } => {
                let (stay, explain) = self.leak(*finding);
                let begin = p.len();
                p.extend_from_within(..);
                let (without, with) = p.split_at_mut(begin);
                without.iter_mut().for_each(|x| *x *= stay);
                with.iter_mut().for_each(|x| *x *= explain);
            }
            Step::Topic { topic, effects } => self.kernel(*topic, effects).forward(p),
            Step::Close { place, .. } => {
                *p = half(p, *place, true);
                rescale(p);
            }
        }
    }

    fn leaf(&mut self, step: &Step, p: &[f64]) {
        match step {
            Step::Open { finding } => {
                let (stay, explain) = self.leak(*finding);
                let (without, with) = self.back.split_at(p.len());
                self.back = without.iter().zip(with).map(|(b0, b1)| stay * b0 + explain * b1).collect();
                self.log_back += rescale(&mut self.back);
            }
            Step::Topic { topic, effects } => {
                let kernel = self.kernel(*topic, effects);
                let (on, off) = kernel.backward(&mut self.back, p);
                self.marginals[*topic] = if on > 0.0 { on / (on + off) } else { 0.0 };
            }
            Step::Close { finding, place } => {
                let dot = |with: bool| -> f64 {
                    half(p, *place, with).iter().zip(&self.back).map(|(p, b)| p * b).sum()
                };
                // M_i / P, without the scale of the finding that M_i lacks.
                self.slopes[*finding] = dot(false) / dot(true) * self.scale[*finding];
                let stride = 1 << place;
                let mut back = vec![0.0; p.len()];
                for (both, with) in back.chunks_exact_mut(2 * stride).zip(self.back.chunks_exact(stride)) {
                    both[stride..].copy_from_slice(with);
                }
                self.back = back;
            }
        }
    }
}

/// The entries of sets with, or without, the finding at a place.
fn half(table: &[f64], place: usize, with: bool) -> Vec<f64> {
    let stride = 1 << place;
    let begin = if with { stride } else { 0 };
    let mut half = Vec::with_capacity(table.len() / 2);
    table.chunks_exact(2 * stride).for_each(|both| half.extend_from_slice(&both[begin..begin + stride]));
    half
}

/// Divides by the largest entry where that is far from one; its log.
fn rescale(table: &mut [f64]) -> f64 {
    let most = table.iter().copied().fold(0.0, f64::max);
    if most > 0.0 && !(1.0 / RANGE..=RANGE).contains(&most) {
        table.iter_mut().for_each(|x| *x /= most);
        return most.ln();
    }
    0.0
}

/// One finding of a topic.
#[derive(Debug, Clone, Copy)]
struct Bit {
    place: usize,
    stay: f64,
    explain: f64,
}

/// One topic's step on a table.
struct Kernel {
    on: f64,
    off: f64,
    bits: Vec<Bit>,
}

impl Kernel {
    /// Findings by their place in a group: those below the block's bits stay, the others follow.
    fn in_group(&self, block_bits: usize) -> Vec<Bit> {
        let mut bits = self.bits.clone();
        bits.sort_unstable_by_key(|bit| bit.place);
        let high = bits.iter_mut().filter(|bit| bit.place >= block_bits);
        (block_bits..).zip(high).for_each(|(place, bit)| bit.place = place);
        bits
    }

    /// Which group each block belongs to: blocks that differ only in this topic's findings are one group, in the order of their sets.
    fn group_of(&self, block: usize, block_bits: usize, n_high: usize) -> usize {
        let is_mine = |bit: usize| self.bits.iter().any(|mine| mine.place == bit + block_bits);
        let others = (0..n_high).filter(|&bit| !is_mine(bit));
        others.enumerate().map(|(at, bit)| (block >> bit & 1) << at).sum()
    }

    fn forward(&self, p: &mut [f64]) {
        let shape = Shape::of(self, p.len());
        let mut groups: Vec<Vec<&mut [f64]>> = (0..shape.n_groups).map(|_| Vec::new()).collect();
        for (at, block) in p.chunks_exact_mut(1 << shape.block_bits).enumerate() {
            groups[shape.group[at]].push(block);
        }
        let work = |blocks: &mut Vec<&mut [f64]>| {
            let mut table: Vec<f64> = blocks.iter().flat_map(|block| block.iter().copied()).collect();
            shape.bits.iter().for_each(|bit| explain(&mut table, *bit));
            for (block, table) in blocks.iter_mut().zip(table.chunks_exact(1 << shape.block_bits)) {
                mix(block, table, self.off, self.on);
            }
        };
        if shape.is_parallel {
            groups.par_iter_mut().for_each(work);
        } else {
            groups.iter_mut().for_each(work);
        }
    }

    /// B before this step, and the shares of `<P, B>` with the topic on and off. Sums are by group: threads change nothing.
    fn backward(&self, back: &mut [f64], p: &[f64]) -> (f64, f64) {
        let shape = Shape::of(self, p.len());
        let mut groups: Vec<Vec<(&mut [f64], &[f64])>> = (0..shape.n_groups).map(|_| Vec::new()).collect();
        let size = 1 << shape.block_bits;
        for (at, blocks) in back.chunks_exact_mut(size).zip(p.chunks_exact(size)).enumerate() {
            groups[shape.group[at]].push(blocks);
        }
        let work = |blocks: &mut Vec<(&mut [f64], &[f64])>| {
            let mut table: Vec<f64> = blocks.iter().flat_map(|(block, _)| block.iter().copied()).collect();
            shape.bits.iter().for_each(|bit| explain_back(&mut table, *bit));
            let (mut on, mut off) = (0.0, 0.0);
            for ((block, p), table) in blocks.iter_mut().zip(table.chunks_exact(size)) {
                on += dot(p, table);
                off += dot(p, block);
                mix(block, table, self.off, self.on);
            }
            (on, off)
        };
        let sums: Vec<(f64, f64)> = if shape.is_parallel {
            groups.par_iter_mut().map(work).collect()
        } else {
            groups.iter_mut().map(work).collect()
        };
        let (on, off) = sums.iter().fold((0.0, 0.0), |sum, group| (sum.0 + group.0, sum.1 + group.1));
        (self.on * on, self.off * off)
    }
}

/// How a table falls into groups of blocks for one topic.
struct Shape {
    block_bits: usize,
    /// Of every block.
    group: Vec<usize>,
    n_groups: usize,
    bits: Vec<Bit>,
    is_parallel: bool,
}

impl Shape {
    fn of(kernel: &Kernel, len: usize) -> Self {
        let width = len.ilog2() as usize;
        let block_bits = width.min(BLOCK_BITS);
        let n_high = width - block_bits;
        let n_mine = kernel.bits.iter().filter(|bit| bit.place >= block_bits).count();
        Self {
            block_bits,
            group: (0..1 << n_high).map(|block| kernel.group_of(block, block_bits, n_high)).collect(),
            n_groups: 1 << (n_high - n_mine),
            bits: kernel.in_group(block_bits),
            is_parallel: width >= PARALLEL_BITS,
        }
    }
}

/// `P[U+i] += explain P[U]`, `P[U] *= stay`.
#[multiversion(targets("x86_64+avx+avx2"))]
fn explain(table: &mut [f64], bit: Bit) {
    let stride = 1 << bit.place;
    for both in table.chunks_exact_mut(2 * stride) {
        let (without, with) = both.split_at_mut(stride);
        for (without, with) in without.iter_mut().zip(with) {
            *with += bit.explain * *without;
            *without *= bit.stay;
        }
    }
}

/// The transpose: `B[U] = stay B[U] + explain B[U+i]`.
#[multiversion(targets("x86_64+avx+avx2"))]
fn explain_back(table: &mut [f64], bit: Bit) {
    let stride = 1 << bit.place;
    for both in table.chunks_exact_mut(2 * stride) {
        let (without, with) = both.split_at_mut(stride);
        for (without, with) in without.iter_mut().zip(with) {
            *without = bit.stay * *without + bit.explain * *with;
        }
    }
}

/// `block = off block + on table`.
#[multiversion(targets("x86_64+avx+avx2"))]
fn mix(block: &mut [f64], table: &[f64], off: f64, on: f64) {
    for (x, y) in block.iter_mut().zip(table) {
        *x = off * *x + on * y;
    }
}

/// The inner product, in eight sums.
#[multiversion(targets("x86_64+avx+avx2"))]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (a8, b8) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = a8.remainder().iter().zip(b8.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a8.zip(b8) {
        (0..8).for_each(|at| sums[at] += a[at] * b[at]);
    }
    sums.iter().sum::<f64>() + rest
}
