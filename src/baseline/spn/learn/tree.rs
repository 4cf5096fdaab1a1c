//! The tree that learning grows, parents first, and the structure that it becomes: children first, nested sums and products made one.

use super::Learned;
use crate::baseline::spn::structure::{Kind, Structure};
use crate::error::Result;

/// A part of the tree.
#[derive(Debug)]
pub(super) enum Part {
    /// Yet to be learned.
    Pending,
    /// A token, with the rows without it and with it, and its expected frequency.
    Leaf {
        token: u32,
        rows: [u32; 2],
        expected: f64,
    },
    /// What another part is.
    Same(usize),
    Product(Vec<usize>),
    /// Children with their rows.
    Sum(Vec<(usize, u32)>),
}

/// Parts by place; the first is the root.
#[derive(Debug, Default)]
pub(super) struct Tree(Vec<Part>);

impl Tree {
    pub(super) fn push(&mut self, part: Part) -> usize {
        self.0.push(part);
        self.0.len() - 1
    }

    pub(super) fn set(&mut self, place: usize, part: Part) {
        self.0[place] = part;
    }

    fn resolved(&self, mut place: usize) -> usize {
        while let Part::Same(other) = self.0[place] {
            place = other;
        }
        place
    }

    /// Children of a product; those of products below it are its own. Iterative: a tree may be as deep as there are rows.
    fn factors(&self, children: &[usize]) -> Vec<usize> {
        let mut out = Vec::new();
        let mut stack: Vec<usize> = children.iter().rev().copied().collect();
        while let Some(place) = stack.pop() {
            let place = self.resolved(place);
            match &self.0[place] {
                Part::Product(children) => stack.extend(children.iter().rev()),
                _ => out.push(place),
            }
        }
        out
    }

    /// Children of a sum; those of sums below it are its own.
    fn terms(&self, children: &[(usize, u32)]) -> Vec<(usize, u32)> {
        let mut out = Vec::new();
        let mut stack: Vec<(usize, u32)> = children.iter().rev().copied().collect();
        while let Some((place, rows)) = stack.pop() {
            let place = self.resolved(place);
            match &self.0[place] {
                Part::Sum(children) => stack.extend(children.iter().rev()),
                _ => out.push((place, rows)),
            }
        }
        out
    }

    /// The structure: nodes by depth from the root, in reverse.
    pub(super) fn finish(self, n_tokens: usize) -> Result<Learned> {
        let mut order = vec![self.resolved(0)];
        let mut children_of: Vec<Vec<(usize, u32)>> = Vec::new();
        let mut at = 0;
        while at < order.len() {
            let children = match &self.0[order[at]] {
                Part::Product(children) => {
                    self.factors(children).into_iter().map(|place| (place, 0)).collect()
                }
                Part::Sum(children) => self.terms(children),
                Part::Leaf { .. } | Part::Pending | Part::Same(_) => Vec::new(),
            };
            // In reverse, so that they are in their own order once all is reversed.
            order.extend(children.iter().rev().map(|child| child.0));
            children_of.push(children);
            at += 1;
        }
        let mut number = vec![0u32; self.0.len()];
        order.iter().rev().zip(0..).for_each(|(&place, node)| number[place] = node);
        let (mut kinds, mut begin, mut children) = (Vec::new(), vec![0u32], Vec::new());
        let (mut counts, mut expected) = (Vec::new(), Vec::new());
        for (&place, own) in order.iter().zip(&children_of).rev() {
            children.extend(own.iter().map(|child| number[child.0]));
            begin.push(children.len() as u32);
            kinds.push(match &self.0[place] {
                Part::Leaf { token, rows, expected: p } => {
                    counts.extend(rows.map(f64::from));
                    expected.extend([1.0 - p, *p]);
                    Kind::Leaf(*token)
                }
                Part::Sum(_) => {
                    counts.extend(own.iter().map(|child| f64::from(child.1)));
                    expected.extend(own.iter().map(|_| 1.0 / own.len() as f64));
                    Kind::Sum
                }
                // Nothing is pending once learning has ended.
                Part::Product(_) | Part::Pending | Part::Same(_) => Kind::Product,
            });
        }
        Ok(Learned { structure: Structure::from_parts(n_tokens, kinds, begin, children)?, counts, expected })
    }
}
