//! Closures as bodies of loops that are in C or C++.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ops::Range;

/// The body of a loop, or of a sum: context, begin and end of a part.
pub(crate) type Part<T = ()> = extern "C" fn(*const c_void, usize, usize) -> T;

/// Calls a loop with a body and its context. Both may be used until the call returns, by any thread.
pub(crate) fn run<T, R, F>(body: &F, the_loop: impl FnOnce(Part<T>, *const c_void) -> R) -> R
where
    F: Fn(Range<usize>) -> T + Sync,
{
    the_loop(part::<T, F>, (&raw const *body).cast())
}

extern "C" fn part<T, F: Fn(Range<usize>) -> T>(body: *const c_void, begin: usize, end: usize) -> T {
    // SAFETY: `run` passes a pointer to its closure, which outlives the loop.
    let body = unsafe { &*body.cast::<F>() };
    body(begin..end)
}
