//! Exact inference by enumeration of all states of the unknown topics, in any network.
//!
//! The states are walked as a tree, parents before children. A node that is on enters as soon as its last parent is decided, and every
//! branch returns the log of its sum, so that the marginals cost nothing more.

use super::Watch;
use super::dag::Dag;
use crate::error::Result;
use crate::numeric::f64::{LogSum, log1mexp, log1mexp_slope};
use rayon::prelude::*;

/// What enumeration finds.
#[derive(Debug, Clone)]
pub struct Enumerated {
    /// `log p(y)`.
    pub log_p: f64,
    /// Of every topic of the [`Dag`].
    pub marginals: Vec<f64>,
    /// Of every node that is on: the posterior mean of `f'(a)`.
    pub slopes: Vec<f64>,
}

/// Sums over all states; nothing where time runs out.
///
/// # Errors
///
/// [`Error::Interrupted`](crate::Error::Interrupted).
pub fn enumerate(dag: &Dag, watch: &Watch<'_>) -> Result<Option<Enumerated>> {
    let n_topics = dag.n_topics();
    let tree = Tree::new(dag);
    // Branches by the first topics are summed on their own, then in order: threads change nothing.
    let depth = n_topics.min(6);
    let branches: Vec<Option<Branch>> = (0..1usize << depth)
        .into_par_iter()
        .map(|fixed| tree.branch(depth, fixed, watch))
        .collect::<Result<_>>()?;
    let mut total = LogSum::default();
    let mut on = vec![LogSum::default(); n_topics];
    let mut slopes = vec![LogSum::default(); dag.on.len()];
    for branch in branches {
        let Some(branch) = branch else { return Ok(None) };
        total.add(branch.log_sum);
        on.iter_mut().zip(&branch.on).for_each(|(sum, part)| sum.add(part.log()));
        slopes.iter_mut().zip(&branch.slopes).for_each(|(sum, part)| sum.add(part.log()));
    }
    let total = total.log();
    Ok(Some(Enumerated {
        log_p: dag.constant + total,
        marginals: on.iter().map(|sum| (sum.log() - total).exp().min(1.0)).collect(),
        slopes: slopes.iter().map(|sum| (sum.log() - total).exp()).collect(),
    }))
}

/// Edges by topic, and which nodes that are on each topic decides.
struct Tree<'a> {
    dag: &'a Dag,
    topic_children: Vec<Vec<(usize, f64)>>,
    on_children: Vec<Vec<(usize, f64)>>,
    decides: Vec<Vec<usize>>,
}

#[derive(Clone)]
struct Branch {
    log_sum: f64,
    on: Vec<LogSum>,
    slopes: Vec<LogSum>,
    /// `w0 + sum of w over parents that are on`, so far.
    topic_a: Vec<f64>,
    on_a: Vec<f64>,
    /// Values to go back to: a large weight added and subtracted would lose a small leak.
    saved: Vec<f64>,
    n_states: u32,
}

impl<'a> Tree<'a> {
    fn new(dag: &'a Dag) -> Self {
        let (topic_children, on_children) = dag.children();
        let mut decides = vec![Vec::new(); dag.n_topics()];
        for (node, (_, parents)) in dag.on.iter().enumerate() {
            if let Some(last) = parents.iter().map(|&(parent, _)| parent).max() {
                decides[last].push(node);
            }
        }
        Self { dag, topic_children, on_children, decides }
    }

    /// The states that begin with the bits of `fixed`.
    fn branch(&self, depth: usize, fixed: usize, watch: &Watch<'_>) -> Result<Option<Branch>> {
        let mut branch = Branch {
            log_sum: 0.0,
            on: vec![LogSum::default(); self.dag.n_topics()],
            slopes: vec![LogSum::default(); self.dag.on.len()],
            topic_a: self.dag.leak.clone(),
            on_a: self.dag.on.iter().map(|(leak, _)| *leak).collect(),
            saved: Vec::new(),
            n_states: 0,
        };
        let sum = self.walk(0, 0.0, (depth, fixed), &mut branch, watch)?;
        Ok(sum.map(|log_sum| Branch { log_sum, ..branch }))
    }

    fn walk(
        &self,
        topic: usize,
        log_weight: f64,
        fixed: (usize, usize),
        branch: &mut Branch,
        watch: &Watch<'_>,
    ) -> Result<Option<f64>> {
        if topic == self.dag.n_topics() {
            branch.n_states = branch.n_states.wrapping_add(1);
            if branch.n_states.is_multiple_of(4096) && !watch.go_on()? {
                return Ok(None);
            }
            return Ok(Some(log_weight));
        }
        let mut both = LogSum::default();
        for is_on in [false, true] {
            if topic < fixed.0 && (fixed.1 >> topic & 1 == 1) != is_on {
                continue;
            }
            let a = branch.topic_a[topic];
            let mut log_weight = log_weight + if is_on { log1mexp(a) - self.dag.absent[topic] } else { -a };
            let begin = branch.saved.len();
            if is_on {
                for &(child, w) in &self.topic_children[topic] {
                    branch.saved.push(branch.topic_a[child]);
                    branch.topic_a[child] += w;
                }
                for &(node, w) in &self.on_children[topic] {
                    branch.saved.push(branch.on_a[node]);
                    branch.on_a[node] += w;
                }
            }
            log_weight += self.decides[topic].iter().map(|&node| log1mexp(branch.on_a[node])).sum::<f64>();
            let Some(sum) = self.walk(topic + 1, log_weight, fixed, branch, watch)? else { return Ok(None) };
            both.add(sum);
            for &node in &self.decides[topic] {
                branch.slopes[node].add(sum + log1mexp_slope(branch.on_a[node]).ln());
            }
            if is_on {
                branch.on[topic].add(sum);
                let mut saved = branch.saved.drain(begin..);
                for &(child, _) in &self.topic_children[topic] {
                    branch.topic_a[child] = saved.next().unwrap_or(branch.topic_a[child]);
                }
                for &(node, _) in &self.on_children[topic] {
                    branch.on_a[node] = saved.next().unwrap_or(branch.on_a[node]);
                }
            }
        }
        Ok(Some(both.log()))
    }
}
