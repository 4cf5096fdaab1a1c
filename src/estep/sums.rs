//! Sums over documents in 64-bit fixed point: whole numbers add up to the same in any order, so that threads, chunks and ranks change
//! nothing.
//!
//! Every sum has a unit of its own, a power of two, chosen so that the sum cannot overflow. Let D be the number of documents, identical
//! ones counted as often as they occur, and `D <= 2^L`. One document adds to
//!
//! | sum | at most | because |
//! |---|---|---|
//! | `Q_k` | 1 | it is a probability |
//! | `L_i` | `1 + f'(w0_i)` | it is `1 / (1 - exp(-u))` with `u >= w0_i`, times a probability |
//! | `N_ki` | `1 + f'(w0_i)` and `1 + 1 / w_ki` | the same with `u >= w0_i + w_ki` |
//!
//! Let `2^e` be the power of two above such a limit. The unit is `2^(e + L - 61)`. A block of B documents then has a sum of at most
//! `B 2^(61 - L)` units, and all blocks together have at most `D 2^(61 - L) <= 2^61`. Rounding in f32 may exceed a limit a little, so a
//! block may have twice as much; a block that has more, or whose sum is not a number, is refused with an error ([`Scale::fixed`]). So the
//! sums stay below `2^62`, plus half a unit for every block. The sums of all ranks are sums over the same D documents.
//!
//! A slice of 131,072 documents has L = 17: what one document adds is rounded to `2^-44` of its limit or finer. Block sums come from f32
//! arithmetic, with a relative error of `2^-24`.
//!
//! The bound has no limit of that kind. Its unit is `2^-40` nats, in 128 bits, with at most `2^48` nats a document (a bound in f32 has no
//! digit behind the point from `2^24` on): `2^38` documents are below `2^126` units. There may be no more documents in a sum
//! ([`Scale::of`]).

use super::{Params, Stats};
use crate::corpus::Item;
use crate::error::{Error, Result};
use crate::network::Graph;

/// Documents in a sum at most.
const MAX_DOCS: u64 = 1 << 38;
/// Units of the bound in a nat.
const BOUND_UNITS: f64 = (1u64 << 40) as f64;
/// Nats of the bound of one document at most.
const MAX_BOUND: f64 = (1u64 << 48) as f64;
/// Bits of each but the last of the three numbers that the bound is sent as: sums over a million ranks do not overflow.
const LIMB_BITS: u32 = 43;
/// Whole numbers that come before the vectors where sums are sent.
const N_SCALARS: usize = 9;

/// The units of sums over so many documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    /// `61 - L`: the bits that are left for what one document adds.
    bits: i32,
}

/// Sums over one block of documents: only the nodes that it touched.
#[derive(Debug, Clone)]
pub struct BlockSums<T = f64> {
    /// Scalars of [`Stats`], its vectors empty.
    pub totals: Stats,
    /// Touched nodes.
    pub nodes: Vec<u32>,
    /// `L_i` of the touched nodes.
    pub leak: Vec<T>,
    /// `(Q_k, n_k)` of the touched nodes; zero for tokens.
    pub topic: Vec<[T; 2]>,
    /// `N_ki` of the edges into the touched nodes, node after node.
    pub edge: Vec<T>,
}

impl<T> Default for BlockSums<T> {
    fn default() -> Self {
        let (nodes, leak, topic, edge) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { totals: Stats::default(), nodes, leak, topic, edge }
    }
}

/// Sums over documents in fixed point, whole once all blocks are added.
#[derive(Debug, Clone, PartialEq)]
pub struct Sums {
    scale: Scale,
    /// Scalars; the bound is kept beside them.
    totals: Stats,
    bound: i128,
    edge: Vec<i64>,
    leak: Vec<i64>,
    topic_q: Vec<i64>,
    topic_docs: Vec<i64>,
}

/// `2^e`.
fn power(e: i32) -> f64 {
    f64::from_bits(((1023 + e) as u64) << 52)
}

/// The least e of at least zero with `x < 2^e`, of a positive number.
fn bits_of(x: f32) -> i32 {
    ((x.to_bits() >> 23) as i32 - 126).max(0)
}

impl Scale {
    /// The units for sums over these items.
    ///
    /// # Errors
    /// [`Error::Usage`] where they are more documents than any corpus has.
    pub fn of(items: &[Item]) -> Result<Self> {
        let n_docs: u64 = items.iter().map(|item| u64::from(item.count)).sum();
        if n_docs > MAX_DOCS {
            return Err(Error::Usage(format!(
                "{n_docs} documents, identical ones counted, are more than the {MAX_DOCS} that can be summed; give fewer at a time"
            )));
        }
        Ok(Self { bits: 61 - n_docs.next_power_of_two().ilog2() as i32 })
    }

    /// Units of `Q_k` in one.
    fn of_topic(self) -> f64 {
        power(self.bits)
    }

    /// Units of `L_i` in one: `1 + f'(w0)` is below `2^(e + 1)` where `f'(w0)` and one are below `2^e`.
    fn of_node(self, params: &Params, node: usize) -> f64 {
        power(self.bits - bits_of(params.slope[node].max(1.0)) - 1)
    }

    /// Units of `N_ki` in one: `1 / w` is at most `2^(1 - e)` where `2^(e - 1) <= w`.
    fn of_edge(self, of_node: f64, w: f32) -> f64 {
        of_node.max(power(self.bits - (127 - (w.to_bits() >> 23) as i32).max(0) - 1))
    }

    /// The sums of a block of so many documents in whole units.
    ///
    /// # Errors
    /// [`Error::Numeric`] where one is not a number, or beyond what so many documents can add up to.
    pub fn fixed(self, graph: &Graph, params: &Params, block: BlockSums) -> Result<BlockSums<i64>> {
        let BlockSums { totals, nodes, leak, topic, edge } = block;
        let mut rounding = Rounding::of(self, totals.n_docs);
        // In place: a block of a large network has hundreds of thousands of edges.
        let mut edge: Vec<i64> = bytemuck::cast_vec(edge);
        let (mut fixed_leak, mut fixed_topic) =
            (Vec::with_capacity(leak.len()), Vec::with_capacity(topic.len()));
        let mut edges = &mut edge[..];
        for ((&node, leak), [q, n_docs]) in nodes.iter().zip(leak).zip(topic) {
            let of_node = self.of_node(params, node as usize);
            fixed_leak.push(rounding.fixed(leak, of_node));
            fixed_topic.push([rounding.fixed(q, self.of_topic()), n_docs as i64]);
            let weights = &params.edge[graph.edges_into(node as usize)];
            let (into, rest) = edges.split_at_mut(weights.len());
            for (sum, &w) in into.iter_mut().zip(weights) {
                *sum = rounding.fixed(f64::from_bits(*sum as u64), self.of_edge(of_node, w));
            }
            edges = rest;
        }
        rounding.check()?;
        Ok(BlockSums { totals, nodes, leak: fixed_leak, topic: fixed_topic, edge })
    }
}

/// Rounds the sums of a block, and sees whether they are what so many documents can add up to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rounding {
    most: f64,
    worst: Option<f64>,
}

impl Rounding {
    /// For a block of so many documents.
    pub(crate) fn of(scale: Scale, n_docs: f64) -> Self {
        Self { most: 2.0 * n_docs * power(scale.bits), worst: None }
    }

    #[inline(always)]
    fn fixed(&mut self, sum: f64, units: f64) -> i64 {
        let sum = sum * units;
        if sum.is_nan() || sum.abs() > self.most {
            self.worst = Some(sum / units);
        }
        // Half away from zero, as `round` does, which is a call where the processor has no instruction for it.
        (sum + 0.5f64.copysign(sum)) as i64
    }

    pub(crate) fn check(self) -> Result<()> {
        let Some(worst) = self.worst else { return Ok(()) };
        Err(Error::Numeric(format!(
            "a sum over documents is {worst}: a weight or q is out of range; lower `rate` or `cap`, or raise `floor`"
        )))
    }
}

impl Sums {
    /// Zeros; without gradients the vectors stay empty.
    pub fn new(graph: &Graph, gradients: bool, scale: Scale) -> Self {
        let n = |len: usize| vec![0; if gradients { len } else { 0 }];
        Self {
            scale,
            totals: Stats::default(),
            bound: 0,
            edge: n(graph.n_edges()),
            leak: n(graph.n_nodes()),
            topic_q: n(graph.n_topics()),
            topic_docs: n(graph.n_topics()),
        }
    }

    /// The units.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// Documents, each as often as it counts.
    pub fn n_docs(&self) -> u64 {
        self.totals.n_docs as u64
    }

    /// Adds a block, in any order.
    ///
    /// # Errors
    /// As [`Sums::add_totals`].
    pub fn add(&mut self, graph: &Graph, block: &BlockSums<i64>) -> Result<()> {
        let mut from = 0;
        for (at, &node) in block.nodes.iter().enumerate() {
            let node = node as usize;
            self.leak[node] += block.leak[at];
            if graph.is_topic(node) {
                self.topic_q[node] += block.topic[at][0];
                self.topic_docs[node] += block.topic[at][1];
            }
            let edges = &mut self.edge[graph.edges_into(node)];
            edges.iter_mut().zip(&block.edge[from..]).for_each(|(sum, term)| *sum += term);
            from += edges.len();
        }
        self.add_totals(&block.totals)
    }

    /// Adds a node's sums in a block that came as f32: `(Q_k, L_i)`, `n_k`, and `N_ki` of the edges into it.
    pub(crate) fn add_node(
        &mut self,
        (graph, params): (&Graph, &Params),
        node: usize,
        ([q, leak], n_docs, edges): ([f32; 2], u32, &[f32]),
        rounding: &mut Rounding,
    ) {
        let of_node = self.scale.of_node(params, node);
        self.leak[node] += rounding.fixed(f64::from(leak), of_node);
        if graph.is_topic(node) {
            self.topic_q[node] += rounding.fixed(f64::from(q), self.scale.of_topic());
            self.topic_docs[node] += i64::from(n_docs);
        }
        let range = graph.edges_into(node);
        for ((sum, &w), &term) in self.edge[range.clone()].iter_mut().zip(&params.edge[range]).zip(edges) {
            *sum += rounding.fixed(f64::from(term), self.scale.of_edge(of_node, w));
        }
    }

    /// Adds the scalars of a block.
    ///
    /// # Errors
    /// [`Error::Numeric`] where the bound is not a number, or beyond all bounds.
    pub fn add_totals(&mut self, block: &Stats) -> Result<()> {
        let bound = block.elbo_sum;
        if bound.is_nan() || bound.abs() > MAX_BOUND * block.n_docs {
            return Err(Error::Numeric(format!(
                "the bound of {} documents is {bound}: a weight or q is out of range; lower `rate` or `cap`, or raise `floor`",
                block.n_docs
            )));
        }
        self.totals.add_totals(&Stats { elbo_sum: 0.0, ..block.scalars() });
        self.bound += (bound * BOUND_UNITS).round() as i128;
        Ok(())
    }

    /// Adds sums over other documents in the same units.
    pub fn merge(&mut self, other: &Self) {
        debug_assert_eq!(self.scale, other.scale);
        self.totals.add_totals(&other.totals);
        self.bound += other.bound;
        let add =
            |sums: &mut [i64], terms: &[i64]| sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
        add(&mut self.edge, &other.edge);
        add(&mut self.leak, &other.leak);
        add(&mut self.topic_q, &other.topic_q);
        add(&mut self.topic_docs, &other.topic_docs);
    }

    /// The sums as numbers: those of the network and the parameters that they were summed with.
    pub fn to_stats(&self, graph: &Graph, params: &Params) -> Stats {
        let mut stats = Stats { elbo_sum: self.bound as f64 / BOUND_UNITS, ..self.totals.clone() };
        let scale = self.scale;
        stats.topic_q = self.topic_q.iter().map(|&sum| sum as f64 / scale.of_topic()).collect();
        stats.topic_docs = self.topic_docs.iter().map(|&n| n as f64).collect();
        stats.leak.reserve_exact(self.leak.len());
        stats.edge.reserve_exact(self.edge.len());
        for (node, &leak) in self.leak.iter().enumerate() {
            let of_node = scale.of_node(params, node);
            stats.leak.push(leak as f64 / of_node);
            let range = graph.edges_into(node);
            let edges = self.edge[range.clone()].iter().zip(&params.edge[range]);
            stats.edge.extend(edges.map(|(&sum, &w)| sum as f64 / scale.of_edge(of_node, w)));
        }
        stats
    }

    /// All of it as whole numbers, which add up place by place to the numbers of the sum ([`Sums::set`]).
    pub fn numbers(&self) -> Vec<i64> {
        let Stats { n_docs, n_items, n_alternations, n_unconverged, n_edges, n_edge_updates, .. } =
            self.totals;
        let mask = (1i128 << LIMB_BITS) - 1;
        let limbs = [0, 1, 2].map(|limb| self.bound >> (limb * LIMB_BITS));
        let mut numbers = vec![(limbs[0] & mask) as i64, (limbs[1] & mask) as i64, limbs[2] as i64];
        let counts = [n_items, n_alternations, n_unconverged, n_edges, n_edge_updates];
        numbers.push(n_docs as i64);
        numbers.extend(counts.map(|count| count as i64));
        debug_assert_eq!(numbers.len(), N_SCALARS);
        for sums in [&self.edge, &self.leak, &self.topic_q, &self.topic_docs] {
            numbers.extend_from_slice(sums);
        }
        numbers
    }

    /// Takes numbers in the place of its own.
    pub fn set(&mut self, numbers: &[i64]) {
        let (scalars, mut rest) = numbers.split_at(N_SCALARS);
        let limb = |at: usize| i128::from(scalars[at]) << (at as u32 * LIMB_BITS);
        self.bound = limb(0) + limb(1) + limb(2);
        let count = |at: usize| scalars[at] as u64;
        self.totals = Stats {
            n_docs: count(3) as f64,
            n_items: count(4),
            n_alternations: count(5),
            n_unconverged: count(6),
            n_edges: count(7),
            n_edge_updates: count(8),
            ..Stats::default()
        };
        for sums in [&mut self.edge, &mut self.leak, &mut self.topic_q, &mut self.topic_docs] {
            let (own, others) = rest.split_at(sums.len());
            sums.copy_from_slice(own);
            rest = others;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Weights;
    use rand::seq::SliceRandom;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// Two topics over three tokens, with the smallest and the largest weights that there are.
    fn extreme() -> (Graph, Params) {
        let edges = [(0, 1), (0, 2), (1, 2), (1, 3), (0, 4)];
        let (graph, _) = Graph::build(2, 3, &edges, &|node| node.to_string()).unwrap();
        let edge = vec![1e-30, 1.0, 1e-9, crate::network::MAX_WEIGHT, 0.7];
        let leak = vec![1e-30, 0.5, 1e-12, 50.0, 1e-30];
        let params = Params::derive(&graph, &Weights { edge, leak }, super::super::Bound::Full).unwrap();
        (graph, params)
    }

    fn items(n_docs: u64) -> Vec<Item> {
        let whole = (0..n_docs / u64::from(u32::MAX)).map(|_| Item { doc_ix: 0, count: u32::MAX });
        let rest = Item { doc_ix: 0, count: (n_docs % u64::from(u32::MAX)) as u32 };
        whole.chain([rest]).collect()
    }

    /// A block with this share of the most that its documents can add up to, everywhere.
    fn block(graph: &Graph, params: &Params, n_docs: f64, share: f64) -> BlockSums {
        let most = n_docs * share;
        let totals = Stats { n_docs, elbo_sum: -most * 1e3, n_items: 1, ..Stats::default() };
        let mut block = BlockSums { totals, ..BlockSums::default() };
        for node in 0..graph.n_nodes() {
            let limit = 1.0 + f64::from(params.slope[node]);
            block.nodes.push(node as u32);
            block.leak.push(most * limit);
            block.topic.push(if graph.is_topic(node) { [most, n_docs] } else { [0.0; 2] });
            let weights = params.edge[graph.edges_into(node)].iter();
            block.edge.extend(weights.map(|&w| most * limit.min(1.0 + 1.0 / f64::from(w))));
        }
        block
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * b.abs()
    }

    #[test]
    fn the_most_that_documents_can_add_up_to_fits_and_comes_back() {
        let (graph, params) = extreme();
        for n_docs in [1, 2, 3, 128, 131_072, 131_073, (1 << 32) + 1, MAX_DOCS] {
            let scale = Scale::of(&items(n_docs)).unwrap();
            let mut all = Sums::new(&graph, true, scale);
            let halves = [n_docs / 2, n_docs - n_docs / 2].map(|n| block(&graph, &params, n as f64, 1.0));
            for half in halves {
                all.add(&graph, &scale.fixed(&graph, &params, half).unwrap()).unwrap();
            }
            let (stats, most) = (all.to_stats(&graph, &params), block(&graph, &params, n_docs as f64, 1.0));
            assert!(stats.leak.iter().zip(&most.leak).all(|(a, b)| close(*a, *b)), "{n_docs} {stats:?}");
            assert!(stats.edge.iter().zip(&most.edge).all(|(a, b)| close(*a, *b)), "{n_docs}");
            assert!(stats.topic_q.iter().all(|&q| q == n_docs as f64));
            assert!(stats.topic_docs.iter().all(|&n| n == n_docs as f64) && stats.n_docs == n_docs as f64);
            assert!(close(stats.elbo_sum, -1e3 * n_docs as f64));
        }
        assert!(matches!(Scale::of(&items(MAX_DOCS + 1)), Err(Error::Usage(_))));
    }

    #[test]
    fn what_is_too_much_or_no_number_is_refused() {
        let (graph, params) = extreme();
        let scale = Scale::of(&items(1000)).unwrap();
        let faulty = |change: &dyn Fn(&mut BlockSums)| {
            let mut block = block(&graph, &params, 128.0, 1.0);
            change(&mut block);
            scale.fixed(&graph, &params, block).map(|_| ())
        };
        assert!(faulty(&|_| ()).is_ok());
        // Limits are rounded up to powers of two, by four times at most, and blocks may have twice as much.
        for bad in [9.0, -9.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for at in 0..graph.n_edges() {
                assert!(
                    matches!(faulty(&|block| block.edge[at] *= bad), Err(Error::Numeric(_))),
                    "{at} {bad}"
                );
            }
            for at in 0..graph.n_nodes() {
                assert!(
                    matches!(faulty(&|block| block.leak[at] *= bad), Err(Error::Numeric(_))),
                    "{at} {bad}"
                );
            }
            assert!(matches!(faulty(&|block| block.topic[1][0] *= bad), Err(Error::Numeric(_))));
        }
        let mut all = Sums::new(&graph, true, scale);
        for bad in [f64::NAN, f64::INFINITY, -1e30] {
            let totals = Stats { n_docs: 1.0, elbo_sum: bad, ..Stats::default() };
            assert!(matches!(all.add_totals(&totals), Err(Error::Numeric(_))));
        }
    }

    #[test]
    fn blocks_add_up_to_the_same_in_any_order_and_by_any_division() {
        let (graph, params) = extreme();
        let rng = &mut ChaCha8Rng::seed_from_u64(1);
        let scale = Scale::of(&items(100 * 128)).unwrap();
        let mut blocks: Vec<BlockSums<i64>> = (0..100)
            .map(|_| {
                let block = block(&graph, &params, 128.0, 10f64.powf(rng.random_range(-12.0..0.0)));
                scale.fixed(&graph, &params, block).unwrap()
            })
            .collect();
        let sum = |blocks: &[BlockSums<i64>]| {
            let mut all = Sums::new(&graph, true, scale);
            blocks.iter().for_each(|block| all.add(&graph, block).unwrap());
            all
        };
        let expected = sum(&blocks);
        blocks.shuffle(rng);
        for n_ranks in [1, 2, 3, 7] {
            let parts: Vec<Sums> = blocks.chunks(100usize.div_ceil(n_ranks)).map(sum).collect();
            // As they are sent, and as they are merged.
            let mut numbers = vec![0i64; expected.numbers().len()];
            let mut merged = Sums::new(&graph, true, scale);
            for part in &parts {
                numbers.iter_mut().zip(part.numbers()).for_each(|(sum, term)| *sum += term);
                merged.merge(part);
            }
            let mut sent = Sums::new(&graph, true, scale);
            sent.set(&numbers);
            assert!(sent == expected && merged == expected, "{n_ranks} ranks");
        }
    }
}
