//! What the loops use of `hive/region/`.

#[path = "../../../hive/region/split.rs"]
pub(crate) mod split;
