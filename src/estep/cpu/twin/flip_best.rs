//! The best flip of every document; twin of shaders/flip_best.wgsl.

use super::{Memory, is_on, listed};
use crate::estep::cpu::{MIN_GAIN, Q_ON};
use crate::estep::device::{Args, Lanes};
use multiversion::multiversion;

/// Flips the topic that gains most, of several the first; one that comes on brings its chain of ancestors.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"))]
pub fn flip_best(memory: &mut Memory, _: Lanes, args: &Args) {
    for row in listed(&memory.rows, args) {
        let doc = memory.docs[row];
        let n_topics = doc.token_begin - doc.node_begin;
        if memory.doc_state[row] < args.alternation || args.alternation >= 2 * n_topics + 8 {
            continue;
        }
        let (mut best, mut flip) = (MIN_GAIN, None);
        for topic in doc.node_begin as usize..doc.token_begin as usize {
            let value = memory.node_state[2 * args.n_nodes as usize + topic];
            if value > best {
                (best, flip) = (value, Some(topic));
            }
        }
        let Some(mut topic) = flip else { continue };
        if is_on(memory.node_state[topic]) {
            memory.node_state[topic] = 1.0 - Q_ON;
        } else {
            loop {
                memory.node_state[topic] = Q_ON;
                let (begin, end) = (memory.nodes[topic].edge_begin, memory.nodes[topic + 1].edge_begin);
                if begin == end || memory.edge_state[begin as usize].r < 0.0 {
                    break;
                }
                let place = memory.edge_state[begin as usize].r as usize;
                topic = memory.edges[begin as usize + place].parent as usize;
            }
        }
        memory.doc_state[row] = args.alternation + 1;
    }
}
