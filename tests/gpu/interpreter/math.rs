//! From naga's tree to steps: built-in functions.

use super::lower::Frame;
use super::ops::{Op1, Op2, Op3};
use super::steps::Reg;
use naga::{MathFunction, ScalarKind};

impl Frame<'_, '_> {
    /// A built-in function of numbers or, component by component, of vectors.
    pub fn math(
        &mut self,
        function: MathFunction,
        kind: ScalarKind,
        arguments: &[Vec<Reg>],
    ) -> Result<Vec<Reg>, String> {
        if let Some(op) = one(function, kind) {
            return Ok(self.one(op, &arguments[0]));
        }
        if let (Some(op), [a, b]) = (two(function, kind), arguments) {
            return Ok(self.two(op, a, b));
        }
        let [least, most] = [MathFunction::Min, MathFunction::Max].map(|f| two(f, kind));
        Ok(match (function, arguments, least, most) {
            (MathFunction::Abs, [a], ..) => a.clone(),
            (MathFunction::Fma, [a, b, c], ..) => self.three(Op3::Fma, a, b, c),
            (MathFunction::Clamp, [a, low, high], Some(least), Some(most)) => {
                let above = self.two(most, a, low);
                self.two(least, &above, high)
            }
            (MathFunction::Saturate, [a], Some(least), Some(most)) => {
                let (zero, unit) = (self.all.constant(0), self.all.constant(1f32.to_bits()));
                let above = self.two(most, a, &[zero]);
                self.two(least, &above, &[unit])
            }
            (MathFunction::Mix, [a, b, t], ..) => {
                let unit = self.all.constant(1f32.to_bits());
                let rest = self.two(Op2::SubF, &[unit], t);
                let (a, b) = (self.two(Op2::MulF, a, &rest), self.two(Op2::MulF, b, t));
                self.two(Op2::AddF, &a, &b)
            }
            (MathFunction::Step, [edge, x], ..) => {
                let above = self.two(Op2::LeF, edge, x);
                self.one(Op1::BoolToFloat, &above)
            }
            (MathFunction::Dot, [a, b], ..) => {
                let float = kind == ScalarKind::Float;
                let products = self.two(if float { Op2::MulF } else { Op2::Mul }, a, b);
                self.fold(if float { Op2::AddF } else { Op2::Add }, &products)
            }
            (MathFunction::FirstLeadingBit, [a], ..) if kind == ScalarKind::Uint => {
                let (last, zeros) = (self.all.constant(31), self.one(Op1::LeadingZeros, a));
                self.two(Op2::Sub, &[last], &zeros)
            }
            (MathFunction::FirstTrailingBit, [a], ..) => {
                let (none, zeros) = (self.all.constant(u32::MAX), self.one(Op1::TrailingZeros, a));
                self.three(Op3::Choose, a, &zeros, &[none])
            }
            _ => return Err(format!("not supported: the function {function:?} of {kind:?}")),
        })
    }
}

fn one(function: MathFunction, kind: ScalarKind) -> Option<Op1> {
    Some(match (function, kind) {
        (MathFunction::Abs, ScalarKind::Float) => Op1::AbsF,
        (MathFunction::Abs, ScalarKind::Sint) => Op1::AbsI,
        (MathFunction::Sign, ScalarKind::Float) => Op1::SignF,
        (MathFunction::Sign, ScalarKind::Sint) => Op1::SignI,
        (MathFunction::Sqrt, _) => Op1::Sqrt,
        (MathFunction::InverseSqrt, _) => Op1::InverseSqrt,
        (MathFunction::Floor, _) => Op1::Floor,
        (MathFunction::Ceil, _) => Op1::Ceil,
        (MathFunction::Round, _) => Op1::Round,
        (MathFunction::Trunc, _) => Op1::Trunc,
        (MathFunction::Fract, _) => Op1::Fract,
        (MathFunction::Exp, _) => Op1::Exp,
        (MathFunction::Exp2, _) => Op1::Exp2,
        (MathFunction::Log, _) => Op1::Log,
        (MathFunction::Log2, _) => Op1::Log2,
        (MathFunction::Sin, _) => Op1::Sin,
        (MathFunction::Cos, _) => Op1::Cos,
        (MathFunction::Tanh, _) => Op1::Tanh,
        (MathFunction::CountOneBits, _) => Op1::CountOnes,
        (MathFunction::CountLeadingZeros, _) => Op1::LeadingZeros,
        (MathFunction::CountTrailingZeros, _) => Op1::TrailingZeros,
        (MathFunction::ReverseBits, _) => Op1::Reverse,
        _ => return None,
    })
}

fn two(function: MathFunction, kind: ScalarKind) -> Option<Op2> {
    Some(match (function, kind) {
        (MathFunction::Min, ScalarKind::Float) => Op2::MinF,
        (MathFunction::Min, ScalarKind::Sint) => Op2::MinI,
        (MathFunction::Min, ScalarKind::Uint) => Op2::MinU,
        (MathFunction::Max, ScalarKind::Float) => Op2::MaxF,
        (MathFunction::Max, ScalarKind::Sint) => Op2::MaxI,
        (MathFunction::Max, ScalarKind::Uint) => Op2::MaxU,
        (MathFunction::Pow, _) => Op2::Pow,
        _ => return None,
    })
}
