//! Greedy colouring of the topic-topic graph: topics of one colour never interact, so a whole colour is
//! updated at once and the sweep is still exact block coordinate ascent.

use super::Graph;

/// The colour of every topic, and how many there are. Children are coloured before their parents, so that
/// colour 0 holds the topics nearest the tokens and a layered graph takes two colours.
pub(super) fn colour(graph: &Graph) -> (Vec<u32>, usize) {
    const NONE: u32 = u32::MAX;
    let mut colours = vec![NONE; graph.n_topics()];
    let mut taken_by: Vec<u32> = Vec::new();
    for &topic in graph.topic_order().iter().rev() {
        let topic_ix = topic as usize;
        let neighbours = graph.parents(topic_ix).iter().chain(graph.children(topic_ix));
        for &node in neighbours.filter(|&&node| graph.is_topic(node as usize)) {
            let colour = colours[node as usize];
            if colour != NONE {
                taken_by[colour as usize] = topic;
            }
        }
        let free = taken_by.iter().position(|&by| by != topic).unwrap_or(taken_by.len());
        if free == taken_by.len() {
            taken_by.push(NONE);
        }
        colours[topic_ix] = free as u32;
    }
    (colours, taken_by.len())
}
