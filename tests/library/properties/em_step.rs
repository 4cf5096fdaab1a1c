//! The EM step.

use super::*;

impl Held {
    fn bound(&self, weights: &Weights) -> f64 {
        let graph = &self.network.graph;
        self.points.iter().map(|(tokens, point)| Oracle { graph, weights, tokens }.elbo(point)).sum()
    }

    /// Documents in which each topic is outside the local model.
    pub(crate) fn n_outside(&self) -> Vec<f64> {
        let inside = self.points.iter().map(|(tokens, _)| oracle(&self.network, tokens).local_topics());
        let mut n_outside = vec![0.0; self.network.graph.n_topics()];
        inside.for_each(|inside| {
            n_outside.iter_mut().zip(inside).for_each(|(n, inside)| *n += f64::from(!inside))
        });
        n_outside
    }

    fn stats(&self) -> Stats {
        let mut stats = Stats::new(&self.network.graph, true);
        for (tokens, point) in &self.points {
            let sums = oracle(&self.network, tokens).sums(point);
            stats.edge.iter_mut().zip(&sums.edge).for_each(|(sum, term)| *sum += term);
            stats.leak.iter_mut().zip(&sums.leak).for_each(|(sum, term)| *sum += term);
            stats.topic_q.iter_mut().zip(&sums.topic_q).for_each(|(sum, term)| *sum += term);
            stats.n_docs += 1.0;
        }
        stats.topic_docs = self.n_outside().iter().map(|n| stats.n_docs - n).collect();
        stats
    }

    fn advanced(&self, lambda: f64, stats: &StepSums) -> Weights {
        let mut weights = self.network.weights.clone();
        // A leak that no document asks for would go to zero: the floor is what keeps the bound finite.
        let mut stepper =
            Stepper::new(StepRule::Em { lambda }, (1e-30, 1e-30, 1e30), self.points.len(), (1, 1));
        stepper.advance(&self.network.graph, &mut weights, stats);
        weights.leak.iter_mut().chain(&mut weights.edge).for_each(|w| *w = w.max(1e-30));
        weights
    }

    /// What the EM step raises: bound, less the penalty, plus the free tail at `q0` where one is given.
    fn objective(&self, weights: &Weights, lambda: f64, q0: Option<&[f64]>) -> f64 {
        let graph = &self.network.graph;
        let outside = |(topic, n): (usize, f64)| {
            q0.map_or(0.0, |q0| n * outside_term(graph, weights, topic, q0[topic]))
        };
        let tail: f64 = self.n_outside().into_iter().enumerate().map(outside).sum();
        self.bound(weights) - lambda * weights.edge.iter().sum::<f64>() + tail
    }

    /// Steps one after another, at the same q and r, never lower the objective.
    fn assert_steps_ascend(mut self, name: &str, lambda: f64, tail: bool) {
        let no_tail = Params::default();
        for step in 0..12 {
            let params = derive(&self.network);
            let stats = self.stats().with_tail(if tail { &params } else { &no_tail });
            let q0 = tail.then_some(&*params.tail_q);
            let before = self.objective(&self.network.weights, lambda, q0);
            let weights = self.advanced(lambda, &stats);
            let after = self.objective(&weights, lambda, q0);
            let rounding = F64 * (1.0 + before.abs());
            assert!(after >= before - rounding, "{name} step {step}: from {before} to {after}");
            self.network.weights = weights;
        }
    }
}

/// What a topic outside H_d adds at a held q0; at the best q0 it is log(1 + exp(beta - S)).
fn outside_term(graph: &Graph, weights: &Weights, topic: usize, q0: f64) -> f64 {
    let children: f64 = graph.child_edges(topic).iter().map(|&edge| weights.edge[edge as usize]).sum();
    let entropy = if q0 <= 0.0 || q0 >= 1.0 { 0.0 } else { -q0 * q0.ln() - (1.0 - q0) * (-q0).ln_1p() };
    q0 * (numeric::f64::beta(weights.leak[topic]) - children) + entropy
}

#[test]
fn the_em_step_never_lowers_the_bound_at_held_q_and_r() {
    for (seed, network, docs) in random_cases(250, 12, 15) {
        held(seed, network, docs).assert_steps_ascend(&format!("seed {seed}"), 0.0, false);
    }
}

#[test]
fn the_em_step_never_lowers_the_penalised_bound() {
    for (seed, network, docs) in random_cases(250, 12, 15) {
        let lambda = [0.1, 1.0, 3.0][seed as usize % 3];
        held(seed, network, docs).assert_steps_ascend(&format!("seed {seed}"), lambda, false);
    }
}

/// The tail's q0 is held like q and r. The best q0 for the new weights can only raise the tail further, and
/// the tail that is reported is the one at its best q0: so that does not fall either.
#[test]
fn the_em_step_never_lowers_the_bound_with_the_free_tail() {
    for (seed, network, docs) in random_cases(250, 12, 15) {
        let lambda = [0.0, 1.0][seed as usize % 2];
        held(seed, network, docs).assert_steps_ascend(&format!("seed {seed}"), lambda, true);
    }
}
