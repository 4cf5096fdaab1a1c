//! Runs a program, workgroup after workgroup. All invocations of one go through the steps together; a mask says who takes part.

use super::mask::Mask;
use super::memory::{Buffer, Watch};
use super::ops::{op1, op2, op3};
use super::steps::*;
use naga::BuiltIn;

/// Iterations of all loops of an invocation at most: lavapipe ends loops beyond, without a word.
const MAX_ITERATIONS: u32 = 65_535;

/// A program on its way.
pub(super) struct Run<'a> {
    pub(super) program: &'a Program,
    pub(super) buffers: &'a mut [Buffer],
    pub(super) watch: &'a mut dyn Watch,
    pub(super) shared: Buffer,
    pub(super) registers: Vec<Box<[u32]>>,
    /// Lane and word of the access under way.
    pub(super) found: Vec<(u32, u32)>,
    /// Loops and switches that we are in.
    pub(super) exits: Vec<Exits>,
    /// Iterations of every lane.
    pub(super) iterations: Vec<u32>,
    pub(super) dispatch: u32,
    pub(super) group: u32,
    pub(super) now: u32,
    /// Since the last barrier for buffers, and for workgroup memory.
    pub(super) storage_seen: u32,
    pub(super) shared_seen: u32,
}

/// Lanes that have left a loop's body, or a switch.
#[derive(Default)]
pub(super) struct Exits {
    is_loop: bool,
    broke: Mask,
    continued: Mask,
}

impl Program {
    /// Runs so many workgroups on buffers in the order of [`Program::buffers`].
    ///
    /// # Errors
    ///
    /// What the shader does wrong: an access outside of a buffer or array, a race, a barrier that not all invocations reach, workgroup
    /// memory read before it is written, loops that lavapipe would end early.
    pub fn run(&self, groups: [u32; 3], buffers: &mut [Buffer], watch: &mut dyn Watch) -> Result<(), String> {
        let n = self.n_lanes();
        let mut shared = Buffer::default();
        shared.grow(self.n_shared_words());
        let mut registers = vec![vec![0; n].into_boxed_slice(); self.n_registers];
        self.constants.iter().for_each(|&(reg, word)| registers[reg].fill(word));
        let now = buffers.iter().map(|buffer| buffer.clock).max().unwrap_or(0) + 1;
        let mut run = Run {
            program: self,
            buffers,
            watch,
            shared,
            registers,
            found: Vec::new(),
            exits: Vec::new(),
            iterations: vec![0; n],
            dispatch: now,
            group: now,
            now,
            storage_seen: now,
            shared_seen: now,
        };
        let [nx, ny, nz] = groups;
        for at in 0..nx * ny * nz {
            run.group([at % nx, at / nx % ny, at / nx / ny], groups)
                .map_err(|why| format!("workgroup {at}: {why}"))?;
        }
        let now = run.now;
        buffers.iter_mut().for_each(|buffer| buffer.clock = now);
        Ok(())
    }
}

impl Run<'_> {
    fn group(&mut self, group: [u32; 3], groups: [u32; 3]) -> Result<(), String> {
        self.now += 1;
        (self.group, self.storage_seen, self.shared_seen) = (self.now, self.now, self.now);
        self.iterations.fill(0);
        let [sx, sy, _] = self.program.workgroup_size;
        for &(reg, builtin, c) in &self.program.builtins {
            for (lane, word) in self.registers[reg].iter_mut().enumerate() {
                let lane = lane as u32;
                let local = [lane % sx, lane / sx % sy, lane / sx / sy];
                *word = match builtin {
                    BuiltIn::LocalInvocationIndex => lane,
                    BuiltIn::LocalInvocationId => local[c],
                    BuiltIn::GlobalInvocationId => group[c] * self.program.workgroup_size[c] + local[c],
                    BuiltIn::WorkGroupId => group[c],
                    BuiltIn::NumWorkGroups => groups[c],
                    other => return Err(format!("not supported: {other:?}")),
                };
            }
        }
        self.watch.begin_group();
        let program = self.program;
        self.steps(&program.steps, self.everyone())?;
        Ok(())
    }

    fn everyone(&self) -> Mask {
        Mask::first(self.program.n_lanes())
    }

    /// Takes lanes through steps; those that reach the end.
    fn steps(&mut self, steps: &[Step], mut active: Mask) -> Result<Mask, String> {
        for step in steps {
            if active.is_empty() {
                break;
            }
            active = self.step(step, active)?;
        }
        Ok(active)
    }

    fn step(&mut self, step: &Step, active: Mask) -> Result<Mask, String> {
        match step {
            Step::One { op, to, a } => self.write(*to, |r, to| op1(*op, to, &r[*a])),
            Step::Two { op, to, a, b } => self.write(*to, |r, to| op2(*op, to, &r[*a], &r[*b])),
            Step::Three { op, to, a, b, c } => {
                self.write(*to, |r, to| op3(*op, to, &r[*a], &r[*b], &r[*c]));
            }
            Step::Index { to, index, stride, limit, plus } => self.write(*to, |r, to| {
                for (lane, to) in to.iter_mut().enumerate() {
                    let index = r[*index][lane];
                    let index = if index < *limit { index.saturating_mul(*stride) } else { u32::MAX };
                    *to = index.saturating_add(plus.map_or(0, |plus| r[plus][lane]));
                }
            }),
            Step::Pick { to, of, index } => self.write(*to, |r, to| {
                for (lane, to) in to.iter_mut().enumerate() {
                    // WGSL: some element, where there is none of that index.
                    *to = r[of[(r[*index][lane] as usize).min(of.len() - 1)]][lane];
                }
            }),
            Step::Keep { to, from } => self.write(*to, |r, to| to.copy_from_slice(&r[*from])),
            Step::Copy { to, from } => self.write(*to, |r, to| copy(to, &r[*from], active)),
            Step::Load { to, place } => self.load(to, place, active)?,
            Step::Store { place, from } => self.store(place, from, active)?,
            Step::Atomic { place, function, operand, to } => {
                self.atomic(place, *function, *operand, *to, active)?;
            }
            Step::UniformLoad { to, place } => {
                self.barrier(active, false, true)?;
                self.load(to, place, active)?;
                if self.found.iter().any(|found| found.1 != self.found[0].1) {
                    return Err("a uniform load from several places".to_owned());
                }
                self.barrier(active, false, true)?;
            }
            Step::Length { to, buffer, at, stride } => {
                let n = (self.buffers[*buffer].words().len() - at) / stride;
                self.registers[*to].fill(n as u32);
            }
            Step::If { condition, accept, reject } => {
                let yes = Mask::of(&self.registers[*condition]);
                let accepted = self.steps(accept, active.and(yes))?;
                return Ok(self.steps(reject, active.and_not(yes))?.or(accepted));
            }
            Step::Switch { selector, cases } => return self.switch(*selector, cases, active),
            Step::Loop { body, continuing, break_if } => {
                return self.repeat(body, continuing, *break_if, active);
            }
            Step::Call(steps) => {
                self.steps(steps, active)?;
            }
            Step::Break => return self.leave(active, |exits| Some(&mut exits.broke)),
            Step::Continue => {
                return self.leave(active, |exits| exits.is_loop.then_some(&mut exits.continued));
            }
            Step::Return => return Ok(Mask::default()),
            Step::Barrier { storage, shared } => self.barrier(active, *storage, *shared)?,
        }
        Ok(active)
    }

    fn write(&mut self, to: Reg, f: impl FnOnce(&[Box<[u32]>], &mut [u32])) {
        let mut words = std::mem::take(&mut self.registers[to]);
        f(&self.registers, &mut words);
        self.registers[to] = words;
    }

    /// Notes that lanes leave the innermost loop or switch that it concerns.
    fn leave(&mut self, active: Mask, way: impl Fn(&mut Exits) -> Option<&mut Mask>) -> Result<Mask, String> {
        let left = self.exits.iter_mut().rev().find_map(way).ok_or("a way out of nothing")?;
        *left = left.or(active);
        Ok(Mask::default())
    }

    fn switch(&mut self, selector: Reg, cases: &[Case], active: Mask) -> Result<Mask, String> {
        let selectors = self.registers[selector].clone();
        let is = |value: u32| Mask::of(&selectors.iter().map(|&s| u32::from(s == value)).collect::<Vec<_>>());
        let named = cases.iter().filter_map(|case| case.value);
        let others = named.fold(active, |others, value| others.and_not(is(value)));
        self.exits.push(Exits::default());
        let (mut out, mut falling) = (Mask::default(), Mask::default());
        for case in cases {
            let entering = case.value.map_or(others, |value| active.and(is(value))).or(falling);
            let end = self.steps(&case.steps, entering)?;
            (out, falling) = if case.falls_through { (out, end) } else { (out.or(end), Mask::default()) };
        }
        let exits = self.exits.pop().unwrap_or_default();
        Ok(out.or(falling).or(exits.broke))
    }

    fn repeat(
        &mut self,
        body: &[Step],
        continuing: &[Step],
        break_if: Option<Reg>,
        mut active: Mask,
    ) -> Result<Mask, String> {
        let mut out = Mask::default();
        while !active.is_empty() {
            for lane in active.lanes() {
                self.iterations[lane] += 1;
                if self.iterations[lane] > MAX_ITERATIONS {
                    return Err(format!("invocation {lane} loops more than {MAX_ITERATIONS} times"));
                }
            }
            self.exits.push(Exits { is_loop: true, ..Exits::default() });
            let end = self.steps(body, active)?;
            let exits = self.exits.pop().unwrap_or_default();
            active = self.steps(continuing, end.or(exits.continued))?;
            out = out.or(exits.broke);
            if let Some(condition) = break_if {
                let done = Mask::of(&self.registers[condition]);
                out = out.or(active.and(done));
                active = active.and_not(done);
            }
        }
        Ok(out)
    }

    fn barrier(&mut self, active: Mask, storage: bool, shared: bool) -> Result<(), String> {
        let (here, all) = (active.len(), self.program.n_lanes());
        if here < all {
            return Err(format!("a barrier is reached by {here} of {all} invocations"));
        }
        self.now += 1;
        if storage {
            self.storage_seen = self.now;
        }
        if shared {
            self.shared_seen = self.now;
        }
        Ok(())
    }
}

fn copy(to: &mut [u32], from: &[u32], active: Mask) {
    if active == Mask::first(to.len()) {
        to.copy_from_slice(from);
    } else {
        active.lanes().for_each(|lane| to[lane] = from[lane]);
    }
}
