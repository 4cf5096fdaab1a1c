fn set_m(slot: u32, m: f32) {
    slots[slot] = m;
}
