//! The first-level cache of a workgroup.

/// Bytes that the second level hands over at a time.
pub const SECTOR: u64 = 32;
/// Sectors of a line, which has a place in the cache as a whole.
pub const LINE_SECTORS: u64 = 4;

/// Lines, the one used last at the end; with each the sectors that are there.
#[derive(Debug, Clone)]
pub struct Cache {
    n_lines: usize,
    lines: Vec<(u64, u8)>,
}

impl Cache {
    /// An empty cache of so many bytes.
    pub fn new(n_bytes: usize) -> Self {
        let n_lines = n_bytes / (LINE_SECTORS * SECTOR) as usize;
        Self { n_lines, lines: Vec::with_capacity(n_lines + 1) }
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.lines.clear();
    }

    /// Loads sectors of a line, a bit each; how many of them were not there.
    pub fn load(&mut self, line: u64, sectors: u8) -> u32 {
        let there = match self.lines.iter().rposition(|there| there.0 == line) {
            Some(at) => self.lines.remove(at).1,
            None => 0,
        };
        if self.lines.len() >= self.n_lines {
            self.lines.remove(0);
        }
        self.lines.push((line, there | sectors));
        (sectors & !there).count_ones()
    }
}
