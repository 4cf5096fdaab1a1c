//! From naga's tree to steps: variables and functions.

use super::mask::MAX_LANES;
use super::steps::*;
use super::types::n_words;
use naga::valid::{Capabilities, FunctionInfo, ModuleInfo, ValidationFlags, Validator};
use naga::{AddressSpace, Binding, Expression, Function, GlobalVariable, Handle, Literal, Module};
use naga::{StorageAccess, Type, TypeInner};
use std::collections::HashMap;

/// What an expression stands for.
#[derive(Debug, Clone)]
pub enum Value {
    Words(Vec<Reg>),
    Pointer(Pointer),
}

/// A module on its way to a program.
pub struct Lowering<'a> {
    pub module: &'a Module,
    pub info: &'a ModuleInfo,
    pub program: Program,
    constants: HashMap<u32, Reg>,
    globals: HashMap<Handle<GlobalVariable>, Base>,
}

/// A function on its way, for one of its calls.
pub struct Frame<'a, 'l> {
    pub all: &'l mut Lowering<'a>,
    pub function: &'a Function,
    pub info: &'a FunctionInfo,
    pub arguments: Vec<Value>,
    pub locals: Vec<Base>,
    pub result: Vec<Reg>,
    pub values: Vec<Option<Value>>,
    pub steps: Vec<Step>,
}

/// Makes the only entry point of a shader ready to run.
pub fn program(source: &str) -> Result<Program, String> {
    let module = naga::front::wgsl::parse_str(source).map_err(|e| e.emit_to_string(source))?;
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::empty());
    let info = validator.validate(&module).map_err(|e| e.emit_to_string(source))?;
    let [entry] = &module.entry_points[..] else {
        return Err(format!("{} entry points instead of one", module.entry_points.len()));
    };
    let program = Program { workgroup_size: entry.workgroup_size, ..Program::default() };
    if entry.workgroup_size_overrides.is_some() || program.n_lanes() > MAX_LANES {
        return Err(format!("not supported: workgroups of {:?}", entry.workgroup_size));
    }
    let (constants, globals) = (HashMap::new(), HashMap::new());
    let mut all = Lowering { module: &module, info: &info, program, constants, globals };
    let mut steps = all.globals()?;
    let arguments = all.builtins(&entry.function)?;
    let (body, _) = all.inline(&entry.function, info.get_entry_point(0), arguments)?;
    steps.extend(body);
    Ok(Program { steps, ..all.program })
}

impl<'a> Lowering<'a> {
    pub fn registers(&mut self, n: usize) -> Vec<Reg> {
        let first = self.program.n_registers;
        self.program.n_registers += n;
        (first..first + n).collect()
    }

    pub fn constant(&mut self, word: u32) -> Reg {
        let program = &mut self.program;
        *self.constants.entry(word).or_insert_with(|| {
            let register = program.n_registers;
            program.n_registers += 1;
            program.constants.push((register, word));
            register
        })
    }

    pub fn zero(&mut self, ty: Handle<Type>) -> Result<Vec<Reg>, String> {
        Ok(vec![self.constant(0); n_words(self.module, ty)?])
    }

    pub fn literal(&mut self, literal: Literal) -> Result<Vec<Reg>, String> {
        let word = match literal {
            Literal::F32(value) => value.to_bits(),
            Literal::U32(value) => value,
            Literal::I32(value) => value as u32,
            Literal::Bool(value) => u32::from(value),
            other => return Err(format!("not supported: the literal {other:?}")),
        };
        Ok(vec![self.constant(word)])
    }

    /// A constant expression outside of functions.
    pub fn global_value(&mut self, handle: Handle<Expression>) -> Result<Vec<Reg>, String> {
        match &self.module.global_expressions[handle] {
            Expression::Literal(literal) => self.literal(*literal),
            Expression::Constant(constant) => self.global_value(self.module.constants[*constant].init),
            Expression::ZeroValue(ty) => self.zero(*ty),
            Expression::Compose { components, .. } => {
                let parts: Result<Vec<_>, _> =
                    components.iter().map(|part| self.global_value(*part)).collect();
                Ok(parts?.concat())
            }
            Expression::Splat { size, value } => Ok(self.global_value(*value)?.repeat(*size as usize)),
            other => Err(format!("not supported: the constant expression {other:?}")),
        }
    }

    fn own(&mut self, ty: Handle<Type>) -> Result<Base, String> {
        let n = n_words(self.module, ty)?;
        Ok(Base::Own(self.registers(n).first().copied().unwrap_or(0), n))
    }

    /// Makes the variables outside of functions; the steps that begin private ones.
    fn globals(&mut self) -> Result<Vec<Step>, String> {
        let mut steps = Vec::new();
        for (handle, variable) in self.module.global_variables.iter() {
            let name = variable.name.clone().unwrap_or_default();
            let base = match variable.space {
                AddressSpace::Private => {
                    let base = self.own(variable.ty)?;
                    let init = match variable.init {
                        Some(init) => self.global_value(init)?,
                        None => self.zero(variable.ty)?,
                    };
                    steps.extend(begin(base, &init));
                    base
                }
                AddressSpace::WorkGroup => {
                    let (begin, n_words) =
                        (self.program.n_shared_words(), n_words(self.module, variable.ty)?);
                    self.program.shared.push(SharedVariable { name, begin, n_words });
                    Base::Shared(self.program.shared.len() - 1)
                }
                AddressSpace::Uniform | AddressSpace::Storage { .. } => {
                    let binding = variable.binding.filter(|binding| binding.group == 0);
                    let binding = binding.ok_or("not supported: bindings outside of group 0")?.binding;
                    let uniform = variable.space == AddressSpace::Uniform;
                    let written = matches!(variable.space, AddressSpace::Storage { access } if access.contains(StorageAccess::STORE));
                    self.program.buffers.push(BufferVariable { name, binding, uniform, written });
                    Base::Buffer(self.program.buffers.len() - 1)
                }
                other => return Err(format!("not supported: variables in {other:?}")),
            };
            self.globals.insert(handle, base);
        }
        Ok(steps)
    }

    pub fn global(&self, handle: Handle<GlobalVariable>) -> Pointer {
        Pointer { base: self.globals[&handle], at: 0, plus: None }
    }

    /// Registers for the entry point's arguments.
    fn builtins(&mut self, entry: &Function) -> Result<Vec<Value>, String> {
        let mut arguments = Vec::new();
        for argument in &entry.arguments {
            let parts = match (&argument.binding, &self.module.types[argument.ty].inner) {
                (Some(binding), _) => vec![(binding.clone(), argument.ty)],
                (None, TypeInner::Struct { members, .. }) => {
                    members.iter().filter_map(|m| Some((m.binding.clone()?, m.ty))).collect()
                }
                _ => Vec::new(),
            };
            let mut words = Vec::new();
            for (binding, ty) in parts {
                let Binding::BuiltIn(builtin) = binding else {
                    return Err(format!("not supported: the argument {binding:?}"));
                };
                let registers = self.registers(n_words(self.module, ty)?);
                self.program.builtins.extend(registers.iter().enumerate().map(|(c, &reg)| (reg, builtin, c)));
                words.extend(registers);
            }
            arguments.push(Value::Words(words));
        }
        Ok(arguments)
    }

    /// The steps of one call of a function, and where its result is then.
    pub fn inline(
        &mut self,
        function: &'a Function,
        info: &'a FunctionInfo,
        arguments: Vec<Value>,
    ) -> Result<(Vec<Step>, Vec<Reg>), String> {
        let n_result = function.result.as_ref().map_or(Ok(0), |result| n_words(self.module, result.ty))?;
        let result = self.registers(n_result);
        let locals: Result<Vec<Base>, String> =
            function.local_variables.iter().map(|(_, local)| self.own(local.ty)).collect();
        let locals = locals?;
        let values = vec![None; function.expressions.len()];
        let mut frame =
            Frame { all: self, function, info, arguments, locals, result, values, steps: Vec::new() };
        let mut steps = Vec::new();
        for (handle, local) in function.local_variables.iter() {
            let init = match local.init {
                Some(init) => frame.words(init)?,
                None => frame.all.zero(local.ty)?,
            };
            steps.extend(begin(frame.locals[handle.index()], &init));
        }
        steps.extend(frame.block(&function.body)?);
        Ok((steps, frame.result))
    }
}

/// The steps that set a lane's own variable.
fn begin(base: Base, values: &[Reg]) -> Vec<Step> {
    let Base::Own(first, _) = base else { return Vec::new() };
    values.iter().enumerate().map(|(at, &from)| Step::Copy { to: first + at, from }).collect()
}
