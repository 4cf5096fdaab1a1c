// The greedy search for a configuration (src/estep/cpu/greedy.rs has the equations). A topic is on where its q is above 1/2.

const MIN_GAIN: f32 = 1e-3;
const Q_ON: f32 = 0.999;
// Above every number of an edge or topic in a row.
const NOWHERE: f32 = 1e9;

fn is_on(q: f32) -> bool {
    return q > 0.5;
}
