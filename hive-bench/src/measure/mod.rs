//! How something is timed, and what it is compared with.

pub(crate) mod reference;
pub(crate) mod timing;
