//! What is to be done at the end of a scope, however the scope is left.

use std::marker::PhantomData;

/// Calls `f` when the result is dropped: at the end of a scope, whether by returning or by unwinding. The result stays
/// on its thread.
#[must_use = "dropped at once, it calls the function at once"]
#[inline(always)]
pub(crate) fn on_drop(f: impl FnMut()) -> impl Drop {
    OnDrop(f, PhantomData)
}

/// The second field keeps it on its thread: what is undone is often the state of that thread.
struct OnDrop<F: FnMut()>(F, PhantomData<*const ()>);

impl<F: FnMut()> Drop for OnDrop<F> {
    #[inline(always)]
    fn drop(&mut self) {
        (self.0)();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    use super::*;

    #[test]
    fn it_is_called_once_at_the_end_of_the_scope_and_in_a_panic() {
        let calls = Cell::new(0);
        let count = || on_drop(|| calls.set(calls.get() + 1));
        let counted = count();
        assert_eq!(calls.get(), 0);
        drop(counted);
        assert_eq!(calls.get(), 1);
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            let _counted = count();
            resume_unwind(Box::new("a panic"));
        }));
        assert_eq!((unwound.is_err(), calls.get()), (true, 2));
    }
}
