//! A region as its body sees it: the bee it runs as, the part of a range that belongs to that bee, results, and the
//! collective operations. `nesting` knows what a thread is inside of.

pub(crate) mod bee;
pub(crate) mod collective;
pub(crate) mod nesting;
pub(crate) mod no_double_panic;
pub(crate) mod results;
pub(crate) mod split;
