//! Loads, stores and atomic operations.

use super::mask::Mask;
use super::memory::{Access, Buffer, Kind, WIDEST};
use super::ops::op2;
use super::races::Order;
use super::run::Run;
use super::steps::{Base, Place, Reg, Rmw};

impl Run<'_> {
    pub(super) fn load(&mut self, to: &[Reg], place: &Place, active: Mask) -> Result<(), String> {
        self.find(place, Kind::Load, active)?;
        if let Base::Own(first, _) = place.pointer.base {
            for (word, &to) in place.words.iter().zip(to) {
                for &(lane, at) in &self.found {
                    let (lane, at) = (lane as usize, at as usize);
                    self.registers[to][lane] = self.registers[first + at + word][lane];
                }
            }
            return Ok(());
        }
        let memory = match place.pointer.base {
            Base::Buffer(at) => &self.buffers[at],
            _ => &self.shared,
        };
        for (word, &to) in place.words.iter().zip(to) {
            let (to, words) = (&mut self.registers[to], memory.words());
            self.found.iter().for_each(|&(lane, at)| to[lane as usize] = words[at as usize + word]);
        }
        Ok(())
    }

    pub(super) fn store(&mut self, place: &Place, from: &[Reg], active: Mask) -> Result<(), String> {
        self.find(place, Kind::Store, active)?;
        if let Base::Own(first, _) = place.pointer.base {
            for (word, &from) in place.words.iter().zip(from) {
                for &(lane, at) in &self.found {
                    let (lane, at) = (lane as usize, at as usize);
                    self.registers[first + at + word][lane] = self.registers[from][lane];
                }
            }
            return Ok(());
        }
        let memory = match place.pointer.base {
            Base::Buffer(at) => &mut self.buffers[at],
            _ => &mut self.shared,
        };
        for (word, &from) in place.words.iter().zip(from) {
            let (from, words) = (&self.registers[from], memory.words_mut());
            self.found.iter().for_each(|&(lane, at)| words[at as usize + word] = from[lane as usize]);
        }
        Ok(())
    }

    /// One lane after another, as they come.
    pub(super) fn atomic(
        &mut self,
        place: &Place,
        function: Rmw,
        operand: Reg,
        to: Option<(Reg, Option<Reg>)>,
        active: Mask,
    ) -> Result<(), String> {
        self.find(place, Kind::Atomic, active)?;
        let memory = match place.pointer.base {
            Base::Own(..) => return Err("an atomic operation on a variable of one's own".to_owned()),
            Base::Buffer(at) => &mut self.buffers[at],
            Base::Shared(_) => &mut self.shared,
        };
        for &(lane, at) in &self.found {
            let (lane, word) = (lane as usize, &mut memory.words_mut()[at as usize]);
            let (old, operand) = (*word, self.registers[operand][lane]);
            let mut same = true;
            match function {
                Rmw::Two(op) => op2(op, std::slice::from_mut(word), &[old], &[operand]),
                Rmw::Exchange => *word = operand,
                Rmw::CompareExchange(compare) => {
                    same = old == self.registers[compare][lane];
                    *word = if same { operand } else { old };
                }
            }
            if let Some((to, was_same)) = to {
                self.registers[to][lane] = old;
                if let Some(was_same) = was_same {
                    self.registers[was_same][lane] = u32::from(same);
                }
            }
        }
        Ok(())
    }

    /// Finds every lane's place, and checks and tells what is about to happen there.
    fn find(&mut self, place: &Place, kind: Kind, active: Mask) -> Result<(), String> {
        let (n_words, begin) = match place.pointer.base {
            Base::Own(_, n) => (n, 0),
            Base::Shared(at) => (self.program.shared[at].n_words, self.program.shared[at].begin),
            Base::Buffer(at) => (self.buffers[at].words().len(), 0),
        };
        let last = place.words.iter().max().copied().unwrap_or(0);
        let plus = place.pointer.plus.map(|plus| &self.registers[plus]);
        self.found.clear();
        for lane in active.lanes() {
            let at = place.pointer.at + plus.map_or(0, |plus| plus[lane] as usize);
            if at + last >= n_words {
                let name = self.program.name(place.pointer.base);
                return Err(format!("{name}: invocation {lane} uses word {at}, of {n_words}"));
            }
            self.found.push((lane as u32, (begin + at) as u32));
        }
        let noted = self.note(place, kind);
        noted.map_err(|why| format!("{}: {why}", self.program.name(place.pointer.base)))?;
        self.tell(place, kind);
        Ok(())
    }

    fn note(&mut self, place: &Place, kind: Kind) -> Result<(), String> {
        let (now, group, found, words) = (self.now, self.group, &self.found, &place.words);
        let (memory, order): (&mut Buffer, Order) = match place.pointer.base {
            Base::Own(..) => return Ok(()),
            Base::Buffer(at) if !self.program.buffers[at].written => return Ok(()),
            Base::Buffer(at) => {
                (&mut self.buffers[at], Order { now, seen: self.storage_seen, group, begun: self.dispatch })
            }
            Base::Shared(_) => (&mut self.shared, Order { now, seen: self.shared_seen, group, begun: group }),
        };
        if matches!(place.pointer.base, Base::Shared(_)) && kind != Kind::Store {
            memory.check_written(found, words, order)?;
        }
        if !place.atomic {
            return memory.note(found, words, kind == Kind::Store, order);
        }
        if kind != Kind::Load {
            found.iter().for_each(|found| memory.note_atomic(found.1 as usize, order));
        }
        Ok(())
    }

    fn tell(&mut self, place: &Place, kind: Kind) {
        let Base::Buffer(buffer) = place.pointer.base else { return };
        if self.program.buffers[buffer].uniform {
            return;
        }
        let kind = if place.atomic { Kind::Atomic } else { kind };
        for words in place.words.chunks(WIDEST) {
            let (first, n_words) = (words[0], words[words.len() - 1] - words[0] + 1);
            if first > 0 {
                // A value of more than one instruction.
                self.found.iter_mut().for_each(|found| found.1 += first as u32);
            }
            self.watch.access(&Access { buffer, kind, lanes: &self.found, n_words });
            if first > 0 {
                self.found.iter_mut().for_each(|found| found.1 -= first as u32);
            }
        }
    }
}
