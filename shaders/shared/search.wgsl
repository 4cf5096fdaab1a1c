// The greedy search for a configuration (src/estep/cpu/greedy.rs has the equations). A topic is on where its q is above 1/2.

const MIN_GAIN: f32 = 1e-3;
const Q_ON: f32 = 0.999;
// A trial goes on as long as this many flips as good as the next would make up for what was lost.
const HOPE: f32 = 4.0;
// Above every number of an edge or topic in a row.
const NOWHERE: f32 = 1e9;

fn is_on(q: f32) -> bool {
    return q > 0.5;
}

// Marks of a topic, added up: on in the configuration that is kept; the last that was tried without; off on trial; off since the climb
// began. The last two stay off.
const KEPT_ON: u32 = 1u;
const TRIED: u32 = 2u;
const ON_TRIAL: u32 = 4u;
const GONE: u32 = 8u;
// The last of a chain that came on in the last round; what is kept is the configuration before it.
const CHAIN: u32 = 64u;
