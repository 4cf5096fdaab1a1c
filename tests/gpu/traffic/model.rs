//! The model of coalescing and caches, on shaders small enough to count by hand.

use super::shaders::shader;
use crate::interpreter::{Buffer, Program};
use crate::meter::{Card, Meter, Tally};

/// Waves of 32, and a cache of so many lines for a workgroup of 64.
fn card(n_lines: usize) -> Card {
    Card { wave: 32, threads: 64, l1_bytes: 128 * n_lines, shared_bytes: 1 << 20 }
}

fn count(card: &Card, source: &str) -> Tally {
    let program = Program::new(source).unwrap();
    let mut meter = Meter::new(card, &program);
    let mut buffers = [Buffer::new(vec![0; 4096]), Buffer::new(vec![0; 4096])];
    program.run([1, 1, 1], &mut buffers, &mut meter).unwrap();
    meter.tally
}

/// Sectors per wave that a load from `a` asks for, in waves of 32 and of 64.
fn sectors(load: &str) -> [u64; 2] {
    [32, 64].map(|wave| {
        let tally = count(&Card { wave, ..card(64) }, &shader("", load));
        assert_eq!((tally.instructions, tally.lanes), (64 / u64::from(wave), 64), "{load}");
        tally.requested / 32 * u64::from(wave) / 64
    })
}

#[test]
fn lanes_share_sectors() {
    assert_eq!(sectors("let x = a[i];"), [4, 8], "neighbours");
    assert_eq!(sectors("let x = a[64u * g];"), [1, 1], "the same word");
    assert_eq!(sectors("let x = a[63u - i];"), [4, 8], "neighbours in another order");
    assert_eq!(sectors("let x = a[2u * i];"), [8, 16], "every other word");
    assert_eq!(sectors("let x = a[8u * i];"), [32, 64], "a sector a lane");
    assert_eq!(sectors("let x = a[37u * i];"), [32, 64], "further apart");
    assert_eq!(sectors("let x = a[i + 4u];"), [5, 9], "neighbours, not aligned");
}

#[test]
fn values_are_loaded_at_once_up_to_16_bytes() {
    let records = |members: &str, use_of: &str| {
        let source = shader(&format!("struct Record {{ {members} }}"), use_of);
        let tally = count(&card(64), &source.replace("read> a: array<u32>", "read> a: array<Record>"));
        (tally.instructions, tally.requested / 32)
    };
    // Two waves; 32 lanes of 8, 16, 32 bytes.
    assert_eq!(records("x: f32, y: u32", "let r = a[i];"), (2, 2 * 8));
    assert_eq!(records("x: f32, y: u32", "let x = a[i].x;"), (2, 2 * 8));
    assert_eq!(records("x: vec4<f32>", "let r = a[i];"), (2, 2 * 16));
    assert_eq!(records("x: vec4<f32>, y: vec4<f32>", "let r = a[i];"), (4, 4 * 32));
}

#[test]
fn only_lanes_that_take_part_count() {
    let of = |body: &str| {
        let Tally { instructions, lanes, requested, .. } = count(&card(64), &shader("", body));
        (instructions, lanes, requested / 32)
    };
    assert_eq!(of("if (i % 16u == 0u) { let x = a[i]; }"), (2, 4, 4));
    assert_eq!(of("if (i < 8u) { let x = a[i]; } else { let y = a[i]; }"), (3, 64, 1 + 3 + 4));
    assert_eq!(
        of("for (var k = i; k < 33u; k += 16u) { let x = a[k]; }"),
        (2 + 1 + 1, 33 + 17 + 1, (4 + 1) + (2 + 1) + 1)
    );
    assert_eq!(of("if (a[i] == 7u) { let x = a[i]; }"), (2, 64, 8), "nobody");
}

#[test]
fn stores_and_atomic_operations_go_through() {
    let of = |outside: &str, body: &str| {
        let source = shader(outside, body).replace("write> b: array<u32>", "write> b: array<atomic<u32>>");
        let Tally { requested, from_l2, .. } = count(&card(64), &source);
        (requested / 32, from_l2 / 32)
    };
    assert_eq!(of("", "atomicStore(&b[i], 1u);"), (8, 8));
    assert_eq!(of("", "let x = atomicLoad(&b[i]); let y = atomicLoad(&b[i]);"), (16, 16), "past the cache");
    let Tally { requested, from_l2, .. } =
        count(&card(64), &shader("", "let x = b[i]; b[i] = 1u; let y = b[i];"));
    assert_eq!((requested / 32, from_l2 / 32), (24, 16), "what was stored is in the cache still");
    let Tally { requested, from_l2, .. } = count(&card(64), &shader("", "b[i] = 1u; let y = b[i];"));
    assert_eq!((requested / 32, from_l2 / 32), (16, 16), "but it is not put there");
}

#[test]
fn the_cache_keeps_the_lines_used_last() {
    // One lane reads words one after another; a line has 32, a sector 8.
    let missing = |n_lines: usize, words: &[u32]| {
        let load = |(k, at): (usize, &u32)| format!("let x{k} = a[{at}u + g];");
        let loads: String = words.iter().enumerate().map(load).collect();
        let tally = count(&card(n_lines), &shader("", &format!("if (i == 0u) {{ {loads} }}")));
        assert_eq!(tally.requested, 32 * words.len() as u64);
        tally.from_l2 / 32
    };
    assert_eq!(missing(2, &[0, 1, 7, 0]), 1, "one sector");
    assert_eq!(missing(2, &[0, 8, 0, 8]), 2, "sectors of a line come one by one");
    assert_eq!(missing(2, &[0, 32, 0, 32]), 2, "two lines fit");
    assert_eq!(missing(2, &[0, 32, 64, 0]), 4, "three do not");
    assert_eq!(missing(2, &[0, 32, 0, 64, 0, 32]), 4, "the one used last stays");
    assert_eq!(missing(3, &[0, 32, 0, 64, 0, 32]), 3);
    assert_eq!(missing(2, &[0, 32, 64, 8, 0]), 5, "a line that comes back begins anew");
}

#[test]
fn workgroups_share_a_compute_unit() {
    let program = |threads: u32, shared: &str| {
        let body = format!("{shared} @compute @workgroup_size({threads}) fn main() {{}}");
        Program::new(&body).unwrap()
    };
    let card = Card { wave: 32, threads: 1024, l1_bytes: 64 << 10, shared_bytes: 96 << 10 };
    assert_eq!(card.l1_share(&program(64, "")), 4 << 10, "16 of them");
    assert_eq!(card.l1_share(&program(256, "")), 16 << 10, "4 of them");
    let shared = "var<workgroup> s: array<vec4<f32>, 1024>;";
    assert_eq!(card.l1_share(&program(64, shared)), (64 << 10) / 6, "16 KiB of workgroup memory each");
}

#[test]
fn a_workgroup_begins_with_an_empty_cache() {
    let program = Program::new(&shader("", "let x = a[i]; let y = a[i];")).unwrap();
    let mut meter = Meter::new(&card(64), &program);
    let mut buffers = [Buffer::new(vec![0; 64]), Buffer::new(vec![0; 64])];
    program.run([3, 1, 1], &mut buffers, &mut meter).unwrap();
    assert_eq!((meter.tally.requested / 32, meter.tally.from_l2 / 32), (3 * 16, 3 * 8));
}
