//! The E-step on several ranks beside one alone, and what communication costs.

use super::report::{SHORTEST, Spread};
use crate::error::{Error, Result};
use crate::estep::{EStep, Stats, Work};
use crate::ranks::{RankedEStep, Said, Spent, Team, agree};
use serde::Serialize;
use std::sync::Arc;
use std::time::Instant;

/// What was measured: an E-step of all documents is what a weight step takes whose batch they are.
#[derive(Debug, Clone, Serialize)]
pub struct RanksReport {
    /// Documents of a run.
    pub docs: usize,
    /// How many ranks there are.
    pub ranks: usize,
    /// Timed runs behind every figure; figures are medians.
    pub repeat: usize,
    /// Wall seconds of a run of the first rank alone, while the others wait.
    pub alone_s: Spread,
    /// Wall seconds of a run of all ranks.
    pub together_s: Spread,
    /// How much faster all ranks are than one.
    pub speedup: f64,
    /// Bytes of the sums, all of them sent.
    pub sums_bytes: u64,
    /// Bytes that a rank sends in a run, and how many of them for sums that it sends sparsely.
    pub sent_bytes: u64,
    /// See `sent_bytes`.
    pub sparse_bytes: u64,
    /// Collective calls of a run.
    pub calls: u64,
    /// Seconds in which sums were on their way, waiting for slower ranks included.
    pub communication_s: f64,
    /// Seconds of those in which this rank computed nothing.
    pub waited_s: f64,
    /// Whether the sums are the same, to the bit.
    pub same_sums: bool,
}

/// Measures an E-step on ranks that all have the same work; the first rank alone runs it first.
///
/// # Errors
/// Ranks that differ, failing ranks and backends.
pub fn bench_ranks(
    work: &Work<'_>,
    n_repeats: usize,
    mut estep: Box<dyn EStep>,
    team: &Team,
    tell: &mut dyn FnMut(&str),
) -> Result<RanksReport> {
    if !team.has_others() {
        let message = "`mpi` measures several ranks, and there is one: start noisyor by mpirun -n N";
        return Err(Error::Usage(message.into()));
    }
    if n_repeats == 0 || work.items.is_empty() {
        return Err(Error::Usage("there is nothing to measure: `repeat` or the documents are none".into()));
    }
    let said = Said::program()
        .and("fingerprint of the documents", format_args!("{:016x}", work.docs.corpus().fingerprint()))
        .and("edges", work.graph.n_edges())
        .and("options", format_args!("{:?}", work.options))
        .and("repeats", n_repeats);
    agree(team, &said)?;
    let run = |estep: &mut dyn EStep| -> Result<(f64, Stats, Spent)> {
        let (begun, before) = (Instant::now(), team.spent());
        let stats = estep.run(work, None)?;
        Ok((begun.elapsed().as_secs_f64(), stats, team.spent().since(&before)))
    };
    // One run more than is timed: to warm up.
    let repeat = |estep: &mut dyn EStep| -> Result<Vec<(f64, Stats, Spent)>> {
        let mut runs = (0..=n_repeats).map(|_| run(estep)).collect::<Result<Vec<_>>>()?;
        runs.remove(0);
        runs.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(runs)
    };
    let alone = if team.is_first() {
        tell("one rank alone");
        team.share_error(repeat(estep.as_mut()))?
    } else {
        Vec::new()
    };
    team.gather(Vec::new())?;
    tell(&format!("{} ranks", team.size()));
    let mut ranked = RankedEStep::new(estep, team.clone(), Arc::default());
    let together = team.share_error(repeat(&mut ranked))?;
    let spread = |runs: &[(f64, Stats, Spent)]| {
        let at = |at: usize| runs.get(at).map_or(f64::NAN, |run| run.0);
        Spread { median: at(runs.len() / 2), min: at(0), max: at(runs.len().saturating_sub(1)) }
    };
    let (_, stats, spent) = &together[together.len() / 2];
    let (alone_s, together_s) = (spread(&alone), spread(&together));
    let numbers = stats.edge.len() + stats.leak.len() + stats.topic_q.len() + stats.topic_docs.len();
    Ok(RanksReport {
        docs: work.items.len(),
        ranks: team.size(),
        repeat: n_repeats,
        alone_s,
        together_s,
        speedup: alone_s.median / together_s.median.max(SHORTEST),
        sums_bytes: 8 * numbers as u64,
        sent_bytes: spent.bytes,
        sparse_bytes: spent.sparse_bytes,
        calls: spent.n_calls,
        communication_s: spent.busy.as_secs_f64(),
        waited_s: spent.waited.as_secs_f64(),
        same_sums: alone.iter().chain(&together).all(|run| run.1 == *stats),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::{Item, align, sample_corpus, sample_network};
    use crate::estep::cpu::CpuEStep;
    use crate::estep::{EStepOptions, Monitor, Params};
    use crate::ranks::on_threads;

    #[test]
    fn ranks_have_the_sums_of_one_and_send_something() {
        let (network, corpus) = (sample_network().unwrap(), sample_corpus().unwrap());
        let alignment = align(&corpus, &network.names.tokens);
        let (options, items) = (EStepOptions::default(), Item::each(&(0..500).collect::<Vec<_>>()));
        let (graph, docs, monitor) = (&network.graph, alignment.docs(&corpus), Monitor::default());
        let params = &Params::derive(graph, &network.weights, options.bound).unwrap();
        let (items, options, monitor) = (&items[..], &options, &monitor);
        let work = Work { graph, params, docs, items, options, gradients: true, kept_on: None, monitor };
        let reports = on_threads(2, |team| {
            bench_ranks(&work, 2, Box::new(CpuEStep::new()), &team, &mut |_| ()).unwrap()
        });
        for report in &reports {
            assert!(report.same_sums && report.ranks == 2 && report.docs == 500);
            assert!(report.sent_bytes > 0 && report.sparse_bytes <= report.sent_bytes && report.calls == 1);
            assert_eq!(
                report.sums_bytes,
                8 * (graph.n_edges() + graph.n_nodes() + 2 * graph.n_topics()) as u64
            );
        }
        assert!(reports[0].speedup > 0.0);
        let alone = bench_ranks(&work, 2, Box::new(CpuEStep::new()), &Team::default(), &mut |_| ());
        assert!(matches!(alone, Err(Error::Usage(_))));
    }
}
