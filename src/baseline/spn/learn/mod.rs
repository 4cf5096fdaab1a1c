//! Learning a structure, in the manner of LearnSPN (Gens and Domingos 2013).
//!
//! ```text
//! learn(rows T, tokens V):
//!   one token: a leaf                     fewer than m rows: a product of leaves
//!   tokens in independent groups (not at the root): a product of learn(T, group)
//!   else rows in clusters: a sum of learn(cluster, V);  one cluster: a product of leaves
//! ```
//!
//! A sum below a sum and a product below a product are one with their parent: the distribution is the same. Parts of one depth are learned
//! in parallel, each with a seed of its own, so threads decide nothing.

mod hard;
mod pairs;
mod soft;
mod table;
mod tree;

use super::options::{Clustering, SpnOptions};
use super::structure::Structure;
use crate::corpus::Docs;
use crate::error::Result;
use crate::monitor::Monitor;
use crate::rng::{Stream, rng};
use pairs::{Entropies, chi_square_quantile, components};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use std::sync::atomic::Ordering;
use table::Table;
use tree::{Part, Tree};

/// A structure, and the rows that went through its edges while it was learned.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Learned {
    pub(super) structure: Structure,
    /// By weight: rows of a cluster, rows without and with a leaf's token.
    pub(super) counts: Vec<f64>,
    /// By weight: what is expected before these rows are seen. Of a leaf the frequency of its token among the rows that its cluster was
    /// split from, itself smoothed by what was expected there; children of a sum are equally likely.
    pub(super) expected: Vec<f64>,
}

/// A part of the table that is yet to be learned.
struct Task {
    /// Its place in the tree.
    place: usize,
    rows: Vec<u32>,
    tokens: Vec<u32>,
    /// What the frequency of each token is expected to be.
    expected: Vec<f64>,
    seed: u64,
    /// Tokens are known to depend on each other, or it is the root.
    rows_first: bool,
}

/// What became of a task.
enum Step {
    /// Rows without and with each token.
    Leaves(Vec<[u32; 2]>),
    /// Places in the task's list of tokens.
    Groups(Vec<Vec<u32>>),
    /// Rows of every cluster, and what is expected in all of them.
    Clusters(Vec<Vec<u32>>, Vec<f64>),
}

struct Learner<'a> {
    table: &'a Table,
    options: &'a SpnOptions,
    entropies: Entropies,
    threshold: f64,
}

/// Learns a structure from documents. The monitor counts every document once for each depth at which it is looked at.
pub(super) fn learn(
    docs: &Docs<'_>,
    doc_ixs: &[u32],
    n_tokens: usize,
    options: &SpnOptions,
    seed: u64,
    monitor: &Monitor,
) -> Result<Learned> {
    let table = Table::of(docs, doc_ixs, n_tokens);
    let learner = Learner {
        table: &table,
        options,
        entropies: Entropies::up_to(table.n_rows),
        threshold: chi_square_quantile(options.p_value),
    };
    let mut tree = Tree::default();
    let mut tasks = vec![Task {
        place: tree.push(Part::Pending),
        rows: (0..table.n_rows as u32).collect(),
        tokens: (0..n_tokens as u32).collect(),
        expected: vec![0.5; n_tokens],
        seed: rng(seed, Stream::SpnStructure).next_u64(),
        rows_first: true,
    }];
    while !tasks.is_empty() {
        let steps: Vec<Step> = tasks
            .par_iter()
            .map(|task| {
                monitor.go_on()?;
                let step = learner.step(task);
                // Rows count by their share of tokens, so that a depth adds no more than all.
                let share = task.tokens.len() as f64 / n_tokens.max(1) as f64;
                monitor.docs_done.fetch_add((task.rows.len() as f64 * share) as u64, Ordering::Relaxed);
                Ok(step)
            })
            .collect::<Result<_>>()?;
        let mut next = Vec::new();
        for (task, step) in tasks.into_iter().zip(steps) {
            grow(&mut tree, task, step, &mut next);
        }
        tasks = next;
    }
    tree.finish(n_tokens)
}

/// The clusters of the best of some starts, each with a random stream of its own; of equals the first, so that threads decide nothing.
fn best_of(restarts: usize, seed: u64, run: impl Fn(&mut ChaCha8Rng) -> (f64, Vec<u32>) + Sync) -> Vec<u32> {
    let start = |restart: u64| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(restart);
        run(&mut rng)
    };
    let runs: Vec<(f64, Vec<u32>)> = (0..restarts as u64).into_par_iter().map(start).collect();
    let best = runs.into_iter().reduce(|best, run| if run.0 > best.0 { run } else { best });
    best.expect("`restarts` is at least one").1
}

impl Learner<'_> {
    fn step(&self, task: &Task) -> Step {
        let part = self.table.part(&task.rows, &task.tokens);
        let leaves = || Step::Leaves(part.counts().iter().map(|[on, known]| [known - on, *on]).collect());
        if task.tokens.len() <= 1 || task.rows.len() < self.options.min_rows {
            return leaves();
        }
        if !task.rows_first {
            let groups = components(&part, self.threshold, &self.entropies);
            if groups.len() > 1 {
                return Step::Groups(groups);
            }
        }
        let of_row = match self.options.clustering {
            Clustering::Soft => {
                soft::clusters(&part, self.options.clusters, self.options.restarts, task.seed)
            }
            Clustering::Hard => hard::clusters(&part, self.options.penalty, self.options.restarts, task.seed),
        };
        let n_clusters = of_row.iter().max().map_or(0, |&last| last as usize + 1);
        let mut clusters = vec![Vec::new(); n_clusters];
        task.rows.iter().zip(of_row).for_each(|(&row, cluster)| clusters[cluster as usize].push(row));
        clusters.retain(|rows| !rows.is_empty());
        if clusters.len() == 1 {
            return leaves();
        }
        // At the root nothing is expected but the rows themselves.
        let strength = if task.place == 0 { 1.0 } else { self.options.prior };
        let expected = part.counts().into_iter().zip(&task.expected);
        let smoothed = |([on, known], expected): ([u32; 2], &f64)| {
            (f64::from(on) + strength * expected) / (f64::from(known) + strength)
        };
        Step::Clusters(clusters, expected.map(smoothed).collect())
    }
}

/// Puts what became of a task into the tree, and what it leaves to do into the list.
fn grow(tree: &mut Tree, task: Task, step: Step, next: &mut Vec<Task>) {
    let seed_of = |at: usize| {
        let mut rng = rng(task.seed, Stream::SpnStructure);
        rng.set_word_pos(2 * at as u128);
        rng.next_u64()
    };
    match step {
        Step::Leaves(counts) => {
            let of_tokens = task.tokens.iter().zip(counts).zip(&task.expected);
            let leaves: Vec<usize> = of_tokens
                .map(|((&token, rows), &expected)| tree.push(Part::Leaf { token, rows, expected }))
                .collect();
            tree.set(
                task.place,
                if leaves.len() == 1 { Part::Same(leaves[0]) } else { Part::Product(leaves) },
            );
        }
        Step::Groups(groups) => {
            let mut children = Vec::new();
            for (at, group) in groups.into_iter().enumerate() {
                let place = tree.push(Part::Pending);
                children.push(place);
                next.push(Task {
                    place,
                    rows: task.rows.clone(),
                    tokens: group.iter().map(|&at| task.tokens[at as usize]).collect(),
                    expected: group.iter().map(|&at| task.expected[at as usize]).collect(),
                    seed: seed_of(at),
                    rows_first: true,
                });
            }
            tree.set(task.place, Part::Product(children));
        }
        Step::Clusters(clusters, expected) => {
            let mut children = Vec::new();
            for (at, rows) in clusters.into_iter().enumerate() {
                let place = tree.push(Part::Pending);
                children.push((place, rows.len() as u32));
                let (tokens, expected) = (task.tokens.clone(), expected.clone());
                next.push(Task { place, rows, tokens, expected, seed: seed_of(at), rows_first: false });
            }
            tree.set(task.place, Part::Sum(children));
        }
    }
}
