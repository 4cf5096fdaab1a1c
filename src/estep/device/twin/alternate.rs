//! Several alternations of a bin's documents; twin of shaders/alternate.wgsl.

use super::q_update::update_q;
use super::r_update::update_r;
use super::{Memory, batches, bins};
use crate::estep::device::{Args, Lanes};
use multiversion::multiversion;

/// q sweeps colour by colour, then r iterations, until no document of the bin is at work.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"))]
pub fn alternate(memory: &mut Memory, lanes: Lanes, args: &Args) {
    let rows = std::mem::take(&mut memory.rows);
    for bin in bins(&rows, args) {
        let [first_doc, n_docs] = bin[2];
        let docs = first_doc as usize..(first_doc + n_docs) as usize;
        for step in 0..args.n_steps {
            // Above T = 1, and without a tolerance, nobody is ever done.
            let alternation = args.alternation + if args.tolerance < f32::INFINITY { step } else { 0 };
            if memory.doc_state[docs.clone()].iter().all(|&state| state < alternation) {
                break;
            }
            for _ in 0..args.q_sweeps {
                for row in bin[7..].iter().flat_map(|&colour| batches(&rows, colour)) {
                    update_q(memory, lanes, args, row, alternation);
                }
            }
            for _ in 0..args.r_iterations {
                for row in batches(&rows, bin[3]) {
                    update_r(memory, lanes, args, row, alternation);
                }
            }
        }
    }
    memory.rows = rows;
}
