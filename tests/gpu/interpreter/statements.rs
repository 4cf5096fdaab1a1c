//! From naga's tree to steps: statements.

use super::lower::{Frame, Value};
use super::steps::*;
use naga::{
    AtomicFunction, Barrier, Block, Expression, Handle, ScalarKind, Statement, SwitchValue, TypeInner,
};

impl<'a> Frame<'a, '_> {
    pub fn block(&mut self, block: &'a Block) -> Result<Vec<Step>, String> {
        let before = std::mem::take(&mut self.steps);
        block.iter().try_for_each(|statement| self.statement(statement))?;
        Ok(std::mem::replace(&mut self.steps, before))
    }

    fn statement(&mut self, statement: &'a Statement) -> Result<(), String> {
        let step = match statement {
            Statement::Emit(range) => {
                return range.clone().try_for_each(|handle| self.evaluate(handle).map(|_| ()));
            }
            Statement::Block(block) => {
                return block.iter().try_for_each(|statement| self.statement(statement));
            }
            Statement::If { condition, accept, reject } => {
                let condition = self.word(*condition)?;
                Step::If { condition, accept: self.block(accept)?, reject: self.block(reject)? }
            }
            Statement::Switch { selector, cases } => {
                let selector = self.word(*selector)?;
                let case = |case: &'a naga::SwitchCase| {
                    let value = match case.value {
                        SwitchValue::I32(value) => Some(value as u32),
                        SwitchValue::U32(value) => Some(value),
                        SwitchValue::Default => None,
                    };
                    Ok(Case { value, steps: self.block(&case.body)?, falls_through: case.fall_through })
                };
                Step::Switch { selector, cases: cases.iter().map(case).collect::<Result<_, String>>()? }
            }
            Statement::Loop { body, continuing, break_if } => {
                let (body, continuing) = (self.block(body)?, self.block(continuing)?);
                let break_if = break_if.map(|condition| self.word(condition)).transpose()?;
                Step::Loop { body, continuing, break_if }
            }
            Statement::Break => Step::Break,
            Statement::Continue => Step::Continue,
            Statement::Return { value } => {
                let words = value.map(|value| self.words(value)).transpose()?.unwrap_or_default();
                let copies = self.result.iter().zip(words).map(|(&to, from)| Step::Copy { to, from });
                self.steps.extend(copies);
                Step::Return
            }
            Statement::ControlBarrier(barrier)
                if (Barrier::STORAGE | Barrier::WORK_GROUP).contains(*barrier) =>
            {
                let (storage, shared) =
                    (barrier.contains(Barrier::STORAGE), barrier.contains(Barrier::WORK_GROUP));
                Step::Barrier { storage, shared }
            }
            Statement::Store { pointer, value } => {
                let (place, from) = (self.place(*pointer)?, self.words(*value)?);
                match place.pointer {
                    Pointer { base: Base::Own(first, _), at, plus: None } => {
                        let own = place.words.iter().map(|word| first + at + word);
                        self.steps.extend(own.zip(from).map(|(to, from)| Step::Copy { to, from }));
                        return Ok(());
                    }
                    _ => Step::Store { place, from },
                }
            }
            Statement::Atomic { pointer, fun, value, result } => {
                self.atomic(*pointer, fun, *value, *result)?
            }
            Statement::WorkGroupUniformLoad { pointer, result } => {
                let place = self.place(*pointer)?;
                let to = self.all.registers(place.words.len());
                self.values[result.index()] = Some(Value::Words(to.clone()));
                Step::UniformLoad { to, place }
            }
            Statement::Call { function, arguments, result } => {
                let arguments: Result<Vec<_>, _> = arguments.iter().map(|at| self.value(*at)).collect();
                let info = &self.all.info[*function];
                let (steps, words) =
                    self.all.inline(&self.all.module.functions[*function], info, arguments?)?;
                if let Some(result) = result {
                    self.values[result.index()] = Some(Value::Words(words));
                }
                Step::Call(steps)
            }
            other => return Err(format!("not supported: the statement {other:?}")),
        };
        self.steps.push(step);
        Ok(())
    }

    fn atomic(
        &mut self,
        pointer: Handle<Expression>,
        function: &AtomicFunction,
        value: Handle<Expression>,
        result: Option<Handle<Expression>>,
    ) -> Result<Step, String> {
        let signed = match self.pointee(pointer)? {
            TypeInner::Atomic(scalar) if scalar.kind == ScalarKind::Float => {
                return Err("not supported: atomic operations on floating-point numbers".to_owned());
            }
            TypeInner::Atomic(scalar) => scalar.kind == ScalarKind::Sint,
            other => return Err(format!("not supported: an atomic operation on {other:?}")),
        };
        let (place, operand) = (self.place(pointer)?, self.word(value)?);
        let function = match (rmw(function, signed), function) {
            (Some(function), _) => function,
            (None, AtomicFunction::Exchange { compare: Some(compare) }) => {
                Rmw::CompareExchange(self.word(*compare)?)
            }
            (None, other) => return Err(format!("not supported: the atomic operation {other:?}")),
        };
        let to = result.map(|result| {
            let words = self.all.registers(1 + usize::from(matches!(function, Rmw::CompareExchange(_))));
            self.values[result.index()] = Some(Value::Words(words.clone()));
            (words[0], words.get(1).copied())
        });
        Ok(Step::Atomic { place, function, operand, to })
    }
}
