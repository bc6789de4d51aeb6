//! The calls by which a bee meets the others of its team, or shares work with them: barriers, the collective
//! operations, loops, `ordered`, `wait_for`. Which of them a bee is in the middle of, and what becomes of a region in
//! which one ends by a panic.
//!
//! Each of them begins with [`RegionContext::begin_call`] (a barrier: with the same check) and ends with [`Call::end`].
//! In between runs the call's *work*, the closure that the program has given to it. Two rules hold for all of them,
//! which `docs/composition.md` states for users:
//!
//! - If a call ends by a panic, whether of its work or of its own, the bee has missed what the others do together. So
//!   the region has failed: see [`RegionContext::fail`].
//! - The work is its bee's alone. In it the bee begins no other call, because the others do not come to that, or come
//!   to it another number of times. [`is_allowed_in`] has the exceptions.
//!
//! In a part of a loop that is a region of its own, a bee begins none of them at all: the bees of such a loop need not
//! be there at the same time ([`RegionContext::begin_loop`]).

use std::mem;

use crate::protocol::region::barrier_word::BarrierError;
use crate::protocol::region::exchange_slots::Operation;
use crate::protocol::region::panics::{Progress, Unfinished};
use crate::protocol::region::region_context::RegionContext;

/// A call that a bee is in the middle of. If it is dropped without having been [ended](Self::end), a panic unwinds the
/// bee out of the call, and the region fails.
#[must_use = "a call that is not ended fails the region"]
pub(crate) struct Call<'c> {
    region: &'c RegionContext<'c>,
    operation: Operation,
    /// Where the bee was when it began the call.
    outer: Progress,
}

impl Call<'_> {
    /// The call has ended as it should.
    #[inline(always)]
    pub(crate) fn end(self) {
        let progress = &self.region.progress;
        // Not if the bee has failed in the meantime.
        if progress.get() == Progress::InCall(self.operation) {
            progress.set(self.outer);
        }
        mem::forget(self);
    }
}

impl Drop for Call<'_> {
    #[cold]
    fn drop(&mut self) {
        self.region.fail(Unfinished::Call(self.operation));
    }
}

/// Whether a bee may call `inner` in the work of `outer`.
fn is_allowed_in(inner: Operation, outer: Operation) -> bool {
    match outer {
        // Turns are those of the loop's indices, and a signal is sent to whom it may concern.
        Operation::ForRange => matches!(inner, Operation::Ordered | Operation::Signal | Operation::WaitFor),
        // At its end there is no barrier, so the bees may meet in the middle. If they do not all come equally often, a
        // barrier tells. Nothing would tell it of another loop that has no barrier either.
        Operation::ForEach => inner != Operation::ForEach,
        _ => false,
    }
}

impl<'c> RegionContext<'c> {
    /// The bee begins its part of a region that is a loop. It will meet no other bee in it.
    #[inline(always)]
    pub(crate) fn begin_loop(&self) {
        self.progress.set(Progress::InLoop);
    }

    /// Whether the bee is in its part of a region that is a loop, and has not failed in it.
    #[inline(always)]
    pub(crate) fn is_loop(&self) -> bool {
        self.progress.get() == Progress::InLoop
    }

    /// The bee begins a call. In a destructor that must not panic, a call that cannot be begun is given out as well,
    /// but all [exchanges](Self::exchange) in it fail.
    ///
    /// # Panics
    /// If the bee is in a loop, or in the work of a call in which it must not begin this one. If a call of this bee has
    /// failed before, it unwinds out of the region.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn begin_call(&'c self, operation: Operation) -> Call<'c> {
        let outer = self.progress.get();
        if outer == Progress::InBody || self.may_begin(operation) {
            self.progress.set(Progress::InCall(operation));
        }
        Call { region: self, operation, outer }
    }

    /// Whether a bee that is not simply in the region's body may begin this call. False in a destructor that must not
    /// panic only.
    #[cold]
    #[track_caller]
    pub(crate) fn may_begin(&self, inner: Operation) -> bool {
        match self.progress.get() {
            Progress::InBody => return true,
            Progress::InCall(outer) if is_allowed_in(inner, outer) => return true,
            Progress::InCall(outer) => self.panic_or_fail(format_args!(
                "bee {} of {} calls {} in the work of its {}, which must not itself wait for the bees or share \
                 work with them: call one after the other",
                self.id,
                self.bees,
                inner.name(),
                outer.name(),
            )),
            Progress::InLoop => self.refuse_in_loop(inner),
            Progress::Failed(unfinished) => self.leave_failed_region(unfinished),
        }
        false
    }

    /// Panics because the bee calls this in a part of a loop that is a region of its own.
    #[cold]
    #[track_caller]
    pub(crate) fn refuse_in_loop(&self, inner: Operation) {
        self.panic_or_fail(format_args!(
            "bee {} of {} calls {} in a loop that is a region of its own, such as par_for, whose bees need not be \
             there at the same time: use for_each or for_range in spmd",
            self.id,
            self.bees,
            inner.name(),
        ));
    }

    /// Whether the bee has failed: a call of it has ended by a panic, or it has left a barrier without having passed
    /// it. Others may have passed that barrier, and may still be reading what the bee has written to its exchange slot
    /// for it.
    #[inline(always)]
    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.progress.get(), Progress::Failed(_))
    }

    /// What the bee has not completed, if it has failed.
    pub(crate) fn failure(&self) -> Option<Unfinished> {
        if let Progress::Failed(unfinished) = self.progress.get() { Some(unfinished) } else { None }
    }

    /// The call that the bee is in, for messages. A bee that comes to a barrier is in none.
    pub(crate) fn current_call(&self) -> Operation {
        if let Progress::InCall(operation) = self.progress.get() { operation } else { Operation::Barrier }
    }

    /// The bee has failed, and so has its region: all bees unwind out of their waits for each other, and the region
    /// does not return, whatever they catch.
    #[cold]
    pub(crate) fn fail(&self, unfinished: Unfinished) {
        self.progress.set(Progress::Failed(unfinished));
        if self.bees == 1 {
            self.note_failure();
        } else if !self.is_poisoned() {
            // What the region ends with, unless the panic of a bee comes to the end of its body.
            self.team.panics.record_unfinished(self.id, unfinished);
            self.team.poison_region(self.epoch);
        }
    }

    /// Unwinds the bee, which has failed, out of the region. In a destructor where it may not be unwound, it returns.
    #[cold]
    #[track_caller]
    fn leave_failed_region(&self, unfinished: Unfinished) {
        if self.bees > 1 {
            self.leave_broken_barrier(BarrierError::Poisoned);
        } else if self.may_unwind() {
            unfinished.panic_at_end(0);
        }
    }
}
