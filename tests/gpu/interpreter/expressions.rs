//! From naga's tree to steps: expressions.

use super::lower::{Frame, Value};
use super::ops::{Op1, Op2, Op3};
use super::pointers::{packing, part};
use super::steps::*;
use super::types::{Packing, check_scalar, member_begin, n_elements, stride};
use naga::{BinaryOperator, Expression, Handle, RelationalFunction, ScalarKind, TypeInner, UnaryOperator};

impl<'a> Frame<'a, '_> {
    /// What an expression stands for; arithmetic must have been evaluated before.
    pub fn value(&mut self, handle: Handle<Expression>) -> Result<Value, String> {
        if let Some(value) = &self.values[handle.index()] {
            return Ok(value.clone());
        }
        let expression = &self.function.expressions[handle];
        if !expression.needs_pre_emit()
            && !matches!(expression, Expression::Compose { .. } | Expression::Splat { .. })
        {
            return Err(format!("{expression:?} is used before it was evaluated"));
        }
        self.evaluate(handle)
    }

    pub fn words(&mut self, handle: Handle<Expression>) -> Result<Vec<Reg>, String> {
        match self.value(handle)? {
            Value::Words(words) => Ok(words),
            Value::Pointer(_) => Err("not supported: a pointer as a value".to_owned()),
        }
    }

    pub fn word(&mut self, handle: Handle<Expression>) -> Result<Reg, String> {
        Ok(self.words(handle)?[0])
    }

    fn inner(&self, handle: Handle<Expression>) -> &'a TypeInner {
        self.info[handle].ty.inner_with(&self.all.module.types)
    }

    pub fn kind(&self, handle: Handle<Expression>) -> Result<ScalarKind, String> {
        let inner = self.inner(handle);
        let scalar = inner.scalar().ok_or_else(|| format!("not supported: arithmetic on {inner:?}"))?;
        check_scalar(scalar)?;
        Ok(scalar.kind)
    }

    /// Adds the steps that evaluate an expression.
    pub fn evaluate(&mut self, handle: Handle<Expression>) -> Result<Value, String> {
        let all = &mut *self.all;
        let value = match &self.function.expressions[handle] {
            Expression::Literal(literal) => Value::Words(all.literal(*literal)?),
            Expression::Constant(constant) => {
                Value::Words(all.global_value(all.module.constants[*constant].init)?)
            }
            Expression::ZeroValue(ty) => Value::Words(all.zero(*ty)?),
            Expression::FunctionArgument(at) => self.arguments[*at as usize].clone(),
            Expression::GlobalVariable(variable) => Value::Pointer(all.global(*variable)),
            Expression::LocalVariable(local) => {
                Value::Pointer(Pointer { base: self.locals[local.index()], at: 0, plus: None })
            }
            Expression::Compose { components, .. } => {
                let parts: Result<Vec<_>, _> = components.iter().map(|at| self.words(*at)).collect();
                Value::Words(parts?.concat())
            }
            Expression::Splat { size, value } => Value::Words(self.words(*value)?.repeat(*size as usize)),
            Expression::Swizzle { size, vector, pattern } => {
                let words = self.words(*vector)?;
                Value::Words(pattern[..*size as usize].iter().map(|&at| words[at as usize]).collect())
            }
            Expression::Access { base, index } => {
                let index = self.word(*index)?;
                self.access(*base, index)?
            }
            Expression::AccessIndex { base, index } => self.member(*base, *index as usize)?,
            Expression::Load { pointer } => Value::Words(self.load(*pointer)?),
            Expression::ArrayLength(array) => Value::Words(self.length(*array)?),
            other => Value::Words(self.arithmetic(other)?),
        };
        self.values[handle.index()] = Some(value.clone());
        Ok(value)
    }

    fn access(&mut self, base: Handle<Expression>, index: Reg) -> Result<Value, String> {
        let module = self.all.module;
        match self.value(base)? {
            Value::Pointer(pointer) => {
                let inner = self.pointee(base)?;
                let stride = stride(module, inner, packing(pointer.base))? as u32;
                let limit = n_elements(inner).map_or(u32::MAX, |n| n as u32);
                let to = self.all.registers(1)[0];
                self.steps.push(Step::Index { to, index, stride, limit, plus: pointer.plus });
                Ok(Value::Pointer(Pointer { plus: Some(to), ..pointer }))
            }
            Value::Words(words) => {
                let n = stride(module, self.inner(base), Packing::Dense)?;
                let to = self.all.registers(n);
                for (word, &to) in to.iter().enumerate() {
                    let of = words.iter().copied().skip(word).step_by(n).collect();
                    self.steps.push(Step::Pick { to, of, index });
                }
                Ok(Value::Words(to))
            }
        }
    }

    fn member(&mut self, base: Handle<Expression>, index: usize) -> Result<Value, String> {
        let module = self.all.module;
        Ok(match self.value(base)? {
            Value::Pointer(pointer) => {
                let begin = member_begin(module, self.pointee(base)?, index, packing(pointer.base))?;
                Value::Pointer(Pointer { at: pointer.at + begin, ..pointer })
            }
            Value::Words(words) => {
                let (begin, n) = part(module, self.inner(base), index)?;
                Value::Words(words[begin..begin + n].to_vec())
            }
        })
    }

    fn load(&mut self, pointer: Handle<Expression>) -> Result<Vec<Reg>, String> {
        let place = self.place(pointer)?;
        let to = self.all.registers(place.words.len());
        if let Pointer { base: Base::Own(first, _), at, plus: None } = place.pointer {
            let own = place.words.iter().map(|word| first + at + word);
            self.steps.extend(to.iter().zip(own).map(|(&to, from)| Step::Keep { to, from }));
        } else {
            self.steps.push(Step::Load { to: to.clone(), place });
        }
        Ok(to)
    }

    pub fn one(&mut self, op: Op1, a: &[Reg]) -> Vec<Reg> {
        let to = self.all.registers(a.len());
        self.steps.extend(to.iter().zip(a).map(|(&to, &a)| Step::One { op, to, a }));
        to
    }

    /// Word by word; a scalar stands for a vector of it.
    pub fn two(&mut self, op: Op2, a: &[Reg], b: &[Reg]) -> Vec<Reg> {
        let n = a.len().max(b.len());
        let to = self.all.registers(n);
        let words = to.iter().zip(a.iter().cycle()).zip(b.iter().cycle());
        self.steps.extend(words.map(|((&to, &a), &b)| Step::Two { op, to, a, b }));
        to
    }

    pub fn three(&mut self, op: Op3, a: &[Reg], b: &[Reg], c: &[Reg]) -> Vec<Reg> {
        let n = a.len().max(b.len()).max(c.len());
        let to = self.all.registers(n);
        let words = to.iter().zip(a.iter().cycle()).zip(b.iter().cycle()).zip(c.iter().cycle());
        self.steps.extend(words.map(|(((&to, &a), &b), &c)| Step::Three { op, to, a, b, c }));
        to
    }

    /// All words joined by one operation.
    pub fn fold(&mut self, op: Op2, words: &[Reg]) -> Vec<Reg> {
        let mut joined = vec![words[0]];
        for &word in &words[1..] {
            joined = self.two(op, &joined, &[word]);
        }
        joined
    }

    fn arithmetic(&mut self, expression: &Expression) -> Result<Vec<Reg>, String> {
        let unsupported = || Err(format!("not supported: the expression {expression:?}"));
        match *expression {
            Expression::Unary { op, expr } => {
                let op = match (op, self.kind(expr)?) {
                    (UnaryOperator::Negate, ScalarKind::Float) => Op1::NegF,
                    (UnaryOperator::Negate, _) => Op1::NegI,
                    (UnaryOperator::LogicalNot, _) => Op1::NotBool,
                    (UnaryOperator::BitwiseNot, _) => Op1::Not,
                };
                let words = self.words(expr)?;
                Ok(self.one(op, &words))
            }
            Expression::Binary { op, left, right } => {
                let (op, swapped) = binary(op, self.kind(left)?);
                let (left, right) = (self.words(left)?, self.words(right)?);
                Ok(if swapped { self.two(op, &right, &left) } else { self.two(op, &left, &right) })
            }
            Expression::Select { condition, accept, reject } => {
                let condition = self.words(condition)?;
                let (accept, reject) = (self.words(accept)?, self.words(reject)?);
                Ok(self.three(Op3::Choose, &condition, &accept, &reject))
            }
            Expression::Relational { fun, argument } => {
                let words = self.words(argument)?;
                match fun {
                    RelationalFunction::All => Ok(self.fold(Op2::And, &words)),
                    RelationalFunction::Any => Ok(self.fold(Op2::Or, &words)),
                    _ => unsupported(),
                }
            }
            Expression::As { expr, kind, convert } => {
                let (from, words) = (self.kind(expr)?, self.words(expr)?);
                if convert.is_none() {
                    return Ok(words);
                }
                Ok(match (from, kind) {
                    (ScalarKind::Float, ScalarKind::Uint) => self.one(Op1::FloatToU, &words),
                    (ScalarKind::Float, ScalarKind::Sint) => self.one(Op1::FloatToI, &words),
                    (ScalarKind::Float, ScalarKind::Bool) => self.one(Op1::FloatToBool, &words),
                    (ScalarKind::Uint, ScalarKind::Float) => self.one(Op1::UToFloat, &words),
                    (ScalarKind::Sint, ScalarKind::Float) => self.one(Op1::IToFloat, &words),
                    (ScalarKind::Bool, ScalarKind::Float) => self.one(Op1::BoolToFloat, &words),
                    (_, ScalarKind::Bool) => self.one(Op1::WordToBool, &words),
                    _ => words,
                })
            }
            Expression::Math { fun, arg, arg1, arg2, arg3: None } => {
                let mut arguments = Vec::new();
                for argument in [Some(arg), arg1, arg2].into_iter().flatten() {
                    arguments.push(self.words(argument)?);
                }
                let kind = self.kind(arg)?;
                self.math(fun, kind, &arguments)
            }
            _ => unsupported(),
        }
    }
}

/// The operation of an operator, and whether its operands change places.
fn binary(op: BinaryOperator, kind: ScalarKind) -> (Op2, bool) {
    let pick = |float, signed, unsigned| match kind {
        ScalarKind::Float => float,
        ScalarKind::Sint => signed,
        _ => unsigned,
    };
    let plain = match op {
        BinaryOperator::Add => pick(Op2::AddF, Op2::Add, Op2::Add),
        BinaryOperator::Subtract => pick(Op2::SubF, Op2::Sub, Op2::Sub),
        BinaryOperator::Multiply => pick(Op2::MulF, Op2::Mul, Op2::Mul),
        BinaryOperator::Divide => pick(Op2::DivF, Op2::DivI, Op2::DivU),
        BinaryOperator::Modulo => pick(Op2::RemF, Op2::RemI, Op2::RemU),
        BinaryOperator::Equal => pick(Op2::EqF, Op2::Eq, Op2::Eq),
        BinaryOperator::NotEqual => pick(Op2::NeF, Op2::Ne, Op2::Ne),
        BinaryOperator::Less | BinaryOperator::Greater => pick(Op2::LtF, Op2::LtI, Op2::LtU),
        BinaryOperator::LessEqual | BinaryOperator::GreaterEqual => pick(Op2::LeF, Op2::LeI, Op2::LeU),
        BinaryOperator::And | BinaryOperator::LogicalAnd => Op2::And,
        BinaryOperator::InclusiveOr | BinaryOperator::LogicalOr => Op2::Or,
        BinaryOperator::ExclusiveOr => Op2::Xor,
        BinaryOperator::ShiftLeft => Op2::Shl,
        BinaryOperator::ShiftRight => pick(Op2::ShrU, Op2::ShrI, Op2::ShrU),
    };
    (plain, matches!(op, BinaryOperator::Greater | BinaryOperator::GreaterEqual))
}
