// Topics of a piece that are clamped on or off (src/estep/pieces.rs). The host marks them before the first kernel; the marks stay.

const CLAMPED_ON: u32 = 16u;
const CLAMPED_OFF: u32 = 32u;
const CLAMPED: u32 = 48u;
// What a clamped topic's log-odds are raised or lowered by.
const PULL: f32 = 1e6;
