//! Drops values of the program without risking a second panic while a first one unwinds.
//!
//! Hive uses this for the closures and results of the program that hive itself has to drop when a region, a join or a
//! task panics.

#![allow(unsafe_code)]

use std::mem::{ManuallyDrop, needs_drop};
use std::ops::{Deref, DerefMut};
use std::thread::panicking;

use crate::protocol::region::panics::ignore_panic;

/// A value whose drop, while the thread unwinds, cannot cause a second panic. Two panics at once would end the process,
/// so a panic of the drop is caught and discarded then. At any other time the value is dropped as if it were not
/// wrapped, unless it is [`Quiet`].
#[repr(transparent)]
pub(crate) struct NoDoublePanic<T, const IS_QUIET: bool = false>(ManuallyDrop<T>);

/// A value whose drop never panics: a panic of it is caught and discarded at any time.
pub(crate) type Quiet<T> = NoDoublePanic<T, true>;

impl<T> NoDoublePanic<T> {
    /// Wraps `value`.
    #[inline(always)]
    pub(crate) fn new(value: T) -> Self {
        Self(ManuallyDrop::new(value))
    }
}

impl<T> Quiet<T> {
    /// Wraps `value`.
    pub(crate) fn new_quiet(value: T) -> Self {
        Self(ManuallyDrop::new(value))
    }
}

impl<T, const IS_QUIET: bool> NoDoublePanic<T, IS_QUIET> {
    /// Takes the value out. From then on its drop is the caller's affair.
    #[inline(always)]
    pub(crate) fn into_inner(self) -> T {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is never dropped and is not used after this line, so the value is taken out exactly once.
        unsafe { ManuallyDrop::take(&mut this.0) }
    }
}

impl<T, const IS_QUIET: bool> Deref for NoDoublePanic<T, IS_QUIET> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T, const IS_QUIET: bool> DerefMut for NoDoublePanic<T, IS_QUIET> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T, const IS_QUIET: bool> Drop for NoDoublePanic<T, IS_QUIET> {
    #[inline(always)]
    fn drop(&mut self) {
        if needs_drop::<T>() {
            // SAFETY: the wrapper is being dropped, so the value is not used again, and the closure is called once.
            let mut drop = || unsafe { ManuallyDrop::drop(&mut self.0) };
            if IS_QUIET || panicking() { ignore_panic(drop) } else { drop() }
        }
    }
}

/// Combines the value `new` with the sum of the values before it, if there are both.
#[inline(always)]
pub(crate) fn add_to<T>(sum: &mut Option<NoDoublePanic<T>>, new: Option<NoDoublePanic<T>>, op: impl FnOnce(T, T) -> T) {
    *sum = match (sum.take(), new) {
        (Some(sum), Some(new)) => Some(NoDoublePanic::new(op(sum.into_inner(), new.into_inner()))),
        (sum, new) => sum.or(new),
    };
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::Arc;

    use super::*;

    struct PanicsOnDrop(#[expect(dead_code, reason = "only its end matters")] Arc<()>);

    impl Drop for PanicsOnDrop {
        fn drop(&mut self) {
            resume_unwind(Box::new("the bomb"));
        }
    }

    #[test]
    fn each_value_is_dropped_once_and_the_first_panic_is_heard_of() {
        let alive = Arc::new(());
        let panicking_values = || {
            vec![
                NoDoublePanic::new(PanicsOnDrop(Arc::clone(&alive))),
                NoDoublePanic::new(PanicsOnDrop(Arc::clone(&alive))),
            ]
        };
        let first_panic =
            |work: &dyn Fn()| catch_unwind(AssertUnwindSafe(work)).expect_err("a panic").downcast_ref().copied();
        assert_eq!(first_panic(&|| drop(panicking_values())), Some("the bomb"));
        let other = || {
            let _bombs = panicking_values();
            resume_unwind(Box::new("another"));
        };
        assert_eq!(first_panic(&other), Some("another"));
        assert_eq!(Arc::strong_count(&alive), 1);
    }

    #[test]
    fn what_is_taken_out_is_not_dropped() {
        let value = Arc::new(7);
        assert_eq!(*NoDoublePanic::new(Arc::clone(&value)), value);
        let taken = NoDoublePanic::new(Arc::clone(&value)).into_inner();
        assert_eq!(Arc::strong_count(&value), 2);
        drop(taken);
    }
}
