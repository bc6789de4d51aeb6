//! The part of `hive/region/` that the loops use.

#[path = "../../../hive/region/split.rs"]
pub(crate) mod split;
