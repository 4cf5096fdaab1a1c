//! Headers as NumPy writes them, and hostile ones.

use super::*;

/// A file of a version, with a header as text and bytes after it.
fn file(version: u8, text: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend([version, 0]);
    match version {
        1 => bytes.extend((text.len() as u16).to_le_bytes()),
        _ => bytes.extend((text.len() as u32).to_le_bytes()),
    }
    bytes.extend(text.bytes());
    bytes.extend(data);
    bytes
}

fn array(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    file(1, &format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}  \n"), data)
}

fn reader(bytes: &[u8]) -> NpyReader<&[u8]> {
    NpyReader::new(bytes).unwrap()
}

fn integers(bytes: &[u8]) -> Vec<i64> {
    let mut reader = reader(bytes);
    std::iter::from_fn(|| reader.next_i64().unwrap()).collect()
}

fn floats(bytes: &[u8]) -> Vec<f64> {
    let mut reader = reader(bytes);
    std::iter::from_fn(|| reader.next_f64().unwrap()).collect()
}

#[test]
fn headers_are_numpys_and_are_read_back() {
    let expected = b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";
    let bytes = header("<f4", &[3]);
    assert!(bytes.starts_with(expected));
    assert_eq!((bytes.len(), bytes.last()), (128, Some(&b'\n')));
    for (descr, shape) in
        [("<i8", &[][..]), ("<f4", &[0]), ("|S3", &[]), ("<i4", &[u64::MAX]), ("<f4", &[4, 5])]
    {
        let bytes = header(descr, shape);
        assert_eq!(bytes.len() % 64, 0);
        let npy = Npy::read(&mut bytes.as_slice()).unwrap();
        assert_eq!((npy.shape.as_slice(), npy.dtype), (shape, parse_dtype(descr).unwrap()));
        assert_eq!(npy.n_elements(), shape.iter().product::<u64>());
    }
}

#[test]
fn all_versions_orders_of_keys_and_spellings_are_read() {
    let expected = Npy {
        dtype: Dtype { kind: Kind::Float, size: 8, big_endian: true },
        shape: vec![2, 3],
        fortran: true,
    };
    for text in [
        "{'descr': '>f8', 'fortran_order': True, 'shape': (2, 3), }\n",
        "{\"shape\":(2L,3L),\"fortran_order\":True,\"descr\":\">f8\"}",
        "  { 'shape' : ( 2 , 3 , ) , 'descr' : '>f8' , 'fortran_order' : True }  \n",
    ] {
        for version in 1..=3 {
            assert_eq!(Npy::read(&mut file(version, text, b"").as_slice()).unwrap(), expected, "{text}");
        }
    }
}

#[test]
fn numbers_of_every_type_and_byte_order() {
    assert_eq!(integers(&array("|b1", "(3,)", &[0, 1, 7])), [0, 1, 1]);
    assert_eq!(integers(&array("|i1", "(2,)", &[0xff, 0x7f])), [-1, 127]);
    assert_eq!(integers(&array("|u1", "(2,)", &[0xff, 0x7f])), [255, 127]);
    assert_eq!(integers(&array("<i2", "(2,)", &[0xfe, 0xff, 1, 2])), [-2, 0x201]);
    assert_eq!(integers(&array(">i2", "(2,)", &[0xff, 0xfe, 1, 2])), [-2, 0x102]);
    assert_eq!(integers(&array("<u4", "(1,)", &[0xff; 4])), [i64::from(u32::MAX)]);
    assert_eq!(integers(&array("<i8", "()", &i64::MIN.to_le_bytes())), [i64::MIN]);
    assert_eq!(integers(&array(">u8", "(1, 1)", &5_u64.to_be_bytes())), [5]);
    assert_eq!(floats(&array("<f4", "(1,)", &0.1_f32.to_le_bytes())), [f64::from(0.1_f32)]);
    assert_eq!(floats(&array(">f8", "(1,)", &0.1_f64.to_be_bytes())), [0.1]);
    assert_eq!(floats(&array(">i4", "(1,)", &(-7_i32).to_be_bytes())), [-7.0]);
    assert_eq!(floats(&array("<u8", "(1,)", &[0xff; 8])), [18446744073709551616.0]);
    assert_eq!(floats(&array("|b1", "(2,)", &[2, 0])), [1.0, 0.0]);
    let halves = [0x3c00_u16, 0xc000, 0x3555, 0x0001, 0x03ff, 0x7bff, 0x7c00, 0x8000];
    let bytes: Vec<u8> = halves.iter().flat_map(|half| half.to_le_bytes()).collect();
    let expected =
        [1.0, -2.0, 0.333251953125, 5.960464477539063e-8, 6.097555160522461e-5, 65504.0, f64::INFINITY];
    assert_eq!(floats(&array("<f2", "(8,)", &bytes))[..7], expected);
    assert!(floats(&array("<f2", "(1,)", &0x7e00_u16.to_le_bytes()))[0].is_nan());
}

#[test]
fn texts_lose_their_padding() {
    let mut bytes = reader(&array("|S5", "()", b"csr\0\0")).next_text().unwrap();
    assert_eq!(bytes.take().as_deref(), Some("csr"));
    let both: Vec<u8> = "csr\0".chars().flat_map(|c| u32::from(c).to_be_bytes()).collect();
    let file = array(">U4", "(1,)", &both);
    let mut texts = reader(&file);
    assert_eq!(texts.next_text().unwrap().as_deref(), Some("csr"));
    assert_eq!(texts.next_text().unwrap(), None);
    for (descr, data) in [("|S2", &[0xff, 0xfe][..]), ("<U1", &[0xff; 4]), ("|S4096", &[]), ("<i4", &[0; 4])]
    {
        assert!(reader(&array(descr, "()", data)).next_text().is_err(), "{descr}");
    }
}

#[test]
fn what_does_not_fit_is_an_error() {
    assert!(reader(&array("<f4", "(1,)", &[0; 4])).next_i64().is_err());
    assert!(reader(&array("<u8", "(1,)", &[0xff; 8])).next_i64().is_err());
    assert!(reader(&array("|S1", "(1,)", b"a")).next_f64().is_err());
    let mut short = array("<i4", "(3,)", &[1, 0, 0, 0, 2, 0]);
    let mut elements = reader(&short);
    assert_eq!(elements.next_i64().unwrap(), Some(1));
    let error = elements.next_i64().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    assert!(error.to_string().contains("after 1 of 3 elements"), "{error}");
    // Whatever is cut off, nothing panics.
    while short.pop().is_some() {
        if let Ok(mut elements) = NpyReader::new(short.as_slice()) {
            while let Ok(Some(_)) = elements.next_i64() {}
        }
    }
}

#[test]
fn hostile_headers_are_refused_with_a_reason() {
    let dict =
        |descr: &str, shape: &str| format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}");
    for (text, part) in [
        (String::new(), "lacks '{'"),
        ("{".to_owned(), "lacks a quoted text"),
        ("{'descr".to_owned(), "without an end"),
        ("{'descr': '<f4'}".to_owned(), "must have"),
        ("{'what': 1}".to_owned(), "unknown key 'what'"),
        (dict("'<f4'", "(1,)") + "x", "goes on"),
        (dict("[('a', '<f4')]", "(1,)"), "with fields"),
        (dict("'|O'", "(1,)"), "not read"),
        (dict("'<c8'", "(1,)"), "not read"),
        (dict("'<M8[ns]'", "(1,)"), "not read"),
        (dict("'<f3'", "(1,)"), "not read"),
        (dict("'<i+4'", "(1,)"), "not read"),
        (dict("'é4'", "(1,)"), "not read"),
        (dict("'<U9223372036854775807'", "()"), "not read"),
        (dict("''", "(1,)"), "not read"),
        (dict("'<f4'", "(1, 2, 3)"), "two dimensions"),
        (dict("'<f4'", "(-1,)"), "has a length '-1"),
        (dict("'<f4'", "(99999999999999999999,)"), "has a length '9"),
        (dict("'<f4'", "(18446744073709551615, 2)"), "too many elements"),
        (dict("'<f4'", "(,)"), "has a length"),
        (dict("'<f4'", "(1 2)"), "lacks ')'"),
        (dict("'<f4'", "5"), "lacks '('"),
        ("{'fortran_order': Maybe}".to_owned(), "lacks 'False'"),
    ] {
        let error = Npy::read(&mut file(1, &text, b"").as_slice()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData, "{text}");
        assert!(error.to_string().contains(part), "{text}: {error}");
    }
    for (bytes, part) in [
        (b"PK\x03\x04\x00\x00\x00\x00".to_vec(), "not a .npy file"),
        (file(4, "{}", b""), "version 4"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec(), "claims 4294967295 bytes"),
        (b"\x93NUMPY\x01\x00\x02\x00\xff\xfe".to_vec(), "not text"),
        (b"\x93NUM".to_vec(), "ends in its first bytes"),
        (b"\x93NUMPY\x01\x00\xff\xff{".to_vec(), "ends in the header"),
    ] {
        let error = Npy::read(&mut bytes.as_slice()).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn a_huge_claim_costs_nothing() {
    let file = array("<f8", "(18446744073709551615,)", &[0; 16]);
    let mut elements = reader(&file);
    assert_eq!(elements.next_f64().unwrap(), Some(0.0));
    assert_eq!(elements.next_f64().unwrap(), Some(0.0));
    assert!(elements.next_f64().is_err());
    // A type of no bytes and many elements ends all the same: it has no numbers.
    let file = array("|S0", "(18446744073709551615,)", b"");
    assert!(reader(&file).next_i64().is_err());
}
