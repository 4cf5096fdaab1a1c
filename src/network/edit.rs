//! A model edited by hand: topics renamed, dropped, merged.

use super::{Graph, MAX_WEIGHT, Network, Weights, keep};
use crate::error::{Error, Result};
use crate::faults::shown;
use rustc_hash::{FxHashMap, FxHashSet};

impl Network {
    /// Gives a topic another name, which no other node may have.
    ///
    /// # Errors
    ///
    /// A name that is empty, or that another node has.
    pub fn rename_topic(&mut self, topic: u32, name: &str) -> Result<()> {
        if name.trim().is_empty() {
            return Err(Error::Usage("a topic needs a name that is not empty".into()));
        }
        let taken = |&node: &u32| node != topic && self.names.of(node) == name;
        if let Some(node) = (0..self.graph.n_nodes() as u32).find(taken) {
            let kind = if self.graph.is_topic(node as usize) { "topic" } else { "token" };
            let message = format!("another {kind} is named '{}'; names must differ", shown(name));
            return Err(Error::Usage(message));
        }
        name.clone_into(&mut self.names.topics[topic as usize]);
        Ok(())
    }

    /// Leaves topics out. The leak of each of their children takes over what they gave it on average, so that it is on as often as
    /// before: `w0 - log(1 - p (1 - exp(-w)))`. `on` says how often every topic is on, p.
    ///
    /// # Errors
    ///
    /// A network that would have no topics or no edges left.
    pub fn drop_topics(&mut self, topics: &[u32], on: &[f64]) -> Result<()> {
        let dropped: FxHashSet<u32> = topics.iter().copied().collect();
        for ((parent, child), &weight) in self.graph.edges().zip(&self.weights.edge) {
            if dropped.contains(&parent) {
                self.weights.leak[child as usize] += mean_weight([(on[parent as usize], weight)]);
            }
        }
        let edges = self.graph.edges().zip(&self.weights.edge);
        let is_kept =
            |&((parent, child), _): &(_, &f64)| !dropped.contains(&parent) && !dropped.contains(&child);
        let edges = edges.filter(is_kept).map(|(edge, &weight)| (edge, weight)).collect();
        self.rebuild(edges, &dropped)
    }

    /// Leaves tokens out, given ascending: the network of a document where they are unknown. Topics keep their numbers.
    ///
    /// # Errors
    ///
    /// A number that no token has.
    pub fn leave_out_tokens(&mut self, tokens: &[u32]) -> Result<()> {
        let (n_topics, n_tokens) = (self.graph.n_topics(), self.graph.n_tokens());
        if let Some(token) = tokens.iter().find(|&&token| token as usize >= n_tokens) {
            return Err(Error::Usage(format!("there is no token {token}: the network has {n_tokens}")));
        }
        let mut kept = vec![true; n_topics + n_tokens];
        tokens.iter().for_each(|&token| kept[n_topics + token as usize] = false);
        let n_before = |node: u32| {
            node.checked_sub(n_topics as u32)
                .map_or(0, |token| tokens.partition_point(|&other| other < token) as u32)
        };
        let is_kept = |edge: &(u32, u32)| kept[edge.1 as usize];
        let edge_kept: Vec<bool> = self.graph.edges().map(|edge| is_kept(&edge)).collect();
        let renumber = |(parent, child): (u32, u32)| (parent, child - n_before(child));
        let edges: Vec<(u32, u32)> = self.graph.edges().filter(is_kept).map(renumber).collect();
        let n_kept = kept[n_topics..].iter().filter(|&&kept| kept).count();
        let (graph, _) = Graph::build(n_topics, n_kept, &edges, &|node| node.to_string())
            .map_err(|fault| Error::Usage(fault.message))?;
        keep(&mut self.weights.edge, &edge_kept);
        keep(&mut self.weights.leak, &kept);
        keep(&mut self.names.tokens, &kept[n_topics..]);
        self.graph = graph;
        Ok(())
    }

    /// Makes one topic of several, which is on where any of them is: the first, the others go.
    ///
    /// Its leak is the sum of theirs, and so is the weight of the edge from each parent. A child is as likely where it is on as it was
    /// on average where one of them was, by how often each is on: `-log(sum p exp(-w) / sum p)`, with w = 0 where there was no edge.
    /// Edges between them go. `on` says how often every topic is on.
    ///
    /// # Errors
    ///
    /// Fewer than two topics, or topics that cannot be one without a cycle.
    pub fn merge_topics(&mut self, topics: &[u32], on: &[f64]) -> Result<()> {
        let merged: FxHashSet<u32> = topics.iter().copied().collect();
        let (Some(&first), true) = (topics.first(), merged.len() > 1) else {
            return Err(Error::Usage("it takes two different topics or more to merge".into()));
        };
        let between = self.between(&merged);
        if !between.is_empty() {
            let names: Vec<String> =
                between.iter().take(5).map(|&topic| format!("'{}'", shown(self.names.of(topic)))).collect();
            return Err(Error::Usage(format!(
                "one of these topics leads to another by way of {}{}, which would be above and below the merged topic; merge it, \
                 too, or drop it first",
                names.join(", "),
                if between.len() > 5 { ", ..." } else { "" }
            )));
        }
        let all: f64 = merged.iter().map(|&topic| on[topic as usize]).sum();
        let mut edges = Vec::new();
        let mut from: FxHashMap<u32, f64> = FxHashMap::default();
        let mut to: FxHashMap<u32, Vec<(f64, f64)>> = FxHashMap::default();
        for ((parent, child), &weight) in self.graph.edges().zip(&self.weights.edge) {
            match (merged.contains(&parent), merged.contains(&child)) {
                (true, true) => {}
                (true, false) => to.entry(child).or_default().push((on[parent as usize] / all, weight)),
                (false, true) => *from.entry(parent).or_default() += weight,
                (false, false) => edges.push(((parent, child), weight)),
            }
        }
        edges.extend(from.into_iter().map(|(parent, weight)| ((parent, first), weight)));
        edges.extend(to.into_iter().map(|(child, weights)| ((first, child), mean_weight(weights))));
        // Maps have no order of their own, and sums need one.
        let mut members: Vec<u32> = merged.iter().copied().collect();
        members.sort_unstable();
        self.weights.leak[first as usize] =
            members.iter().map(|&topic| self.weights.leak[topic as usize]).sum();
        let gone = merged.into_iter().filter(|&topic| topic != first).collect();
        self.rebuild(edges, &gone)
    }

    /// Topics that are below one of some topics and above another.
    fn between(&self, topics: &FxHashSet<u32>) -> Vec<u32> {
        let graph = &self.graph;
        let reaches = |order: &mut dyn Iterator<Item = &u32>, next: &dyn Fn(usize) -> Vec<u32>| {
            let mut reached = vec![false; graph.n_topics()];
            for &topic in order {
                let is_start = |other: &u32| topics.contains(other) || reached[*other as usize];
                reached[topic as usize] = next(topic as usize).iter().any(is_start);
            }
            reached
        };
        let order = graph.topic_order();
        let below = reaches(&mut order.iter(), &|topic| graph.parents(topic).to_vec());
        let topic_children = |topic: usize| {
            graph.children(topic).iter().copied().filter(|&child| graph.is_topic(child as usize)).collect()
        };
        let above = reaches(&mut order.iter().rev(), &topic_children);
        let between = |topic: &u32| below[*topic as usize] && above[*topic as usize];
        (0..graph.n_topics() as u32).filter(|topic| between(topic) && !topics.contains(topic)).collect()
    }

    /// The network of these edges without some topics; the others keep their order.
    fn rebuild(&mut self, edges: Vec<((u32, u32), f64)>, gone: &FxHashSet<u32>) -> Result<()> {
        let kept: Vec<bool> = (0..self.graph.n_nodes() as u32).map(|node| !gone.contains(&node)).collect();
        let mut number = 0;
        let numbers: Vec<u32> = kept
            .iter()
            .map(|&kept| {
                number += u32::from(kept);
                number.wrapping_sub(1)
            })
            .collect();
        let renumber = |(parent, child): (u32, u32)| (numbers[parent as usize], numbers[child as usize]);
        let (ends, weights): (Vec<(u32, u32)>, Vec<f64>) =
            edges.into_iter().map(|(edge, weight)| (renumber(edge), weight)).unzip();
        let (n_topics, n_tokens) = (self.graph.n_topics() - gone.len(), self.graph.n_tokens());
        let (graph, order) = Graph::build(n_topics, n_tokens, &ends, &|node| node.to_string())
            .map_err(|fault| Error::Usage(fault.message))?;
        let edge = order.iter().map(|&at| weights[at as usize]).collect();
        keep(&mut self.weights.leak, &kept);
        keep(&mut self.names.topics, &kept);
        self.weights = Weights { leak: std::mem::take(&mut self.weights.leak), edge };
        for weight in self.weights.leak.iter_mut().chain(&mut self.weights.edge) {
            *weight = weight.clamp(f64::from(f32::MIN_POSITIVE), MAX_WEIGHT);
        }
        self.weights.round_to_f32();
        self.graph = graph;
        Ok(())
    }
}

/// The weight w with `exp(-w) = 1 - sum p (1 - exp(-w_k))`: as likely off as the weights leave it on average, each with probability p.
fn mean_weight(weights: impl IntoIterator<Item = (f64, f64)>) -> f64 {
    let mut weights: Vec<(f64, f64)> = weights.into_iter().collect();
    weights.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.total_cmp(&b.0)));
    let p_none = 1.0 - weights.iter().map(|(p, _)| p).sum::<f64>();
    let on: f64 = weights.iter().map(|(p, w)| p * (-w).exp_m1()).sum();
    // Where hardly anything is left the first form loses its digits, where all is left the second.
    if on > -0.5 {
        -on.ln_1p()
    } else {
        -(p_none.max(0.0) + weights.iter().map(|(p, w)| p * (-w).exp()).sum::<f64>()).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::load_bytes;

    /// `a` above `b` above `c`, and `d` beside them.
    fn network() -> Network {
        let text = "\ta\t0.5\n\tb\t0.1\n\tc\t0.2\n\td\t0.3\n\tx\t0.01\n\ty\t0.02
a\tb\t1\nb\tc\t2\na\td\t0.5\nc\tx\t1.5\nd\tx\t0.7\nd\ty\t0.4\nb\ty\t3\n";
        load_bytes("model.tsv".as_ref(), text.as_bytes()).unwrap().into_model("model.tsv".as_ref()).unwrap()
    }

    fn on(network: &Network) -> Vec<f64> {
        crate::network::topic_marginals(&network.graph, &network.weights)
    }

    /// Weights by the names of parent and child; leaks have no parent.
    fn weights(network: &Network) -> Vec<(String, String, f32)> {
        let name = |node: u32| network.names.of(node).to_owned();
        let leaks = (0..).zip(&network.weights.leak).map(|(node, &w)| (String::new(), name(node), w as f32));
        let edges = network.graph.edges().zip(&network.weights.edge);
        let mut all: Vec<_> =
            edges.map(|((parent, child), &w)| (name(parent), name(child), w as f32)).chain(leaks).collect();
        all.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
        all
    }

    #[test]
    fn tokens_left_out() {
        let mut smaller = network();
        smaller.leave_out_tokens(&[0]).unwrap();
        assert_eq!(smaller.names.tokens, ["y"]);
        let kept: Vec<_> = weights(&network()).into_iter().filter(|(_, child, _)| child != "x").collect();
        assert_eq!(weights(&smaller), kept);
        assert!(smaller.leave_out_tokens(&[1]).is_err(), "there is but one");
    }

    fn weight(network: &Network, parent: &str, child: &str) -> Option<f32> {
        weights(network).iter().find(|edge| edge.0 == parent && edge.1 == child).map(|edge| edge.2)
    }

    #[test]
    fn a_merged_topic_is_on_where_any_was() {
        let (before, mut network) = (network(), network());
        let p = on(&network);
        network.merge_topics(&[3, 2], &p).unwrap();
        assert_eq!(network.names.topics, ["a", "b", "d"]);
        assert_eq!(weight(&network, "", "d"), Some(0.5), "leaks are added");
        assert_eq!((weight(&network, "a", "d"), weight(&network, "b", "d")), (Some(0.5), Some(2.0)));
        let (c, d) = (p[2] / (p[2] + p[3]), p[3] / (p[2] + p[3]));
        let mean = |w_c: f64, w_d: f64| (-(c * (-w_c).exp() + d * (-w_d).exp()).ln()) as f32;
        assert!((weight(&network, "d", "x").unwrap() - mean(1.5, 0.7)).abs() < 1e-6);
        assert!((weight(&network, "d", "y").unwrap() - mean(0.0, 0.4)).abs() < 1e-6);
        assert_eq!(weight(&network, "b", "y"), weight(&before, "b", "y"), "others stay");
        let mut other = before.clone();
        other.merge_topics(&[2, 3], &p).unwrap();
        assert_eq!(other.weights, network.weights, "only the name is the first's");
    }

    #[test]
    fn parent_and_child_may_merge_but_no_cycle_comes_of_it() {
        let mut network = network();
        let p = on(&network);
        let message = network.merge_topics(&[0, 2], &p).unwrap_err().to_string();
        assert!(message.contains("'b'"), "{message}");
        assert!(network.merge_topics(&[1, 1], &p).is_err() && network.merge_topics(&[], &p).is_err());
        network.merge_topics(&[0, 1], &p).unwrap();
        assert_eq!(network.names.topics, ["a", "c", "d"]);
        assert_eq!(weight(&network, "", "a"), Some(0.6));
        let mut all = self::network();
        all.merge_topics(&[0, 1, 2], &p).unwrap();
        assert_eq!(all.names.topics, ["a", "d"]);
    }

    #[test]
    fn words_of_a_dropped_topic_are_as_frequent_as_before() {
        let (before, mut network) = (network(), network());
        let p = on(&network);
        network.drop_topics(&[3, 0], &p).unwrap();
        assert_eq!(network.names.topics, ["b", "c"]);
        let expected = 0.01 - (1.0 - p[3] * (1.0 - (-0.7f64).exp())).ln();
        assert!((f64::from(weight(&network, "", "x").unwrap()) - expected).abs() < 1e-6);
        assert!((on(&network)[0] - on(&before)[1]).abs() < 1e-6, "b is on as often without a");
        assert_eq!(weight(&network, "c", "x"), Some(1.5));
    }

    #[test]
    fn names_stay_unique() {
        let mut network = network();
        for (name, part) in [("b", "topic"), ("x", "token"), (" ", "empty")] {
            let message = network.rename_topic(0, name).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
        network.rename_topic(0, "a").unwrap();
        network.rename_topic(0, "new").unwrap();
        assert_eq!(network.names.topics, ["new", "b", "c", "d"]);
    }

    #[test]
    fn extreme_weights_stay_weights() {
        assert!((mean_weight([(0.5, 100.0), (0.5, 100.0)]) - 100.0).abs() < 1e-9);
        assert_eq!(mean_weight([(1.0, 1e6)]), f64::INFINITY, "rebuild cuts it");
        assert!((mean_weight([(1e-12, 1e-12)]) - 1e-24).abs() < 1e-36);
    }
}
