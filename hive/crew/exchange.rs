//! A barrier at which each member shows the others something. All that members compute together comes down to this. The proof is in
//! `docs/collectives.md`.

#![expect(unsafe_code, reason = "lays out and reads pages, which the barrier keeps apart")]

use std::marker::PhantomData;

use super::Member;
use super::pages::{Operation, Purpose};

/// What the members of a team have shown at a barrier. Can be read until this member comes to its next one.
pub(crate) struct Shown<'m, T> {
    member: &'m Member<'m>,
    round: u64,
    purpose: Purpose,
    values: PhantomData<T>,
}

impl Member<'_> {
    /// Shows `values` to the others, who are to call the same `operation`, and waits for what they show at the same barrier. None where there is nobody else to see it: the team is this member alone,
    /// or the barrier is broken and this is a destructor that must not panic.
    ///
    /// # Panics
    /// As [`Member::barrier`].
    #[inline]
    #[track_caller]
    pub(crate) fn show<T: Copy + Send + 'static>(&self, operation: Operation, values: &[T]) -> Option<Shown<'_, T>> {
        self.show_for(Purpose::all::<T>(operation), values)
    }

    /// The same where only member `root` has something to show, as all must agree.
    ///
    /// # Panics
    /// As [`Member::barrier`].
    #[inline]
    #[track_caller]
    pub(crate) fn show_from<T: Copy + Send + 'static>(
        &self,
        operation: Operation,
        root: u32,
        values: &[T],
    ) -> Option<Shown<'_, T>> {
        self.show_for(Purpose::one::<T>(operation, root), values)
    }

    #[inline]
    #[track_caller]
    fn show_for<T: Copy + Send + 'static>(&self, purpose: Purpose, values: &[T]) -> Option<Shown<'_, T>> {
        if self.team() == 1 {
            return None;
        }
        if self.is_astray() {
            // The others may still be reading what it has shown at the barrier that it left.
            self.barrier();
            return None;
        }
        let round = self.passed();
        // SAFETY: this is the member's own slot, it is in this region, has passed all barriers that it came to, and comes to that one next.
        unsafe { self.crew().slot(self.id()).pages.lay_out(self.region(), round, purpose, values) };
        self.barrier();
        (self.passed() > round).then_some(Shown { member: self, round, purpose, values: PhantomData })
    }
}

/// Where what is wanted is not there, these panic, or return None if this is a destructor that must not.
impl<T: Copy + 'static> Shown<'_, T> {
    /// The number of values that member `id` has shown.
    ///
    /// # Panics
    /// If it came to the barrier for something else.
    #[inline]
    #[track_caller]
    pub(crate) fn count(&self, id: u32) -> Option<usize> {
        let member = self.member;
        // The pages may be laid out anew as soon as this member comes to its next barrier.
        if member.passed() != self.round + 1 || member.is_astray() {
            member.complain(format_args!("an operation on values of all members must not wait for the members itself"));
            return None;
        }
        // SAFETY: the members are of one team; this one has passed the barrier and come to none since.
        let count = unsafe { member.crew().slot(id).pages.count(member.region(), self.round, self.purpose) };
        count.map_err(|other| self.complain_of(id, other)).ok()
    }

    /// Looks whether all have come for the same, also those whose values this member has no use for: member 0 at all others, and they at member 0. That is a transfer more
    /// for each, so it is for builds with debug assertions.
    #[track_caller]
    pub(crate) fn check_all(&self) {
        let (own, team) = (self.member.id(), self.member.team());
        let others = if own == 0 { 1..team } else { 0..1 };
        // The first of another kind is enough: nothing more can be had after it.
        others.map_while(|id| self.count(id)).for_each(drop);
    }

    /// Complains that member `id` has come for another purpose.
    #[cold]
    #[track_caller]
    fn complain_of(&self, id: u32, other: Option<Purpose>) {
        let (member, number, own) = (self.member, self.round + 1, self.purpose.operation().name());
        let same = other.filter(|other| other.operation() == self.purpose.operation());
        if let (Some(root), Some(other)) = (self.purpose.root(), same.and_then(Purpose::root))
            && root != other
        {
            return member.complain(format_args!(
                "at barrier number {number} member {} calls {own} with root {root}, member {id} with root {other}: all members of a team must name the same",
                member.id(),
            ));
        }
        let (theirs, of_type) = match (other, same) {
            (_, Some(_)) => (own, " with a value of another type"),
            (Some(other), None) => (other.operation().name(), ""),
            (None, None) => ("a barrier alone", ""),
        };
        member.complain(format_args!(
            "member {id} came to barrier number {number} for something else than member {}: for {theirs}{of_type}, and not for {own}: all members of a team must call \
             the same operations, with the same types, in the same order",
            member.id(),
        ));
    }

    /// Value number `index` of member `id`.
    ///
    /// # Panics
    /// As `count`, and if there are no more than `index`.
    #[inline]
    #[track_caller]
    pub(crate) fn value(&self, id: u32, index: usize) -> Option<T> {
        let count = self.count(id)?;
        if index >= count {
            self.member.complain(format_args!("value {index} of the {count} that member {id} has shown"));
            return None;
        }
        // SAFETY: as in `count`, and `index` is below it.
        Some(unsafe { self.member.crew().slot(id).pages.read(self.round, count, index) })
    }

    /// The first value of each of the first `members`, in order, combined.
    ///
    /// # Panics
    /// As `value`.
    #[inline]
    #[track_caller]
    pub(crate) fn combine(&self, members: u32, op: impl Fn(T, T) -> T) -> Option<T> {
        let first = self.value(0, 0)?;
        (1..members).try_fold(first, |combined, id| Some(op(combined, self.value(id, 0)?)))
    }
}
