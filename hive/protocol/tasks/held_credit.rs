//! What a bee has in hand of the count of a scope.
//!
//! The count of a scope (`scope_count.rs`) is one word that travels between the bees that change it, and in a scope of
//! many short jobs that takes as long as all else. So a bee keeps a credit of the scope whose jobs it runs: a job that
//! it spawns is paid from that, and one that has ended is put back to it. The count changes when the bee turns to
//! something else.
//!
//! A bee with a credit keeps the scope from ending, so it must not keep one for longer than it would run jobs of that
//! scope anyway: code that it runs may wait, on another thread's behalf or through some lock, for the end of the scope.
//! While the bee is in the middle of the scope's body or of a job of it, the scope cannot end. So it gives the credit
//! back, if it is not in hand for one of those:
//! - before it runs a task that is no job of the scope (`Run::SEES_TO_CREDIT`);
//! - before it looks for a task elsewhere than at the top of its deque, as it does before it polls or sleeps;
//! - before a wait in which it has run tasks returns to the code that waits;
//! - before a worker that is in no task turns to a region, or to what else its main loop may find.
//!
//! A bee that waits for the end of a scope, and has run the last of its jobs itself, must not run something else first.
//! So after each job, and after the body, the bee looks whether nothing is left but its own credit, and then gives that
//! back, too.
//!
//! A thread may also spawn in a scope in whose body or jobs it is not: the body may have lent the scope to it. Then no
//! credit is used. Nobody here knows when such a thread turns to something else.

#![allow(unsafe_code)]

use std::cell::Cell;
use std::ptr;

use crate::protocol::tasks::scope_count::{Credit, ScopeCount};

/// A scope with a count.
///
/// # Safety
/// The scope lives, and stays where it is, as long as something is counted. `count` is always the same part of it.
pub(crate) unsafe trait CountedScope {
    /// The count.
    fn count(&self) -> &ScopeCount;

    /// Called once, by the thread that has counted as ended what was left: nothing is counted any more.
    ///
    /// # Safety
    /// The scope lives until this tells its owner, and may be gone when this returns.
    unsafe fn set_ended(this: *const Self);
}

/// What one bee has in hand.
pub(crate) struct HeldCredit {
    /// The scope. Null: the bee has nothing in hand. Otherwise the bee has a credit of the scope, or is in the middle
    /// of its body or of a job of it, which has spawned nothing so far. So the scope lives.
    scope: Cell<*const ()>,
    /// Its count.
    count: Cell<*const ScopeCount>,
    /// Its `CountedScope::set_ended`.
    set_ended: Cell<unsafe fn(*const ())>,
    credit: Credit,
}

impl HeldCredit {
    pub(crate) fn new() -> Self {
        // Never called, because there is no scope.
        unsafe fn of_no_scope(_: *const ()) {}
        Self {
            scope: Cell::new(ptr::null()),
            count: Cell::new(ptr::null()),
            set_ended: Cell::new(of_no_scope),
            credit: Credit::default(),
        }
    }

    /// Counts a job that is about to be spawned in `scope` by the calling thread.
    #[inline(always)]
    pub(crate) fn add<S: CountedScope>(&self, scope: &S) {
        if ptr::eq(self.scope.get(), ptr::from_ref(scope).cast()) {
            scope.count().add(&self.credit);
        } else {
            scope.count().add_from_another_thread();
        }
    }

    /// Says that a job of `scope`, or its body, has ended. It is counted as ended sooner or later.
    ///
    /// # Safety
    /// It was counted, and has not been counted as ended. The scope may be gone when this returns, unless the caller
    /// keeps it.
    #[inline(always)]
    pub(crate) unsafe fn end<S: CountedScope>(&self, scope: *const S) {
        // SAFETY: what has ended is still counted, and keeps the scope.
        let scope = unsafe { &*scope };
        // In the middle of the job the bee may have turned to something else, or have given back what it had.
        // SAFETY: what has ended is put back below, so the bee has a credit.
        unsafe { self.turn_to(scope) };
        self.credit.set(self.credit.get() + 1);
        if scope.count().is_covered_by(&self.credit) {
            self.give_back_now();
        }
    }

    /// Has the bee work for `scope` from here on: it gives back what it has of another one.
    ///
    /// # Safety
    /// The bee is about to run the scope's body or a job of it, and calls `end` after that.
    #[inline(always)]
    pub(crate) unsafe fn turn_to<S: CountedScope>(&self, scope: &S) {
        /// # Safety
        /// As for `CountedScope::set_ended`.
        unsafe fn set_ended<S: CountedScope>(scope: *const ()) {
            // SAFETY: the pointer is from a reference to an `S`, and the caller promises the rest.
            unsafe { S::set_ended(scope.cast()) }
        }
        let address = ptr::from_ref(scope).cast();
        if !ptr::eq(self.scope.get(), address) {
            self.give_back();
            self.scope.set(address);
            self.count.set(scope.count());
            self.set_ended.set(set_ended::<S>);
        }
    }

    /// Gives back what the bee has. Afterwards it has nothing.
    #[inline(always)]
    pub(crate) fn give_back(&self) {
        if !self.is_empty() {
            self.give_back_now();
        }
    }

    #[cold]
    fn give_back_now(&self) {
        let scope = self.scope.replace(ptr::null());
        let units = self.credit.take();
        // Without a credit, nothing is said of the scope: it is one in whose body or job the bee is.
        // SAFETY: the credit is one of this scope, and keeps it. It is counted, and is taken off once.
        if units > 0 && unsafe { ScopeCount::subtract(self.count.get(), units) } {
            // SAFETY: this was the last of what is counted, so the scope waits to be told.
            unsafe { self.set_ended.get()(scope) };
        }
    }

    /// Whether the bee has nothing in hand.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.scope.get().is_null()
    }
}
