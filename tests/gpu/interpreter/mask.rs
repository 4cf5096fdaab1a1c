//! Which invocations of a workgroup take part.

/// Invocations of a workgroup at most: WebGPU's default limit.
pub const MAX_LANES: usize = 256;

/// A set of lanes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mask([u64; MAX_LANES / 64]);

impl Mask {
    /// The first so many lanes.
    pub fn first(n: usize) -> Self {
        let word = |at: usize| match n.saturating_sub(64 * at) {
            0 => 0,
            n if n < 64 => (1 << n) - 1,
            _ => u64::MAX,
        };
        Self(std::array::from_fn(word))
    }

    /// Lanes with a word that is not 0.
    pub fn of(words: &[u32]) -> Self {
        let mut mask = Self::default();
        for (to, words) in mask.0.iter_mut().zip(words.chunks(64)) {
            *to = words.iter().rev().fold(0, |bits, &word| 2 * bits + u64::from(word != 0));
        }
        mask
    }

    fn with(self, other: Self, join: impl Fn(u64, u64) -> u64) -> Self {
        Self(std::array::from_fn(|at| join(self.0[at], other.0[at])))
    }

    pub fn and(self, other: Self) -> Self {
        self.with(other, |a, b| a & b)
    }

    pub fn and_not(self, other: Self) -> Self {
        self.with(other, |a, b| a & !b)
    }

    pub fn or(self, other: Self) -> Self {
        self.with(other, |a, b| a | b)
    }

    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    pub fn len(self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The lanes, ascending.
    pub fn lanes(self) -> impl Iterator<Item = usize> {
        self.0.into_iter().enumerate().flat_map(|(at, mut word)| {
            std::iter::from_fn(move || {
                let lane = (word != 0).then(|| 64 * at + word.trailing_zeros() as usize);
                word &= word.wrapping_sub(1);
                lane
            })
        })
    }
}
