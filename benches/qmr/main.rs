//! What the methods of `posterior` are worth on networks of the type of QMR-DT.
//!
//! ```text
//! cargo bench --bench qmr -- convergence [NETWORKS]      Fig. 1 of Ng & Jordan (2000)
//! cargo bench --bench qmr -- hybrids                     their Figs. 2 and 3, on cases of the preset qmr
//! cargo bench --bench qmr -- calibration [CASES KNOWN]   auto and vi against what is true; KNOWN: share of the findings
//! ```

mod calibration;
mod convergence;
mod hybrids;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let number =
        |at: usize, default: f64| arguments.get(at).map_or(default, |n| n.parse().expect("a number"));
    match arguments.first().map(String::as_str) {
        Some("convergence") => convergence::print(number(1, 100.0) as usize),
        Some("hybrids") => hybrids::print(),
        Some("calibration") => calibration::print(number(1, 10_000.0) as u64, number(2, 1.0)),
        _ => println!("convergence, hybrids or calibration? See the first lines of benches/qmr/main.rs"),
    }
}
