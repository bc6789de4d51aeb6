//! A region's part with its type erased, so that it fits into the signal's cache line and into no allocation.

#![allow(unsafe_code)]

use super::berth::Berth;
use super::member::Member;

/// What each member of a region runs.
pub(crate) trait Part: Sync {
    /// Runs as `member`.
    fn run(&self, member: &Member<'_>);
}

/// A part that lies elsewhere.
impl<P: Part> Part for &P {
    #[inline(always)]
    fn run(&self, member: &Member<'_>) {
        P::run(self, member);
    }
}

/// The function that knows the type of the part in the berth.
#[derive(Clone, Copy)]
pub(crate) struct Job(unsafe fn(&Berth, &Member<'_>));

impl Job {
    /// The job of no region, for the time before the first.
    pub(crate) fn idle() -> Self {
        Self(|_, _| unreachable!("no region has started yet"))
    }

    /// To run a `P`, on whichever thread.
    #[inline(always)]
    pub(crate) fn of<P: Part>() -> Self {
        /// # Safety
        /// As `Job::run`.
        unsafe fn run<P: Part>(berth: &Berth, member: &Member<'_>) {
            // SAFETY: the caller's promise.
            unsafe { berth.with(|part: &P| part.run(member)) }
        }
        Self(run::<P>)
    }

    /// Runs the part in `berth` as `member`.
    ///
    /// # Safety
    /// It is of the type that this job was made for, and stays there until this returns.
    #[inline(always)]
    pub(super) unsafe fn run(self, berth: &Berth, member: &Member<'_>) {
        // SAFETY: the caller's promise.
        unsafe { (self.0)(berth, member) }
    }
}
