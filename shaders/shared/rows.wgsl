// Arguments of a dispatch and the records of src/batch/layout.rs. A kernel works on rows: a row is a node, a document, or an
// edge or node whose terms are added up. A kernel is compiled with thread_rows.wgsl, one thread a row; with group_rows.wgsl, one workgroup
// a long row; and, from stream/, with a workgroup for a batch of short rows. Constants and arrays are declared by src/estep/device/wgsl.rs.

struct Args {
    // Rows of this dispatch, or batches or bins of rows: `n_rows` from `row_begin` on.
    row_begin: u32,
    n_rows: u32,
    // Workgroups along x; dispatches of more than 65,535 workgroups are folded.
    groups_x: u32,
    // Nodes of the chunk: the stride of node_state's sections.
    n_nodes: u32,
    // Where the node parameters begin in `network`.
    params_begin: u32,
    n_topics: u32,
    // Alternations since T = 1, or rounds of a search; a document that moved in none of the last one is done.
    alternation: u32,
    // 1: accelerated r iterations; 0: Eq. 10 as it stands.
    accelerate: u32,
    tolerance: f32,
    inverse_temperature: f32,
    // q of topics to begin with.
    q_start: f32,
    // 1: documents are pieces, with clamped topics (src/estep/pieces.rs) and weights that stand in doc_bounds before the sums. Of init_q: the
    // host has marked topics.
    pieces: u32,
    // Of kernels that work on bins: alternations or rounds, one after another. Of init_q: whether rounds of a search follow.
    n_steps: u32,
    // Layers of topics.
    n_levels: u32,
    // q sweeps and r iterations of an alternation.
    q_sweeps: u32,
    r_iterations: u32,
    // Edges of the chunk.
    n_edges: u32,
}

struct DocRecord {
    node_begin: u32,
    token_begin: u32,
    edge_begin: u32,
    count: u32,
}

struct NodeRecord {
    id: u32,
    edge_begin: u32,
    slot_begin: u32,
    doc_ix: u32,
}

// Behind the edges stand the children of all slots, two in a record.
struct EdgeRecord {
    parent: u32,
    slot: u32,
}

struct EdgeState {
    // In a search, at a topic's first edge: the edge from the parent that comes on with it, counted from the first, or -1.
    r: f32,
    // In a search: w. While q and r alternate: the slope of a in r, Eq. 10's numerator without q and r. Then: the gradient term of Eq. 13.
    term: f32,
}

struct TouchedRecord {
    position_begin: u32,
    edge_begin: u32,
}

@group(0) @binding(0) var<uniform> args: Args;
