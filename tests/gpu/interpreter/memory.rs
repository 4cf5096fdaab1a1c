//! Words that invocations share, and who sees how they are used.

use super::races::{Order, Uses};

/// Words that invocations share.
#[derive(Debug, Clone, Default)]
pub struct Buffer {
    words: Vec<u32>,
    uses: Vec<Uses>,
    /// Time of the last use.
    pub(super) clock: u32,
}

/// What an instruction does with memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Load,
    Store,
    /// Atomic loads and stores, too.
    Atomic,
}

/// One instruction on a storage buffer, by all lanes that take part.
#[derive(Debug, Clone, Copy)]
pub struct Access<'a> {
    /// Which of the program's buffers.
    pub buffer: usize,
    pub kind: Kind,
    /// Lane and first word, by ascending lanes.
    pub lanes: &'a [(u32, u32)],
    /// Words that each lane wants, at most [`WIDEST`].
    pub n_words: usize,
}

/// Words that a lane's instruction moves at most.
pub const WIDEST: usize = 4;

/// Sees what a program does with its storage buffers.
pub trait Watch {
    /// A workgroup begins.
    fn begin_group(&mut self);
    /// An instruction was executed.
    fn access(&mut self, access: &Access<'_>);
}

impl Buffer {
    pub fn new(words: Vec<u32>) -> Self {
        let mut buffer = Self::default();
        buffer.grow(words.len());
        buffer.words.copy_from_slice(&words);
        buffer
    }

    pub fn words(&self) -> &[u32] {
        &self.words
    }

    pub fn words_mut(&mut self) -> &mut [u32] {
        &mut self.words
    }

    /// Makes room for so many words.
    pub fn grow(&mut self, n_words: usize) {
        if self.words.len() < n_words {
            self.words.resize(n_words, 0);
            self.uses.resize(n_words, Uses::default());
        }
    }

    /// Notes a plain load of words by lanes; who gets in each other's way.
    pub(super) fn note(
        &mut self,
        lanes: &[(u32, u32)],
        words: &[usize],
        store: bool,
        order: Order,
    ) -> Result<(), String> {
        for &(lane, at) in lanes {
            for word in words {
                let at = at as usize + word;
                let uses = &mut self.uses[at];
                let noted = if store { uses.write(lane, order) } else { uses.read(lane, order) };
                noted.map_err(|why| format!("invocation {lane} uses word {at}, but {why}"))?;
            }
        }
        Ok(())
    }

    /// Whether lanes load words that nobody wrote since the memory came to be.
    pub(super) fn check_written(
        &self,
        lanes: &[(u32, u32)],
        words: &[usize],
        order: Order,
    ) -> Result<(), String> {
        let places = lanes.iter().flat_map(|&(_, at)| words.iter().map(move |word| at as usize + word));
        match places.into_iter().find(|&at| !self.uses[at].is_written(order)) {
            Some(at) => Err(format!("word {at} is read, which nobody wrote in this workgroup")),
            None => Ok(()),
        }
    }

    /// Notes that a word was written by an atomic operation.
    pub(super) fn note_atomic(&mut self, at: usize, order: Order) {
        self.uses[at].write_atomically(order);
    }
}
