//! NumPy arrays in .npy files: the header, read and written, and the elements one by one. Nothing is allocated by what a header claims.

use std::io::{self, Read};

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// NumPy itself writes far shorter ones.
const MAX_HEADER: u32 = 1 << 16;
/// Longer strings are not read.
const MAX_TEXT: usize = 256;
const BUFFER: u64 = 1 << 16;

/// Why an array cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NpyError {
    /// Reading failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is not an array, or not of a kind that can be read.
    #[error("{0}")]
    Format(String),
}

/// What an element is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Signed,
    Unsigned,
    Float,
    /// Bytes.
    Text,
    /// Characters of four bytes.
    Unicode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dtype {
    pub(crate) kind: Kind,
    /// Bytes of an element.
    pub(crate) size: usize,
    big_endian: bool,
}

impl Dtype {
    /// None if it is not a kind that can be read.
    fn parse(text: &str) -> Option<Self> {
        let (order, kind) = text.split_at_checked(1)?;
        let (kind, size) = kind.split_at_checked(1)?;
        let size: usize = size.parse().ok()?;
        let (kind, size) = match (kind, size) {
            ("b", 1) => (Kind::Bool, 1),
            ("i", 1 | 2 | 4 | 8) => (Kind::Signed, size),
            ("u", 1 | 2 | 4 | 8) => (Kind::Unsigned, size),
            ("f", 4 | 8) => (Kind::Float, size),
            ("S", 1..=MAX_TEXT) => (Kind::Text, size),
            ("U", 1..=MAX_TEXT) => (Kind::Unicode, size * 4),
            _ => return None,
        };
        let big_endian = match order {
            "<" | "|" => false,
            ">" => true,
            "=" => cfg!(target_endian = "big"),
            _ => return None,
        };
        Some(Self { kind, size, big_endian })
    }

    /// The bits of an element of at most eight bytes.
    fn bits(self, element: &[u8]) -> u64 {
        let mut bytes = [0; 8];
        bytes[..self.size].copy_from_slice(element);
        if self.big_endian {
            bytes[..self.size].reverse();
        }
        u64::from_le_bytes(bytes)
    }
}

/// What stands before the elements.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) dtype: Dtype,
    pub(crate) shape: Vec<u64>,
    /// Bytes of the header.
    pub(crate) n_bytes: u64,
}

impl Header {
    pub(crate) fn read(reader: &mut impl Read) -> Result<Self, NpyError> {
        let mut start = [0; 8];
        reader.read_exact(&mut start)?;
        let (magic, version) = start.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(NpyError::Format("is not a NumPy array".into()));
        }
        let mut length = [0; 4];
        let n_length = match version[0] {
            1 => 2,
            2 | 3 => 4,
            other => {
                return Err(NpyError::Format(format!("is of version {other}; versions 1 to 3 can be read")));
            }
        };
        reader.read_exact(&mut length[..n_length])?;
        let length = u32::from_le_bytes(length);
        if length > MAX_HEADER {
            return Err(NpyError::Format(format!(
                "has a header of {length} bytes; at most {MAX_HEADER} can be read"
            )));
        }
        let mut text = vec![0; length as usize];
        reader.read_exact(&mut text)?;
        let text = String::from_utf8_lossy(&text);
        let (descr, shape) = parse_dict(&text)
            .ok_or_else(|| NpyError::Format("has a header that is not one of NumPy's".into()))?;
        let dtype = Dtype::parse(descr).ok_or_else(|| {
            NpyError::Format(format!(
                "has elements of type '{}'; bool, integers, float32 and float64 can be read",
                descr.chars().take(60).collect::<String>()
            ))
        })?;
        let n_bytes = (start.len() + n_length) as u64 + u64::from(length);
        Ok(Self { dtype, shape, n_bytes })
    }

    /// How many elements there are; none if the number is beyond reason.
    pub(crate) fn n_elements(&self) -> Option<u64> {
        self.shape.iter().try_fold(1_u64, |n, &length| n.checked_mul(length))
    }

    /// Bytes of header and elements; none if the number is beyond reason.
    pub(crate) fn n_bytes_in_all(&self) -> Option<u64> {
        self.n_elements()?.checked_mul(self.dtype.size as u64)?.checked_add(self.n_bytes)
    }

    /// The one element of an array of text.
    pub(crate) fn read_text(&self, reader: &mut impl Read) -> Result<String, NpyError> {
        let is_text = matches!(self.dtype.kind, Kind::Text | Kind::Unicode);
        if !is_text || self.n_elements() != Some(1) {
            return Err(NpyError::Format("is not a single text".into()));
        }
        let mut bytes = vec![0; self.dtype.size];
        reader.read_exact(&mut bytes)?;
        let text: String = match self.dtype.kind {
            Kind::Text => String::from_utf8_lossy(&bytes).into_owned(),
            _ => bytes
                .chunks_exact(4)
                .map(|c| [c[0], c[1], c[2], c[3]])
                .map(if self.dtype.big_endian { u32::from_be_bytes } else { u32::from_le_bytes })
                .map(|code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect(),
        };
        Ok(text.trim_end_matches('\0').to_owned())
    }
}

/// Type and shape of `{'descr': '<i4', 'fortran_order': False, 'shape': (3, 4), }`.
fn parse_dict(text: &str) -> Option<(&str, Vec<u64>)> {
    let mut rest = Literal(text);
    let (mut descr, mut shape) = (None, None);
    rest.take("{")?;
    while rest.take("}").is_none() {
        let key = rest.text()?;
        rest.take(":")?;
        match key {
            "descr" => descr = Some(rest.text()?),
            // The order of arrays in one dimension makes no difference.
            "fortran_order" => rest.take("True").or_else(|| rest.take("False"))?,
            "shape" => shape = Some(rest.tuple()?),
            _ => return None,
        }
        if rest.take(",").is_none() {
            rest.take("}")?;
            break;
        }
    }
    Some((descr?, shape?))
}

/// The rest of a Python literal.
struct Literal<'a>(&'a str);

impl<'a> Literal<'a> {
    fn take(&mut self, token: &str) -> Option<()> {
        self.0 = self.0.trim_start().strip_prefix(token)?;
        Some(())
    }

    fn text(&mut self) -> Option<&'a str> {
        let quote = if self.take("'").is_some() {
            '\''
        } else {
            self.take("\"")?;
            '"'
        };
        let (text, rest) = self.0.split_once(quote)?;
        self.0 = rest;
        Some(text)
    }

    /// A tuple of at most two numbers.
    fn tuple(&mut self) -> Option<Vec<u64>> {
        let mut numbers = Vec::new();
        self.take("(")?;
        while self.take(")").is_none() {
            self.0 = self.0.trim_start();
            let end = self.0.find(|c: char| !c.is_ascii_digit())?;
            let (number, rest) = self.0.split_at(end);
            numbers.push(number.parse().ok().filter(|_| numbers.len() < 2)?);
            // Python 2 writes 3L.
            self.0 = rest.strip_prefix('L').unwrap_or(rest);
            if self.take(",").is_none() {
                self.take(")")?;
                break;
            }
        }
        Some(numbers)
    }
}

/// The elements of an array of numbers, one by one.
pub(crate) struct Elements<R> {
    reader: R,
    dtype: Dtype,
    buffer: Vec<u8>,
    next: usize,
    /// Elements that are not in the buffer yet.
    n_left: u64,
}

impl<R: Read> Elements<R> {
    /// `reader` must stand behind the header.
    pub(crate) fn new(header: &Header, reader: R) -> Result<Self, NpyError> {
        if matches!(header.dtype.kind, Kind::Text | Kind::Unicode) {
            return Err(NpyError::Format("holds text instead of numbers".into()));
        }
        let n_left =
            header.n_elements().ok_or_else(|| NpyError::Format("declares an impossible shape".into()))?;
        Ok(Self { reader, dtype: header.dtype, buffer: Vec::new(), next: 0, n_left })
    }

    pub(crate) fn kind(&self) -> Kind {
        self.dtype.kind
    }

    /// The next element as a whole number, one that is too large as the largest; none at the end. Floats are cut off.
    #[inline]
    pub(crate) fn next_i64(&mut self) -> io::Result<Option<i64>> {
        let Dtype { kind, size, .. } = self.dtype;
        Ok(self.next_bits()?.map(|bits| match kind {
            Kind::Signed => {
                let unused = 64 - 8 * size as u32;
                (bits << unused) as i64 >> unused
            }
            Kind::Float => float(bits, size) as i64,
            _ => i64::try_from(bits).unwrap_or(i64::MAX),
        }))
    }

    /// The next element as a float; none at the end.
    #[inline]
    pub(crate) fn next_f64(&mut self) -> io::Result<Option<f64>> {
        if self.dtype.kind == Kind::Float {
            let size = self.dtype.size;
            return Ok(self.next_bits()?.map(|bits| float(bits, size)));
        }
        Ok(self.next_i64()?.map(|number| number as f64))
    }

    #[inline]
    fn next_bits(&mut self) -> io::Result<Option<u64>> {
        let size = self.dtype.size;
        if self.next == self.buffer.len() {
            if self.n_left == 0 {
                return Ok(None);
            }
            let n = self.n_left.min(BUFFER / size as u64);
            self.buffer.resize(n as usize * size, 0);
            self.reader.read_exact(&mut self.buffer)?;
            self.n_left -= n;
            self.next = 0;
        }
        let element = &self.buffer[self.next..self.next + size];
        self.next += size;
        Ok(Some(self.dtype.bits(element)))
    }
}

fn float(bits: u64, size: usize) -> f64 {
    if size == 4 { f64::from(f32::from_bits(bits as u32)) } else { f64::from_bits(bits) }
}

/// The header of an array in C order, as NumPy writes it: 64 bytes, or a multiple.
pub(crate) fn header(descr: &str, shape: &[u64]) -> Vec<u8> {
    let lengths: String = match shape {
        [length] => format!("{length},"),
        _ => shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
    };
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({lengths}), }}");
    let n_bytes = (MAGIC.len() + 4 + text.len() + 1).next_multiple_of(64);
    let mut header = MAGIC.to_vec();
    header.extend([1, 0]);
    header.extend(((n_bytes - MAGIC.len() - 4) as u16).to_le_bytes());
    header.extend(text.bytes());
    header.resize(n_bytes - 1, b' ');
    header.push(b'\n');
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(version: u8, dict: &str, elements: &[u8]) -> Vec<u8> {
        let mut bytes = [MAGIC.as_slice(), &[version, 0]].concat();
        match version {
            1 => bytes.extend((dict.len() as u16).to_le_bytes()),
            _ => bytes.extend((dict.len() as u32).to_le_bytes()),
        }
        [&bytes, dict.as_bytes(), elements].concat()
    }

    fn numbers(descr: &str, elements: &[u8], n: usize) -> (Vec<i64>, Vec<f64>) {
        let dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({n},), }}   \n");
        let bytes = array(1, &dict, elements);
        let opened = || {
            let mut rest = bytes.as_slice();
            let header = Header::read(&mut rest).unwrap();
            assert_eq!(header.n_bytes_in_all(), Some(bytes.len() as u64));
            Elements::new(&header, rest).unwrap()
        };
        let (mut whole, mut floats) = (opened(), opened());
        let whole = std::iter::from_fn(|| whole.next_i64().unwrap()).collect();
        (whole, std::iter::from_fn(|| floats.next_f64().unwrap()).collect())
    }

    #[test]
    fn a_header_that_is_written_reads_back() {
        for shape in [&[][..], &[0], &[7], &[u64::MAX], &[3, 4]] {
            let bytes = header("<f4", shape);
            assert_eq!((bytes.len() % 64, bytes.last()), (0, Some(&b'\n')));
            let read = Header::read(&mut bytes.as_slice()).unwrap();
            assert_eq!((read.shape.as_slice(), Some(read.dtype)), (shape, Dtype::parse("<f4")));
        }
    }

    #[test]
    fn numbers_of_every_type_and_byte_order() {
        assert_eq!(numbers("|b1", &[0, 1], 2), (vec![0, 1], vec![0.0, 1.0]));
        assert_eq!(numbers("|i1", &[255, 7], 2), (vec![-1, 7], vec![-1.0, 7.0]));
        assert_eq!(numbers("|u1", &[255], 1), (vec![255], vec![255.0]));
        assert_eq!(numbers("<i2", &[0xfe, 0xff], 1), (vec![-2], vec![-2.0]));
        assert_eq!(numbers(">i2", &[0xff, 0xfe], 1), (vec![-2], vec![-2.0]));
        assert_eq!(numbers(">u4", &[0, 0, 1, 0], 1), (vec![256], vec![256.0]));
        assert_eq!(numbers("<i8", &i64::MIN.to_le_bytes(), 1).0, [i64::MIN]);
        assert_eq!(numbers("<u8", &u64::MAX.to_le_bytes(), 1).0, [i64::MAX]);
        assert_eq!(numbers(">f4", &1.5_f32.to_be_bytes(), 1), (vec![1], vec![1.5]));
        assert_eq!(numbers("<f8", &(-0.25_f64).to_le_bytes(), 1).1, [-0.25]);
        let many: Vec<u8> = (0..30_000_u32).flat_map(u32::to_le_bytes).collect();
        assert_eq!(numbers("<u4", &many, 30_000).0, (0..30_000).collect::<Vec<_>>());
    }

    #[test]
    fn headers_as_they_are_written() {
        for (version, dict, shape) in [
            (1, "{'descr': '<i4', 'fortran_order': False, 'shape': (), }", vec![]),
            (2, "{'shape': (3L, 4L), 'fortran_order': True, 'descr': '<i4'}\n", vec![3, 4]),
            (3, "{\"descr\":\"<i4\",\"fortran_order\":False,\"shape\":(5 , ) } ", vec![5]),
        ] {
            let header = Header::read(&mut array(version, dict, &[]).as_slice()).unwrap();
            assert_eq!(header.shape, shape, "{dict}");
        }
    }

    #[test]
    fn texts_of_one_element() {
        for (descr, elements) in [
            ("|S3", b"csr".as_slice()),
            ("|S5", b"csr\0\0"),
            ("<U3", b"c\0\0\0s\0\0\0r\0\0\0"),
            (">U3", b"\0\0\0c\0\0\0s\0\0\0r"),
        ] {
            let dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ()}}");
            let bytes = array(1, &dict, elements);
            let mut rest = bytes.as_slice();
            let header = Header::read(&mut rest).unwrap();
            assert_eq!(header.read_text(&mut rest).unwrap(), "csr", "{descr}");
            assert!(Elements::new(&header, rest).is_err());
        }
    }

    #[test]
    fn what_is_no_array_is_told() {
        let good = |descr: &str, shape: &str| {
            array(1, &format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}"), &[])
        };
        let said = |bytes: &[u8]| Header::read(&mut &bytes[..]).unwrap_err().to_string();
        assert!(said(b"PK\x03\x04abcdefgh").contains("not a NumPy array"));
        assert!(said(&array(4, "{}", &[])).contains("version 4"));
        assert!(said(&good("'|O'", "(1,)")).contains("type '|O'"));
        assert!(said(&good("'<c16'", "(1,)")).contains("type '<c16'"));
        assert!(said(&good("[('a', '<i4')]", "(1,)")).contains("not one of NumPy's"));
        assert!(said(&good("'<i4'", "(1, 2, 3)")).contains("not one of NumPy's"));
        assert!(said(&good("'<i4'", "(-1,)")).contains("not one of NumPy's"));
        assert!(said(b"\x93NUMPY\x02\0\xff\xff\xff\xff").contains("header of 4294967295 bytes"));
        assert!(matches!(Header::read(&mut &b"\x93NUMPY\x01\0\x10\0{"[..]), Err(NpyError::Io(_))));
        let huge = good("'<i8'", "(18446744073709551615, 18446744073709551615)");
        assert_eq!(Header::read(&mut huge.as_slice()).unwrap().n_bytes_in_all(), None);
    }
}
