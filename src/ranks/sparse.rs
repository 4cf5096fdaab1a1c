//! Whole numbers of which many are zero: the distance to each other one from the one before, and its value, 7 bits a byte.

/// The numbers that are not zero; none where that is no less than so many bytes.
pub(super) fn encode(numbers: &[i64], limit: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut next = 0;
    for (at, &number) in numbers.iter().enumerate().filter(|(_, number)| **number != 0) {
        write(&mut bytes, (at - next) as u64);
        // Small ones are short whatever their sign.
        write(&mut bytes, ((number << 1) ^ (number >> 63)) as u64);
        if bytes.len() >= limit {
            return None;
        }
        next = at + 1;
    }
    Some(bytes)
}

/// Adds encoded numbers; none where they are damaged.
pub(super) fn add(mut bytes: &[u8], sums: &mut [i64]) -> Option<()> {
    let mut next = 0usize;
    while !bytes.is_empty() {
        let at = next.checked_add(usize::try_from(read(&mut bytes)?).ok()?)?;
        let number = read(&mut bytes)?;
        let sum = sums.get_mut(at)?;
        *sum = sum.wrapping_add((number >> 1) as i64 ^ -((number & 1) as i64));
        next = at + 1;
    }
    Some(())
}

fn write(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn read(bytes: &mut &[u8]) -> Option<u64> {
    let (mut number, mut shift) = (0u64, 0);
    loop {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        shift += 7;
        if byte < 0x80 {
            return Some(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn numbers_come_back_and_add_up() {
        let rng = &mut ChaCha8Rng::seed_from_u64(1);
        let mut numbers: Vec<i64> = vec![0; 1000];
        (0..100).for_each(|_| {
            numbers[rng.random_range(0..1000)] = rng.random::<i64>() >> rng.random_range(0..63)
        });
        (numbers[0], numbers[1], numbers[999]) = (i64::MIN, i64::MAX, -1);
        let bytes = encode(&numbers, usize::MAX).unwrap();
        assert!(encode(&numbers, bytes.len()).is_none() && encode(&[0; 50], 1) == Some(Vec::new()));
        let mut sums = vec![1; 1000];
        add(&bytes, &mut sums).unwrap();
        assert!(sums.iter().zip(&numbers).all(|(sum, number)| *sum == number.wrapping_add(1)));
    }

    #[test]
    fn damaged_bytes_do_no_harm() {
        let rng = &mut ChaCha8Rng::seed_from_u64(2);
        for _ in 0..2000 {
            let bytes: Vec<u8> = (0..rng.random_range(0..40)).map(|_| rng.random()).collect();
            let _ = add(&bytes, &mut [0; 30]);
        }
        assert!(add(&[5, 2], &mut [0; 5]).is_none() && add(&[0x80], &mut [0; 5]).is_none());
    }
}
