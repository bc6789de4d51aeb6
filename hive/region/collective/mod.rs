//! The collective operations of a region: what all bees of a team call together, such as `all_reduce` or
//! `broadcast_from`.
//!
//! Each operation is built on one step of the protocol, the exchange: every bee puts values into a slot of its own, all
//! meet at a barrier, and each reads the values that it needs (`docs/collectives.md`). The two functions here add the
//! check that debug builds make. `ordered` is the exception: it exchanges nothing.

pub(crate) mod all_reduce;
pub(crate) mod all_reduce_cloned;
pub(crate) mod broadcast;
pub(crate) mod ordered;
pub(crate) mod scan;
pub(crate) mod single;

use crate::protocol::region::exchange::Exchanged;
use crate::protocol::region::exchange_slots::Operation;
use crate::region::bee::Bee;

impl Bee<'_> {
    /// Shows `values` to the other bees, which have to call the same `operation` with values of the same type, and
    /// waits for theirs. See `RegionContext::exchange`.
    #[inline]
    #[track_caller]
    pub(crate) fn exchange<T: Copy + Send + 'static>(
        &self,
        operation: Operation,
        values: &[T],
    ) -> Option<Exchanged<'_, T>> {
        debug_checked(self.context.exchange(operation, None, values))
    }

    /// The same for an operation in which only the values of bee `root` are of use to the others. All bees have to name
    /// the same `root`.
    #[inline]
    #[track_caller]
    fn exchange_from<T: Copy + Send + 'static>(
        &self,
        operation: Operation,
        root: u32,
        values: &[T],
    ) -> Option<Exchanged<'_, T>> {
        debug_checked(self.context.exchange(operation, Some(root), values))
    }
}

/// Returns `slots` unchanged. With debug assertions, it first checks that all bees have called the same operation.
/// Otherwise a bee checks only the bees whose values it reads, because that costs no transfer of its own.
#[inline(always)]
#[track_caller]
fn debug_checked<T: Copy + 'static>(slots: Option<Exchanged<'_, T>>) -> Option<Exchanged<'_, T>> {
    if cfg!(debug_assertions) {
        slots.iter().for_each(Exchanged::check_all);
    }
    slots
}
