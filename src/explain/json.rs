//! Explanations as JSON, with names.

use super::{Cause, Explanation, Piece, Term, Why};
use crate::network::Network;
use serde_json::{Value, json};

/// An explanation with the names of topics and tokens; topics by their log-odds, tokens in their order, pieces by their weight.
pub fn explanation_json(network: &Network, explanation: &Explanation) -> Value {
    let name = |node: u32| network.names.of(node);
    let sources = |cause: &Cause| -> Vec<Value> {
        let source = |source: &&super::Source| {
            json!({
                "topic": name(source.topic), "number": source.topic, "w": source.w, "q": source.q, "r": source.r,
                "contribution": source.contribution, "share": source.share,
            })
        };
        cause.by_share().iter().map(source).collect()
    };
    let topic = |part: &super::TopicPart| {
        json!({
            "topic": name(part.topic), "number": part.topic, "q": part.q, "log_odds": part.log_odds, "on": part.is_on(),
            "cost": part.cause.cost, "leak_cost": part.cause.leak_cost, "leak_share": part.cause.leak_share,
            "parents": sources(&part.cause),
        })
    };
    let n_topics = network.graph.n_topics() as u32;
    let token = |part: &super::TokenPart| {
        json!({
            "token": name(part.node), "number": part.node - n_topics,
            "cost": part.cause.cost, "leak_cost": part.cause.leak_cost, "leak_share": part.cause.leak_share,
            "topics": sources(&part.cause),
        })
    };
    let piece = |piece: &Piece| {
        let setting = |&(topic, on): &(u32, bool)| json!({"topic": name(topic), "number": topic, "on": on});
        let on = |&(topic, q): &(u32, f64)| json!({"topic": name(topic), "number": topic, "q": q});
        json!({
            "weight": piece.weight, "bound": piece.bound,
            "clamped": piece.clamped.iter().map(setting).collect::<Vec<Value>>(),
            "on": piece.on.iter().map(on).collect::<Vec<Value>>(),
        })
    };
    let topics = explanation.on().into_iter().chain(explanation.off());
    let mut result = json!({
        "bound": explanation.bound, "elbo": explanation.elbo, "q": "mean field",
        "alternations": explanation.n_alternations, "last_move": explanation.last_move,
        "topics": topics.map(topic).collect::<Vec<Value>>(),
        "tokens": explanation.tokens.iter().map(token).collect::<Vec<Value>>(),
        "pieces": explanation.pieces.iter().map(piece).collect::<Vec<Value>>(),
    });
    if explanation.clamp > 0 {
        result["clamp"] = json!(explanation.clamp);
    }
    result
}

/// The terms of a topic's log-odds with names; `q` and `log_odds` are those in the piece of this `weight`.
pub fn why_json(network: &Network, why: &Why) -> Value {
    let term = |term: &Term| {
        json!({
            "kind": term.kind, "node": term.node.map(|node| network.names.of(node)), "nodes": term.n_nodes,
            "value": term.value,
        })
    };
    json!({
        "topic": network.names.of(why.topic), "number": why.topic, "q": why.q, "log_odds": why.log_odds,
        "weight": why.weight, "mean_q": why.mean_q, "clamped": why.clamped,
        "considered": why.considered, "terms": why.terms.iter().map(term).collect::<Vec<Value>>(),
    })
}
