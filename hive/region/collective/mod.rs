//! What the bees of a team compute together inside a region.

pub(crate) mod all_reduce;
pub(crate) mod broadcast;
pub(crate) mod ordered;
pub(crate) mod scan;
pub(crate) mod single;

use crate::protocol::region::exchange::Exchanged;
use crate::protocol::region::exchange_slots::Operation;
use crate::region::bee::Bee;

impl Bee<'_> {
    /// Shows `values` to the others, who are to call the same `operation`: see [`RegionContext::exchange`](crate::team::Bee::show).
    #[inline]
    #[track_caller]
    pub(crate) fn exchange<T: Copy + Send + 'static>(
        &self,
        operation: Operation,
        values: &[T],
    ) -> Option<Exchanged<'_, T>> {
        debug_checked(self.context.exchange(operation, values))
    }

    /// The same where only bee `root` has something to show.
    #[inline]
    #[track_caller]
    fn exchange_from<T: Copy + Send + 'static>(
        &self,
        operation: Operation,
        root: u32,
        values: &[T],
    ) -> Option<Exchanged<'_, T>> {
        debug_checked(self.context.exchange_from(operation, root, values))
    }
}

/// What was shown, with debug assertions after a look whether all have called the same. Without them only those are looked at whose values are wanted, as that costs nothing.
#[inline(always)]
#[track_caller]
fn debug_checked<T: Copy + 'static>(slots: Option<Exchanged<'_, T>>) -> Option<Exchanged<'_, T>> {
    if cfg!(debug_assertions) {
        slots.iter().for_each(Exchanged::check_all);
    }
    slots
}
