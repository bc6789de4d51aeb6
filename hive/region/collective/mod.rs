//! The collective operations of a region: what all bees of a team call together, such as `all_reduce` or
//! `broadcast_from`.
//!
//! Each operation is built on one step of the protocol, the exchange: every bee puts values into a slot of its own, all
//! meet at a barrier, and each reads the values that it needs (`docs/collectives.md`). `Bee::exchange`, below, is that
//! step with a check that only builds with debug assertions make. `ordered` and `wait_for` are exceptions: they
//! exchange nothing, and wait for what one other bee stores (`stalled_wait.rs`).

pub(crate) mod all_reduce_cloned;
pub(crate) mod ordered;
pub(crate) mod signals;
mod stalled_wait;
pub(crate) mod values;

use crate::protocol::region::call::Call;
use crate::protocol::region::exchange::Exchanged;
use crate::protocol::region::exchange_slots::Operation;
use crate::region::bee::Bee;

/// What bees can pass to each other by value: `Copy`, `Send` and without borrows. All such types have it; the
/// compiler refuses values that are aligned to more than 64 bytes where they are used.
///
/// ```
/// /// The smallest and the largest value of all bees.
/// fn range<T: hive::ByCopy + PartialOrd>(bee: &hive::Bee<'_>, value: T) -> (T, T) {
///     let smallest = bee.all_reduce(value, |a, b| if b < a { b } else { a });
///     (smallest, bee.all_reduce(value, |a, b| if b > a { b } else { a }))
/// }
/// hive::spmd(3, |bee| assert_eq!(range(bee, bee.id()), (0, 2)));
/// ```
#[diagnostic::on_unimplemented(
    message = "bees cannot pass a `{Self}` to each other by value: it would have to be `Copy`, `Send` and `'static`",
    label = "no `Copy` type without borrows",
    note = "`all_reduce_cloned` combines values that can only be cloned, such as a `Vec`",
    note = "what one bee makes and all read can lie in a `OnceLock` that is made before the region: `single` fills it, \
            with `()` as its result"
)]
pub trait ByCopy: Copy + Send + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Copy + Send + 'static> ByCopy for T {}

/// Ends a call, whose result is `value`.
#[inline(always)]
pub(crate) fn end_with<T>(call: Call<'_>, value: T) -> T {
    call.end();
    value
}

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
