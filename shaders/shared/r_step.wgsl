// One iteration of Eq. 10 at a node, plain or accelerated (src/estep/cpu/r_update.rs has the reasons): r <- r g^p / sum r g^p with
// g = q a'(r).

// q a'(r); next to nothing is nothing.
fn share_gain(q: f32, slope: f32) -> f32 {
    let g = q * slope;
    return select(g, 0.0, g < G_MIN);
}

// What an edge adds to the sums of r g, r g^2, r g^4, r sqrt(g).
fn share_terms(r: f32, g: f32) -> vec4<f32> {
    let g2 = g * g;
    return r * vec4<f32>(g, g2, g2 * g2, sqrt(g));
}

// How a node shares out: the sum to divide by, and the power of g; 0 for its root.
struct Sharing {
    sum: f32,
    power: u32,
}

fn sharing(sums: vec4<f32>, largest: f32, kappa: f32) -> Sharing {
    let fast = args.accelerate != 0u;
    let largest2 = largest * largest;
    if (fast && kappa <= 0.25 && sums.z > R_MIN && largest2 * largest2 <= GROWTH * sums.z) {
        return Sharing(sums.z, 4u);
    }
    if (fast && kappa <= 0.5 && sums.y > R_MIN && largest2 <= GROWTH * sums.y) {
        return Sharing(sums.y, 2u);
    }
    if (fast && kappa > 1.0) {
        return Sharing(sums.w, 0u);
    }
    return Sharing(sums.x, 1u);
}

// An edge's share. Where there is nothing to share out, every parent off or every gain noise, r stays.
fn share(how: Sharing, inverse: f32, r: f32, g: f32) -> f32 {
    var power = g;
    if (how.power == 0u) {
        power = sqrt(g);
    }
    if (how.power >= 2u) {
        power *= power;
    }
    if (how.power == 4u) {
        power *= power;
    }
    let next = r * power * inverse;
    return select(r, select(next, 0.0, next < R_MIN), how.sum > R_MIN);
}
