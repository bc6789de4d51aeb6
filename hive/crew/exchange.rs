//! A barrier at which each member shows the others something. All that members compute together comes down to this. The proof is in
//! `docs/collectives.md`.

#![expect(unsafe_code, reason = "lays out and reads pages, which the barrier keeps apart")]

use std::marker::PhantomData;

use super::Member;
use super::pages::Purpose;

/// What the members of a team have shown at a barrier. Can be read until this member comes to its next one.
pub(crate) struct Shown<'m, T> {
    member: &'m Member<'m>,
    round: u64,
    purpose: Purpose,
    values: PhantomData<T>,
}

impl Member<'_> {
    /// Shows `values` to the others, and waits for what they show at the same barrier. None where there is nobody else to see it: the team is this member alone,
    /// or the barrier is broken and this is a destructor that must not panic.
    ///
    /// # Panics
    /// As [`Member::barrier`].
    #[inline]
    #[track_caller]
    pub(crate) fn show<T: Copy + Send + 'static>(&self, values: &[T]) -> Option<Shown<'_, T>> {
        self.show_for(Purpose::all::<T>(), values)
    }

    /// The same where only member `root` has something to show, as all must agree.
    ///
    /// # Panics
    /// As [`Member::barrier`].
    #[inline]
    #[track_caller]
    pub(crate) fn show_from<T: Copy + Send + 'static>(&self, root: u32, values: &[T]) -> Option<Shown<'_, T>> {
        self.show_for(Purpose::one::<T>(root), values)
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

    /// Complains that member `id` has come for another purpose.
    #[cold]
    #[track_caller]
    fn complain_of(&self, id: u32, other: Option<Purpose>) {
        let member = self.member;
        match (self.purpose.root(), other.and_then(Purpose::root)) {
            (Some(own), Some(root)) if own != root => member.complain(format_args!(
                "at barrier number {} member {} calls broadcast_from with root {own}, member {id} with root {root}: all members of a team must name the same",
                self.round + 1,
                member.id(),
            )),
            _ => member.complain(format_args!(
                "member {id} came to barrier number {} for something else than member {}: all members of a team must call the same operations, with the same \
                 types, in the same order",
                self.round + 1,
                member.id(),
            )),
        }
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
