//! Colouring of the topic-topic graph: topics of one colour never interact, so a whole colour is updated at once
//! and the sweep is still exact block coordinate ascent.

use super::Graph;

const NONE: u32 = u32::MAX;

/// The colour of every topic, and how many there are: two where two will do, as in every layered graph, else as
/// many as a greedy colouring takes. Colouring goes from the tokens upwards: colour 0 holds topics near the tokens.
pub(super) fn colour(graph: &Graph) -> (Vec<u32>, usize) {
    two_colours(graph).unwrap_or_else(|| greedy(graph))
}

fn neighbours(graph: &Graph, topic: usize) -> impl Iterator<Item = usize> + '_ {
    let nodes = graph.parents(topic).iter().chain(graph.children(topic)).map(|&node| node as usize);
    nodes.filter(|&node| graph.is_topic(node))
}

/// Two colours component by component, if no cycle of odd length stands in the way.
fn two_colours(graph: &Graph) -> Option<(Vec<u32>, usize)> {
    let mut colours = vec![NONE; graph.n_topics()];
    let mut queue = Vec::new();
    for &start in graph.topic_order().iter().rev() {
        if colours[start as usize] != NONE {
            continue;
        }
        colours[start as usize] = 0;
        queue.push(start as usize);
        while let Some(topic) = queue.pop() {
            for node in neighbours(graph, topic) {
                if colours[node] == NONE {
                    colours[node] = 1 - colours[topic];
                    queue.push(node);
                } else if colours[node] == colours[topic] {
                    return None;
                }
            }
        }
    }
    let n_colours = colours.iter().max().map_or(0, |&most| most as usize + 1);
    Some((colours, n_colours))
}

/// Children before parents, each topic the first colour that no neighbour has.
fn greedy(graph: &Graph) -> (Vec<u32>, usize) {
    let mut colours = vec![NONE; graph.n_topics()];
    let mut taken_by: Vec<u32> = Vec::new();
    for &topic in graph.topic_order().iter().rev() {
        for node in neighbours(graph, topic as usize) {
            if colours[node] != NONE {
                taken_by[colours[node] as usize] = topic;
            }
        }
        let free = taken_by.iter().position(|&by| by != topic).unwrap_or(taken_by.len());
        if free == taken_by.len() {
            taken_by.push(NONE);
        }
        colours[topic as usize] = free as u32;
    }
    (colours, taken_by.len())
}
