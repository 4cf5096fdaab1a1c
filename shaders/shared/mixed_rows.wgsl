// Documents of a bin: a short one has a thread, a long one a workgroup of WORKGROUP threads. All threads meet at the barriers, whichever
// it is.

const THREADS: u32 = BIN_THREADS;

// Threads to a row: 1 or WORKGROUP.
var<private> lanes_now: u32;

var<workgroup> scratch: array<vec4<f32>, THREADS>;

fn lanes() -> u32 {
    return lanes_now;
}

fn may_leave(at_work: bool) -> bool {
    return false;
}

// The row's sum, the same in every lane.
fn row_sum(local: u32, value: vec4<f32>) -> vec4<f32> {
    scratch[local] = value;
    workgroupBarrier();
    for (var stride = WORKGROUP / 2u; stride > 0u; stride /= 2u) {
        if (local < stride && lanes_now > 1u) {
            scratch[local] += scratch[local + stride];
        }
        workgroupBarrier();
    }
    let sum = scratch[select(local, 0u, lanes_now > 1u)];
    workgroupBarrier();
    return sum;
}

// The row's maximum, the same in every lane.
fn row_max(local: u32, value: f32) -> f32 {
    scratch[local].x = value;
    workgroupBarrier();
    for (var stride = WORKGROUP / 2u; stride > 0u; stride /= 2u) {
        if (local < stride && lanes_now > 1u) {
            scratch[local].x = max(scratch[local].x, scratch[local + stride].x);
        }
        workgroupBarrier();
    }
    let most = scratch[select(local, 0u, lanes_now > 1u)].x;
    workgroupBarrier();
    return most;
}
