//! The pieces of a document as one explanation.
//!
//! Under the structured bound (docs/optima.md) a document is a mixture of pieces s of weight `p_s = exp(L_s - L)`, with q, r and causes of
//! their own. A document that stayed whole is one piece of weight one. What is said of a node is the mean:
//!
//! ```text
//! q_i        = sum_s p_s q_i(s)
//! log-odds_i = log q_i - log(1 - q_i)                  (in one piece alone: Eq. 12)
//! cause_i    = sum_s p_s(i) cause_i(s),                p_s(i) = p_s q_i(s) / q_i
//! ```
//!
//! p_s(i) is the weight of a piece where node i is on; for a token, which is on in all of them, it is p_s. A piece in which a topic is off
//! says nothing of what switched the topic on, and a parent that is off in a piece has no share there. All figures of a cause (cost, r,
//! contributions, shares) are means by the same weights, so that what adds up in every piece adds up in the mean. A source's q alone is
//! the topic's, by p_s.
//!
//! The weights are the fast path's, as q and r are. With any weights `sum_s p_s (L_s - log p_s)` is a lower bound, and with
//! `p_s = exp(L_s - L)` it is L: so it is L to the square of what the weights are off by rounding.

use super::explanation::Nodes;
use super::optimum::Optimum;
use super::{Cause, Explainer, Explanation, Piece};
use crate::corpus::{Corpus, align};
use crate::error::{Error, Result};
use crate::estep::EStepOptions;
use crate::estep::cpu::{Probe, ProbePiece};
use crate::numeric::f64::{log_sum_exp, softplus};
use rustc_hash::FxHashMap;

impl Explainer<'_> {
    /// Explains a document, given as token numbers; those that the network does not have are left out. Fails where the bound is
    /// not finite.
    ///
    /// ```
    /// use noisyor::{estep::EStepOptions, explain::Explainer, network::load_bytes};
    ///
    /// # let model = "sport\tball\t2\nsport\tteam\t2\nmusic\tsong\t2\n\tsport\t0.5\n\tmusic\t0.5\n\tball\t0.01\n\tteam\t0.01\n\tsong\t0.01\n";
    /// # let network = load_bytes("model.tsv".as_ref(), model.as_bytes())?.into_model("model.tsv".as_ref())?;
    /// let explainer = Explainer::new(&network, &EStepOptions::default())?;
    /// let explanation = explainer.explain(&[0, 1])?; // ball and team
    /// let on: Vec<&str> = explanation.topics.iter().filter(|t| t.is_on()).map(|t| network.names.of(t.topic)).collect();
    /// assert_eq!(on, ["sport"]);
    /// # Ok::<(), noisyor::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Numeric`] where the bound is not finite.
    pub fn explain(&self, tokens: &[u32]) -> Result<Explanation> {
        let Self { network, options, params, .. } = self;
        let corpus = Corpus::from_tokens([tokens.to_vec()]);
        let alignment = align(&corpus, &network.names.tokens);
        let mut probe = Probe::empty(&network.graph, options.bound, params);
        probe.load(&alignment.docs(&corpus), 0);
        let totals = probe.solve(options);
        let found = probe.pieces();
        let given_on = GivenOn::new(&mut probe, &found, options);
        let (mut mean, mut heaviest) = (None, None);
        let (mut elbo, mut last_move, mut pieces) = (0.0, 0.0f64, Vec::new());
        for (at, piece) in found.iter().enumerate() {
            probe.take_piece(piece, options);
            let optimum = Optimum::new(self, &probe, &piece.clamped);
            let (weight, nodes) = (piece.log_weight.exp(), self.nodes(&optimum));
            elbo += weight * (optimum.elbo - piece.log_weight);
            last_move = last_move.max(optimum.last_move);
            pieces.push(Piece::new(&optimum, piece, &nodes));
            let mean = mean.get_or_insert_with(|| nodes.blank());
            mean.add(&nodes, weight, &|topic| given_on.weight(at, topic));
            if found.len() > 1 && at == 0 {
                heaviest = Some(nodes);
            }
        }
        if !elbo.is_finite() {
            let message = format!("the bound of the document is {elbo}: a weight is out of range");
            return Err(Error::Numeric(message));
        }
        let Nodes { mut topics, tokens } = mean.unwrap_or_default();
        if found.len() > 1 {
            topics.iter_mut().for_each(|part| part.log_odds = given_on.log_odds(part.topic));
        }
        Ok(Explanation {
            bound: options.bound,
            clamp: options.clamp,
            elbo,
            topics,
            tokens,
            pieces,
            n_alternations: totals.n_alternations as u32,
            n_unconverged: totals.n_unconverged as u32,
            last_move,
            heaviest,
        })
    }
}

/// The weights of the pieces where a topic is on. In logarithms: a topic may be so unlikely that its q is zero, and still has a cause.
struct GivenOn {
    /// `log p_s q(s)` of every topic and piece.
    log_on: FxHashMap<u32, Vec<f64>>,
    /// `log q` and `log(1 - q)` of every topic.
    totals: FxHashMap<u32, (f64, f64)>,
}

impl GivenOn {
    fn new(probe: &mut Probe<'_>, pieces: &[ProbePiece], options: &EStepOptions) -> Self {
        let topics = probe.topics();
        let mut log_on: FxHashMap<u32, Vec<f64>> = FxHashMap::default();
        let mut log_off = log_on.clone();
        for piece in pieces {
            probe.take_piece(piece, options);
            for (&topic, &g) in topics.iter().zip(probe.log_odds()) {
                let g = f64::from(g);
                log_on.entry(topic).or_default().push(piece.log_weight - softplus(-g));
                log_off.entry(topic).or_default().push(piece.log_weight - softplus(g));
            }
        }
        let sum = |logs: &FxHashMap<u32, Vec<f64>>, topic: &u32| log_sum_exp(logs[topic].iter().copied());
        let total = |topic: &u32| (*topic, (sum(&log_on, topic), sum(&log_off, topic)));
        let totals = topics.iter().map(total).collect();
        Self { log_on, totals }
    }

    /// p_s(i) of a topic.
    fn weight(&self, piece: usize, topic: u32) -> f64 {
        (self.log_on[&topic][piece] - self.totals[&topic].0).exp()
    }

    /// The log-odds of a topic's mean q.
    fn log_odds(&self, topic: u32) -> f64 {
        let (on, off) = self.totals[&topic];
        on - off
    }
}

impl Nodes {
    /// The same nodes, all figures zero that are means.
    fn blank(&self) -> Self {
        let mut blank = self.clone();
        for part in &mut blank.topics {
            part.q = 0.0;
            part.cause.clear();
        }
        blank.tokens.iter_mut().for_each(|part| part.cause.clear());
        blank
    }

    /// Adds a piece of some weight; `given_on` is its weight where a topic is on.
    fn add(&mut self, piece: &Self, weight: f64, given_on: &dyn Fn(u32) -> f64) {
        for (mean, part) in self.topics.iter_mut().zip(&piece.topics) {
            mean.q += weight * part.q;
            mean.cause.add(&part.cause, given_on(part.topic), weight);
        }
        for (mean, part) in self.tokens.iter_mut().zip(&piece.tokens) {
            mean.cause.add(&part.cause, weight, weight);
        }
    }
}

impl Cause {
    fn clear(&mut self) {
        (self.cost, self.leak_share) = (0.0, 0.0);
        for source in &mut self.parents {
            (source.q, source.r, source.a, source.contribution, source.share) = (0.0, 0.0, 0.0, 0.0, 0.0);
        }
    }

    /// Adds the cause in a piece: `given_on` is the piece's weight where the node is on, `weight` its weight.
    fn add(&mut self, piece: &Self, given_on: f64, weight: f64) {
        self.cost += given_on * piece.cost;
        self.leak_share += given_on * piece.leak_share;
        for (mean, source) in self.parents.iter_mut().zip(&piece.parents) {
            mean.q += weight * source.q;
            mean.r += given_on * source.r;
            mean.a += given_on * source.a;
            mean.contribution += given_on * source.contribution;
            mean.share += given_on * source.share;
        }
    }
}
