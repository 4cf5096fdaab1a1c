//! Bounds and expansions of log p(y) against the number of findings that are treated exactly, on cases of the preset qmr with fewer than
//! 20 present findings.

use crate::calibration::Cases;
use noisyor::Monitor;
use noisyor::network::Network;
use noisyor::posterior::dag::Dag;
use noisyor::posterior::mean_field::hybrid_mean_field;
use noisyor::posterior::quickscore::ROUNDING;
use noisyor::posterior::two_layer::Problem;
use noisyor::posterior::upper::{gains, upper, upper_at};
use noisyor::posterior::{Case, Watch};

/// Present findings of a case.
const SIZES: std::ops::Range<usize> = 14..20;
const N_CASES: usize = 2;
const MAX_BITS: usize = 22;

/// log p(y) of the first cases, with the other findings absent and unknown.
pub fn print() {
    println!("case\tothers\tpresent\texact_findings\ttruth\tjj_fixed\tjj\tmf3\tmf3_error");
    let network = Cases::network();
    let cases = Cases::new(&network, 1.0);
    let chosen = (0..).map(|number| (number, cases.of(number).0));
    let chosen = chosen.filter(|(_, case)| SIZES.contains(&case.present.len())).take(N_CASES);
    for (number, case) in chosen {
        rows(&network, &case, &format!("{number}\tabsent"));
        rows(&network, &Case { absent: Vec::new(), ..case }, &format!("{number}\tunknown"));
    }
}

fn rows(network: &Network, case: &Case, name: &str) {
    let monitor = Monitor::default();
    let limits = (MAX_BITS, &Watch::new(&monitor, None));
    let dag = Dag::new(network, case).expect("a case");
    let problem = Problem::of(&dag).expect("two layers");
    let m = problem.n_findings();
    let truth = problem.exact(MAX_BITS, limits.1).expect("no interruption").expect("an answer").log_p;
    let mut exact = vec![false; m];
    let all_bounded = upper(&problem, &exact, None, limits).expect("no interruption").expect("an answer");
    let gains = gains(&problem, &all_bounded.lambda);
    let mut order: Vec<usize> = (0..m).collect();
    order.sort_by(|&a, &b| gains[b].total_cmp(&gains[a]));
    let mut lambda = all_bounded.lambda.clone();
    for n_exact in 0..=m {
        if n_exact > 0 {
            exact[order[n_exact - 1]] = true;
        }
        let fixed = upper_at(&problem, &exact, &all_bounded.lambda, limits);
        let fixed = fixed.expect("no interruption").expect("an answer").log_p;
        let best = upper(&problem, &exact, Some(&lambda), limits);
        let best = best.expect("no interruption").expect("an answer");
        let mf = hybrid_mean_field(&problem, &exact, 3);
        let log_mf = problem.constant + mf.value.ln(); // NaN where it is negative
        let error = mf.kappa * ROUNDING;
        println!(
            "{name}\t{m}\t{n_exact}\t{truth:.6}\t{fixed:.6}\t{:.6}\t{log_mf:.6}\t{error:.1e}",
            best.bound.log_p
        );
        lambda = best.lambda;
    }
}
