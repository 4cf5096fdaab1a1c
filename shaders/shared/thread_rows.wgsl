// One thread has a row to itself: nothing to share.

const LANES: u32 = 1u;

// Threads to a row.
fn lanes() -> u32 {
    return LANES;
}

fn row_index(group: vec3<u32>, local: u32) -> u32 {
    return (group.y * args.groups_x + group.x) * WORKGROUP + local;
}

fn lane_index(local: u32) -> u32 {
    return 0u;
}

// A thread whose row has nothing to do returns at once.
fn may_leave(at_work: bool) -> bool {
    return !at_work;
}

fn row_sum(local: u32, value: vec4<f32>) -> vec4<f32> {
    return value;
}

fn row_max(local: u32, value: f32) -> f32 {
    return value;
}
