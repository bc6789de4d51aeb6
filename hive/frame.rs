//! Which regions the calling thread is inside of: a list of frames on its stack, innermost first.

#![expect(unsafe_code, reason = "follows pointers to frames further up this thread's stack")]

use std::cell::Cell;
use std::{iter, ptr};

use crate::crew::{Crew, Member};

struct Frame {
    /// Erased: it lives as long as the frame.
    member: *const Member<'static>,
    outer: *const Frame,
}

thread_local! {
    static INNERMOST: Cell<*const Frame> = const { Cell::new(ptr::null()) };
}

/// Runs `part` as the part of `member`.
#[inline(always)]
pub(crate) fn within<R>(member: &Member<'_>, part: impl FnOnce() -> R) -> R {
    struct Left(*const Frame);
    impl Drop for Left {
        #[inline(always)]
        fn drop(&mut self) {
            INNERMOST.set(self.0);
        }
    }
    let frame = Frame { member: ptr::from_ref(member).cast(), outer: INNERMOST.get() };
    let _left = Left(frame.outer);
    INNERMOST.set(&raw const frame);
    part()
}

/// Whether the calling thread is inside a region of any hive.
#[inline(always)]
pub(crate) fn inside_any() -> bool {
    !INNERMOST.get().is_null()
}

/// Whether the calling thread is inside a region of any hive whose other members may wait for it.
pub(crate) fn is_in_a_team() -> bool {
    // SAFETY: nothing is kept.
    unsafe { members() }.any(|member| member.team() > 1)
}

/// Calls `use_it` with the member that the calling thread is in the innermost region that it is inside of, if it is inside of one.
pub(crate) fn innermost<R>(use_it: impl FnOnce(&Member<'_>) -> R) -> Option<R> {
    // SAFETY: the member goes to `use_it` only.
    unsafe { members() }.next().map(use_it)
}

/// Whether the calling thread is inside a region of `crew`, however deep.
pub(crate) fn inside(crew: &Crew) -> bool {
    with_outermost(crew, |_| ()).is_some()
}

/// Calls `use_it` with the member that the calling thread is in the outermost region of `crew` that it is inside of, if it is inside of one.
pub(crate) fn with_outermost<R>(crew: &Crew, use_it: impl FnOnce(&Member<'_>) -> R) -> Option<R> {
    // SAFETY: the member goes to `use_it` only.
    unsafe { members() }.filter(|member| ptr::eq(member.crew(), crew)).last().map(use_it)
}

/// The members that the calling thread is in the regions that it is inside of, innermost first.
///
/// # Safety
/// They are not used after the caller has returned.
unsafe fn members<'f>() -> impl Iterator<Item = &'f Member<'f>> {
    let mut next = INNERMOST.get();
    iter::from_fn(move || {
        if next.is_null() {
            return None;
        }
        // SAFETY: `within` takes a frame off the list before its stack goes, and frames are read by their own thread only.
        let frame = unsafe { &*next };
        next = frame.outer;
        // SAFETY: the member outlives the call of `within` that made the frame.
        Some(unsafe { &*frame.member })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::Duration;

    use crate::crew::{BarrierShape, Neighbours, Shape, Sleep, Stage};
    use crate::topology::CpuMask;

    use crate::wait::WaitPolicy;

    fn crew() -> Crew {
        {
            let policy = WaitPolicy::new(Duration::ZERO, None, 1, CpuMask::new());
            Crew::new(1, policy, Stage::new(1), Sleep::jec(), Neighbours::new(&[]), Shape::new(BarrierShape::Flat, &[], 1))
        }
    }

    #[test]
    fn frames_nest_and_are_left_by_unwinding_too() {
        let (crew_a, crew_b) = (crew(), crew());
        let (a, b) = (Member::alone(&crew_a), Member::alone(&crew_b));
        assert!(!inside_any());
        within(&a, || {
            assert!(inside(&crew_a) && !inside(&crew_b));
            let unwound = catch_unwind(AssertUnwindSafe(|| within(&b, || std::panic::resume_unwind(Box::new(())))));
            assert!(unwound.is_err());
            within(&b, || assert!(inside(&crew_a) && inside(&crew_b)));
            assert!(inside(&crew_a) && !inside(&crew_b) && inside_any());
        });
        assert!(!inside_any());
    }

    #[test]
    fn of_two_members_of_a_hive_the_outermost_is_found() {
        let crew = crew();
        let (outer, inner) = (Member::alone(&crew), Member::alone(&crew));
        let is_outer = |member: &Member<'_>| ptr::eq(ptr::from_ref(member).cast(), &raw const outer);
        within(&outer, || within(&inner, || assert_eq!(with_outermost(&crew, is_outer), Some(true))));
    }

    #[test]
    fn another_thread_is_not_inside() {
        within(&Member::alone(&crew()), || {
            std::thread::scope(|scope| scope.spawn(|| assert!(!inside_any())).join().unwrap());
        });
    }
}
