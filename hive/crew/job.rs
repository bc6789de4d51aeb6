//! A region's part with its type erased, so that it fits into the signal's cache line and into no allocation.

#![allow(unsafe_code)]

use super::member::Member;

/// What each member of a region runs.
pub(crate) trait Part: Sync {
    /// Runs as `member`.
    fn run(&self, member: &Member<'_>);
}

/// Two words: the part's address, and the function that knows its type.
///
/// A bee reads nothing else of the queen's: had the part a wrapper on her stack, each region would send that cache line to
/// the bees and fetch it back, as costly as the region itself.
#[derive(Clone, Copy)]
pub(crate) struct Job {
    part: *const (),
    run: unsafe fn(*const (), &Member<'_>),
}

impl Job {
    /// The job of no region, for the time before the first.
    pub(crate) fn idle() -> Self {
        struct Idle;
        impl Part for Idle {
            fn run(&self, _: &Member<'_>) {
                unreachable!("no region has started yet");
            }
        }
        Self::new(&Idle)
    }

    /// Erases `part`, which [`Job::run`] will run on other threads.
    #[inline(always)]
    pub(crate) fn new<P: Part>(part: &P) -> Self {
        /// # Safety
        /// `part` points to a living `P`.
        unsafe fn run<P: Part>(part: *const (), member: &Member<'_>) {
            // SAFETY: the caller's promise.
            let part = unsafe { &*part.cast::<P>() };
            part.run(member);
        }
        Self { part: std::ptr::from_ref(part).cast(), run: run::<P> }
    }

    /// Runs the part as `member`.
    ///
    /// # Safety
    /// The part given to `new` is still alive and stays so until this returns.
    #[inline(always)]
    pub(crate) unsafe fn run(self, member: &Member<'_>) {
        // SAFETY: `run` was made for the type of `part`, in `new`; the caller vouches for its life.
        unsafe { (self.run)(self.part, member) }
    }
}
