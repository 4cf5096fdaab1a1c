// By row of a batch: see flip_term.
var<workgroup> row_lifts: array<vec4<f32>, BATCH_ROWS>;
