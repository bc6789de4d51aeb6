//! The baseline of the kernels in C: plain loops, by the compiler that builds the OpenMP rival. Its distance from
//! `sequential` shows how much the two compilers differ.

use std::hint::black_box;

use crate::kernels::in_c::InC;
use crate::kernels::kernel::{Kernel, Kernels};
use crate::kernels::sparse::System;
use crate::runtimes::Runtime;
use crate::runtimes::solve::Solve;
use crate::runtimes::tasks::Tasks;
use crate::system::cpus;

pub(crate) struct SequentialC;

impl SequentialC {
    pub(crate) fn host<T>(cpus: &[usize], work: impl FnOnce(&mut Self) -> T) -> T {
        cpus::pin(cpus[0]);
        work(&mut Self)
    }
}

impl Runtime for SequentialC {
    fn threads(&self) -> usize {
        1
    }

    fn region<F: Fn(usize) + Sync>(&mut self, _threads: usize, body: F) {
        body(0);
    }

    fn sums(&mut self, times: u64) -> f64 {
        (0..times).map(|_| black_box(1.0)).sum()
    }
}

impl Kernels for SequentialC {
    fn run(&mut self, kernel: &mut impl Kernel, steps: u64) {
        kernel.run_in_c(InC::Plain, steps);
    }
}

impl Solve for SequentialC {
    fn solve(&mut self, system: &mut System, iterations: u64) -> Result<(), String> {
        system.in_c(InC::Plain, iterations)
    }
}

/// Only the baseline in Rust has plain calls.
impl Tasks for SequentialC {}
