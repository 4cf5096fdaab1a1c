// q and m of a bin's documents in workgroup memory.

const THREADS: u32 = BIN_THREADS;

// q of every node, then m of every slot.
var<workgroup> pool: array<f32, BIN_WORDS>;
// doc_state of the bin's documents, and the largest.
var<workgroup> states: array<atomic<u32>, BIN_DOCS>;
var<workgroup> latest: atomic<u32>;
var<workgroup> latest_now: u32;

// The bin's first document and node; m of slot s is at m_at + s.
var<private> bin_doc: u32;
var<private> bin_node: u32;
var<private> m_at: u32;

fn q_of(node: u32) -> f32 {
    return pool[node - bin_node];
}

fn set_q(node: u32, q: f32) {
    pool[node - bin_node] = q;
}

fn m_of(slot: u32) -> f32 {
    return pool[m_at + slot];
}

fn set_m(slot: u32, m: f32) {
    pool[m_at + slot] = m;
}

fn slot_term(at: u32) -> f32 {
    return pool[m_at + at] * q_of(child_of(at));
}

fn is_at_work(doc: u32, step: u32) -> bool {
    return atomicLoad(&states[doc - bin_doc]) >= step;
}

fn stay_at_work(doc: u32, step: u32) {
    atomicStore(&states[doc - bin_doc], step);
    atomicMax(&latest, step);
}
