//! Work for several backends, and how far their results are apart.

use super::*;
use noisyor::batch::{Chunk, ChunkLimits, Chunks};
use noisyor::corpus::Others;
use noisyor::estep::device::twin::TwinMachine;
use noisyor::estep::device::{DeviceEStep, DeviceOptions, Machine, Route};
use noisyor::synth::{Preset, Sampler};
use std::sync::atomic::Ordering;

/// Documents of a network, and how to run them.
#[derive(Clone)]
pub struct Case {
    pub name: String,
    pub network: Network,
    pub corpus: Corpus,
    pub alignment: Alignment,
    pub items: Vec<Item>,
    pub options: EStepOptions,
    pub kept_on: Option<OnLists>,
    pub device: DeviceOptions,
}

impl Case {
    /// Every document once, default options.
    pub fn new(name: &str, network: Network, docs: impl IntoIterator<Item = Vec<u32>>) -> Self {
        let (corpus, alignment) = corpus_of(&network, docs);
        let items = Item::each(&(0..corpus.n_docs() as u32).collect::<Vec<_>>());
        let (name, options, device) = (name.to_owned(), EStepOptions::default(), DeviceOptions::default());
        Self { name, network, corpus, alignment, items, options, kept_on: None, device }
    }

    /// Documents sampled from a preset's random network.
    pub fn preset(name: &str, n_docs: u64) -> Self {
        let network = noisyor::synth::random_network(&Preset::of(name).unwrap(), 0).unwrap();
        let sampler = Sampler::new(&network);
        let docs: Vec<Vec<u32>> = (0..n_docs).map(|doc| sampler.sample(0, doc).tokens).collect();
        Self::new(name, network, docs)
    }

    /// The first documents of the bundled sample, under its own network.
    pub fn sample(n_docs: usize) -> Self {
        let network = noisyor::corpus::sample_network().unwrap();
        let corpus = noisyor::corpus::sample_corpus().unwrap();
        let alignment = align(&corpus, &network.names.tokens);
        let docs = alignment.docs(&corpus);
        let docs: Vec<Vec<u32>> = (0..n_docs).map(|doc| docs.tokens(doc).collect()).collect();
        Self::new("sample", network, docs)
    }

    pub fn options(mut self, options: EStepOptions) -> Self {
        self.options = options;
        self
    }

    pub fn limits(mut self, limits: ChunkLimits) -> Self {
        self.device.limits = limits;
        self
    }

    pub fn by(mut self, route: Route) -> Self {
        self.device.route = Some(route);
        self
    }

    /// Item number `at` counts as often as `count` says.
    pub fn counts(mut self, count: impl Fn(usize) -> u32) -> Self {
        self.items.iter_mut().enumerate().for_each(|(at, item)| item.count = count(at));
        self
    }

    /// Of every document tokens are unknown: a few that are listed, or all but a few.
    pub fn with_unknown(mut self, seed: u64) -> Self {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let n_tokens = self.network.graph.n_tokens() as u32;
        let mut corpus = Corpus::default();
        for doc_ix in 0..self.corpus.n_docs() {
            let rest_unknown = doc_ix % 7 == 3;
            let mut present = self.corpus.tokens(doc_ix).to_vec();
            present.retain(|_| rng.random_bool(0.7));
            let listed =
                (0..40).map(|_| rng.random_range(0..n_tokens)).filter(|token| !present.contains(token));
            let mut others = Others { tokens: listed.collect(), rest_unknown };
            corpus.push_state(&mut present, &mut others, "", "").unwrap();
        }
        self.alignment = align(&corpus, &self.network.names.tokens);
        self.corpus = corpus;
        self
    }

    /// Searches begin at configurations chosen at random, most of them poor.
    pub fn beginning_at_random(mut self, seed: u64) -> Self {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let mut lists = OnLists::default();
        for chunk in self.chunks() {
            for doc_ix in 0..chunk.n_docs() {
                let q: Vec<f32> = chunk.topics(doc_ix).map(|_| rng.random_range(0.0..0.6)).collect();
                lists.push(&q);
            }
        }
        self.kept_on = Some(lists);
        self
    }

    pub fn docs(&self) -> Docs<'_> {
        self.alignment.docs(&self.corpus)
    }

    /// Runs it, and gives the error if there is one.
    pub fn try_on(&self, estep: &mut dyn EStep, monitor: &Monitor) -> noisyor::Result<Ran> {
        let kept_on = self.kept_on.as_ref();
        run_on(estep, &self.network, self.docs(), &self.items, &self.options, kept_on, monitor)
    }

    /// Runs it, every document once.
    pub fn on(&self, estep: &mut dyn EStep) -> Ran {
        let monitor = Monitor::default();
        let ran = self.try_on(estep, &monitor).unwrap();
        let n_docs: u64 = self.items.iter().map(|item| u64::from(item.count)).sum();
        assert_eq!(monitor.docs_done.load(Ordering::Relaxed), n_docs, "{}: progress", self.name);
        ran
    }

    pub fn on_cpu(&self) -> Ran {
        self.on(&mut CpuEStep::new())
    }

    pub fn on_machine(&self, machine: impl Machine) -> Ran {
        self.on(&mut untroubled(machine, &self.device))
    }

    pub fn on_twins(&self) -> Ran {
        self.on_machine(TwinMachine::new())
    }

    /// The chunks that a device gets.
    pub fn chunks(&self) -> Vec<Chunk> {
        let full = self.options.bound == Bound::Full;
        let DeviceOptions { limits, route, .. } = self.device;
        Chunks::new(&self.network.graph, self.docs(), &self.items, 0, full, true, limits)
            .with_bins(route.unwrap_or_default().bin_words())
            .collect()
    }
}

/// A backend whose machine may not get into trouble: chunks that had to be halved would hide what is tested.
pub fn untroubled<M: Machine>(machine: M, options: &DeviceOptions) -> DeviceEStep<M> {
    let mut estep = DeviceEStep::new(machine, options.clone());
    estep.on_warning(|warning| panic!("{warning}"));
    estep
}

/// How far two backends are apart.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gap {
    /// Mean of |d bound|, relative to the mean of |bound|; or the sum's difference, if that is larger.
    pub bound: f64,
    /// Mean of |dq| over all topics of the items' models.
    pub q_mean: f64,
    /// |dq| that one in a thousand exceeds.
    pub q_high: f64,
    /// Sum of |d| over the sum, of N, L and Q.
    pub sums: f64,
    /// |d| / (1 + sum) that one in a thousand of N, L and Q exceeds.
    pub sums_high: f64,
    /// Difference of the numbers of alternations, of edge updates or of documents cut off, relative to the first or second.
    pub alternations: f64,
}

impl std::fmt::Display for Gap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { bound, q_mean, q_high, sums, sums_high, alternations } = self;
        write!(f, "bound {bound:.1e}, q {q_mean:.1e} {q_high:.1e}, ")?;
        write!(f, "sums {sums:.1e} {sums_high:.1e}, alternations {alternations:.1e}")
    }
}

impl Gap {
    /// The gap, if it is within the gates; otherwise what is not.
    pub fn within_gates(a: &Ran, b: &Ran) -> Result<Self, String> {
        let exact = |ran: &Ran| {
            let Stats { n_docs, n_items, n_edges, topic_docs, .. } = &ran.stats;
            (ran.elbo.len(), ran.q.len(), *n_docs, *n_items, *n_edges, topic_docs.clone())
        };
        if exact(a) != exact(b) {
            return Err("numbers of documents, items or edges, or n_k".to_owned());
        }
        let gap = Self::between(a, b);
        let gates = [
            ("bound", gap.bound, PARITY_BOUND),
            ("mean |dq|", gap.q_mean, PARITY_Q_MEAN),
            ("99.9 % of |dq|", gap.q_high, PARITY_Q_HIGH),
            ("sums", gap.sums, PARITY_SUMS),
            ("99.9 % of sums", gap.sums_high, PARITY_SUMS_HIGH),
            ("alternations", gap.alternations, PARITY_ALTERNATIONS),
        ];
        // A gap that is not a number is not within anything.
        match gates.iter().find(|(_, gap, gate)| gap.is_nan() || gap > gate) {
            Some((what, value, gate)) => Err(format!("{what}: {value:e} above {gate:e}; {gap}")),
            None => Ok(gap),
        }
    }

    pub fn between(a: &Ran, b: &Ran) -> Self {
        let both = |a: &[Vec<f32>], b: &[Vec<f32>]| -> Vec<f64> {
            let pairs = a.iter().flatten().zip(b.iter().flatten());
            pairs.filter(|(a, b)| **a > 0.0 || **b > 0.0).map(|(a, b)| f64::from((a - b).abs())).collect()
        };
        let mut dq = both(&a.q, &b.q);
        let q_mean = dq.iter().sum::<f64>() / dq.len().max(1) as f64;
        let bounds = a.elbo.iter().zip(&b.elbo);
        let size: f64 = a.elbo.iter().map(|elbo| elbo.abs()).sum();
        let bound = bounds.map(|(a, b)| (a - b).abs()).sum::<f64>() / size.max(1e-300);
        let (sum_a, sum_b) = (a.stats.elbo_sum, b.stats.elbo_sum);
        let bound = bound.max((sum_a - sum_b).abs() / sum_a.abs().max(1e-300));
        let of = |stats: &Stats| [stats.edge.clone(), stats.leak.clone(), stats.topic_q.clone()];
        let (mut sums, mut high) = (0.0f64, Vec::new());
        for (a, b) in of(&a.stats).iter().zip(&of(&b.stats)) {
            let d = |(a, b): (&f64, &f64)| (a - b).abs();
            let total: f64 = a.iter().sum();
            sums = sums.max(a.iter().zip(b).map(d).sum::<f64>() / total.max(1e-300));
            let touched = a.iter().zip(b).filter(|(a, b)| **a > 0.0 || **b > 0.0);
            high.extend(touched.map(|(a, b)| d((a, b)) / (1.0 + a)));
        }
        let relative = |a: u64, b: u64, to: u64| a.abs_diff(b) as f64 / to.max(1) as f64;
        let (s, t) = (&a.stats, &b.stats);
        let alternations = relative(s.n_alternations, t.n_alternations, s.n_alternations)
            .max(relative(s.n_edge_updates, t.n_edge_updates, s.n_edge_updates))
            .max(relative(s.n_unconverged, t.n_unconverged, s.n_alternations));
        let (q_high, sums_high) = (quantile(&mut dq), quantile(&mut high));
        Self { bound, q_mean, q_high, sums, sums_high, alternations }
    }
}

/// Asserts that two backends agree.
pub fn assert_agree(what: &str, a: &Ran, b: &Ran) {
    match Gap::within_gates(a, b) {
        Ok(gap) => println!("{what}: {gap}"),
        Err(why) => panic!("{what}: {why}"),
    }
}

/// What one in a thousand exceeds.
fn quantile(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let above = values.len() / 1000;
    if values.is_empty() { 0.0 } else { values[values.len() - 1 - above] }
}
