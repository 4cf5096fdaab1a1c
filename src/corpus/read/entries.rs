//! Entries of a matrix, (document, token) in any order, brought into the order of documents in bounded memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;

/// Bytes of entries that are held in memory; more go to a temporary file.
pub(super) const MEMORY: usize = 1 << 27;

/// An entry in one word: sorting and spilling are then cheap.
fn pack(document: u32, token: u32) -> u64 {
    u64::from(document) << 32 | u64::from(token)
}

fn document(entry: u64) -> u32 {
    (entry >> 32) as u32
}

/// Takes entries in any order.
pub(super) struct Gather {
    entries: Vec<u64>,
    /// How many are held in memory.
    capacity: usize,
    /// Where the others are, and the runs in order of documents that they form.
    file: Option<File>,
    runs: Vec<Range<u64>>,
    /// The last document of the last run.
    last_document: u32,
}

impl Gather {
    pub(super) fn new(memory: usize) -> Self {
        let capacity = (memory / size_of::<u64>()).max(1);
        Self { entries: Vec::new(), capacity, file: None, runs: Vec::new(), last_document: 0 }
    }

    #[inline]
    pub(super) fn push(&mut self, document: u32, token: u32) -> io::Result<()> {
        if self.entries.len() == self.capacity {
            self.spill()?;
        }
        self.entries.push(pack(document, token));
        Ok(())
    }

    /// Sorts what is in memory by document; what is in order already costs one look at each.
    fn sort(&mut self) {
        self.entries.sort_unstable_by_key(|&entry| document(entry));
    }

    /// Moves what is in memory to the file: a run of its own, or more of the last one where it goes on in order.
    fn spill(&mut self) -> io::Result<()> {
        self.sort();
        let (Some(&first), Some(&last)) = (self.entries.first(), self.entries.last()) else { return Ok(()) };
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        file.write_all(bytemuck::cast_slice(&self.entries))?;
        let begin = self.runs.last().map_or(0, |run| run.end);
        let end = begin + self.entries.len() as u64;
        match self.runs.last_mut() {
            Some(run) if document(first) >= self.last_document => run.end = end,
            _ => self.runs.push(begin..end),
        }
        self.last_document = document(last);
        self.entries.clear();
        Ok(())
    }

    /// Ends gathering.
    pub(super) fn finish(mut self) -> io::Result<InOrder> {
        let runs = if self.file.is_none() {
            self.sort();
            vec![Run { buffer: self.entries, next: 0, rest: 0..0 }]
        } else {
            self.spill()?;
            self.runs.into_iter().map(|rest| Run { buffer: Vec::new(), next: 0, rest }).collect()
        };
        let share = (self.capacity / runs.len()).max(1);
        let mut in_order = InOrder { file: self.file, runs, share, heads: BinaryHeap::new() };
        for run_ix in 0..in_order.runs.len() {
            let head = in_order.next_of(run_ix)?;
            in_order.heads.extend(head.map(|entry| Reverse((document(entry), run_ix, entry))));
        }
        Ok(in_order)
    }
}

/// Gives entries in order of their documents.
pub(super) struct InOrder {
    file: Option<File>,
    runs: Vec<Run>,
    /// How many entries of a run are in memory at a time.
    share: usize,
    /// The next entry of each run, with its document and run first.
    heads: BinaryHeap<Reverse<(u32, usize, u64)>>,
}

/// Entries in order: some in memory, the rest of them in the file.
struct Run {
    buffer: Vec<u64>,
    next: usize,
    rest: Range<u64>,
}

impl InOrder {
    #[inline]
    pub(super) fn next(&mut self) -> io::Result<Option<(u32, u32)>> {
        let Some(&Reverse((_, run_ix, entry))) = self.heads.peek() else { return Ok(None) };
        let following = self.next_of(run_ix)?;
        if let Some(mut head) = self.heads.peek_mut() {
            match following {
                Some(entry) => *head = Reverse((document(entry), run_ix, entry)),
                None => drop(PeekMut::pop(head)),
            }
        }
        Ok(Some((document(entry), entry as u32)))
    }

    fn next_of(&mut self, run_ix: usize) -> io::Result<Option<u64>> {
        let run = &mut self.runs[run_ix];
        if run.next == run.buffer.len() {
            let Some(file) = self.file.as_mut().filter(|_| !run.rest.is_empty()) else { return Ok(None) };
            let n = (self.share as u64).min(run.rest.end - run.rest.start);
            run.buffer.resize(n as usize, 0);
            file.seek(SeekFrom::Start(run.rest.start * size_of::<u64>() as u64))?;
            file.read_exact(bytemuck::cast_slice_mut(&mut run.buffer))?;
            run.rest.start += n;
            run.next = 0;
        }
        run.next += 1;
        Ok(Some(run.buffer[run.next - 1]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;

    fn in_order(entries: &[(u32, u32)], memory: usize) -> (Vec<(u32, u32)>, usize) {
        let mut gather = Gather::new(memory);
        entries.iter().for_each(|&(document, token)| gather.push(document, token).unwrap());
        let mut sorted = gather.finish().unwrap();
        let n_runs = sorted.runs.len();
        (std::iter::from_fn(|| sorted.next().unwrap()).collect(), n_runs)
    }

    #[test]
    fn any_order_and_any_memory_give_the_order_of_documents() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for n in [0, 1, 2, 7, 8, 9, 100, 1000] {
            let entries: Vec<_> =
                (0..n).map(|_| (rng.random_range(0..50), rng.random_range(0..u32::MAX))).collect();
            let mut expected = entries.clone();
            expected.sort_unstable();
            for memory in [0, 8, 24, 64, 800, MEMORY] {
                let (mut sorted, _) = in_order(&entries, memory);
                assert!(sorted.is_sorted_by_key(|&(document, _)| document), "{n} entries in {memory} bytes");
                sorted.sort_unstable();
                assert_eq!(sorted, expected, "{n} entries in {memory} bytes");
            }
        }
    }

    #[test]
    fn what_is_in_order_stays_as_it_is_and_makes_one_run() {
        // Tokens fall within each document: only the order of documents counts.
        let entries: Vec<_> = (0..1000).map(|i| (i / 10, 1000 - i)).collect();
        for memory in [64, 72, MEMORY] {
            assert_eq!(in_order(&entries, memory), (entries.clone(), 1), "{memory} bytes");
        }
    }

    #[test]
    fn column_major_entries_make_a_run_for_each_time_that_memory_is_full() {
        let entries: Vec<_> =
            (0..10).flat_map(|token| (0..16).map(move |document| (document, token))).collect();
        let (sorted, n_runs) = in_order(&entries, 16 * 8);
        assert_eq!(n_runs, 10);
        let expected: Vec<_> = (0..16).flat_map(|d| (0..10).map(move |token| (d, token))).collect();
        assert_eq!(sorted, expected, "equal documents come in the order of the runs");
    }
}
