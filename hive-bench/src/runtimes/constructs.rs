//! OpenMP's constructs and their equivalents in hive. Many of one construct are timed, with a delay in each, as in
//! EPCC's syncbench and schedbench (J. M. Bull, Measuring Synchronisation and Scheduling Overheads in OpenMP, 1999).

use std::hint::black_box;

/// What is inside a construct: a function of any length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delay {
    pub(crate) wait: extern "C" fn(u64),
    pub(crate) length: u64,
}

impl Delay {
    #[inline(always)]
    pub(crate) fn wait(self) {
        (self.wait)(self.length);
    }
}

/// Takes time, and nothing else.
pub(crate) extern "C" fn work(length: u64) {
    let mut sum = 0.0;
    for i in 0..length {
        sum += black_box(i) as f64;
    }
    black_box(sum);
}
