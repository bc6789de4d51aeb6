//! Values of the program's that are hive's to drop when a panic goes on.

#![allow(unsafe_code)]

use std::mem::{ManuallyDrop, needs_drop};
use std::ops::Deref;
use std::thread::panicking;

use crate::crew::quietly;

/// A value that is dropped quietly while its thread unwinds: two panics at once would end the process, so what its drop panics with then is not heard of. At any other time it is dropped as it
/// would be without this.
#[repr(transparent)]
pub(crate) struct Quiet<T>(ManuallyDrop<T>);

impl<T> Quiet<T> {
    #[inline(always)]
    pub(crate) fn new(value: T) -> Self {
        Self(ManuallyDrop::new(value))
    }

    #[inline(always)]
    pub(crate) fn into_inner(self) -> T {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: this is not dropped, and nobody sees it again.
        unsafe { ManuallyDrop::take(&mut this.0) }
    }
}

impl<T> Deref for Quiet<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Drop for Quiet<T> {
    #[inline(always)]
    fn drop(&mut self) {
        if needs_drop::<T>() {
            // SAFETY: this is its end.
            let mut drop = || unsafe { ManuallyDrop::drop(&mut self.0) };
            if panicking() { quietly(drop) } else { drop() }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::Arc;

    use super::*;

    struct Bomb(#[expect(dead_code, reason = "only its end matters")] Arc<()>);

    impl Drop for Bomb {
        fn drop(&mut self) {
            resume_unwind(Box::new("the bomb"));
        }
    }

    #[test]
    fn each_value_is_dropped_once_and_the_first_panic_is_heard_of() {
        let alive = Arc::new(());
        let bombs = || vec![Quiet::new(Bomb(Arc::clone(&alive))), Quiet::new(Bomb(Arc::clone(&alive)))];
        let heard = |work: &dyn Fn()| catch_unwind(AssertUnwindSafe(work)).expect_err("a panic").downcast_ref().copied();
        assert_eq!(heard(&|| drop(bombs())), Some("the bomb"));
        let other = || {
            let _bombs = bombs();
            resume_unwind(Box::new("another"));
        };
        assert_eq!(heard(&other), Some("another"));
        assert_eq!(Arc::strong_count(&alive), 1);
    }

    #[test]
    fn what_is_taken_out_is_not_dropped() {
        let value = Arc::new(7);
        assert_eq!(*Quiet::new(Arc::clone(&value)), value);
        let taken = Quiet::new(Arc::clone(&value)).into_inner();
        assert_eq!(Arc::strong_count(&value), 2);
        drop(taken);
    }
}
