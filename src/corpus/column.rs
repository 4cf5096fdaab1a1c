//! Arrays of a corpus, in memory, in a mapped file or in the arrays of a program that uses the library, behind one face.

use super::Corpus;
use bytemuck::AnyBitPattern;
use memmap2::Mmap;
use std::marker::PhantomData;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Numbers that somebody else keeps in memory; they must not change while they are shared.
pub trait Numbers<T>: AsRef<[T]> + std::fmt::Debug + Send + Sync {}

impl<T, A: AsRef<[T]> + std::fmt::Debug + Send + Sync> Numbers<T> for A {}

/// Numbers, owned, shared, or in a part of a mapped file.
#[derive(Debug, Clone)]
pub(super) enum Column<T> {
    Owned(Vec<T>),
    Shared(Arc<dyn Numbers<T>>),
    Mapped(MappedNumbers<T>),
}

/// Bytes of a mapped file that are aligned and whole numbers: [`MappedNumbers::new`] checks that.
#[derive(Debug, Clone)]
pub(super) struct MappedNumbers<T> {
    map: Arc<Mmap>,
    range: Range<usize>,
    numbers: PhantomData<T>,
}

impl<T: AnyBitPattern> MappedNumbers<T> {
    /// None if the range is not in the file, not aligned, or no whole number of `T`.
    pub(super) fn new(map: &Arc<Mmap>, range: Range<usize>) -> Option<Self> {
        bytemuck::try_cast_slice::<u8, T>(map.get(range.clone())?).ok()?;
        Some(Self { map: Arc::clone(map), range, numbers: PhantomData })
    }
}

impl<T: AnyBitPattern> Deref for Column<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Owned(numbers) => numbers,
            Self::Shared(numbers) => (**numbers).as_ref(),
            Self::Mapped(part) => bytemuck::cast_slice(&part.map[part.range.clone()]),
        }
    }
}

impl<T> Default for Column<T> {
    fn default() -> Self {
        Self::Owned(Vec::new())
    }
}

impl<T: AnyBitPattern> Column<T> {
    /// The numbers to add to; a shared or mapped column is copied first.
    pub(super) fn to_mut(&mut self) -> &mut Vec<T> {
        if !matches!(self, Self::Owned(_)) {
            *self = Self::Owned(self.to_vec());
        }
        match self {
            Self::Owned(numbers) => numbers,
            Self::Shared(_) | Self::Mapped(_) => unreachable!("copied above"),
        }
    }
}

impl<T: std::fmt::Debug + Send + Sync + 'static> Column<T> {
    /// Owned numbers are shared from now on: clones of the column take no memory.
    fn share(&mut self) {
        if let Self::Owned(numbers) = self {
            *self = Self::Shared(Arc::new(std::mem::take(numbers)));
        }
    }
}

impl Corpus {
    /// The same documents in arrays that its clones share.
    pub fn shared(mut self) -> Self {
        [&mut self.tokens, &mut self.others].into_iter().for_each(Column::share);
        [&mut self.doc_ends, &mut self.other_ends].into_iter().for_each(Column::share);
        for texts in [&mut self.ids, &mut self.labels].into_iter().chain(&mut self.token_names) {
            texts.ends.share();
            texts.bytes.share();
        }
        self
    }
}

/// Texts one after another: text `i` is `bytes[ends[i - 1]..ends[i]]`.
#[derive(Debug, Clone, Default)]
pub struct Strings {
    pub(super) ends: Column<u64>,
    pub(super) bytes: Column<u8>,
}

impl Strings {
    /// Adds a text.
    pub fn push(&mut self, text: &str) {
        self.bytes.to_mut().extend(text.as_bytes());
        let end = self.bytes.len() as u64;
        self.ends.to_mut().push(end);
    }

    /// Number of texts.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Text `at`. Empty if there is none, or if a mapped file is damaged there.
    pub fn get(&self, at: usize) -> &str {
        let begin = if at == 0 { Some(0) } else { self.ends.get(at - 1).copied() };
        let range = begin.zip(self.ends.get(at)).map(|(begin, &end)| begin as usize..end as usize);
        range
            .and_then(|range| self.bytes.get(range))
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
            .unwrap_or("")
    }

    /// The first text that is not one: ends that fall, or bytes that are not UTF-8.
    pub(super) fn fault(&self) -> Option<usize> {
        let mut begin = 0;
        for (at, &end) in self.ends.iter().enumerate() {
            let text = self.bytes.get(begin..end as usize).map(std::str::from_utf8);
            if !matches!(text, Some(Ok(_))) {
                return Some(at);
            }
            begin = end as usize;
        }
        (begin != self.bytes.len()).then_some(self.len())
    }

    /// All texts, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|at| self.get(at))
    }
}

impl<T: AsRef<str>> FromIterator<T> for Strings {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Self {
        let mut strings = Self::default();
        texts.into_iter().for_each(|text| strings.push(text.as_ref()));
        strings
    }
}

impl PartialEq for Strings {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}
