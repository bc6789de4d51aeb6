//! Whether the calling thread is a member of a hive that runs tasks, and which.

#![expect(unsafe_code, reason = "follows a pointer to what is further up this thread's stack")]

use std::cell::Cell;
use std::ptr;

use crate::crew::{Crew, Hand};
use crate::frame;

thread_local! {
    /// Erased: it lives as long as `within` runs.
    static CURRENT: Cell<*const Hand<'static>> = const { Cell::new(ptr::null()) };
    /// Whether the thread is a bee, of whatever hive; in the queen's place of another one it still is.
    static IS_BEE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` as the member whose `hand` it is.
pub(crate) fn within<R>(hand: &Hand<'_>, work: impl FnOnce() -> R) -> R {
    struct Back(*const Hand<'static>);
    impl Drop for Back {
        fn drop(&mut self) {
            CURRENT.set(self.0);
        }
    }
    let _back = Back(CURRENT.replace(ptr::from_ref(hand).cast()));
    if hand.id() > 0 {
        // For good: a bee's thread is nothing else.
        IS_BEE.set(true);
    }
    work()
}

/// Calls `use_it` with the hand of the calling thread, if it is a member of `crew` that may run tasks.
#[inline(always)]
pub(super) fn with<R>(crew: &Crew, use_it: impl FnOnce(Option<&Hand<'_>>) -> R) -> R {
    here(|hand| use_it(hand.filter(|hand| ptr::eq(hand.crew(), crew))))
}

#[inline(always)]
fn here<R>(use_it: impl FnOnce(Option<&Hand<'_>>) -> R) -> R {
    let hand = CURRENT.get();
    if hand.is_null() {
        return use_it(None);
    }
    // SAFETY: `within` takes the pointer back before the hand goes, and only this thread reads it.
    use_it(Some(unsafe { &*hand }))
}

/// Whether the calling thread is a bee of any hive.
pub(super) fn is_bee() -> bool {
    IS_BEE.get()
}

/// Whether the calling thread is a member of any hive that may run tasks.
#[inline(always)]
pub(crate) fn is_anywhere() -> bool {
    !CURRENT.get().is_null()
}

/// The hive and the member that the calling thread is: as a bee, in the queen's place of a hive that runs tasks, or in a region. None elsewhere.
///
/// The first number differs between any two hives that live at the same time; the second is the member's, 0 the queen's.
///
/// ```
/// assert_eq!(hive::current(), None);
/// assert_eq!(hive::install(|| hive::current().map(|(_, member)| member)), Some(0));
/// ```
pub fn current() -> Option<(usize, usize)> {
    let number = |crew: &Crew, id: u32| (ptr::from_ref(crew).addr(), id as usize);
    if let Some(current) = frame::innermost(|member| number(member.crew(), member.id())) {
        return Some(current);
    }
    here(|hand| hand.map(|hand| number(hand.crew(), hand.id())))
}

/// Runs one task, if the calling thread is a member of a hive that runs tasks and there is one; else gives up the core for a moment. For a task that waits for something by polling.
///
/// ```
/// while !hive::install(|| true) {
///     hive::yield_now();
/// }
/// ```
pub fn yield_now() {
    let ran = here(|hand| hand.is_some_and(Hand::run_one));
    if !ran {
        std::thread::yield_now();
    }
}
