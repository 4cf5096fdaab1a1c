// The child of a slot.
fn child_of(slot: u32) -> u32 {
    let pair = edges[args.n_edges + slot / 2u];
    return select(pair.parent, pair.slot, (slot & 1u) == 1u);
}
