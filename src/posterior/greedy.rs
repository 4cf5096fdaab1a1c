//! A likely configuration of the topics of a network of any depth, by flipping one topic after another while that gains.

use super::Watch;
use super::dag::Dag;
use crate::error::Result;
use crate::numeric::f64::log1mexp;

/// Gains below this are rounding.
const MIN_GAIN: f64 = 1e-9;

struct Configuration<'a> {
    dag: &'a Dag,
    topic_children: Vec<Vec<(usize, f64)>>,
    on_children: Vec<Vec<(usize, f64)>>,
    is_on: Vec<bool>,
    /// `w0 + sum of w over parents that are on`, of topics and of nodes that are on.
    topic_a: Vec<f64>,
    on_a: Vec<f64>,
}

impl<'a> Configuration<'a> {
    fn all_off(dag: &'a Dag) -> Self {
        let (topic_children, on_children) = dag.children();
        let (topic_a, on_a) = (dag.leak.clone(), dag.on.iter().map(|(leak, _)| *leak).collect());
        Self { dag, topic_children, on_children, is_on: vec![false; dag.n_topics()], topic_a, on_a }
    }

    /// `log p` of a topic's state at input a.
    fn term(&self, topic: usize, is_on: bool, a: f64) -> f64 {
        if is_on { log1mexp(a) - self.dag.absent[topic] } else { -a }
    }

    /// What `log p(x, y)` gains by the other state of a topic.
    fn gain(&self, topic: usize) -> f64 {
        let (is_on, a) = (self.is_on[topic], self.topic_a[topic]);
        let sign = if is_on { -1.0 } else { 1.0 };
        let own = self.term(topic, !is_on, a) - self.term(topic, is_on, a);
        let of_topic = |&(child, w): &(usize, f64)| {
            let (state, a) = (self.is_on[child], self.topic_a[child]);
            self.term(child, state, a + sign * w) - self.term(child, state, a)
        };
        let of_on =
            |&(node, w): &(usize, f64)| log1mexp(self.on_a[node] + sign * w) - log1mexp(self.on_a[node]);
        own + self.topic_children[topic].iter().map(of_topic).sum::<f64>()
            + self.on_children[topic].iter().map(of_on).sum::<f64>()
    }

    fn flip(&mut self, topic: usize) {
        self.is_on[topic] = !self.is_on[topic];
        let is_on = &self.is_on;
        // Sums are taken anew: a large weight added and subtracted would lose a small leak.
        let input = |leak: f64, parents: &[(usize, f64)]| {
            leak + parents.iter().filter(|(parent, _)| is_on[*parent]).map(|(_, w)| w).sum::<f64>()
        };
        for &(child, _) in &self.topic_children[topic] {
            self.topic_a[child] = input(self.dag.leak[child], &self.dag.parents[child]);
        }
        for &(node, _) in &self.on_children[topic] {
            let (leak, parents) = &self.dag.on[node];
            self.on_a[node] = input(*leak, parents);
        }
    }
}

/// The configuration where no single flip gains, from all topics off; what is reached where time runs out.
///
/// # Errors
///
/// [`Error::Interrupted`](crate::Error::Interrupted).
pub fn greedy(dag: &Dag, watch: &Watch<'_>) -> Result<Vec<bool>> {
    let mut at = Configuration::all_off(dag);
    // Every flip gains, so no configuration comes twice; the limit is for rounding.
    for _ in 0..4 * dag.n_topics() {
        let gains = (0..dag.n_topics()).map(|topic| (at.gain(topic), topic));
        let best = gains.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        match best {
            Some((gain, topic)) if gain > MIN_GAIN && watch.go_on()? => at.flip(topic),
            _ => break,
        }
    }
    Ok(at.is_on)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Monitor;

    /// Gains are differences of the joint probability, and at the end none is left.
    #[test]
    fn gains_are_differences_of_the_joint() {
        let dag = Dag {
            topics: vec![0, 1, 2],
            leak: vec![0.1, 0.05, 0.02],
            absent: vec![0.3, 0.1, 0.0],
            parents: vec![vec![], vec![(0, 0.7)], vec![(0, 0.2), (1, 1.5)]],
            on: vec![(0.01, vec![(1, 2.0), (2, 0.5)]), (0.001, vec![(2, 1.0)])],
            ..Dag::default()
        };
        let mut at = Configuration::all_off(&dag);
        for topic in [2, 0, 1, 2, 1, 0] {
            let before = dag.log_joint(&at.is_on);
            let gain = at.gain(topic);
            at.flip(topic);
            assert!((dag.log_joint(&at.is_on) - before - gain).abs() < 1e-12);
        }
        let monitor = Monitor::default();
        let found = greedy(&dag, &Watch::new(&monitor, None)).unwrap();
        for topic in 0..3 {
            let mut other = found.clone();
            other[topic] = !other[topic];
            assert!(dag.log_joint(&other) <= dag.log_joint(&found) + 1e-9);
        }
        assert!(found[2], "the second node has no other cause");
    }
}
