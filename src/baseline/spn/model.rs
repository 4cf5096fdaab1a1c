//! A sum-product network as a baseline.

use super::fit::State;
use super::learn::learn;
use super::options::SpnOptions;
use super::plain::marginals;
use super::program::{Op, Program};
use super::save;
use super::start::start;
use super::structure::{Kind, Structure};
use super::sums::Evaluator;
use crate::baseline::{Model, Pass, Score, Tensors, Training};
use crate::corpus::Docs;
use crate::error::{Error, Result};
use std::sync::Arc;

/// A sum-product network that is learned from documents.
#[derive(Debug)]
pub struct Spn {
    pub(super) options: SpnOptions,
    pub(super) program: Arc<Program>,
    /// With the weights that predict: they are normalised.
    pub(super) predicting: Evaluator,
    /// None of a finished model.
    pub(super) state: Option<State>,
}

impl Spn {
    /// Learns a structure, and the weights to begin with. Documents are counted in the monitor.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] where an option makes no sense or there is no document; cancellation.
    pub fn start(options: SpnOptions, training: &Training<'_>) -> Result<Self> {
        let options = options.check()?;
        if training.train.is_empty() {
            return Err(Error::Usage(
                "a sum-product network is learned from documents, and there are none".to_owned(),
            ));
        }
        let Training { docs, train, n_tokens, seed, monitor, .. } = training;
        let learned = learn(docs, train, *n_tokens, &options, *seed, monitor)?;
        let state = start(&learned, &options, *seed);
        let program = Arc::new(Program::new(learned.structure));
        let weights = state.weights(program.structure(), options.fit);
        let predicting = Evaluator::new(&program, weights);
        Ok(Self { options, program, predicting, state: Some(state) })
    }

    /// Of arrays that [`Model::tensors`] gave; everything in them is checked.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] where they are not those of a sum-product network.
    pub fn load(tensors: Tensors) -> Result<Self> {
        save::load(tensors)
    }

    /// Its graph.
    pub fn structure(&self) -> &Structure {
        self.program.structure()
    }

    /// Its weights, in the order of [`Structure::params`]; those of a node add up to one.
    pub fn weights(&self) -> &[f64] {
        self.predicting.weights()
    }

    /// How it was fitted.
    pub fn options(&self) -> &SpnOptions {
        &self.options
    }

    /// Edges of the sums in the upper layers: slot and place in the program, with the node's number and the child's place.
    fn feature_edges(&self) -> Vec<(usize, usize, usize, usize)> {
        let structure = self.structure();
        let mut layer = vec![usize::MAX; structure.n_nodes()];
        layer[structure.n_nodes() - 1] = 0;
        let mut edges = Vec::new();
        for node in (0..structure.n_nodes()).rev() {
            if layer[node] >= self.options.feature_layers {
                continue;
            }
            let is_sum = structure.kind(node) == Kind::Sum;
            for &child in structure.children(node) {
                let below = layer[node] + usize::from(is_sum);
                layer[child as usize] = layer[child as usize].min(below);
            }
            let slot = self.program.slot_of[node] as usize;
            if let (true, Some(Op::Sum { edges: places, .. })) = (is_sum, self.program.ops.get(slot)) {
                edges.extend(places.clone().enumerate().map(|(at, edge)| (slot, edge as usize, node, at)));
            }
        }
        edges
    }
}

impl Model for Spn {
    fn name(&self) -> &'static str {
        "spn"
    }

    fn n_tokens(&self) -> usize {
        self.structure().n_tokens()
    }

    fn score(&self) -> Score {
        Score::Exact
    }

    fn n_parameters(&self) -> usize {
        self.structure().n_params()
    }

    fn takes_unknown(&self) -> bool {
        true
    }

    fn pass(&mut self, training: &Training<'_>, number: u32) -> Result<Pass> {
        let Some(state) = &mut self.state else {
            return Err(Error::Usage(
                "a finished sum-product network cannot be trained further; train a new one".to_owned(),
            ));
        };
        let pass = state.pass(&self.predicting, &self.program, &self.options, training, number)?;
        let weights = state.weights(self.program.structure(), self.options.fit);
        self.predicting = Evaluator::new(&self.program, weights);
        Ok(pass)
    }

    fn scores(&self, docs: &Docs<'_>, doc_ixs: &[u32]) -> Vec<f64> {
        self.predicting.log_v(docs, doc_ixs)
    }

    fn marginals(&self, given: &[(u32, bool)]) -> Option<Vec<f64>> {
        let mut p = marginals(self.structure(), self.weights(), &self.row_of(given));
        given.iter().for_each(|&(token, is_present)| p[token as usize] = f64::from(u8::from(is_present)));
        Some(p)
    }

    fn sample(&self, given: &[(u32, bool)], n_docs: usize, seed: u64) -> Result<Option<Vec<Vec<u32>>>> {
        self.sample_row(&self.row_of(given), n_docs, seed).map(Some)
    }

    fn feature_names(&self) -> Vec<String> {
        self.feature_edges().iter().map(|(_, _, node, at)| format!("sum{node}.{at}")).collect()
    }

    fn features(&self, docs: &Docs<'_>, doc_ixs: &[u32]) -> Vec<f32> {
        let edges = self.feature_edges();
        let mut features = Vec::with_capacity(edges.len() * doc_ixs.len());
        self.predicting.each_tile(docs, doc_ixs, None, true, |scratch| {
            scratch.down_to(&self.program);
            let columns: Vec<_> = edges.iter().map(|&(slot, edge, ..)| scratch.through(slot, edge)).collect();
            for row in 0..scratch.tile.n_rows {
                features.extend(columns.iter().map(|column| column[row] as f32));
            }
        });
        features
    }

    fn tensors(&self) -> Tensors {
        save::tensors(self)
    }
}
