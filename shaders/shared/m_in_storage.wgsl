// m of the slot of an edge.
fn m_of(slot: u32) -> f32 {
    return slots[slot];
}

// m q of a slot's child.
fn slot_term(at: u32) -> f32 {
    return slots[at] * q_of(child_of(at));
}
