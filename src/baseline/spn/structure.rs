//! The graph of a sum-product network: nodes, children before parents, the root last.
//!
//! A node's scope is the set of its tokens. A network stands for a distribution if it is
//!
//! ```text
//! complete        all children of a sum have the same scope
//! decomposable    children of a product have disjoint scopes
//! ```
//!
//! and if the root's scope is every token. All three are checked, so what is built is sound wherever it comes from.

use crate::error::{Error, Result};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// A node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A Bernoulli distribution of a token. It has two weights: of absence, and of presence.
    Leaf {
        /// The token.
        token: u32,
    },
    /// One where a token is present (or absent), else zero; without weights.
    Indicator {
        /// The token.
        token: u32,
        /// Whether it is one where the token is present.
        present: bool,
    },
    /// A weighted sum, with a weight for every child.
    Sum(Vec<u32>),
    /// A product.
    Product(Vec<u32>),
}

/// The kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Leaf(u32),
    Indicator(u32, bool),
    Sum,
    Product,
}

/// A checked graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Structure {
    n_tokens: usize,
    kinds: Vec<Kind>,
    /// Where the children of each node begin; one more than there are nodes.
    child_begin: Vec<u32>,
    children: Vec<u32>,
    /// Where the parameters of each node begin; one more than there are nodes.
    param_begin: Vec<u32>,
}

impl Structure {
    /// Checks and takes nodes.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] where a token or a child does not exist, a child is not before its parent, a sum has no child, or the network
    /// is not complete, not decomposable, or without one of the tokens.
    pub fn new(n_tokens: usize, nodes: &[Node]) -> Result<Self> {
        let mut structure = Self {
            n_tokens,
            kinds: Vec::new(),
            child_begin: vec![0],
            children: Vec::new(),
            param_begin: Vec::new(),
        };
        for node in nodes {
            let (kind, children): (Kind, &[u32]) = match node {
                Node::Leaf { token } => (Kind::Leaf(*token), &[]),
                Node::Indicator { token, present } => (Kind::Indicator(*token, *present), &[]),
                Node::Sum(children) => (Kind::Sum, children),
                Node::Product(children) => (Kind::Product, children),
            };
            structure.kinds.push(kind);
            structure.children.extend(children);
            structure.child_begin.push(structure.children.len() as u32);
        }
        structure.checked()
    }

    /// From kinds and children, one list after another.
    pub(super) fn from_parts(
        n_tokens: usize,
        kinds: Vec<Kind>,
        child_begin: Vec<u32>,
        children: Vec<u32>,
    ) -> Result<Self> {
        Self { n_tokens, kinds, child_begin, children, param_begin: Vec::new() }.checked()
    }

    fn checked(mut self) -> Result<Self> {
        self.check_numbers()?;
        self.check_scopes()?;
        let mut n_params = 0u64;
        self.param_begin = vec![0];
        for node in 0..self.n_nodes() {
            n_params += match self.kinds[node] {
                Kind::Leaf(_) => 2,
                Kind::Sum => self.children(node).len() as u64,
                Kind::Indicator(..) | Kind::Product => 0,
            };
            let end = u32::try_from(n_params)
                .map_err(|_| refused(node, &format!("{n_params} weights are more than {}", u32::MAX)))?;
            self.param_begin.push(end);
        }
        Ok(self)
    }

    fn check_numbers(&self) -> Result<()> {
        let n_nodes = self.kinds.len();
        if n_nodes == 0 || n_nodes >= u32::MAX as usize || self.children.len() >= u32::MAX as usize {
            return Err(refused(n_nodes, "a network has 1 to 4294967294 nodes and edges"));
        }
        // Before any scope is allocated: every token has a leaf.
        if self.n_tokens > n_nodes {
            return Err(refused(n_nodes, &format!("{} tokens are more than there are nodes", self.n_tokens)));
        }
        let begins = &self.child_begin;
        let ascending = begins.is_sorted() && begins.first() == Some(&0);
        if begins.len() != n_nodes + 1 || !ascending || begins[n_nodes] as usize != self.children.len() {
            return Err(refused(n_nodes, "lists of children do not fit the nodes"));
        }
        for (node, kind) in self.kinds.iter().enumerate() {
            let children = self.children(node);
            if let Some(child) = children.iter().find(|&&child| child as usize >= node) {
                return Err(refused(node, &format!("child {child} is not before it")));
            }
            match kind {
                Kind::Leaf(token) | Kind::Indicator(token, _) if *token as usize >= self.n_tokens => {
                    return Err(refused(node, &format!("token {token} of {} tokens", self.n_tokens)));
                }
                Kind::Leaf(_) | Kind::Indicator(..) if !children.is_empty() => {
                    return Err(refused(node, "a leaf has children"));
                }
                Kind::Sum if children.is_empty() => return Err(refused(node, "a sum without children")),
                _ => {}
            }
        }
        Ok(())
    }

    /// Completeness and decomposability. Scopes of inner nodes are bit sets; those of leaves are one token.
    fn check_scopes(&self) -> Result<()> {
        let n_words = self.n_tokens.div_ceil(64);
        let mut scopes: FxHashMap<u32, Vec<u64>> = FxHashMap::default();
        let scope_of = |scopes: &FxHashMap<u32, Vec<u64>>, node: u32| {
            scopes.get(&node).cloned().unwrap_or_else(|| {
                let mut scope = vec![0u64; n_words];
                if let Kind::Leaf(token) | Kind::Indicator(token, _) = self.kinds[node as usize] {
                    scope[token as usize / 64] |= 1 << (token % 64);
                }
                scope
            })
        };
        for node in 0..self.n_nodes() {
            let children = self.children(node);
            match self.kinds[node] {
                Kind::Sum => {
                    let scope = scope_of(&scopes, children[0]);
                    if let Some(other) = children.iter().find(|&&child| scope_of(&scopes, child) != scope) {
                        let told =
                            format!("not complete: children {} and {other} differ in tokens", children[0]);
                        return Err(refused(node, &told));
                    }
                    scopes.insert(node as u32, scope);
                }
                Kind::Product => {
                    let mut union = vec![0u64; n_words];
                    for &child in children {
                        let mut add = |at: usize, word: u64| {
                            let overlap = union[at] & word;
                            union[at] |= word;
                            overlap == 0
                        };
                        let disjoint = match (self.kinds[child as usize], scopes.get(&child)) {
                            (Kind::Leaf(token) | Kind::Indicator(token, _), _) => {
                                add(token as usize / 64, 1 << (token % 64))
                            }
                            (_, Some(scope)) => {
                                scope.iter().enumerate().fold(true, |all, (at, &word)| add(at, word) && all)
                            }
                            (_, None) => true,
                        };
                        if !disjoint {
                            let told =
                                format!("not decomposable: child {child} has a token of another child");
                            return Err(refused(node, &told));
                        }
                    }
                    scopes.insert(node as u32, union);
                }
                Kind::Leaf(_) | Kind::Indicator(..) => {}
            }
        }
        let root = self.n_nodes() - 1;
        let n_known: u32 = scope_of(&scopes, root as u32).iter().map(|word| word.count_ones()).sum();
        if n_known as usize != self.n_tokens {
            return Err(refused(root, &format!("the root has {n_known} of {} tokens", self.n_tokens)));
        }
        Ok(())
    }

    /// Refuses weights that do not add up to one at every node.
    pub(super) fn check_sums_of_one(&self, weights: &[f64]) -> Result<()> {
        for node in 0..self.n_nodes() {
            let group = &weights[self.params(node)];
            let sum: f64 = group.iter().sum();
            // Rounding of each weight by an ulp, and room for files of other programs.
            if !group.is_empty() && (sum - 1.0).abs() > 1e-6 {
                return Err(refused(node, &format!("its weights add up to {sum}, not to 1")));
            }
        }
        Ok(())
    }

    /// Tokens.
    pub fn n_tokens(&self) -> usize {
        self.n_tokens
    }

    /// Nodes; the root is the last.
    pub fn n_nodes(&self) -> usize {
        self.kinds.len()
    }

    /// Edges.
    pub fn n_edges(&self) -> usize {
        self.children.len()
    }

    /// Weights of all nodes: two of a leaf, one of every child of a sum.
    pub fn n_params(&self) -> usize {
        self.params(self.n_nodes() - 1).end
    }

    /// Sums.
    pub fn n_sums(&self) -> usize {
        self.kinds.iter().filter(|kind| **kind == Kind::Sum).count()
    }

    /// Children of a node.
    pub fn children(&self, node: usize) -> &[u32] {
        &self.children[self.child_begin[node] as usize..self.child_begin[node + 1] as usize]
    }

    /// Where the weights of a node are: of absence and presence at a leaf, of every child at a sum, else none.
    pub fn params(&self, node: usize) -> Range<usize> {
        self.param_begin[node] as usize..self.param_begin[node + 1] as usize
    }

    /// A node, as it was given.
    pub fn node(&self, node: usize) -> Node {
        match self.kinds[node] {
            Kind::Leaf(token) => Node::Leaf { token },
            Kind::Indicator(token, present) => Node::Indicator { token, present },
            Kind::Sum => Node::Sum(self.children(node).to_vec()),
            Kind::Product => Node::Product(self.children(node).to_vec()),
        }
    }

    pub(super) fn kind(&self, node: usize) -> Kind {
        self.kinds[node]
    }

    pub(super) fn parts(&self) -> (&[Kind], &[u32], &[u32]) {
        (&self.kinds, &self.child_begin, &self.children)
    }

    /// Calls `f` with the place of the weights of every node that has some, in order.
    pub(super) fn each_group(&self, mut f: impl FnMut(Range<usize>)) {
        let groups = self.param_begin.windows(2).filter(|pair| pair[0] < pair[1]);
        groups.for_each(|pair| f(pair[0] as usize..pair[1] as usize));
    }
}

fn refused(node: usize, what: &str) -> Error {
    Error::Usage(format!("sum-product network, node {node}: {what}"))
}
