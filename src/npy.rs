//! NumPy's .npy files: headers written and read, elements read one after another.
//!
//! A header is input like any other: nothing is allocated because it says so, and what is not understood is an error of
//! kind `InvalidData` (`UnexpectedEof` where the file ends early).

use std::io::{self, BufReader, Error, ErrorKind, Read};

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Headers of plain arrays have about 100 bytes.
const MAX_HEADER: u32 = 1 << 16;
/// Longest text that is read, in bytes.
const MAX_TEXT: usize = 1 << 10;

/// What an element is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One byte, not zero if true.
    Bool,
    /// Signed.
    Int,
    /// Unsigned.
    Uint,
    /// IEEE 754.
    Float,
    /// Text of one byte a character.
    Bytes,
    /// Text of four bytes a character.
    Unicode,
}

/// The type of all elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dtype {
    /// What an element is.
    pub kind: Kind,
    /// Bytes of an element.
    pub size: usize,
    /// Whether the highest byte comes first.
    pub big_endian: bool,
}

/// The header: what follows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Npy {
    /// Type of the elements.
    pub dtype: Dtype,
    /// Length of every dimension: none, one or two of them. Their product fits 64 bits.
    pub shape: Vec<u64>,
    /// Whether the first dimension runs fastest.
    pub fortran: bool,
}

impl Npy {
    /// Reads a header; the elements come next.
    pub fn read(source: &mut impl Read) -> io::Result<Self> {
        let mut start = [0; 8];
        source.read_exact(&mut start).map_err(|e| cut_short(e, "in its first bytes"))?;
        if !start.starts_with(MAGIC) {
            return Err(fault("is not a .npy file: it does not begin with \\x93NUMPY".to_owned()));
        }
        let mut length = [0; 4];
        let n_bytes = match start[6] {
            1 => 2,
            2 | 3 => 4,
            version => return Err(fault(format!("version {version} of .npy is unknown; 1 to 3 are read"))),
        };
        source.read_exact(&mut length[..n_bytes]).map_err(|e| cut_short(e, "in its first bytes"))?;
        let length = u32::from_le_bytes(length);
        if length > MAX_HEADER {
            return Err(fault(format!("the .npy header claims {length} bytes; {MAX_HEADER} are allowed")));
        }
        let mut header = vec![0; length as usize];
        source.read_exact(&mut header).map_err(|e| cut_short(e, "in the header"))?;
        let text =
            std::str::from_utf8(&header).map_err(|_| fault("the .npy header is not text".to_owned()))?;
        Literal(text)
            .header()
            .map_err(|message| fault(format!("the .npy header {message}: {:?}", start_of(text))))
    }

    /// Number of elements.
    pub fn n_elements(&self) -> u64 {
        self.shape.iter().product()
    }
}

/// The beginning of a text, for messages.
fn start_of(text: &str) -> String {
    text.trim_end().chars().take(120).collect()
}

fn fault(message: String) -> Error {
    Error::new(ErrorKind::InvalidData, message)
}

fn cut_short(error: Error, place: &str) -> Error {
    match error.kind() {
        ErrorKind::UnexpectedEof => {
            Error::new(ErrorKind::UnexpectedEof, format!("the .npy file ends {place}"))
        }
        _ => error,
    }
}

/// What is left of a header: a Python literal.
struct Literal<'a>(&'a str);

impl<'a> Literal<'a> {
    fn take(&mut self, token: &str) -> bool {
        let rest = self.0.trim_start().strip_prefix(token);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        if self.take(token) { Ok(()) } else { Err(format!("lacks '{token}' before '{}'", start_of(self.0))) }
    }

    fn quoted(&mut self) -> Result<&'a str, String> {
        let rest = self.0.trim_start();
        let quote = rest.chars().next().filter(|c| "'\"".contains(*c)).ok_or("lacks a quoted text")?;
        let (text, rest) = rest[1..].split_once(quote).ok_or("has a text without an end")?;
        self.0 = rest;
        Ok(text)
    }

    fn header(mut self) -> Result<Npy, String> {
        let (mut dtype, mut fortran, mut shape) = (None, None, None);
        self.expect("{")?;
        while !self.take("}") {
            let key = self.quoted()?;
            self.expect(":")?;
            match key {
                "descr" => dtype = Some(self.dtype()?),
                "fortran_order" => fortran = Some(self.truth()?),
                "shape" => shape = Some(self.shape()?),
                _ => return Err(format!("has an unknown key '{}'", start_of(key))),
            }
            if !self.take(",") {
                self.expect("}")?;
                break;
            }
        }
        if !self.0.trim().is_empty() {
            return Err(format!("goes on after its end with '{}'", start_of(self.0)));
        }
        match (dtype, fortran, shape) {
            (Some(dtype), Some(fortran), Some(shape)) => Ok(Npy { dtype, shape, fortran }),
            _ => Err("must have 'descr', 'fortran_order' and 'shape'".to_owned()),
        }
    }

    fn truth(&mut self) -> Result<bool, String> {
        if self.take("True") { Ok(true) } else { self.expect("False").map(|()| false) }
    }

    fn dtype(&mut self) -> Result<Dtype, String> {
        if self.0.trim_start().starts_with('[') {
            return Err("has a type with fields; plain numbers are read".to_owned());
        }
        let text = self.quoted()?;
        parse_dtype(text).ok_or_else(|| {
            let text = start_of(text);
            format!("has a type '{text}' that is not read; b1, i1 to i8, u1 to u8, f2, f4, f8, S and U are")
        })
    }

    fn shape(&mut self) -> Result<Vec<u64>, String> {
        let mut shape = Vec::new();
        self.expect("(")?;
        while !self.take(")") {
            let text = self.0.trim_start();
            let (digits, rest) =
                text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
            shape.push(digits.parse().map_err(|_| format!("has a length '{}'", start_of(text)))?);
            self.0 = rest;
            self.take("L"); // as Python 2 wrote it
            if shape.len() > 2 {
                return Err("has more than two dimensions".to_owned());
            }
            if !self.take(",") {
                self.expect(")")?;
                break;
            }
        }
        match shape.iter().try_fold(1_u64, |product, &length| product.checked_mul(length)) {
            Some(_) => Ok(shape),
            None => Err("has a shape with too many elements".to_owned()),
        }
    }
}

fn parse_dtype(text: &str) -> Option<Dtype> {
    let mut chars = text.chars();
    let big_endian = match chars.next()? {
        '<' | '|' => false,
        '>' => true,
        _ => return None,
    };
    let kind = chars.next()?;
    let digits = chars.as_str();
    let number: usize = digits.parse().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit()))?;
    let (kind, size) = match (kind, number) {
        ('b', 1) => (Kind::Bool, 1),
        ('i', 1 | 2 | 4 | 8) => (Kind::Int, number),
        ('u', 1 | 2 | 4 | 8) => (Kind::Uint, number),
        ('f', 2 | 4 | 8) => (Kind::Float, number),
        ('S', _) => (Kind::Bytes, number),
        ('U', _) => (Kind::Unicode, number.checked_mul(4)?),
        _ => return None,
    };
    Some(Dtype { kind, size, big_endian })
}

/// The elements of an array, one after another.
pub struct NpyReader<R> {
    header: Npy,
    source: BufReader<R>,
    n_read: u64,
}

impl<R: Read> NpyReader<R> {
    /// Reads the header.
    pub fn new(source: R) -> io::Result<Self> {
        let mut source = BufReader::with_capacity(1 << 16, source);
        Ok(Self { header: Npy::read(&mut source)?, source, n_read: 0 })
    }

    /// The header.
    pub fn header(&self) -> &Npy {
        &self.header
    }

    /// The next element of an array of integers or booleans, or none at the end.
    pub fn next_i64(&mut self) -> io::Result<Option<i64>> {
        let Some(bytes) = self.next_number()? else { return Ok(None) };
        match self.header.dtype.kind {
            Kind::Bool => Ok(Some((bytes[0] != 0).into())),
            Kind::Int => Ok(Some(self.signed(bytes))),
            Kind::Uint => {
                let value = u64::from_le_bytes(bytes);
                let too_large = |_| fault(format!("the number {value} is too large"));
                i64::try_from(value).map(Some).map_err(too_large)
            }
            kind => Err(fault(format!("the array must hold integers, not {kind:?}"))),
        }
    }

    /// The next element of an array of numbers or booleans, or none at the end.
    pub fn next_f64(&mut self) -> io::Result<Option<f64>> {
        let Some(bytes) = self.next_number()? else { return Ok(None) };
        let [a, b, c, d, ..] = bytes;
        Ok(Some(match (self.header.dtype.kind, self.header.dtype.size) {
            (Kind::Bool, _) => f64::from(bytes[0] != 0),
            (Kind::Int, _) => self.signed(bytes) as f64,
            (Kind::Uint, _) => u64::from_le_bytes(bytes) as f64,
            (_, 2) => half(u16::from_le_bytes([a, b])),
            (_, 4) => f32::from_le_bytes([a, b, c, d]).into(),
            _ => f64::from_le_bytes(bytes),
        }))
    }

    /// The next element of an array of texts, or none at the end.
    pub fn next_text(&mut self) -> io::Result<Option<String>> {
        let Dtype { kind, size, big_endian } = self.header.dtype;
        if !matches!(kind, Kind::Bytes | Kind::Unicode) || size > MAX_TEXT {
            return Err(fault(format!("the array must hold short texts, not {kind:?} of {size} bytes")));
        }
        if self.n_read == self.header.n_elements() {
            return Ok(None);
        }
        let mut bytes = vec![0; size];
        self.read_exact(&mut bytes)?;
        let text: Option<String> = match kind {
            Kind::Bytes => String::from_utf8(bytes).ok(),
            _ => {
                bytes.as_chunks::<4>().0.iter().map(|&c| char::from_u32(code_point(c, big_endian))).collect()
            }
        };
        let text = text.ok_or_else(|| fault("the array's text is not Unicode".to_owned()))?;
        Ok(Some(text.trim_end_matches('\0').to_owned()))
    }

    /// The next number's bytes, lowest first.
    fn next_number(&mut self) -> io::Result<Option<[u8; 8]>> {
        let Dtype { kind, size, big_endian } = self.header.dtype;
        if matches!(kind, Kind::Bytes | Kind::Unicode) {
            return Err(fault(format!("the array must hold numbers, not {kind:?}")));
        }
        if self.n_read == self.header.n_elements() {
            return Ok(None);
        }
        let mut bytes = [0; 8];
        self.read_exact(&mut bytes[..size])?;
        if big_endian {
            bytes[..size].reverse();
        }
        Ok(Some(bytes))
    }

    fn read_exact(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        let n_elements = self.header.n_elements();
        self.source
            .read_exact(bytes)
            .map_err(|e| cut_short(e, &format!("after {} of {n_elements} elements", self.n_read)))?;
        self.n_read += 1;
        Ok(())
    }

    /// A signed number of the array's size, lowest byte first.
    fn signed(&self, bytes: [u8; 8]) -> i64 {
        let unused_bits = 64 - 8 * self.header.dtype.size;
        i64::from_le_bytes(bytes) << unused_bits >> unused_bits
    }
}

fn code_point(bytes: [u8; 4], big_endian: bool) -> u32 {
    if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
}

/// A half-precision number: a sign bit, five of exponent, ten of mantissa.
fn half(bits: u16) -> f64 {
    let (exponent, mantissa) = ((bits >> 10) & 31, f64::from(bits & 1023) / 1024.0);
    let size = match exponent {
        0 => mantissa * 2.0_f64.powi(-14),
        31 if mantissa > 0.0 => f64::NAN,
        31 => f64::INFINITY,
        _ => (1.0 + mantissa) * 2.0_f64.powi(i32::from(exponent) - 15),
    };
    if bits >> 15 == 1 { -size } else { size }
}

/// The header of an array in C order, as NumPy writes it: 64 bytes, or a multiple.
pub fn header(descr: &str, shape: &[u64]) -> Vec<u8> {
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
mod tests;
