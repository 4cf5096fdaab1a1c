// The greedy search for a configuration (src/estep/cpu/greedy.rs has the equations). A topic is on where its q is above 1/2.

fn is_on(q: f32) -> bool {
    return q > 0.5;
}
