//! How large a team can be.

/// The largest number of bees that a start word can hold: see `start_line.rs`.
pub(crate) const MAX_BEES: u32 = u16::MAX as u32;
