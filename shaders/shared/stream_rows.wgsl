// A workgroup has a batch of rows. Neighbouring threads read neighbouring entries (batch.wgsl).

const THREADS: u32 = WORKGROUP;

fn group_index(group: vec3<u32>) -> u32 {
    return group.y * args.groups_x + group.x;
}

// The batch of a workgroup; behind the last, one without rows.
fn batch_of(group: vec3<u32>) -> vec2<u32> {
    let ix = group_index(group);
    if (ix >= args.n_rows) {
        return vec2<u32>();
    }
    return rows[args.row_begin + ix];
}
