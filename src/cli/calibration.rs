//! Calibration on sampled cases: `eval --calibration` and `report --calibration`.

use super::common::print;
use super::{Common, progress::Progress};
use anyhow::Result;
use noisyor::corpus::Docs;
use noisyor::estep::{EStep, EStepOptions};
use noisyor::exact::MAX_TOPICS;
use noisyor::monitor::Monitor;
use noisyor::network::Network;
use noisyor::posterior::calibration::{Calibration, Reliability, Request, SURE};
use noisyor::posterior::{Engine, Options};
use noisyor::{Error, Result as LibResult};
use serde_json::json;
use std::sync::Arc;

/// Cases, unless the user says otherwise.
const CASES: usize = 1_000;

/// Which cases are sampled, and how q is computed.
pub(crate) struct Sampled<'a> {
    pub(crate) n_cases: Option<usize>,
    pub(crate) seed: u64,
    pub(crate) estep: &'a EStepOptions,
    pub(crate) asked_as: Option<Docs<'a>>,
}

impl Sampled<'_> {
    /// Measures q, and p where it can be exact.
    pub(crate) fn measure(
        &self,
        network: &Network,
        estep: &mut dyn EStep,
        common: &Common,
        monitor: &Arc<Monitor>,
    ) -> LibResult<Calibration> {
        let n_cases = self.n_cases.unwrap_or(CASES);
        if n_cases == 0 {
            return Err(Error::Usage("--calibration needs at least one case".into()));
        }
        let is_small = network.graph.n_topics() <= MAX_TOPICS || Engine::new(network)?.is_two_layer();
        let options = Options::default();
        let request = Request {
            network,
            n_cases,
            seed: self.seed,
            estep: self.estep,
            posterior: is_small.then_some(&options),
            asked_as: self.asked_as,
        };
        let ways = 1 + u64::from(is_small);
        let _progress = Progress::start(common, monitor, "calibrating", ways * n_cases as u64);
        request.measure(estep, monitor)
    }
}

/// Calibration without a corpus is all that was asked for.
pub(crate) fn print_alone(calibration: &Calibration, backend: &str, common: &Common) -> Result<()> {
    if common.json {
        return print(format_args!("{}\n", json!({"calibration": calibration.json(), "backend": backend})));
    }
    print(table(calibration))
}

/// A row per bin, mean field at the left and exact probabilities at the right.
pub(crate) fn table(calibration: &Calibration) -> String {
    let (q, p) = (&calibration.mean_field, calibration.posterior.as_ref());
    let mut text = format!(
        "calibration on {} cases sampled from the model: of topics with a probability, the share that is on\n",
        calibration.n_cases
    );
    let head = "    topics    mean      on";
    text += &format!("  {:9}  {head}", "q from");
    text += &p.map_or("\n".to_owned(), |_| format!("   {:9}{head}\n", "p from"));
    let (q_bins, p_bins) = (q.bins(), p.map(Reliability::bins));
    for (at, q) in q_bins.iter().enumerate() {
        let cells = |bin: &noisyor::posterior::calibration::Bin| {
            if bin.n == 0 {
                return format!("{:>10}{:>8}{:>8}", 0, "-", "-");
            }
            format!("{:>10}{:>8.3}{:>8.3}", bin.n, bin.mean, bin.on)
        };
        text += &format!("  {:<9}  {}", q.from, cells(q));
        text += &p_bins.as_ref().map_or("\n".to_owned(), |p| format!("   {:<9}{}\n", q.from, cells(&p[at])));
    }
    let sum_up = |what: &str, reliability: &Reliability| {
        let sure = reliability.sure().map_or_else(
            || format!("no topic is at {SURE} or above"),
            |(n, on)| format!("of topics at {SURE} or above {:.1} % of {n} are on", 100.0 * on),
        );
        format!(
            "{what}: {sure}; mean square error {:.6}, calibration error {:.6}\n",
            reliability.brier(),
            reliability.error()
        )
    };
    text += &sum_up("q (mean field)", q);
    match p {
        Some(p) => {
            let methods: Vec<String> =
                calibration.methods.iter().map(|(method, n)| format!("{method} {n}")).collect();
            text += &sum_up(&format!("p (posterior auto: {})", methods.join(", ")), p);
        }
        None => {
            text += &format!(
                "p is not computed: the network has more than {MAX_TOPICS} topics, and topics have parents\n"
            );
        }
    }
    text
}
