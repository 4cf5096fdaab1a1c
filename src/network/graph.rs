//! The directed acyclic graph: topics `0..K`, then tokens `K..K+T`, edges in CSR by child and by parent.

use super::colour;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// A validated topic graph. An edge's number is its place in the parent CSR: by child, then by parent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Csr", try_from = "Csr")]
pub struct Graph {
    n_topics: usize,
    n_tokens: usize,
    parent_offsets: Vec<u32>,
    parents: Vec<u32>,
    child_offsets: Vec<u32>,
    children: Vec<u32>,
    child_edges: Vec<u32>,
    topic_order: Vec<u32>,
    colours: Vec<u32>,
    n_colours: usize,
}

/// A graph as it is kept: its parents by child.
#[derive(Serialize, Deserialize)]
struct Csr {
    n_topics: usize,
    n_tokens: usize,
    offsets: Vec<u32>,
    parents: Vec<u32>,
}

impl From<Graph> for Csr {
    fn from(graph: Graph) -> Self {
        let Graph { n_topics, n_tokens, parent_offsets, parents, .. } = graph;
        Self { n_topics, n_tokens, offsets: parent_offsets, parents }
    }
}

impl TryFrom<Csr> for Graph {
    type Error = String;

    fn try_from(csr: Csr) -> Result<Self, String> {
        let Csr { n_topics, n_tokens, offsets, parents } = csr;
        let n_nodes = n_topics.checked_add(n_tokens).filter(|n| n.checked_add(1) == Some(offsets.len()));
        let ends = (offsets.first(), offsets.last().map(|&end| end as usize));
        if n_nodes.is_none() || !offsets.is_sorted() || ends != (Some(&0), Some(parents.len())) {
            return Err("the offsets of its edges are no offsets".into());
        }
        let into = |child: usize| &parents[offsets[child] as usize..offsets[child + 1] as usize];
        let edges: Vec<(u32, u32)> = (0..offsets.len() - 1)
            .flat_map(|child| into(child).iter().map(move |&parent| (parent, child as u32)))
            .collect();
        let built = Self::build(n_topics, n_tokens, &edges, &|node| node.to_string());
        let (graph, order) = built.map_err(|fault| fault.message)?;
        let in_order = order.iter().enumerate().all(|(at, &edge)| at == edge as usize);
        in_order.then_some(graph).ok_or_else(|| "its edges are out of order".into())
    }
}

/// Why a list of edges is not a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphFault {
    /// The edge at fault, as a place in the list, where one is.
    pub edge: Option<usize>,
    /// The earlier edge of two that are the same.
    pub first: Option<usize>,
    /// The fault in words, with the remedy.
    pub message: String,
}

impl GraphFault {
    fn new(edge: Option<usize>, message: String) -> Self {
        Self { edge, first: None, message }
    }
}

impl Graph {
    /// Builds and validates. Returns the graph and, for every edge of the graph, its place in `edges`.
    ///
    /// The message of a fault names the nodes by `name`.
    ///
    /// ```
    /// use noisyor::Graph;
    ///
    /// // Two topics, 0 and 1; tokens follow: 2, 3 and 4.
    /// let (graph, _) = Graph::build(2, 3, &[(0, 1), (1, 2), (1, 3), (0, 4)], &|node| node.to_string()).unwrap();
    /// assert_eq!((graph.n_topics(), graph.parents(1), graph.children(1)), (2, &[0][..], &[2, 3][..]));
    /// let cycle = Graph::build(2, 1, &[(0, 1), (1, 0), (1, 2)], &|node| node.to_string());
    /// assert!(cycle.is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// The first fault: an edge that is there twice, leads to a topic's own ancestor or from a token, or a number that no node
    /// has.
    pub fn build(
        n_topics: usize,
        n_tokens: usize,
        edges: &[(u32, u32)],
        name: &dyn Fn(u32) -> String,
    ) -> Result<(Self, Vec<u32>), GraphFault> {
        let mut left_out = vec![false; edges.len()];
        let built = Self::build_with(n_topics, n_tokens, edges, &mut left_out, name, &mut Err)?;
        built.ok_or_else(|| GraphFault::new(None, "not a graph".to_owned()))
    }

    /// Builds what it can: `fault` is told every fault, and ends it all by an error. Edges at fault are left out and
    /// marked in `left_out`, where edges may be marked from the start. There is no graph where there is a cycle.
    pub(super) fn build_with<E>(
        n_topics: usize,
        n_tokens: usize,
        edges: &[(u32, u32)],
        left_out: &mut [bool],
        name: &dyn Fn(u32) -> String,
        fault: &mut dyn FnMut(GraphFault) -> Result<(), E>,
    ) -> Result<Option<(Self, Vec<u32>)>, E> {
        let n_nodes = n_topics + n_tokens;
        if n_nodes >= u32::MAX as usize || edges.len() >= u32::MAX as usize {
            let message =
                format!("{n_nodes} nodes and {} edges: fewer than 2^32 of each are possible", edges.len());
            return fault(GraphFault::new(None, message)).map(|()| None);
        }
        check_edges(n_topics, n_nodes, edges, left_out, name, fault)?;
        let order = sort_edges(edges, left_out, name, fault)?;
        let mut graph = Self::unsorted(n_topics, n_tokens, edges, &order);
        match graph.sort_topics(name) {
            Ok(topics) => graph.topic_order = topics,
            Err(message) => return fault(GraphFault::new(None, message)).map(|()| None),
        }
        (graph.colours, graph.n_colours) = colour::colour(&graph);
        Ok(Some((graph, order)))
    }

    /// Both CSRs of the edges in `order`; topics are not sorted yet.
    fn unsorted(n_topics: usize, n_tokens: usize, edges: &[(u32, u32)], order: &[u32]) -> Self {
        let n_nodes = n_topics + n_tokens;
        let parents: Vec<u32> = order.iter().map(|&at| edges[at as usize].0).collect();
        let parent_offsets = offsets(n_nodes, order.iter().map(|&at| edges[at as usize].1));
        let child_offsets = offsets(n_topics, parents.iter().copied());
        let mut next = child_offsets.clone();
        let (mut children, mut child_edges) = (vec![0; order.len()], vec![0; order.len()]);
        for child in 0..n_nodes {
            for edge in parent_offsets[child]..parent_offsets[child + 1] {
                let slot = &mut next[parents[edge as usize] as usize];
                children[*slot as usize] = child as u32;
                child_edges[*slot as usize] = edge;
                *slot += 1;
            }
        }
        Self {
            n_topics,
            n_tokens,
            parent_offsets,
            parents,
            child_offsets,
            children,
            child_edges,
            topic_order: Vec::new(),
            colours: Vec::new(),
            n_colours: 0,
        }
    }

    /// The graph with a shadow of every token: one more token with the same parents, T places behind it. The numbers of nodes and edges
    /// stay.
    pub(crate) fn with_shadows(&self) -> Self {
        let shadow = |(parent, child): (u32, u32)| (parent, child + self.n_tokens as u32);
        let of_tokens = self.edges().skip(self.parent_offsets[self.n_topics] as usize);
        let edges: Vec<(u32, u32)> = self.edges().chain(of_tokens.map(shadow)).collect();
        let order: Vec<u32> = (0..edges.len() as u32).collect();
        Self {
            topic_order: self.topic_order.clone(),
            colours: self.colours.clone(),
            n_colours: self.n_colours,
            ..Self::unsorted(self.n_topics, 2 * self.n_tokens, &edges, &order)
        }
    }

    /// Number of topics, K.
    pub fn n_topics(&self) -> usize {
        self.n_topics
    }

    /// Number of tokens, T.
    pub fn n_tokens(&self) -> usize {
        self.n_tokens
    }

    /// Number of nodes, K + T.
    pub fn n_nodes(&self) -> usize {
        self.n_topics + self.n_tokens
    }

    /// Number of edges, leaks not counted.
    pub fn n_edges(&self) -> usize {
        self.parents.len()
    }

    /// The edges into a node, as a range of edge numbers.
    #[inline]
    pub fn edges_into(&self, node: usize) -> std::ops::Range<usize> {
        self.parent_offsets[node] as usize..self.parent_offsets[node + 1] as usize
    }

    /// The parents of a node, in the order of its edges.
    #[inline]
    pub fn parents(&self, node: usize) -> &[u32] {
        &self.parents[self.edges_into(node)]
    }

    /// The parent of every edge.
    pub fn edge_parents(&self) -> &[u32] {
        &self.parents
    }

    /// Where each node's edges begin; one more entry than nodes.
    pub fn edge_offsets(&self) -> &[u32] {
        &self.parent_offsets
    }

    /// The children of a topic, ascending.
    pub fn children(&self, topic: usize) -> &[u32] {
        &self.children[self.child_offsets[topic] as usize..self.child_offsets[topic + 1] as usize]
    }

    /// The edge numbers that lead from a topic to its `children`.
    pub fn child_edges(&self, topic: usize) -> &[u32] {
        &self.child_edges[self.child_offsets[topic] as usize..self.child_offsets[topic + 1] as usize]
    }

    /// All topics, every parent before its children.
    pub fn topic_order(&self) -> &[u32] {
        &self.topic_order
    }

    /// How far every node is from the tokens: 0 for tokens, else one more than the highest child.
    pub fn levels(&self) -> Vec<u32> {
        let mut levels = vec![0; self.n_nodes()];
        for &topic in self.topic_order.iter().rev() {
            let children = self.children(topic as usize).iter();
            levels[topic as usize] = 1 + children.map(|&child| levels[child as usize]).max().unwrap_or(0);
        }
        levels
    }

    /// The colour of a topic; no topic shares a colour with a parent or child.
    #[inline]
    pub fn colour(&self, topic: usize) -> usize {
        self.colours[topic] as usize
    }

    /// Number of colours; 2 for a layered graph, at least 1 where there are topics.
    pub fn n_colours(&self) -> usize {
        self.n_colours
    }

    /// Whether the node is a topic.
    pub fn is_topic(&self, node: usize) -> bool {
        node < self.n_topics
    }

    /// Every edge as (parent, child), in edge order.
    pub fn edges(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (0..self.n_nodes()).flat_map(|child| self.parents(child).iter().map(move |&p| (p, child as u32)))
    }

    /// Kahn's algorithm over the topics; what cannot be sorted holds a cycle.
    fn sort_topics(&self, name: &dyn Fn(u32) -> String) -> Result<Vec<u32>, String> {
        let mut waiting: Vec<usize> = (0..self.n_topics).map(|topic| self.parents(topic).len()).collect();
        let mut order: Vec<u32> = (0..self.n_topics as u32).filter(|&t| waiting[t as usize] == 0).collect();
        let mut done = 0;
        while done < order.len() {
            let topic = order[done] as usize;
            done += 1;
            for &child in self.children(topic) {
                if self.is_topic(child as usize) {
                    waiting[child as usize] -= 1;
                    if waiting[child as usize] == 0 {
                        order.push(child);
                    }
                }
            }
        }
        match waiting.iter().position(|&left| left > 0) {
            None => Ok(order),
            Some(start) => Err(self.name_cycle(start, &waiting, name)),
        }
    }

    /// Every unsorted topic has an unsorted parent: walking upwards must come round.
    fn name_cycle(&self, start: usize, waiting: &[usize], name: &dyn Fn(u32) -> String) -> String {
        const SHOWN: usize = 20;
        let mut seen_at = vec![usize::MAX; self.n_topics];
        let mut path = Vec::new();
        let mut topic = start;
        while seen_at[topic] == usize::MAX {
            seen_at[topic] = path.len();
            path.push(topic as u32);
            match self.parents(topic).iter().find(|&&parent| waiting[parent as usize] > 0) {
                Some(&parent) => topic = parent as usize,
                None => unreachable!("an unsorted topic has an unsorted parent"),
            }
        }
        let mut cycle = path.split_off(seen_at[topic]);
        cycle.reverse();
        let mut message =
            format!("the graph has a cycle of {} edges: '{}'", cycle.len(), name(cycle[cycle.len() - 1]));
        for &node in cycle.iter().take(SHOWN) {
            let _ = write!(message, " -> '{}'", name(node));
        }
        if cycle.len() > SHOWN {
            let _ = write!(message, " -> ... ({} more)", cycle.len() - SHOWN);
        }
        message + "; remove one of these edges"
    }
}

/// The faults that one edge alone can have.
fn check_edges<E>(
    n_topics: usize,
    n_nodes: usize,
    edges: &[(u32, u32)],
    left_out: &mut [bool],
    name: &dyn Fn(u32) -> String,
    fault: &mut dyn FnMut(GraphFault) -> Result<(), E>,
) -> Result<(), E> {
    for (at, &(parent, child)) in edges.iter().enumerate() {
        let found = if left_out[at] {
            continue;
        } else if let Some(node) = [parent, child].into_iter().find(|&node| node as usize >= n_nodes) {
            format!("there is no node {node}; nodes are 0..{n_nodes}")
        } else if parent as usize >= n_topics {
            let name = name(parent);
            format!("token '{name}' has a child; only topics (nodes 0..{n_topics}) may be parents")
        } else if parent == child {
            format!("'{}' is its own parent", name(parent))
        } else {
            continue;
        };
        left_out[at] = true;
        fault(GraphFault::new(Some(at), format!("edge {at} ({parent} -> {child}): {found}")))?;
    }
    Ok(())
}

/// The edges by child, then parent; of edges that are the same, the first.
fn sort_edges<E>(
    edges: &[(u32, u32)],
    left_out: &mut [bool],
    name: &dyn Fn(u32) -> String,
    fault: &mut dyn FnMut(GraphFault) -> Result<(), E>,
) -> Result<Vec<u32>, E> {
    let mut order: Vec<u32> = (0..edges.len() as u32).filter(|&at| !left_out[at as usize]).collect();
    order.sort_unstable_by_key(|&at| (edges[at as usize].1, edges[at as usize].0, at));
    let mut first = 0;
    for place in 1..order.len() {
        let (one, other) = (order[first] as usize, order[place] as usize);
        if edges[one] != edges[other] {
            first = place;
            continue;
        }
        left_out[other] = true;
        let (parent, child) = (name(edges[one].0), name(edges[one].1));
        let message = format!("edges {one} and {other} are the same, '{parent}' -> '{child}'; remove one");
        fault(GraphFault { edge: Some(other), first: Some(one), message })?;
    }
    order.retain(|&at| !left_out[at as usize]);
    Ok(order)
}

/// CSR offsets of `keys` over `0..n`.
fn offsets(n: usize, keys: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut offsets = vec![0u32; n + 1];
    for key in keys {
        offsets[key as usize + 1] += 1;
    }
    for at in 0..n {
        offsets[at + 1] += offsets[at];
    }
    offsets
}
