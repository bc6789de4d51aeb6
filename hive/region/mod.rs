//! A region as its body sees it: the bee that the body runs as, the block of a range that belongs to that bee, the
//! results of all bees, and the collective operations.
//!
//! `nesting` knows in which regions and tasks the calling thread is; everything that starts a region or runs a task
//! asks it. The protocol of a region itself is in `hive/protocol/region/`.

pub(crate) mod bee;
pub(crate) mod closure_size;
pub(crate) mod collective;
pub(crate) mod nesting;
pub(crate) mod no_double_panic;
pub(crate) mod results;
pub(crate) mod split;
