// A workgroup shares one long row: its entries are dealt out in turn and reduced as a tree.

const LANES: u32 = WORKGROUP;

// Threads to a row.
fn lanes() -> u32 {
    return LANES;
}

var<workgroup> scratch: array<vec4<f32>, WORKGROUP>;

fn row_index(group: vec3<u32>, local: u32) -> u32 {
    return group.y * args.groups_x + group.x;
}

fn lane_index(local: u32) -> u32 {
    return local;
}

// All threads meet at the barriers below.
fn may_leave(at_work: bool) -> bool {
    return false;
}

// The row's sum, the same in every lane.
fn row_sum(local: u32, value: vec4<f32>) -> vec4<f32> {
    scratch[local] = value;
    workgroupBarrier();
    for (var stride = WORKGROUP / 2u; stride > 0u; stride /= 2u) {
        if (local < stride) {
            scratch[local] += scratch[local + stride];
        }
        workgroupBarrier();
    }
    let sum = scratch[0];
    workgroupBarrier();
    return sum;
}

// The row's maximum, the same in every lane.
fn row_max(local: u32, value: f32) -> f32 {
    scratch[local].x = value;
    workgroupBarrier();
    for (var stride = WORKGROUP / 2u; stride > 0u; stride /= 2u) {
        if (local < stride) {
            scratch[local].x = max(scratch[local].x, scratch[local + stride].x);
        }
        workgroupBarrier();
    }
    let most = scratch[0].x;
    workgroupBarrier();
    return most;
}
