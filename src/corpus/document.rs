//! One document as a reader gives it.

/// A document's tokens by number, by name or as text: whichever the format has; the others are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// Tokens by number, in any order; a repeated one counts once.
    pub tokens: Vec<u32>,
    /// Tokens by name, in any order; a repeated one counts once.
    pub words: Words,
    /// Text, to be split into words.
    pub text: String,
    /// The id; empty: none.
    pub id: String,
    /// The label; empty: none.
    pub label: String,
}

/// Documents that took more bytes are not expected again.
const GIANT: usize = 1 << 16;

impl Document {
    /// Empties it. Its memory is kept for the next one, unless a giant has been here.
    pub fn clear(&mut self) {
        let Self { tokens, words, text, id, label } = self;
        let n_bytes =
            4 * tokens.capacity() + words.text.capacity() + 8 * words.ends.capacity() + text.capacity();
        if n_bytes > GIANT {
            *self = Self::default();
            return;
        }
        tokens.clear();
        words.text.clear();
        words.ends.clear();
        text.clear();
        id.clear();
        label.clear();
    }
}

/// Names in one piece of memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words {
    text: String,
    ends: Vec<usize>,
}

impl Words {
    /// Adds a name; returns its place.
    pub fn push(&mut self, name: &str) -> u32 {
        self.text.push_str(name);
        self.ends.push(self.text.len());
        self.ends.len() as u32 - 1
    }

    /// The names, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, &end)| &self.text[begin..end])
    }

    /// Bytes of all names.
    pub fn n_bytes(&self) -> usize {
        self.text.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_giant_leaves_no_memory_behind() {
        let mut document = Document { text: "x".repeat(100), ..Document::default() };
        document.clear();
        assert!(document.text.is_empty() && document.text.capacity() >= 100);
        document.text = "x".repeat(2 * GIANT);
        document.clear();
        assert_eq!(document.text.capacity(), 0);
        document.tokens = vec![1; GIANT];
        document.clear();
        assert_eq!(document.tokens.capacity(), 0);
    }
}
