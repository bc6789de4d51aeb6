//! Which regions the calling thread is inside of: a list of frames on its stack, innermost first.

use std::cell::Cell;
use std::ptr;

use crate::crew::Crew;

struct Frame {
    crew: *const Crew,
    outer: *const Frame,
}

thread_local! {
    static INNERMOST: Cell<*const Frame> = const { Cell::new(ptr::null()) };
}

/// Runs `part` as a part of a region of `crew`.
#[inline(always)]
pub(crate) fn within<R>(crew: &Crew, part: impl FnOnce() -> R) -> R {
    struct Left(*const Frame);
    impl Drop for Left {
        #[inline(always)]
        fn drop(&mut self) {
            INNERMOST.set(self.0);
        }
    }
    let frame = Frame { crew, outer: INNERMOST.get() };
    let _left = Left(frame.outer);
    INNERMOST.set(&raw const frame);
    part()
}

/// Whether the calling thread is inside a region of any hive.
#[inline(always)]
pub(crate) fn inside_any() -> bool {
    !INNERMOST.get().is_null()
}

/// Whether the calling thread is inside a region of `crew`, however deep.
#[expect(unsafe_code, reason = "follows pointers to frames further up this thread's stack")]
pub(crate) fn inside(crew: &Crew) -> bool {
    let mut next = INNERMOST.get();
    while !next.is_null() {
        // SAFETY: `within` takes a frame off the list before its stack goes, and frames are read by their own thread only.
        let frame = unsafe { &*next };
        if ptr::eq(frame.crew, crew) {
            return true;
        }
        next = frame.outer;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::Duration;

    use crate::topology::CpuMask;

    use crate::wait::WaitPolicy;

    fn crew() -> Crew {
        Crew::new(1, WaitPolicy::new(Duration::ZERO, 1, CpuMask::new()))
    }

    #[test]
    fn frames_nest_and_are_left_by_unwinding_too() {
        let (a, b) = (&crew(), &crew());
        assert!(!inside_any());
        within(a, || {
            assert!(inside(a) && !inside(b));
            let unwound = catch_unwind(AssertUnwindSafe(|| within(b, || std::panic::resume_unwind(Box::new(())))));
            assert!(unwound.is_err());
            within(b, || assert!(inside(a) && inside(b)));
            assert!(inside(a) && !inside(b) && inside_any());
        });
        assert!(!inside_any());
    }

    #[test]
    fn another_thread_is_not_inside() {
        within(&crew(), || {
            std::thread::scope(|scope| scope.spawn(|| assert!(!inside_any())).join().unwrap());
        });
    }
}
