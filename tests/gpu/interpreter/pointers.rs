//! From naga's tree to steps: where pointers lead.

use super::lower::{Frame, Value};
use super::steps::*;
use super::types::{Packing, member_begin, n_words, places};
use naga::{ArraySize, Expression, Handle, Module, TypeInner};

impl<'a> Frame<'a, '_> {
    /// Adds the step that finds the length of a buffer's array.
    pub fn length(&mut self, array: Handle<Expression>) -> Result<Vec<Reg>, String> {
        let Value::Pointer(Pointer { base: Base::Buffer(buffer), at, plus: None }) = self.value(array)?
        else {
            return Err("not supported: the length of something else than a buffer's array".to_owned());
        };
        match self.pointee(array)? {
            TypeInner::Array { stride, size: ArraySize::Dynamic, .. } => {
                let (to, stride) = (self.all.registers(1), *stride as usize / 4);
                self.steps.push(Step::Length { to: to[0], buffer, at, stride });
                Ok(to)
            }
            other => Err(format!("not supported: the length of {other:?}")),
        }
    }

    /// Where the words of what a pointer leads to lie.
    pub fn place(&mut self, pointer: Handle<Expression>) -> Result<Place, String> {
        let Value::Pointer(to) = self.value(pointer)? else {
            return Err("not supported: a pointer that is none".to_owned());
        };
        let inner = self.pointee(pointer)?;
        let words = places(self.all.module, inner, packing(to.base))?;
        Ok(Place { pointer: to, words, atomic: matches!(inner, TypeInner::Atomic(_)) })
    }

    /// The type of what a pointer leads to.
    pub fn pointee(&self, pointer: Handle<Expression>) -> Result<&'a TypeInner, String> {
        match self.info[pointer].ty.inner_with(&self.all.module.types) {
            TypeInner::Pointer { base, .. } => Ok(&self.all.module.types[*base].inner),
            value @ TypeInner::ValuePointer { .. } => Ok(value),
            other => Err(format!("not supported: {other:?} as a pointer")),
        }
    }
}

pub fn packing(base: Base) -> Packing {
    if matches!(base, Base::Buffer(_)) { Packing::Padded } else { Packing::Dense }
}

/// The words of a member or element of a value in registers.
pub fn part(module: &Module, inner: &TypeInner, index: usize) -> Result<(usize, usize), String> {
    let begin = member_begin(module, inner, index, Packing::Dense)?;
    let n = match inner {
        TypeInner::Struct { members, .. } => n_words(module, members[index].ty)?,
        TypeInner::Array { base, .. } => n_words(module, *base)?,
        _ => 1,
    };
    Ok((begin, n))
}
