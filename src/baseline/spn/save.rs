//! A network as named arrays, and back.

use super::fit::State;
use super::model::Spn;
use super::options::SpnOptions;
use super::program::Program;
use super::structure::{Kind, Structure};
use super::sums::Evaluator;
use crate::baseline::Tensors;
use crate::error::{Error, Result};
use serde_json::json;
use std::sync::Arc;

/// Kinds of nodes, by number: leaf, indicator of absence, of presence, sum, product.
fn number(kind: Kind) -> (u32, u32) {
    match kind {
        Kind::Leaf(token) => (0, token),
        Kind::Indicator(token, present) => (1 + u32::from(present), token),
        Kind::Sum => (3, 0),
        Kind::Product => (4, 0),
    }
}

fn kind((number, token): (u32, u32)) -> Result<Kind> {
    match number {
        0 => Ok(Kind::Leaf(token)),
        1 | 2 => Ok(Kind::Indicator(token, number == 2)),
        3 => Ok(Kind::Sum),
        4 => Ok(Kind::Product),
        _ => Err(Error::Usage(format!(
            "a node of a sum-product network is of kind {number}; there are 0 to 4"
        ))),
    }
}

pub(super) fn tensors(spn: &Spn) -> Tensors {
    let facts = json!({ "model": "spn", "n_tokens": spn.structure().n_tokens(), "options": spn.options });
    let (kinds, child_begin, children) = spn.structure().parts();
    let (kinds, tokens): (Vec<u32>, Vec<u32>) = kinds.iter().copied().map(number).unzip();
    let mut tensors = Tensors::new(&facts)
        .with_u32("kinds", &[kinds.len()], kinds)
        .with_u32("tokens", &[tokens.len()], tokens)
        .with_u32("child_begin", &[child_begin.len()], child_begin.to_vec())
        .with_u32("children", &[children.len()], children.to_vec())
        .with_f64("weights", &[spn.weights().len()], spn.weights().to_vec());
    if let Some(State { params, alpha, step, last, n_steps }) = &spn.state {
        // An objective is there or not; steps are far below 2^53.
        let course = vec![*step, f64::from(u8::from(last.is_some())), last.unwrap_or(0.0), *n_steps as f64];
        tensors = tensors
            .with_f64("state_params", &[params.len()], params.clone())
            .with_f64("state_alpha", &[alpha.len()], alpha.clone())
            .with_f64("state_course", &[4], course);
    }
    tensors
}

pub(super) fn load(mut tensors: Tensors) -> Result<Spn> {
    let facts = tensors.facts()?;
    let n_tokens = facts["n_tokens"].as_u64().filter(|&n| n < u64::from(u32::MAX));
    let n_tokens = n_tokens.ok_or_else(|| damaged("`n_tokens` is not a number of tokens"))? as usize;
    let options: SpnOptions =
        serde_json::from_value(facts["options"].clone()).map_err(|e| damaged(&format!("options: {e}")))?;
    let options = options.check()?;
    let kinds = tensors.take_u32("kinds", None)?;
    let tokens = tensors.take_u32("tokens", Some(kinds.len()))?;
    let kinds: Vec<Kind> = kinds.into_iter().zip(tokens).map(kind).collect::<Result<_>>()?;
    let child_begin = tensors.take_u32("child_begin", Some(kinds.len() + 1))?;
    let children = tensors.take_u32("children", None)?;
    let structure = Structure::from_parts(n_tokens, kinds, child_begin, children)?;
    let n_params = structure.n_params();
    let weights = positive("weights", tensors.take_f64("weights", n_params)?)?;
    structure.check_sums_of_one(&weights)?;
    let state = tensors.has("state_params").then(|| state(&mut tensors, n_params, &options)).transpose()?;
    let program = Arc::new(Program::new(structure));
    let predicting = Evaluator::new(&program, weights);
    Ok(Spn { options, program, predicting, state })
}

fn state(tensors: &mut Tensors, n_params: usize, options: &SpnOptions) -> Result<State> {
    let params = positive("state_params", tensors.take_f64("state_params", n_params)?)?;
    let n_alpha = if options.fit.is_bayesian() { n_params } else { 0 };
    let alpha = positive("state_alpha", tensors.take_f64("state_alpha", n_alpha)?)?;
    let course = tensors.take_f64("state_course", 4)?;
    let last = (course[1] != 0.0).then_some(course[2]);
    Ok(State { params, alpha, step: course[0], last, n_steps: course[3] as u64 })
}

fn positive(name: &str, values: Vec<f64>) -> Result<Vec<f64>> {
    match values.iter().find(|&&x| x <= 0.0) {
        Some(x) => Err(damaged(&format!("array '{name}' has {x}; its numbers are above 0"))),
        None => Ok(values),
    }
}

fn damaged(what: &str) -> Error {
    Error::Usage(format!("sum-product network: {what}"))
}
