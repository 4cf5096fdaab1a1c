//! The page's binary sections: whole numbers of 7 bits a byte, probabilities in 16 bits, texts; compressed, in base 64.

use crate::error::{Error, Result};
use flate2::{Compression, write::DeflateEncoder};
use std::io::Write;

/// Bytes of a section, as they are put together.
#[derive(Debug, Default)]
pub(super) struct Section(Vec<u8>);

impl Section {
    /// A whole number: 7 bits a byte, the lowest first, the high bit set on all but the last.
    pub(super) fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// Nats in thousandths; the lowest bit is the sign.
    pub(super) fn nats(&mut self, value: f64) {
        let thousandths = (value * 1000.0).round() as i64;
        self.number(((thousandths << 1) ^ (thousandths >> 63)) as u64);
    }

    /// A probability in thousandths: for those that matter when they are large.
    pub(super) fn share(&mut self, p: f64) {
        self.number((p * 1000.0).round() as u64);
    }

    /// A probability to 12 binary digits, however small: a float with 5 bits of exponent from 2^-31 and 11 of mantissa, which are
    /// the upper bits of an f32 of that range.
    pub(super) fn probability(&mut self, p: f64) {
        let bits = ((p.clamp(0.0, 1.0) as f32).to_bits() + 0x800) >> 12;
        self.0.extend((bits.saturating_sub(96 << 11) as u16).to_le_bytes());
    }

    /// Texts: how many, the length of each in UTF-16 units, the bytes of all, and these in UTF-8. Those of more than `most` characters are cut;
    /// returns how many were.
    pub(super) fn texts<'a>(&mut self, texts: impl ExactSizeIterator<Item = &'a str>, most: usize) -> usize {
        let (mut all, mut n_cut) = (String::new(), 0);
        self.number(texts.len() as u64);
        for text in texts {
            let from = all.len();
            match text.char_indices().nth(most) {
                Some((end, _)) => {
                    all.extend([&text[..end], "…"]);
                    n_cut += 1;
                }
                None => all.push_str(text),
            }
            self.number(all[from..].encode_utf16().count() as u64);
        }
        self.number(all.len() as u64);
        self.0.extend(all.as_bytes());
        n_cut
    }

    /// Deflated and in base 64.
    pub(super) fn finish(self) -> Result<String> {
        let failed = |e| Error::io("a section of the page".as_ref(), e);
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&self.0).map_err(failed)?;
        Ok(base64(&encoder.finish().map_err(failed)?))
    }
}

/// Base 64 with the usual alphabet and padding.
pub(super) fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let digit = ALPHABET[(bits >> (18 - 6 * at)) as usize & 63];
            text.push(if at <= group.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_64_of_every_length() {
        let of = |text: &str| base64(text.as_bytes());
        assert_eq!([of(""), of("f"), of("fo"), of("foo")], ["", "Zg==", "Zm8=", "Zm9v"]);
        assert_eq!([of("foob"), of("\u{ff}\u{3fe}")], ["Zm9vYg==", "w7/Pvg=="]);
    }

    #[test]
    fn probabilities_keep_12_bits() {
        for p in [1.0, 0.999, 0.5, 0.1, 1e-3, 3.7e-6, 2e-9] {
            let mut section = Section::default();
            section.probability(p);
            let code = u16::from_le_bytes([section.0[0], section.0[1]]);
            let read = 2f64.powi(i32::from(code >> 11) - 31) * (1.0 + f64::from(code & 2047) / 2048.0);
            assert!((read / p - 1.0).abs() < 1.0 / 4095.0, "{p} is read as {read}");
        }
        let mut section = Section::default();
        [0.0, 1e-12].into_iter().for_each(|p| section.probability(p));
        assert_eq!(section.0, [0; 4]);
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let mut section = Section::default();
        assert_eq!(section.texts(["åß😀ç", "ab", ""].into_iter(), 3), 1);
        assert_eq!(section.0, [[3, 5, 2, 0, 13].as_slice(), "åß😀…ab".as_bytes()].concat());
    }
}
