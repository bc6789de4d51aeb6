//! Closures as bodies of loops that are in C or C++.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ops::Range;

/// The body of a loop: context, begin and end of a part.
pub(crate) type Part = extern "C" fn(*const c_void, usize, usize);
pub(crate) type SumOfPart = extern "C" fn(*const c_void, usize, usize) -> f64;

/// Calls a loop with a body and its context. Both may be used until the call returns, by any thread.
pub(crate) fn run<F: Fn(Range<usize>) + Sync>(body: &F, the_loop: impl FnOnce(Part, *const c_void)) {
    the_loop(part::<F>, (&raw const *body).cast());
}

/// The same for a sum.
pub(crate) fn sum<F, S>(body: &F, the_sum: S) -> f64
where
    F: Fn(Range<usize>) -> f64 + Sync,
    S: FnOnce(SumOfPart, *const c_void) -> f64,
{
    the_sum(sum_of_part::<F>, (&raw const *body).cast())
}

extern "C" fn part<F: Fn(Range<usize>)>(body: *const c_void, begin: usize, end: usize) {
    // SAFETY: `run` passes a pointer to its closure, which outlives the loop.
    let body = unsafe { &*body.cast::<F>() };
    body(begin..end);
}

extern "C" fn sum_of_part<F: Fn(Range<usize>) -> f64>(body: *const c_void, begin: usize, end: usize) -> f64 {
    // SAFETY: as in `part`.
    let body = unsafe { &*body.cast::<F>() };
    body(begin..end)
}
