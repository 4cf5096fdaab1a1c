// By row of a batch: two numbers that its entries need.
var<workgroup> row_scales: array<vec2<f32>, BATCH_ROWS>;
