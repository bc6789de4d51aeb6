//! Kernels with answers that can be checked: in pieces that any runtime can hand to its threads, or by recursion.
#![expect(
    unsafe_code,
    reason = "several threads write one array, each its part, and the bodies of some loops are in C"
)]

use std::fmt::Display;
use std::ops::Range;

pub(crate) mod disjoint;
pub(crate) mod field;
pub(crate) mod handing_out;
pub(crate) mod jacobi;
pub(crate) mod join;
pub(crate) mod joins;
pub(crate) mod kernel;
pub(crate) mod mandelbrot;
pub(crate) mod matmul;
pub(crate) mod nbody;
pub(crate) mod recursion;
pub(crate) mod roots;
pub(crate) mod search;
pub(crate) mod sparse;
pub(crate) mod stencil;
pub(crate) mod stream;

/// The part of `0..len` that belongs to thread `id` of `threads`: contiguous, in the order of ids,
/// lengths that differ by at most one.
pub(crate) fn split(id: usize, threads: usize, len: usize) -> Range<usize> {
    let (share, rest) = (len / threads, len % threads);
    let begin = id * share + id.min(rest);
    begin..begin + share + usize::from(id < rest)
}

/// An error unless what was computed is what it should be.
pub(crate) fn check<T: PartialEq + Display>(what: &str, is: T, should_be: T) -> Result<(), String> {
    if is == should_be { Ok(()) } else { Err(format!("wrong answer: {what} is {is}, not {should_be}")) }
}

/// The same for each item of an array.
pub(crate) fn check_all<T: PartialEq + Display>(
    what: &str,
    are: &[T],
    should_be: impl Fn(usize) -> T,
) -> Result<(), String> {
    let wrong = (0..are.len()).find(|&index| are[index] != should_be(index));
    wrong.map_or(Ok(()), |index| check(&format!("{what} {index}"), &are[index], &should_be(index)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_cover_everything_once() {
        for threads in 1..9 {
            for len in 0..40 {
                let parts: Vec<_> = (0..threads).map(|id| split(id, threads, len)).collect();
                assert_eq!(parts[0].start, 0);
                assert_eq!(parts[threads - 1].end, len);
                assert!(
                    parts.windows(2).all(|pair| pair[0].end == pair[1].start && pair[0].len() - pair[1].len() <= 1)
                );
            }
        }
    }
}
