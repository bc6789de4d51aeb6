//! STREAM's copy, scale and add: a pass over arrays that lie in memory. The triad has a file of its own.

use std::hint::black_box;

#[cfg(openmp_compiled)]
use crate::kernels::in_c::{InC, Pointers, compiled_twice, parts_in_c};
use crate::kernels::kernel::{Kernel, checksum};
use crate::kernels::shares::{placed, write_blocks};
use crate::runtimes::{Runtime, loops::Loops};

/// `c/kernels/stream.c` has the same.
const SCALAR: f64 = 3.0;
/// Doubles in a cache line.
const LINE: usize = 8;

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

fn a_at(i: usize) -> f64 {
    (i % 1024) as f64
}

fn b_at(i: usize) -> f64 {
    (i % 37) as f64 * 0.5
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

#[cfg(openmp_compiled)]
compiled_twice! {
    fn copy_in_c = hb_openmp_copy, hb_plain_copy(steps: u64, len: usize, to: *mut f64, from: *const f64);
    fn scale_in_c = hb_openmp_scale, hb_plain_scale(steps: u64, len: usize, to: *mut f64, from: *const f64);
    fn add_in_c = hb_openmp_add, hb_plain_add(steps: u64, len: usize, to: *mut f64, a: *const f64, b: *const f64);
}

#[cfg(openmp_compiled)]
parts_in_c! {
    fn copy_part = "hb_openmp_copy_part"(to: *mut f64, from: *const f64);
    fn scale_part = "hb_openmp_scale_part"(to: *mut f64, from: *const f64);
    fn add_part = "hb_openmp_add_part"(to: *mut f64, a: *const f64, b: *const f64);
}

impl Kernel for Stream {
    fn run(&mut self, by: &mut impl Loops, steps: u64) {
        let (to, a, b) = (&mut self.to[..], &self.a[..], &self.b[..]);
        for _ in 0..steps {
            match self.operation {
                Operation::Copy => write_blocks(by, to, 1, |range, to| copy(to, &a[range])),
                Operation::Scale => write_blocks(by, to, 1, |range, to| scale(to, &a[range])),
                Operation::Add => write_blocks(by, to, 1, |range, to| add(to, &a[range.clone()], &b[range])),
            }
        }
    }

    #[cfg(openmp_compiled)]
    #[expect(unsafe_code, reason = "loops in C")]
    fn run_in_c(&mut self, by: InC, steps: u64) {
        let (len, to, a, b) = (self.to.len(), self.to.as_mut_ptr(), self.a.as_ptr(), self.b.as_ptr());
        match self.operation {
            // SAFETY: both arrays have this length.
            Operation::Copy => unsafe { copy_in_c(by, steps, len, to, a) },
            // SAFETY: both arrays have this length.
            Operation::Scale => unsafe { scale_in_c(by, steps, len, to, a) },
            // SAFETY: for an addition `b` has this length too.
            Operation::Add => unsafe { add_in_c(by, steps, len, to, a, b) },
        }
    }

    #[cfg(openmp_compiled)]
    #[expect(unsafe_code, reason = "loops in C")]
    fn run_parts_in_c(&mut self, by: &mut impl Loops, steps: u64) {
        let operation = self.operation;
        let arrays = Pointers::new((self.to.as_mut_ptr(), self.a.as_ptr(), self.b.as_ptr()));
        for _ in 0..steps {
            by.blocks(self.to.len(), |range| {
                let (to, a, b) = arrays.get();
                match operation {
                    // SAFETY: both arrays have this length, and a loop hands out each index once.
                    Operation::Copy => unsafe { copy_part(to, a, range) },
                    // SAFETY: as above.
                    Operation::Scale => unsafe { scale_part(to, a, range) },
                    // SAFETY: as above; for an addition `b` has this length too.
                    Operation::Add => unsafe { add_part(to, a, b, range) },
                }
            });
        }
    }

    fn answer(&self) -> Result<u64, String> {
        match (0..self.to.len()).find(|&i| self.to[i] != self.expected(i)) {
            Some(i) => Err(format!("wrong answer: item {i} is {}, not {}", self.to[i], self.expected(i))),
            None => Ok(checksum(self.to.iter().map(|item| item.to_bits()))),
        }
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
            answers_agree(|| Stream::new(&mut Sequential, operation, 1001), 1);
        }
    }

    #[test]
    fn an_item_left_out_is_found() {
        let mut stream = Stream::new(&mut Sequential, Operation::Add, 100);
        stream.run(&mut Sequential, 1);
        stream.to[77] = 5.0;
        assert!(stream.answer().unwrap_err().contains("item 77"), "{:?}", stream.answer());
    }
}
