//! The interpreter on small shaders: what they compute, and what is wrong with them.

use crate::interpreter::{Access, Buffer, Program, Watch};

/// Looks at nothing.
struct Blind;

impl Watch for Blind {
    fn begin_group(&mut self) {}
    fn access(&mut self, _: &Access<'_>) {}
}

/// Declares two arrays of u32, `a` to be read and `b`, and puts a body into an entry point with 64 invocations `i` of workgroup `g`.
pub fn shader(outside: &str, body: &str) -> String {
    format!(
        "@group(0) @binding(0) var<storage, read> a: array<u32>;
         @group(0) @binding(1) var<storage, read_write> b: array<u32>;
         {outside}
         @compute @workgroup_size(64)
         fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) i: u32) {{
             let g = group.x;
             {body}
         }}"
    )
}

/// b after so many workgroups, from zeros.
fn run(source: &str, a: &[u32], n_b: usize, n_groups: u32) -> Result<Vec<u32>, String> {
    let program = Program::new(source)?;
    let mut buffers = [Buffer::new(a.to_vec()), Buffer::new(vec![0; n_b])];
    program.run([n_groups, 1, 1], &mut buffers, &mut Blind)?;
    Ok(buffers[1].words().to_vec())
}

/// b[i] by a shader's body.
fn each(outside: &str, body: &str, a: &[u32]) -> Vec<u32> {
    run(&shader(outside, body), a, 64, 1).unwrap()
}

fn assert_fails(what: &str, outside: &str, body: &str, n_groups: u32, message: &str) {
    let why = run(&shader(outside, body), &[0; 64], 64, n_groups).expect_err(what);
    assert!(why.contains(message), "{what}: {why}");
}

#[test]
fn control_flow_is_followed_lane_by_lane() {
    let outside = "
        fn collatz(start: u32) -> u32 {
            var n = start;
            var steps = 0u;
            loop {
                if (n <= 1u) { return steps; }
                n = select(3u * n + 1u, n / 2u, n % 2u == 0u);
                continuing { steps += 1u; break if steps == 100u; }
            }
            return 1000u + steps;
        }";
    let collatz = |mut n: u32| {
        let mut steps = 0;
        while n > 1 {
            n = if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 };
            steps += 1;
            if steps == 100 {
                return 1100;
            }
        }
        steps
    };
    let b = each(outside, "b[i] = collatz(i);", &[]);
    assert_eq!(b, (0..64).map(collatz).collect::<Vec<_>>());
    assert!(b.contains(&1100) && b.contains(&0), "both ways out are taken: {b:?}");
}

#[test]
fn loops_and_switches_are_left_where_they_should_be() {
    let body = "
        var sum = 0u;
        for (var k = 0u; k < i; k++) {
            if (k == 3u) { continue; }
            switch (k % 7u) {
                case 1u: { if (i % 2u == 0u) { break; } sum += 10u; }
                case 2u, 5u: { sum += 100u; continue; }
                case 6u: { return; }
                default: { sum += 1u; }
            }
            if (k > 20u) { break; }
            b[i] = sum;
        }";
    let expected = |i: u32| {
        let (mut sum, mut b) = (0, 0);
        for k in (0..i).filter(|k| *k != 3) {
            match k % 7 {
                1 => sum += if i.is_multiple_of(2) { 0 } else { 10 },
                2 | 5 => {
                    sum += 100;
                    continue;
                }
                6 => return b,
                _ => sum += 1,
            }
            if k > 20 {
                break;
            }
            b = sum;
        }
        b
    };
    assert_eq!(each("", body, &[]), (0..64).map(expected).collect::<Vec<_>>());
}

#[test]
fn numbers_are_those_of_rust() {
    let a: Vec<u32> = (0..64).map(|i: u32| (1.7f32 * i as f32 - 33.3).to_bits()).collect();
    let of = |i: usize| f32::from_bits(a[i]);
    let float =
        |body: &str| each("", &format!("let x = bitcast<f32>(a[i]); b[i] = bitcast<u32>({body});"), &a);
    let assert_all = |what: &str, expected: &dyn Fn(f32) -> f32| {
        let expected: Vec<u32> = (0..64).map(|i| expected(of(i)).to_bits()).collect();
        assert_eq!(float(what), expected, "{what}");
    };
    assert_all("fma(x, x, -0.1)", &|x| x.mul_add(x, -0.1));
    assert_all("x * x - 0.1", &|x| x * x - 0.1);
    assert_all("round(x * 0.5)", &|x| (x * 0.5).round_ties_even());
    assert_all("sqrt(abs(x)) / (1.0 + x)", &|x| x.abs().sqrt() / (1.0 + x));
    assert_all("clamp(x, -2.5, 7.0)", &|x| x.clamp(-2.5, 7.0));
    assert_all("select(-x, floor(x), x < 3.0)", &|x| if x < 3.0 { x.floor() } else { -x });
    assert_all("f32(i32(x)) + f32(u32(x))", &|x| x as i32 as f32 + x as u32 as f32);
    assert_all("dot(vec2(x, 2.0), vec2(3.0, x))", &|x| x * 3.0 + 2.0 * x);
    assert_all("(x * vec3(1.0, 2.0, 3.0) + 1.0).zxy.y", &|x| x + 1.0);
    assert_all("f32(bitcast<i32>(x) >> 23u)", &|x| (x.to_bits() as i32 >> 23) as f32);
    let int = |body: &str| each("", &format!("let k = i32(i) - 9; b[i] = u32({body});"), &[]);
    let expected = |f: &dyn Fn(i32) -> i32| (0..64).map(|i| f(i - 9) as u32).collect::<Vec<_>>();
    assert_eq!(int("k / 4 + k % 4"), expected(&|k| k / 4 + k % 4));
    assert_eq!(int("max(min(k, 5), -3) * abs(k)"), expected(&|k| k.clamp(-3, 5) * k.abs()));
    assert_eq!(
        int("select(0, 1, k > 2 && k <= 20 || k == -4)"),
        expected(&|k| { i32::from((k > 2 && k <= 20) || k == -4) })
    );
    assert_eq!(each("", "b[i] = (i ^ 21u) << (i % 5u) | ~i & 3u;", &[]), {
        (0..64u32).map(|i| (i ^ 21) << (i % 5) | (!i & 3)).collect::<Vec<_>>()
    });
}

#[test]
fn structs_and_arrays_lie_where_wgsl_puts_them() {
    let source = "
        struct Inner { x: u32, y: vec3<u32> }
        struct Outer { head: u32, inner: array<Inner, 2>, tail: u32 }
        @group(0) @binding(0) var<storage, read> a: array<Outer>;
        @group(0) @binding(1) var<storage, read_write> b: array<u32>;
        var<private> kept: array<vec2<u32>, 3> = array(vec2(1u, 2u), vec2(3u, 4u), vec2(5u, 6u));
        fn put(to: ptr<function, Inner>, value: u32) { (*to).y[value % 3u] += value; }
        @compute @workgroup_size(2, 2)
        fn main(@builtin(local_invocation_id) id: vec3<u32>, @builtin(global_invocation_id) all: vec3<u32>) {
            let at = id.x + 2u * id.y;
            var inner = a[1].inner[id.x];
            put(&inner, at);
            kept[at % 3u].y = inner.x;
            let record = a[id.y];
            b[4u * at] = inner.y[at % 3u];
            b[4u * at + 1u] = kept[at % 3u][all.x % 2u];
            b[4u * at + 2u] = record.tail + record.inner[id.x].y.z;
            b[4u * at + 3u] = arrayLength(&a) + all.x;
        }";
    // head at 0, two records of 8 words at 4 (x at 0, y at 4), tail at 20, 24 in all.
    let a: Vec<u32> = (0..48).map(|at| 100 * at).collect();
    let program = Program::new(source).unwrap();
    let mut buffers = [Buffer::new(a), Buffer::new(vec![0; 32])];
    program.run([2, 1, 1], &mut buffers, &mut Blind).unwrap_err();
    let mut buffers = [buffers[0].clone(), Buffer::new(vec![0; 16])];
    program.run([1, 1, 1], &mut buffers, &mut Blind).unwrap();
    let expected = |at: u32| {
        let (x, y) = (at % 2, at / 2);
        let inner = 24 + 4 + 8 * x;
        let kept = if x == 0 { [1, 3, 5][at as usize % 3] } else { 100 * inner };
        [100 * (inner + 4 + at % 3) + at, kept, 100 * (24 * y + 20) + 100 * (24 * y + 4 + 8 * x + 6), 2 + x]
    };
    assert_eq!(buffers[1].words(), (0..4).flat_map(expected).collect::<Vec<_>>());
}

#[test]
fn invocations_work_together() {
    let outside = "
        var<workgroup> sums: array<u32, 64>;
        var<workgroup> most: atomic<u32>;
        var<workgroup> all: u32;";
    let body = "
        sums[i] = i;
        if (i == 0u) { atomicStore(&most, 0u); }
        workgroupBarrier();
        for (var stride = 32u; stride > 0u; stride /= 2u) {
            if (i < stride) { sums[i] += sums[i + stride]; }
            workgroupBarrier();
        }
        atomicMax(&most, (i * 37u) % 64u);
        if (i == 5u) { all = sums[0]; }
        let total = workgroupUniformLoad(&all);
        b[i] = total + atomicLoad(&most) * 10000u;";
    assert_eq!(each(outside, body, &[]), [2016 + 630_000; 64]);
}

#[test]
fn atomic_operations_give_what_was_there() {
    let outside = "var<workgroup> n: array<atomic<i32>, 3>;";
    let body = "
        if (i < 3u) { atomicStore(&n[i], -1); }
        workgroupBarrier();
        let before = atomicAdd(&n[0], 2);
        atomicMin(&n[1], -i32(i));
        let one = atomicCompareExchangeWeak(&n[2], -1, i32(i));
        b[i] = u32(before + 1) + 1000u * u32(one.exchanged);
        workgroupBarrier();
        if (i == 63u) { b[i] = u32(atomicExchange(&n[0], 0) - atomicLoad(&n[1])); }";
    let mut expected: Vec<u32> = (0..63).map(|i| 2 * i).chain([127 + 63]).collect();
    expected[0] += 1000;
    assert_eq!(each(outside, body, &[]), expected);
}

#[test]
fn races_are_found() {
    let shared = "var<workgroup> s: array<u32, 64>;";
    let all_written = |body: &str| format!("s[i] = i; workgroupBarrier(); {body}");
    let between = "no barrier";
    let assert_race = |what, body: &str| assert_fails(what, shared, &all_written(body), 1, between);
    assert_race("a neighbour reads", "s[i] = 1u; b[i] = s[(i + 1u) % 64u];");
    assert_race("a neighbour writes", "let x = s[(i + 1u) % 64u]; s[i] = x;");
    assert_race("two write one word", "s[i / 2u] = i;");
    assert_race("two write one word of a buffer", "b[0] = 7u;");
    assert_race("in a loop", "for (var k = 0u; k < 4u; k++) { s[(i + k) % 64u] += 1u; }");
    // A barrier for workgroup memory does not carry what was written to buffers.
    assert_fails(
        "the wrong barrier",
        "",
        "b[i] = i; workgroupBarrier(); b[63u - i] += 1u;",
        1,
        "for this memory",
    );
    assert_fails("two workgroups write", "", "if (i == 0u) { b[3] = g; }", 2, "another workgroup wrote it");
    assert_fails("another reads", "", "if (i == 0u) { b[g] = b[g + 1u]; }", 2, "another workgroup read it");
    let fine = "
        let x = s[(i + 1u) % 64u];
        workgroupBarrier();
        s[i] = x;
        b[i] = x;
        storageBarrier();
        b[63u - i] += 1u;";
    let b = each(shared, &all_written(fine), &[]);
    assert_eq!(b, (0..64).map(|i| (i + 1) % 64 + 1).collect::<Vec<_>>());
}

#[test]
fn barriers_that_not_all_reach_are_found() {
    let reached = |what, body| assert_fails(what, "var<workgroup> s: u32;", body, 1, "of 64 invocations");
    reached("in a branch", "if (a[i] == i) { workgroupBarrier(); }");
    reached("after a return", "if (i > 9u + a[0]) { return; } workgroupBarrier();");
    reached("in a loop of different lengths", "for (var k = a[i]; k < i; k++) { storageBarrier(); }");
    reached("a uniform load", "if (i == a[0]) { s = 1u; b[0] = workgroupUniformLoad(&s); }");
    each("", "if (a[0] == 0u) { workgroupBarrier(); } else { return; }", &[0]);
}

#[test]
fn what_else_drivers_keep_to_themselves_is_found() {
    assert_fails("beyond a buffer", "", "b[i] = a[i + 1u];", 1, "a: invocation 63 uses word 64, of 64");
    assert_fails("a negative index", "", "b[i32(i) - 3] = 1u;", 1, "b: invocation 0");
    let shared = "var<workgroup> s: array<array<u32, 4>, 4>; var<workgroup> t: u32;";
    assert_fails("beyond a row, within the array", shared, "s[0][i] = 1u;", 1, "s: invocation 4");
    assert_fails(
        "what nobody wrote",
        shared,
        "if (i == 1u) { s[0][1] = 1u; b[0] = s[0][2]; }",
        1,
        "nobody wrote",
    );
    // As far as lavapipe goes, in two loops together.
    let turns =
        |n: u32| format!("for (var k = 0u; k < {n}u; k++) {{ }} for (var k = 0u; k < 30000u; k++) {{ }}");
    assert_fails("long loops", "", &turns(40_000), 1, "loops more than 65535 times");
    each("", &turns(35_000), &[]);
}

#[test]
fn what_is_not_supported_is_named() {
    let named = |source: &str, name: &str| {
        let why = Program::new(source).expect_err(name);
        assert!(why.contains("not supported") && why.contains(name), "{why}");
    };
    named(&shader("", "b[i] = u32(determinant(mat2x2<f32>(1.0, 0.0, 0.0, 1.0)) + f32(i));"), "Determinant");
    named(&shader("", "b[i] = pack4x8unorm(vec4(f32(i)));"), "Pack4x8unorm");
    named(
        &shader("@group(0) @binding(2) var t: texture_2d<f32>;", "b[i] = textureDimensions(t).x;"),
        "Handle",
    );
}
