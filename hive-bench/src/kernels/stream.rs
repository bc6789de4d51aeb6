//! STREAM's copy, scale and add, a loop each, over arrays that lie in memory; and its triad, a region each, over arrays
//! of any length.

use std::hint::black_box;
use std::ops::Range;

use crate::kernels::check_all;
use crate::kernels::disjoint::{Disjoint, placed};
use crate::kernels::kernel::{Kernel, checksum};
use crate::runtimes::{Runtime, loops::Loops};

/// Doubles in a cache line.
const LINE: usize = 8;
/// `c/kernels/stream.c` has the same.
pub(crate) const SCALAR: f64 = 3.0;

/// What is done with each item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// `to = a`
    Copy,
    /// `to = SCALAR * a`
    Scale,
    /// `to = a + b`
    Add,
}

pub(crate) struct Stream {
    operation: Operation,
    to: Vec<f64>,
    a: Vec<f64>,
    /// Empty where it is not needed.
    b: Vec<f64>,
}

impl Stream {
    pub(crate) fn new(runtime: &mut impl Runtime, operation: Operation, len: usize) -> Self {
        let b = if operation == Operation::Add { placed(runtime, len, b_at) } else { Vec::new() };
        Self { operation, to: placed(runtime, len, |_| -1.0), a: placed(runtime, len, a_at), b }
    }

    fn expected(&self, i: usize) -> f64 {
        match self.operation {
            Operation::Copy => a_at(i),
            Operation::Scale => SCALAR * a_at(i),
            Operation::Add => a_at(i) + b_at(i),
        }
    }
}

/// Copies one cache line at a time. LLVM would turn a plain loop into a call of memcpy, which bypasses the caches for
/// so much data, while the loop in C does not.
fn copy(to: &mut [f64], from: &[f64]) {
    let ((to, to_rest), (from, from_rest)) = (to.as_chunks_mut::<LINE>(), from.as_chunks::<LINE>());
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
        black_box(to);
    }
    to_rest.copy_from_slice(from_rest);
}

fn scale(to: &mut [f64], from: &[f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = SCALAR * from;
    }
}

fn add(to: &mut [f64], a: &[f64], b: &[f64]) {
    for ((to, a), b) in to.iter_mut().zip(a).zip(b) {
        *to = a + b;
    }
}

unsafe extern "C" {
    fn hb_copy_part(to: *mut f64, from: *const f64, begin: usize, end: usize);
    fn hb_scale_part(to: *mut f64, from: *const f64, begin: usize, end: usize);
    fn hb_add_part(to: *mut f64, a: *const f64, b: *const f64, begin: usize, end: usize);
}

/// Some indices, by the loop in C.
fn in_c(operation: Operation, to: *mut f64, [a, b]: [*const f64; 2], Range { start, end }: Range<usize>) {
    match operation {
        // SAFETY: both arrays have these indices, and a loop hands out each once.
        Operation::Copy => unsafe { hb_copy_part(to, a, start, end) },
        // SAFETY: as above.
        Operation::Scale => unsafe { hb_scale_part(to, a, start, end) },
        // SAFETY: as above; for an addition `b` has them, too.
        Operation::Add => unsafe { hb_add_part(to, a, b, start, end) },
    }
}

impl Kernel for Stream {
    fn step<L: Loops>(&mut self, by: &mut L) {
        let (operation, len) = (self.operation, self.to.len());
        let (to, a, b) = (Disjoint::new(&mut self.to), &self.a[..], &self.b[..]);
        by.blocks(len, |range| {
            if L::IN_C {
                in_c(operation, to.pointer(), [a, b].map(<[f64]>::as_ptr), range);
                return;
            }
            // SAFETY: a loop hands out each index once.
            let to = unsafe { to.part(range.clone()) };
            match operation {
                Operation::Copy => copy(to, &a[range]),
                Operation::Scale => scale(to, &a[range]),
                Operation::Add => add(to, &a[range.clone()], &b[range]),
            }
        });
    }

    fn answer(&self) -> Result<u64, String> {
        check_all("item", &self.to, |i| self.expected(i))?;
        Ok(checksum(self.to.iter().map(|item| item.to_bits())))
    }
}

/// Three arrays of one length.
pub(crate) struct Triad {
    a: Vec<f64>,
    b: Vec<f64>,
    c: Vec<f64>,
}

/// One thread's part.
pub(crate) fn triad(a: &mut [f64], b: &[f64], c: &[f64]) {
    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
        *a = b + SCALAR * c;
    }
}

/// What the first array that is read has.
fn a_at(i: usize) -> f64 {
    (i % 1024) as f64
}

/// What the second one has.
fn b_at(i: usize) -> f64 {
    (i % 37) as f64 * 0.5
}

impl Triad {
    pub(crate) fn new(runtime: &mut impl Runtime, len: usize) -> Self {
        Self { a: placed(runtime, len, |_| -1.0), b: placed(runtime, len, a_at), c: placed(runtime, len, b_at) }
    }

    /// The triad, `times` times, a region each.
    pub(crate) fn run(&mut self, by: &mut impl Runtime, times: u64) {
        let (len, a, b, c) = (self.a.len(), Disjoint::new(&mut self.a), &self.b, &self.c);
        for _ in 0..times {
            by.blocks_in_region(len, |range| {
                // SAFETY: each thread has a block of its own.
                let part = unsafe { a.part(range.clone()) };
                triad(part, &b[range.clone()], &c[range]);
            });
        }
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        check_all("item", &self.a, |i| a_at(i) + SCALAR * b_at(i))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::kernel::tests::answers_agree;
    use crate::runtimes::sequential::Sequential;

    #[test]
    fn everybody_comes_to_the_same_answer() {
        for operation in [Operation::Copy, Operation::Scale, Operation::Add] {
            answers_agree(|| Stream::new(&mut Sequential::<false>, operation, 1001), 1);
        }
    }

    #[test]
    fn an_item_left_out_is_found() {
        let mut stream = Stream::new(&mut Sequential::<false>, Operation::Add, 100);
        stream.run(&mut Sequential::<false>, 1);
        stream.to[77] = 5.0;
        assert!(stream.answer().unwrap_err().contains("item 77"), "{:?}", stream.answer());
    }
}
