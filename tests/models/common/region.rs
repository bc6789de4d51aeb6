//! The part of `hive/region/` that the loops use.

#[allow(dead_code, reason = "the models have no reductions")]
#[path = "../../../hive/region/split.rs"]
pub(crate) mod split;
