//! Counts the memory traffic of kernels without a card: bytes that the waves of a workgroup ask for, and bytes that a small cache
//! leaves to the second level.
//!
//! The model: a wave's instruction fetches every 32-byte sector that one of its lanes wants once. Loads go through the workgroup's
//! share of a first-level cache: lines of 128 bytes, filled sector by sector, the line thrown out that was not used for longest. The
//! cache is empty when a workgroup begins, and a card is taken to be full, so that as many workgroups share its caches as fit.
//! Stores go on to the second level and leave the cache as it is; so do atomic operations.

mod cache;
mod machine;
mod table;

pub use machine::{Counted, MeterMachine};
#[allow(unused_imports)] // Phase: of tests
pub use table::{Phase, Table};

use crate::interpreter::{Access, Kind, Program, Watch};
use cache::{Cache, LINE_SECTORS, SECTOR};

/// What of a card the model knows; sizes are those of one of its compute units.
#[derive(Debug, Clone, Copy)]
pub struct Card {
    /// Threads that execute an instruction together.
    pub wave: u32,
    /// Threads that are there at a time at most.
    pub threads: usize,
    /// First-level cache.
    pub l1_bytes: usize,
    /// Workgroup memory.
    pub shared_bytes: usize,
}

/// About an NVIDIA RTX 4090, where L1 and workgroup memory share 128 KiB, and an AMD RX 7900 XTX.
pub const CARDS: [Card; 2] = [
    Card { wave: 32, threads: 1536, l1_bytes: 96 << 10, shared_bytes: 96 << 10 },
    Card { wave: 64, threads: 2048, l1_bytes: 32 << 10, shared_bytes: 64 << 10 },
];

impl Card {
    /// The part of the cache that a workgroup has, in bytes.
    pub fn l1_share(&self, program: &Program) -> usize {
        let by_threads = self.threads / program.n_lanes();
        let by_memory = self.shared_bytes / (4 * program.n_shared_words()).max(1);
        self.l1_bytes / by_threads.min(by_memory).max(1)
    }
}

/// What was counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Instructions that a wave executed on storage buffers.
    pub instructions: u64,
    /// Lanes that took part in them.
    pub lanes: u64,
    /// Bytes of sectors that they asked for.
    pub requested: u64,
    /// Of these, bytes that came from the second level or went there.
    pub from_l2: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.instructions += other.instructions;
        self.lanes += other.lanes;
        self.requested += other.requested;
        self.from_l2 += other.from_l2;
    }
}

/// A card that watches a program.
#[derive(Debug)]
pub struct Meter {
    wave: u32,
    cache: Cache,
    sectors: Vec<u64>,
    pub tally: Tally,
}

impl Meter {
    pub fn new(card: &Card, program: &Program) -> Self {
        let cache = Cache::new(card.l1_share(program));
        Self { wave: card.wave, cache, sectors: Vec::new(), tally: Tally::default() }
    }

    /// A wave's part of an instruction.
    fn instruction(&mut self, access: &Access<'_>, lanes: &[(u32, u32)]) {
        let per_sector = SECTOR / 4;
        self.sectors.clear();
        for &(_, word) in lanes {
            let (first, last) = (u64::from(word), u64::from(word) + access.n_words as u64 - 1);
            self.sectors.extend(first / per_sector..=last / per_sector);
        }
        self.sectors.sort_unstable();
        self.sectors.dedup();
        let n = self.sectors.len() as u64;
        let mut missing = if access.kind == Kind::Load { 0 } else { n };
        if access.kind == Kind::Load {
            for line in self.sectors.chunk_by(|a, b| a / LINE_SECTORS == b / LINE_SECTORS) {
                let sectors = line.iter().fold(0, |bits, sector| bits | 1 << (sector % LINE_SECTORS));
                let line = ((access.buffer as u64) << 40) | (line[0] / LINE_SECTORS);
                missing += u64::from(self.cache.load(line, sectors));
            }
        }
        self.tally += Tally {
            instructions: 1,
            lanes: lanes.len() as u64,
            requested: SECTOR * n,
            from_l2: SECTOR * missing,
        };
    }
}

impl Watch for Meter {
    fn begin_group(&mut self) {
        self.cache.clear();
    }

    fn access(&mut self, access: &Access<'_>) {
        // Waves are powers of two: lanes of one differ in the low bits only.
        let wave = self.wave;
        for lanes in access.lanes.chunk_by(|a, b| a.0 ^ b.0 < wave) {
            self.instruction(access, lanes);
        }
    }
}
