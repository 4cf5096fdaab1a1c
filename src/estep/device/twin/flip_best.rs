//! One step of every document's search; twin of shaders/flip_best.wgsl.

use super::{Memory, is_on, listed, row_sum_of};
use crate::estep::cpu::{HOPE, MIN_GAIN, Q_ON};
use crate::estep::device::marks::{CHAIN, CLAMPED, CLAMPED_ON, GONE, KEPT_ON, ON_TRIAL, TRIED};
use crate::estep::device::{Args, Lanes};
use multiversion::multiversion;
use std::ops::Range;

/// Of all of a list.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"))]
pub fn flip_best(memory: &mut Memory, lanes: Lanes, args: &Args) {
    let rows = std::mem::take(&mut memory.rows);
    for row in listed(&rows, lanes, args) {
        take_best(memory, lanes, args, row, args.alternation);
    }
    memory.rows = rows;
}

/// Takes the flip that gains most, of several the first; where none gains, goes on from a trial that gained or
/// begins the next.
#[inline(always)]
pub(super) fn take_best(memory: &mut Memory, lanes: Lanes, args: &Args, row: usize, round: u32) {
    let (doc, n_nodes) = (memory.docs[row], args.n_nodes as usize);
    if memory.doc_state[row] < round {
        return;
    }
    let kept_at = 7 * n_nodes + row;
    let topics = doc.node_begin as usize..doc.token_begin as usize;
    let tokens = doc.token_begin as usize..memory.docs[row + 1].node_begin as usize;
    let state = &memory.node_state;
    let on_trial = topics.clone().any(|topic| state[3 * n_nodes + topic] as u32 & ON_TRIAL != 0);
    let part = |topic: usize| if is_on(state[topic]) { state[n_nodes + topic] } else { 0.0 };
    let [joint] = row_sum_of(lanes, [topics.clone(), tokens], |kind, node| match kind {
        0 => [part(node)],
        _ => [state[2 * n_nodes + node]],
    });
    let won = if on_trial { joint - memory.node_state[kept_at] } else { 0.0 };
    let chained = topics.clone().any(|topic| state[3 * n_nodes + topic] as u32 & CHAIN != 0);
    if chained && joint <= memory.node_state[kept_at] {
        undo_chain(memory, n_nodes, topics);
        memory.doc_state[row] = round + 1;
        return;
    }
    clear_marks(memory, n_nodes, topics.clone(), CHAIN);
    let flip = best_flip(memory, n_nodes, topics.clone());
    let moves = match flip.filter(|&(gain, _)| won + HOPE * gain > MIN_GAIN) {
        Some((_, topic)) => {
            let last = take_flip(memory, n_nodes, topic);
            if last != topic && !on_trial {
                keep_before(memory, n_nodes, topics, (topic, last));
                memory.node_state[kept_at] = joint;
            }
            true
        }
        None if won > MIN_GAIN => {
            end_trial(memory, n_nodes, topics);
            true
        }
        None => {
            if !on_trial {
                memory.node_state[kept_at] = joint;
            }
            begin_trial(memory, n_nodes, topics, on_trial)
        }
    };
    if moves {
        memory.doc_state[row] = round + 1;
    }
}

fn best_flip(memory: &Memory, n_nodes: usize, topics: Range<usize>) -> Option<(f32, usize)> {
    let (mut best, mut flip) = (MIN_GAIN, None);
    for topic in topics {
        let value = memory.node_state[2 * n_nodes + topic];
        if value > best {
            (best, flip) = (value, Some((value, topic)));
        }
    }
    flip
}

/// A topic that comes on brings its chain of ancestors, the last of which is returned; one that goes off stays off until the climb is
/// over.
fn take_flip(memory: &mut Memory, n_nodes: usize, mut topic: usize) -> usize {
    if is_on(memory.node_state[topic]) {
        memory.node_state[topic] = 1.0 - Q_ON;
        let mark = &mut memory.node_state[3 * n_nodes + topic];
        *mark = (*mark as u32 | GONE) as f32;
        return topic;
    }
    loop {
        memory.node_state[topic] = Q_ON;
        match above(memory, topic) {
            Some(above) => topic = above,
            None => return topic,
        }
    }
}

/// The ancestor that comes on with a topic that is off.
fn above(memory: &Memory, topic: usize) -> Option<usize> {
    let (begin, end) = (memory.nodes[topic].edge_begin as usize, memory.nodes[topic + 1].edge_begin as usize);
    let has_above = begin < end && memory.edge_state[begin].r >= 0.0;
    has_above.then(|| memory.edges[begin + memory.edge_state[begin].r as usize].parent as usize)
}

/// Keeps the configuration before a chain came on, and marks the chain's last topic.
fn keep_before(memory: &mut Memory, n_nodes: usize, topics: Range<usize>, (first, last): (usize, usize)) {
    for topic in topics {
        let mark = memory.node_state[3 * n_nodes + topic] as u32 & !KEPT_ON;
        let kept = if is_on(memory.node_state[topic]) { KEPT_ON } else { 0 };
        memory.node_state[3 * n_nodes + topic] = (mark | kept) as f32;
    }
    let mut topic = first;
    loop {
        let mark = memory.node_state[3 * n_nodes + topic] as u32 & !KEPT_ON;
        memory.node_state[3 * n_nodes + topic] = (mark | if topic == last { CHAIN } else { 0 }) as f32;
        if topic == last {
            break;
        }
        topic = above(memory, topic).unwrap_or(last);
    }
}

/// Goes back to the configuration before a chain; its last topic stays off until the climb is over.
fn undo_chain(memory: &mut Memory, n_nodes: usize, topics: Range<usize>) {
    for topic in topics {
        let mark = memory.node_state[3 * n_nodes + topic] as u32;
        memory.node_state[topic] = if mark & KEPT_ON != 0 { Q_ON } else { 1.0 - Q_ON };
        let gone = if mark & CHAIN != 0 { GONE } else { 0 };
        memory.node_state[3 * n_nodes + topic] = (mark & !CHAIN | gone) as f32;
    }
}

fn clear_marks(memory: &mut Memory, n_nodes: usize, topics: Range<usize>, marks: u32) {
    for mark in &mut memory.node_state[3 * n_nodes + topics.start..3 * n_nodes + topics.end] {
        *mark = (*mark as u32 & !marks) as f32;
    }
}

/// Ends a trial that gained.
fn end_trial(memory: &mut Memory, n_nodes: usize, topics: Range<usize>) {
    for mark in &mut memory.node_state[3 * n_nodes + topics.start..3 * n_nodes + topics.end] {
        *mark = (*mark as u32 & (KEPT_ON | TRIED | CLAMPED)) as f32;
    }
}

/// Keeps the configuration, or takes back what was kept before a trial, and tries it without the next topic that is on and not
/// clamped; returns whether there is one.
fn begin_trial(memory: &mut Memory, n_nodes: usize, topics: Range<usize>, on_trial: bool) -> bool {
    let has_mark =
        |memory: &Memory, topic: usize, mark: u32| memory.node_state[3 * n_nodes + topic] as u32 & mark != 0;
    let is_on = |memory: &Memory, topic: usize| match on_trial {
        true => has_mark(memory, topic, KEPT_ON),
        false => is_on(memory.node_state[topic]),
    };
    let tried = topics.clone().rfind(|&topic| has_mark(memory, topic, TRIED));
    let may_go = |topic: usize| is_on(memory, topic) && !has_mark(memory, topic, CLAMPED_ON);
    let next = topics.clone().find(|&topic| may_go(topic) && tried.is_none_or(|tried| topic > tried));
    for topic in topics {
        let (on, is_next) = (is_on(memory, topic), next == Some(topic));
        let kept = if on { KEPT_ON } else { 0 };
        let trial = if is_next { TRIED | ON_TRIAL } else { 0 };
        let mark = &mut memory.node_state[3 * n_nodes + topic];
        *mark = (*mark as u32 & CLAMPED | kept | trial) as f32;
        memory.node_state[topic] = if on && !is_next { Q_ON } else { 1.0 - Q_ON };
    }
    next.is_some()
}
