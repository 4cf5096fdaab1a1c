//! How values lie in memory, in words of 32 bits.

use naga::{ArraySize, Handle, Module, Scalar, ScalarKind, Type, TypeInner};

/// Where the words of a value lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// One behind the other: in registers, variables and workgroup memory.
    Dense,
    /// With WGSL's padding: in buffers, which the host fills.
    Padded,
}

pub fn check_scalar(scalar: Scalar) -> Result<(), String> {
    match scalar {
        Scalar { kind: ScalarKind::Bool, .. } | Scalar { width: 4, .. } => Ok(()),
        other => Err(format!("not supported: scalars of {} bytes, {:?}", other.width, other.kind)),
    }
}

/// The places of a type's words.
pub fn places(module: &Module, inner: &TypeInner, packing: Packing) -> Result<Vec<usize>, String> {
    match inner {
        TypeInner::Scalar(scalar)
        | TypeInner::Atomic(scalar)
        | TypeInner::ValuePointer { size: None, scalar, .. } => check_scalar(*scalar).map(|()| vec![0]),
        TypeInner::Vector { size, scalar } | TypeInner::ValuePointer { size: Some(size), scalar, .. } => {
            check_scalar(*scalar).map(|()| (0..*size as usize).collect())
        }
        TypeInner::Array { base, size: ArraySize::Constant(n), .. } => {
            let (element, stride) = (places_of(module, *base, packing)?, stride(module, inner, packing)?);
            let of = |at: usize| element.iter().map(move |place| at * stride + place);
            Ok((0..n.get() as usize).flat_map(of).collect())
        }
        TypeInner::Struct { members, .. } => {
            let mut all = Vec::new();
            for (index, member) in members.iter().enumerate() {
                let begin = member_begin(module, inner, index, packing)?;
                all.extend(places_of(module, member.ty, packing)?.iter().map(|place| begin + place));
            }
            Ok(all)
        }
        other => Err(format!("not supported: a value of type {other:?}")),
    }
}

/// The same for a type of the module.
pub fn places_of(module: &Module, ty: Handle<Type>, packing: Packing) -> Result<Vec<usize>, String> {
    places(module, &module.types[ty].inner, packing)
}

/// Words of a value.
pub fn n_words(module: &Module, ty: Handle<Type>) -> Result<usize, String> {
    Ok(places_of(module, ty, Packing::Dense)?.len())
}

/// Words from one element of an array or vector to the next.
pub fn stride(module: &Module, inner: &TypeInner, packing: Packing) -> Result<usize, String> {
    match inner {
        TypeInner::Array { stride, .. } if packing == Packing::Padded => Ok(*stride as usize / 4),
        TypeInner::Array { base, .. } => n_words(module, *base),
        TypeInner::Vector { .. } | TypeInner::ValuePointer { size: Some(_), .. } => Ok(1),
        other => Err(format!("not supported: an index into {other:?}")),
    }
}

/// Elements of an array or vector, if that is known before it runs.
pub fn n_elements(inner: &TypeInner) -> Option<usize> {
    match inner {
        TypeInner::Array { size: ArraySize::Constant(n), .. } => Some(n.get() as usize),
        TypeInner::Vector { size, .. } | TypeInner::ValuePointer { size: Some(size), .. } => {
            Some(*size as usize)
        }
        _ => None,
    }
}

/// Where a member of a struct, or an element of anything else, begins.
pub fn member_begin(
    module: &Module,
    inner: &TypeInner,
    index: usize,
    packing: Packing,
) -> Result<usize, String> {
    match inner {
        TypeInner::Struct { members, .. } if packing == Packing::Padded => {
            Ok(members[index].offset as usize / 4)
        }
        TypeInner::Struct { members, .. } => {
            members[..index].iter().map(|member| n_words(module, member.ty)).sum()
        }
        _ => Ok(index * stride(module, inner, packing)?),
    }
}
