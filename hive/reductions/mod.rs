//! Reductions, which combine many values into one, and prefix sums, with the reproducibility that the user chooses.
//!
//! A `Reduction` says how to combine and how reproducibly (`reduction.rs`). It is run as a region of its own by
//! `Hive::par_reduce`, inside a region by `Bee::reduce_over`; `Hive::par_scan` computes prefix sums. `block_tree.rs` is
//! the fixed tree that makes results independent of the team's size.

pub(crate) mod block_tree;
pub(crate) mod par_reduce;
pub(crate) mod par_scan;
pub(crate) mod par_sum;
pub(crate) mod plain_blocks;
pub(crate) mod reduce_over;
pub(crate) mod reduction;

/// `combine` for values that may be missing: of one value and none, the value.
fn of_those_there<T>(combine: impl Fn(T, T) -> T) -> impl Fn(Option<T>, Option<T>) -> Option<T> {
    move |a, b| match (a, b) {
        (Some(a), Some(b)) => Some(combine(a, b)),
        (a, b) => a.or(b),
    }
}
