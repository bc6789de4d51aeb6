//! The collective operations of a region: what all bees of a team call together, such as `all_reduce` or
//! `broadcast_from`.
//!
//! Each operation is built on one step of the protocol, the exchange: every bee puts values into a slot of its own, all
//! meet at a barrier, and each reads the values that it needs (`docs/collectives.md`). `Bee::exchange`, below, is that
//! step with a check that only builds with debug assertions make. `ordered` is the exception: it exchanges nothing.

pub(crate) mod all_reduce_cloned;
pub(crate) mod ordered;
pub(crate) mod values;

use crate::protocol::region::exchange::Exchanged;
use crate::protocol::region::exchange_slots::Operation;
use crate::region::bee::Bee;

impl Bee<'_> {
    /// Shows `values` to the other bees, which have to call the same `operation` with values of the same type, and
    /// waits for theirs. If only the values of one bee are of use to the others, that is `root`, and all bees have to
    /// name the same one. See `RegionContext::exchange`.
    #[inline]
    #[track_caller]
    pub(crate) fn exchange<T: Copy + Send + 'static>(
        &self,
        operation: Operation,
        root: Option<u32>,
        values: &[T],
    ) -> Option<Exchanged<'_, T>> {
        let slots = self.context.exchange(operation, root, values);
        if cfg!(debug_assertions) {
            // Checks that all bees have called the same operation. Otherwise a bee checks only the bees whose values it
            // reads, because that costs no transfer of its own.
            slots.iter().for_each(Exchanged::check_all);
        }
        slots
    }
}
