//! Many values combined into one, or into their prefix sums, as reproducibly as is wanted.

pub(crate) mod block_tree;
pub(crate) mod par_reduce;
pub(crate) mod par_reduce_plan;
pub(crate) mod par_scan;
pub(crate) mod reduce_over;
pub(crate) mod reduction;
pub(crate) mod reproducibility;
