//! One step of every document's search; twin of shaders/flip_best.wgsl.

use super::{BANNED, KEPT_ON, Memory, TRIED, is_on, listed};
use crate::batch::DocRecord;
use crate::estep::cpu::{HOPE, MAX_LOSS, MIN_GAIN, Q_ON};
use crate::estep::device::{Args, Lanes};
use multiversion::multiversion;

/// Takes the flip that gains most, of several the first; where none gains, ends the trial of a topic or begins the next.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"))]
pub fn flip_best(memory: &mut Memory, _: Lanes, args: &Args) {
    let rows = std::mem::take(&mut memory.rows);
    for row in listed(&rows, args) {
        if memory.doc_state[row] < args.alternation {
            continue;
        }
        let doc = memory.docs[row];
        // More steps than a search should ever take.
        let last = args.alternation >= 16 * (doc.token_begin - doc.node_begin) + 64;
        let n_nodes = args.n_nodes as usize;
        let on_trial = on_trial(memory, n_nodes, doc);
        let hopeful = |gain: f32| !on_trial || memory.doc_bounds[row] + HOPE * gain > MIN_GAIN;
        let flip = best_flip(memory, n_nodes, doc).filter(|&(gain, _)| hopeful(gain) && !last);
        let moves = match flip {
            Some((gain, topic)) => {
                if on_trial {
                    memory.doc_bounds[row] += gain;
                }
                take_flip(memory, topic);
                true
            }
            None if on_trial => {
                end_trial(memory, n_nodes, doc, row);
                true
            }
            None => !last && begin_trial(memory, n_nodes, doc, row),
        };
        if moves && !last {
            memory.doc_state[row] = args.alternation + 1;
        }
    }
    memory.rows = rows;
}

fn best_flip(memory: &Memory, n_nodes: usize, doc: DocRecord) -> Option<(f32, usize)> {
    let (mut best, mut flip) = (MIN_GAIN, None);
    for topic in doc.node_begin as usize..doc.token_begin as usize {
        let value = memory.node_state[2 * n_nodes + topic];
        if value > best {
            (best, flip) = (value, Some((value, topic)));
        }
    }
    flip
}

/// One that comes on brings its chain of ancestors.
fn take_flip(memory: &mut Memory, mut topic: usize) {
    if is_on(memory.node_state[topic]) {
        memory.node_state[topic] = 1.0 - Q_ON;
        return;
    }
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

/// Whether a topic stays off on trial.
fn on_trial(memory: &Memory, n_nodes: usize, doc: DocRecord) -> bool {
    let topics = doc.node_begin as usize..doc.token_begin as usize;
    topics.into_iter().any(|topic| memory.node_state[3 * n_nodes + topic] as u32 & BANNED != 0)
}

/// Ends a trial: what did not gain is undone.
fn end_trial(memory: &mut Memory, n_nodes: usize, doc: DocRecord, row: usize) {
    let marks = 3 * n_nodes;
    let gained = memory.doc_bounds[row] > MIN_GAIN;
    for topic in doc.node_begin as usize..doc.token_begin as usize {
        let mark = memory.node_state[marks + topic] as u32;
        memory.node_state[marks + topic] = (mark & (KEPT_ON | TRIED)) as f32;
        if !gained {
            memory.node_state[topic] = if mark & KEPT_ON != 0 { Q_ON } else { 1.0 - Q_ON };
        }
    }
}

/// Keeps the configuration and tries it without the next topic that is on, if there is one.
fn begin_trial(memory: &mut Memory, n_nodes: usize, doc: DocRecord, row: usize) -> bool {
    let marks = 3 * n_nodes;
    let topics = doc.node_begin as usize..doc.token_begin as usize;
    let tried = topics.clone().rfind(|topic| memory.node_state[marks + topic] as u32 & TRIED != 0);
    let may = |topic: &usize| {
        is_on(memory.node_state[*topic])
            && memory.node_state[n_nodes + topic] <= MAX_LOSS
            && tried.is_none_or(|tried| *topic > tried)
    };
    let Some(next) = topics.clone().find(may) else { return false };
    for topic in topics {
        let on = if is_on(memory.node_state[topic]) { KEPT_ON } else { 0 };
        let trial = if topic == next { TRIED | BANNED } else { 0 };
        memory.node_state[marks + topic] = (on | trial) as f32;
    }
    memory.node_state[next] = 1.0 - Q_ON;
    memory.doc_bounds[row] = -memory.node_state[n_nodes + next];
    true
}
