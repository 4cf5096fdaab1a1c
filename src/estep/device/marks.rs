//! Marks of a topic in a search or a piece, added up, in the last section of [`super::Array::NodeState`].

/// On in the configuration that is kept, or where a search begins.
pub const KEPT_ON: u32 = 1;
/// The last that was tried without.
pub const TRIED: u32 = 2;
/// Off on trial; it stays off.
pub const ON_TRIAL: u32 = 4;
/// Off since the climb began; it stays off.
pub const GONE: u32 = 8;
/// Clamped on, in a piece of a document. The host marks it before the first kernel, and it stays.
pub const CLAMPED_ON: u32 = 16;
/// Clamped off.
pub const CLAMPED_OFF: u32 = 32;
/// Clamped.
pub const CLAMPED: u32 = CLAMPED_ON | CLAMPED_OFF;
/// The last of a chain that came on in the last round; what is kept is the configuration before it.
pub const CHAIN: u32 = 64;
