//! OpenMP's constructs, and hive's that stand for them: many of one, with a delay in each, as EPCC's syncbench and schedbench have it (J. M. Bull, Measuring
//! Synchronisation and Scheduling Overheads in OpenMP, 1999).

use std::hint::black_box;

use crate::runtimes::CANNOT;

/// What is done many times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Construct {
    /// A region.
    Parallel,
    /// A loop of one iteration a bee, inside a region, and the barrier at its end.
    For,
    /// The same, with its region.
    ParallelFor,
    Barrier,
    /// What only one bee does, while the others wait.
    Single,
    /// What is done in the order of a loop's iterations: an iteration each.
    Ordered,
    /// A region with a sum over the bees.
    Reduction,
    /// Loops of `ITERATIONS` a bee, and the barrier at their end, by schedule.
    Static,
    Static1,
    Dynamic1,
    Guided1,
}

/// Iterations of a loop for each bee, as in schedbench.
pub(crate) const ITERATIONS: u64 = 128;

impl Construct {
    /// How many delays one bee alone would have in one of them.
    pub(crate) const fn delays(self) -> u64 {
        match self {
            Self::Static | Self::Static1 | Self::Dynamic1 | Self::Guided1 => ITERATIONS,
            _ => 1,
        }
    }

    /// How many delays there are in one of them, of `members`.
    pub(crate) const fn delays_of_all(self, members: u64) -> u64 {
        match self {
            Self::Single | Self::Ordered => 1,
            _ => members * self.delays(),
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

/// Whether `times` reductions over as many bees had all of them.
pub(crate) fn check(total: f64, times: u64, members: usize) -> Result<(), String> {
    let expected = times as f64 * members as f64;
    if total == expected { Ok(()) } else { Err(format!("wrong answer: {times} sums of {members} ones are {total}")) }
}

/// A team that has constructs.
pub(crate) trait Constructs {
    /// So many of `construct`, with `delay` in each.
    fn constructs(&mut self, _construct: Construct, _times: u64, _delay: Delay) -> Result<(), String> {
        Err(CANNOT.to_owned())
    }
}

/// Those who have loops only.
impl Constructs for crate::runtimes::rayon::RayonPool {}
impl Constructs for crate::runtimes::sequential::Sequential {}
impl Constructs for crate::runtimes::std_scope::StdScope {}
#[cfg(feature = "forkunion")]
impl Constructs for crate::runtimes::forkunion::ForkUnionPool {}
#[cfg(openmp_compiled)]
impl Constructs for crate::runtimes::sequential_c::SequentialC {}
