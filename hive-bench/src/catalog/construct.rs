//! OpenMP's constructs and their equivalents in hive. Many of one construct are timed, with a delay in each, as in
//! EPCC's syncbench and schedbench (J. M. Bull, Measuring Synchronisation and Scheduling Overheads in OpenMP, 1999).

use std::hint::black_box;

/// A construct, of which many are timed in a row; in the order of their cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[repr(i32)]
pub(crate) enum Construct {
    /// A region.
    Parallel,
    /// A loop of one iteration a thread, inside a region, and the barrier at its end.
    For,
    /// The same, with its region.
    ParallelFor,
    Barrier,
    /// A block that one thread runs while the others wait.
    Single,
    /// A block that runs in the order of the iterations of a loop; the figure is the time of one iteration.
    Ordered,
    /// A region with a sum over the threads.
    Reduction,
    /// Loops of `ITERATIONS` a thread, and the barrier at their end, by schedule.
    Static,
    Static1,
    Dynamic1,
    Guided1,
}

/// Iterations of a loop for each thread, as in schedbench.
pub(crate) const ITERATIONS: u64 = 128;

impl Construct {
    /// How many delays one thread alone would have in one of them.
    pub(crate) const fn delays(self) -> u64 {
        match self {
            Self::Static | Self::Static1 | Self::Dynamic1 | Self::Guided1 => ITERATIONS,
            _ => 1,
        }
    }

    /// How many delays there are in one of them, of `threads`.
    pub(crate) const fn delays_of_all(self, threads: u64) -> u64 {
        match self {
            Self::Single | Self::Ordered => 1,
            _ => threads * self.delays(),
        }
    }
}

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
