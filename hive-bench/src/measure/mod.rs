//! How something is timed, and what it is compared with.

pub(crate) mod hand_over;
pub(crate) mod round_trip;
pub(crate) mod timing;
