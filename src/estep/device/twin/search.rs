//! Several rounds of the search for a bin's documents; twin of shaders/search.wgsl.

use super::flip_best::take_best;
use super::flip_chain::set_chain;
use super::flip_gain::set_gain;
use super::flip_terms::set_terms;
use super::{Memory, batches, bins};
use crate::estep::device::{Args, Lanes};
use multiversion::multiversion;

/// Rounds of terms, gains, chains and best flips, until no document of the bin is at work.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"))]
pub fn search(memory: &mut Memory, lanes: Lanes, args: &Args) {
    let rows = std::mem::take(&mut memory.rows);
    for bin in bins(&rows, args) {
        let [first_doc, n_docs] = bin[2];
        let docs = first_doc as usize..(first_doc + n_docs) as usize;
        for round in args.alternation..args.alternation + args.n_steps {
            if memory.doc_state[docs.clone()].iter().all(|&state| state < round) {
                break;
            }
            for row in [bin[3], bin[4]].into_iter().flat_map(|nodes| batches(&rows, nodes)) {
                set_terms(memory, lanes, args, row, round);
            }
            for row in bin[7..].iter().flat_map(|&colour| batches(&rows, colour)) {
                set_gain(memory, lanes, args, row, round);
            }
            for _ in 1..args.n_levels {
                for row in bin[7..].iter().rev().flat_map(|&colour| batches(&rows, colour)) {
                    set_chain(memory, lanes, args, row, round);
                }
            }
            for ([from, to], lanes) in [(bin[5], Lanes::Thread), (bin[6], Lanes::Group)] {
                for &[row, _] in &rows[from as usize..to as usize] {
                    take_best(memory, lanes, args, row as usize, round);
                }
            }
        }
    }
    memory.rows = rows;
}
