//! A machine that runs the kernels' WGSL in the interpreter and counts their traffic.

use super::{CARDS, Meter, Tally};
use crate::interpreter::{Access, Buffer, Kind, Program, Watch};
use noisyor::batch::DocRecord;
use noisyor::estep::device::{
    Args, Array, Dispatch, Fault, Kernel, Lanes, MAX_GROUPS, Machine, Place, Read, Spent,
};
use std::collections::{BTreeMap, HashMap};

/// All dispatches of a kernel with one kind of rows.
#[derive(Debug, Clone, Copy)]
pub struct Counted {
    pub kernel: &'static str,
    pub lanes: Lanes,
    pub dispatches: u64,
    /// Bytes of words that were read, and of words that were written, each counted once a dispatch.
    pub distinct: u64,
    /// By card.
    pub tallies: [Tally; CARDS.len()],
}

impl Counted {
    /// Nothing yet.
    pub fn new(kernel: &'static str, lanes: Lanes) -> Self {
        Self { kernel, lanes, dispatches: 0, distinct: 0, tallies: [Tally::default(); CARDS.len()] }
    }
}

/// The interpreter as a machine. It panics where a shader does something wrong.
pub struct MeterMachine {
    source: fn(&Kernel, Lanes) -> String,
    /// By array, and by place of packed documents or set.
    buffers: BTreeMap<(Array, usize), Buffer>,
    read: HashMap<usize, Vec<Vec<u32>>>,
    programs: HashMap<(&'static str, Lanes), Program>,
    counted: Vec<Counted>,
    searched_edges: u64,
    spent: Spent,
}

impl MeterMachine {
    /// With nothing on it.
    pub fn new() -> Self {
        Self::of(Kernel::source)
    }

    /// The same with kernels whose WGSL is another.
    pub fn of(source: fn(&Kernel, Lanes) -> String) -> Self {
        Self {
            source,
            buffers: BTreeMap::new(),
            read: HashMap::new(),
            programs: HashMap::new(),
            counted: Vec::new(),
            searched_edges: 0,
            spent: Spent::default(),
        }
    }

    /// Takes what was counted since the last call, and the edges of documents that searched, summed over the rounds.
    pub fn take_counted(&mut self) -> (Vec<Counted>, u64) {
        (std::mem::take(&mut self.counted), std::mem::take(&mut self.searched_edges))
    }

    fn buffer(&mut self, place: Place, array: Array) -> &mut Buffer {
        let at = match array {
            Array::Network => 0,
            packed if packed.is_packed() => place.packed,
            _ => place.set,
        };
        self.buffers.entry((array, at)).or_default()
    }

    fn dispatch(&mut self, place: Place, dispatch: &Dispatch) -> Result<(), String> {
        let Dispatch { kernel, lanes, args } = *dispatch;
        let key = (kernel.name, lanes);
        let program = match self.programs.remove(&key) {
            Some(program) => program,
            None => Program::new(&(self.source)(kernel, lanes))?,
        };
        let n_groups = lanes.n_groups(args.n_rows);
        let groups_x = n_groups.clamp(1, MAX_GROUPS);
        let args = Args { groups_x, ..args };
        let args = Buffer::new(bytemuck::cast_slice(&[args]).to_vec());
        // Binding 0 holds the arguments, the arrays follow.
        let array = |binding: u32| binding.checked_sub(1).map(|at| kernel.arrays[at as usize].0);
        let arrays: Vec<Option<Array>> = program.buffers.iter().map(|buffer| array(buffer.binding)).collect();
        let take = |array: &Option<Array>| match array {
            Some(array) => std::mem::take(self.buffer(place, *array)),
            None => args.clone(),
        };
        let mut buffers: Vec<Buffer> = arrays.iter().map(take).collect();
        let mut seen = Seen {
            meters: CARDS.map(|card| Meter::new(&card, &program)),
            words: buffers
                .iter()
                .map(|buffer| [(); 2].map(|()| vec![0; buffer.words().len() / 64 + 1]))
                .collect(),
            n_words: 0,
        };
        let ran = program.run([groups_x, n_groups.div_ceil(groups_x), 1], &mut buffers, &mut seen);
        for (array, buffer) in arrays.iter().zip(buffers) {
            if let Some(array) = array {
                *self.buffer(place, *array) = buffer;
            }
        }
        self.programs.insert(key, program);
        self.count(dispatch, &seen);
        ran
    }

    fn count(&mut self, dispatch: &Dispatch, seen: &Seen) {
        let (kernel, lanes) = (dispatch.kernel.name, dispatch.lanes);
        let at = self.counted.iter().position(|row| (row.kernel, row.lanes) == (kernel, lanes));
        let at = at.unwrap_or_else(|| {
            self.counted.push(Counted::new(kernel, lanes));
            self.counted.len() - 1
        });
        let row = &mut self.counted[at];
        row.dispatches += 1;
        row.distinct += 4 * seen.n_words;
        row.tallies.iter_mut().zip(&seen.meters).for_each(|(tally, meter)| *tally += meter.tally);
    }

    /// The documents of a step of the search, or of several steps of bins.
    fn listed(&mut self, place: Place, dispatch: &Dispatch) -> Vec<usize> {
        let rows: &[[u32; 2]] = bytemuck::cast_slice(self.buffer(place, Array::Rows).words());
        let listed = &rows[dispatch.args.row_begin as usize..][..dispatch.args.n_rows as usize];
        let docs = |&[row, _]: &[u32; 2]| match dispatch.kernel.name {
            "search" => {
                let [first, n_docs] = rows[row as usize + 2];
                first as usize..(first + n_docs) as usize
            }
            _ => row as usize..row as usize + 1,
        };
        listed.iter().flat_map(docs).collect()
    }

    /// Runs a step or several of the search, and counts the edges of the documents that are at work in each.
    fn search(&mut self, place: Place, dispatch: &Dispatch) -> Result<(), String> {
        let first = dispatch.args.alternation;
        let n_steps = if dispatch.kernel.name == "search" { dispatch.args.n_steps } else { 1 };
        let before = self.buffer(place, Array::DocState).words().to_vec();
        self.dispatch(place, dispatch)?;
        for doc in self.listed(place, dispatch) {
            if before[doc] >= first {
                // It is at work up to the step that is its state.
                let after = self.buffer(place, Array::DocState).words()[doc];
                let n_at_work = (after - first + 1).min(n_steps);
                let docs: &[DocRecord] = bytemuck::cast_slice(self.buffer(place, Array::Docs).words());
                let n_edges = docs[doc + 1].edge_begin - docs[doc].edge_begin;
                self.searched_edges += u64::from(n_edges) * u64::from(n_at_work);
            }
        }
        Ok(())
    }
}

/// What is seen of a dispatch.
struct Seen {
    meters: [Meter; CARDS.len()],
    /// Per buffer a bit for each word: whether it was read, and whether it was written.
    words: Vec<[Vec<u64>; 2]>,
    n_words: u64,
}

impl Watch for Seen {
    fn begin_group(&mut self) {
        self.meters.iter_mut().for_each(Meter::begin_group);
    }

    fn access(&mut self, access: &Access<'_>) {
        self.meters.iter_mut().for_each(|meter| meter.access(access));
        let seen = &mut self.words[access.buffer][usize::from(access.kind != Kind::Load)];
        for &(_, first) in access.lanes {
            for at in first as usize..first as usize + access.n_words {
                let bit = 1 << (at % 64);
                self.n_words += u64::from(seen[at / 64] & bit == 0);
                seen[at / 64] |= bit;
            }
        }
    }
}

impl Machine for MeterMachine {
    fn name(&self) -> String {
        "interpreter".to_owned()
    }

    fn max_array_bytes(&self) -> u64 {
        1 << 32
    }

    fn max_bytes(&self) -> Option<u64> {
        None
    }

    fn reserve(&mut self, place: Place, array: Array, n_bytes: usize) -> Result<(), Fault> {
        self.buffer(place, array).grow(n_bytes.div_ceil(4));
        Ok(())
    }

    fn write(&mut self, place: Place, array: Array, at: usize, bytes: &[u8]) -> Result<(), Fault> {
        self.reserve(place, array, at + bytes.len())?;
        let words: &mut [u8] = bytemuck::cast_slice_mut(self.buffer(place, array).words_mut());
        words[at..at + bytes.len()].copy_from_slice(bytes);
        self.spent.upload_bytes += bytes.len() as u64;
        Ok(())
    }

    fn submit(&mut self, place: Place, dispatches: &[Dispatch], reads: &[Read]) -> Result<(), Fault> {
        for dispatch in dispatches {
            let ran = match dispatch.kernel.name {
                "flip_best" | "search" => self.search(place, dispatch),
                _ => self.dispatch(place, dispatch),
            };
            ran.unwrap_or_else(|why| panic!("{:?}, {:?} rows: {why}", dispatch.kernel, dispatch.lanes));
            self.spent.add_kernel(dispatch.kernel.name, None);
        }
        let mut words = |read: &Read| self.buffer(place, read.array).words()[read.words.clone()].to_vec();
        let read = reads.iter().map(&mut words).collect();
        self.read.insert(place.set, read);
        Ok(())
    }

    fn start(&mut self, _: &[usize]) -> Result<(), Fault> {
        Ok(())
    }

    fn wait(&mut self, set: usize) -> Result<Vec<Vec<u32>>, Fault> {
        Ok(self.read.remove(&set).unwrap_or_default())
    }

    fn release(&mut self, packed: usize) {
        self.buffers.retain(|&(array, at), _| !array.is_packed() || at != packed);
    }

    fn reopen(&mut self) -> noisyor::Result<()> {
        self.clear();
        Ok(())
    }

    fn clear(&mut self) {
        self.buffers.clear();
        self.read.clear();
    }

    fn take_spent(&mut self) -> Spent {
        std::mem::take(&mut self.spent)
    }
}
