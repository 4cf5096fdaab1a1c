//! A shader made ready to run: steps on registers. Calls are part of their callers, so that every pointer leads to a known variable.

use naga::{AtomicFunction, BuiltIn};

use super::ops::{Op1, Op2, Op3};

/// A register: a word for every lane.
pub type Reg = usize;

/// Where a pointer leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// A variable of the lane's own: so many registers from here on.
    Own(Reg, usize),
    /// A variable in workgroup memory, by number.
    Shared(usize),
    /// A buffer, by number.
    Buffer(usize),
}

/// A pointer.
#[derive(Debug, Clone, Copy)]
pub struct Pointer {
    pub base: Base,
    /// Words from the beginning.
    pub at: usize,
    /// Words to add, known when it runs.
    pub plus: Option<Reg>,
}

/// What a load or store is about.
#[derive(Debug, Clone)]
pub struct Place {
    pub pointer: Pointer,
    /// Where the value's words lie, seen from there.
    pub words: Vec<usize>,
    pub atomic: bool,
}

/// A step. Arithmetic is done in all lanes, whoever takes part: nobody reads what came of it elsewhere.
#[derive(Debug, Clone)]
pub enum Step {
    One {
        op: Op1,
        to: Reg,
        a: Reg,
    },
    Two {
        op: Op2,
        to: Reg,
        a: Reg,
        b: Reg,
    },
    Three {
        op: Op3,
        to: Reg,
        a: Reg,
        b: Reg,
        c: Reg,
    },
    /// `plus + index * stride`, and far beyond everything if the index is not below the limit.
    Index {
        to: Reg,
        index: Reg,
        stride: u32,
        limit: u32,
        plus: Option<Reg>,
    },
    /// One of several registers, by a dense index.
    Pick {
        to: Reg,
        of: Vec<Reg>,
        index: Reg,
    },
    /// In the lanes that take part.
    Copy {
        to: Reg,
        from: Reg,
    },
    /// In all lanes: what a variable holds now.
    Keep {
        to: Reg,
        from: Reg,
    },
    Load {
        to: Vec<Reg>,
        place: Place,
    },
    Store {
        place: Place,
        from: Vec<Reg>,
    },
    Atomic {
        place: Place,
        function: Rmw,
        operand: Reg,
        to: Option<(Reg, Option<Reg>)>,
    },
    /// A load by all lanes at once, between two barriers.
    UniformLoad {
        to: Vec<Reg>,
        place: Place,
    },
    Length {
        to: Reg,
        buffer: usize,
        at: usize,
        stride: usize,
    },
    If {
        condition: Reg,
        accept: Vec<Step>,
        reject: Vec<Step>,
    },
    Switch {
        selector: Reg,
        cases: Vec<Case>,
    },
    Loop {
        body: Vec<Step>,
        continuing: Vec<Step>,
        break_if: Option<Reg>,
    },
    Call(Vec<Step>),
    Break,
    Continue,
    Return,
    Barrier {
        storage: bool,
        shared: bool,
    },
}

/// What an atomic operation does.
#[derive(Debug, Clone, Copy)]
pub enum Rmw {
    Two(Op2),
    Exchange,
    /// With the word to compare with; whether they were the same is a result, too.
    CompareExchange(Reg),
}

/// A case of a switch; without a value the default.
#[derive(Debug, Clone)]
pub struct Case {
    pub value: Option<u32>,
    pub steps: Vec<Step>,
    pub falls_through: bool,
}

/// A buffer of a shader.
#[derive(Debug, Clone)]
pub struct BufferVariable {
    pub name: String,
    pub binding: u32,
    /// A uniform buffer: read through a cache of its own.
    pub uniform: bool,
    /// Whether the shader may write it.
    pub written: bool,
}

/// A variable in workgroup memory.
#[derive(Debug, Clone)]
pub struct SharedVariable {
    pub name: String,
    pub begin: usize,
    pub n_words: usize,
}

/// A compute shader made ready to run.
#[derive(Debug, Clone, Default)]
pub struct Program {
    pub workgroup_size: [u32; 3],
    pub steps: Vec<Step>,
    pub n_registers: usize,
    pub constants: Vec<(Reg, u32)>,
    /// Registers with numbers of the invocation: which, and which of its components.
    pub builtins: Vec<(Reg, BuiltIn, usize)>,
    pub buffers: Vec<BufferVariable>,
    pub shared: Vec<SharedVariable>,
}

impl Program {
    /// Invocations of a workgroup.
    pub fn n_lanes(&self) -> usize {
        self.workgroup_size.iter().product::<u32>() as usize
    }

    /// Words of workgroup memory.
    pub fn n_shared_words(&self) -> usize {
        self.shared.iter().map(|variable| variable.n_words).sum()
    }

    /// A variable's name, for messages.
    pub fn name(&self, base: Base) -> &str {
        match base {
            Base::Own(..) => "a variable",
            Base::Shared(at) => &self.shared[at].name,
            Base::Buffer(at) => &self.buffers[at].name,
        }
    }
}

/// The operation of an atomic function on unsigned or signed numbers.
pub fn rmw(function: &AtomicFunction, signed: bool) -> Option<Rmw> {
    Some(match (function, signed) {
        (AtomicFunction::Add, _) => Rmw::Two(Op2::Add),
        (AtomicFunction::Subtract, _) => Rmw::Two(Op2::Sub),
        (AtomicFunction::And, _) => Rmw::Two(Op2::And),
        (AtomicFunction::InclusiveOr, _) => Rmw::Two(Op2::Or),
        (AtomicFunction::ExclusiveOr, _) => Rmw::Two(Op2::Xor),
        (AtomicFunction::Min, false) => Rmw::Two(Op2::MinU),
        (AtomicFunction::Min, true) => Rmw::Two(Op2::MinI),
        (AtomicFunction::Max, false) => Rmw::Two(Op2::MaxU),
        (AtomicFunction::Max, true) => Rmw::Two(Op2::MaxI),
        (AtomicFunction::Exchange { compare: None }, _) => Rmw::Exchange,
        (AtomicFunction::Exchange { compare: Some(_) }, _) => return None,
    })
}
