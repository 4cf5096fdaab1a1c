//! Exact inference in the place of an E-step: q is the posterior probability itself, the bound is `log p(y)`.

use super::cases::Cases;
use super::{Engine, Method, Options};
use crate::error::{Error, Result};
use crate::estep::{DocResults, EStep, EStepOptions, Scale, Sink, Stats, Sums, Work};

/// Exact marginals for everything that takes the results of an E-step.
#[derive(Debug)]
pub struct ExactEStep<'a> {
    engine: Engine<'a>,
    given: &'a [(u32, bool)],
    options: Options,
}

impl<'a> ExactEStep<'a> {
    /// For one network, topics of which may be given.
    pub fn new(engine: Engine<'a>, given: &'a [(u32, bool)], max_exact: usize) -> Self {
        Self { engine, given, options: Options { method: Method::Exact, max_exact, ..Options::default() } }
    }
}

impl EStep for ExactEStep<'_> {
    fn name(&self) -> String {
        // Parts of an inference with other given topics are not to be taken for these.
        let given: Vec<String> =
            self.given.iter().map(|(topic, on)| format!(" {topic}={}", u8::from(*on))).collect();
        format!("exact{}", given.concat())
    }

    /// Cases say what is unknown of them.
    fn run(&mut self, work: &Work<'_>, sink: Option<&mut Sink<'_>>) -> Result<Stats> {
        Ok(self.run_packed(work, Scale::of(work.items)?, sink)?.to_stats(work.graph, work.params))
    }

    /// Nothing is packed.
    fn run_packed(&mut self, work: &Work<'_>, scale: Scale, mut sink: Option<&mut Sink<'_>>) -> Result<Sums> {
        if work.gradients {
            return Err(Error::Usage("exact inference has no gradients; train by an E-step".into()));
        }
        let cases = Cases { engine: self.engine, docs: work.docs, given: self.given, options: &self.options };
        let topics: Vec<u32> = (0..self.engine.network().graph.n_topics() as u32).collect();
        let mut sums = Sums::new(work.graph, false, scale);
        let mut first_item = 0;
        for run in work.items.chunk_by(|a, b| a.doc_ix + 1 == b.doc_ix) {
            let Some(first) = run.first() else { continue };
            let range = first.doc_ix as usize..first.doc_ix as usize + run.len();
            let mut counts = run.iter().map(|item| item.count);
            cases.each(
                range,
                work.monitor,
                |case, doc_ix| match cases.run(case, doc_ix, work.monitor) {
                    Err(Error::Usage(_)) => Err(too_large()),
                    answer => answer,
                },
                |_, _, posterior| {
                    let count = f64::from(counts.next().unwrap_or(1));
                    let log_p = 0.5 * (posterior.log_p.lower + posterior.log_p.upper);
                    let q: Vec<f32> = posterior.marginals.iter().map(|marginal| marginal.p as f32).collect();
                    sums.add_totals(&Stats {
                        n_docs: count,
                        n_items: 1,
                        elbo_sum: count * log_p,
                        ..Stats::default()
                    })?;
                    let results = DocResults {
                        first_item,
                        topic_offsets: &[0, topics.len()],
                        topics: &topics,
                        q: &q,
                        elbo: &[log_p],
                    };
                    first_item += 1;
                    sink.as_mut().map_or(Ok(()), |sink| sink(&results))
                },
            )?;
        }
        Ok(sums)
    }

    fn run_docs(&self, _: &EStepOptions) -> usize {
        1
    }
}

/// All that can be wrong with a case of a document is its size.
fn too_large() -> Error {
    Error::Usage(
        "the network is too large for exact probabilities of this document; leave out `exact`, or use 'noisyor posterior', which has \
         bounds and samples, too"
            .into(),
    )
}
