//! The regions, barriers, kernels and tasks of `c/openmp.c`, called.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;

use super::expect_library;
use crate::catalog::{Construct, Delay, ITERATIONS, RuntimeId};
use crate::kernels::recursion::Recursion;
use crate::kernels::search::Node;
use crate::runtimes::bodies::{self, Part};
use crate::runtimes::loops::Loops;
use crate::runtimes::tasks::Tasks;
use crate::runtimes::{Runtime, TeamThread, cannot};

unsafe extern "C" {
    fn omp_get_thread_num() -> c_int;
    fn hb_region(threads: c_int, body: Part, context: *const c_void);
    safe fn hb_empty_regions(threads: c_int, times: u64);
    safe fn hb_alternate(threads: c_int, pairs: u64);
    safe fn hb_barriers(threads: c_int, times: u64);
    safe fn hb_sums(threads: c_int, times: u64) -> f64;
    safe fn hb_barrier();
    fn hb_blocks(threads: c_int, len: usize, body: Part, context: *const c_void);
    fn hb_dynamic(threads: c_int, len: usize, chunk: usize, body: Part, context: *const c_void);
    fn hb_sum(threads: c_int, len: usize, body: Part<f64>, context: *const c_void) -> f64;
    fn hb_dynamic_sum(threads: c_int, len: usize, chunk: usize, body: Part<f64>, context: *const c_void) -> f64;
    safe fn hb_fib(threads: c_int, n: u64) -> u64;
    fn hb_spawn(threads: c_int, tasks: u64, body: Part, context: *const c_void);
    fn hb_constructs(
        threads: c_int,
        construct: c_int,
        times: u64,
        wait: extern "C" fn(u64),
        length: u64,
        iterations: u64,
    ) -> f64;
    safe fn hb_search(threads: c_int, root: &Node) -> u64;
}

/// The file from which OpenMP was loaded into this process.
pub(crate) fn library() -> Result<String, String> {
    // SAFETY: it consists of pointers, all of which may be null.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: any address may be asked about, and `info` is large enough.
    let found = unsafe { libc::dladdr(omp_get_thread_num as *const c_void, &raw mut info) };
    if found == 0 || info.dli_fname.is_null() {
        return Err("the loader does not know where OpenMP came from".to_owned());
    }
    // SAFETY: dladdr has set it to a string that lives as long as the library.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Ok(name.to_string_lossy().into_owned())
}

pub(crate) struct OpenMp {
    threads: c_int,
}

impl OpenMp {
    pub(crate) fn new(runtime: RuntimeId, threads: usize) -> Result<Self, String> {
        expect_library(runtime, &library()?).map(|()| Self { threads: int(threads) })
    }
}

fn int(threads: usize) -> c_int {
    c_int::try_from(threads).expect("a team is no larger than the machine")
}

impl Loops for OpenMp {
    const IN_C: bool = true;

    fn blocks<F: Fn(Range<usize>) + Sync>(&mut self, len: usize, body: F) {
        // SAFETY: the call returns when all threads are done with the body.
        bodies::run(&body, |part, context| unsafe { hb_blocks(self.threads, len, part, context) });
    }

    fn dynamic<F: Fn(Range<usize>) + Sync>(&mut self, len: usize, chunk: usize, body: F) {
        // SAFETY: as above.
        bodies::run(&body, |part, context| unsafe { hb_dynamic(self.threads, len, chunk, part, context) });
    }

    fn sum<F: Fn(Range<usize>) -> f64 + Sync>(&mut self, len: usize, body: F) -> f64 {
        // SAFETY: as above.
        bodies::run(&body, |part, context| unsafe { hb_sum(self.threads, len, part, context) })
    }

    fn dynamic_sum<F: Fn(Range<usize>) -> f64 + Sync>(&mut self, len: usize, chunk: usize, body: F) -> f64 {
        // SAFETY: as above.
        bodies::run(&body, |part, context| unsafe { hb_dynamic_sum(self.threads, len, chunk, part, context) })
    }
}

impl Runtime for OpenMp {
    fn threads(&self) -> usize {
        self.threads as usize
    }

    fn region<F: Fn(usize) + Sync>(&mut self, threads: usize, body: F) {
        let body = |ids: Range<usize>| body(ids.start);
        // SAFETY: as above.
        bodies::run(&body, |part, context| unsafe { hb_region(int(threads), part, context) });
    }

    fn empty_regions(&mut self, threads: usize, times: u64) {
        hb_empty_regions(int(threads), times);
    }

    fn sums(&mut self, times: u64) -> f64 {
        hb_sums(self.threads, times)
    }

    fn alternate(&mut self, pairs: u64) {
        hb_alternate(self.threads, pairs);
    }

    fn barriers(&mut self, times: u64) {
        hb_barriers(self.threads, times);
    }

    fn one_region(&mut self, body: impl Fn(&dyn TeamThread) + Sync) {
        self.region_by_barrier(|| hb_barrier(), body);
    }

    fn constructs(&mut self, construct: Construct, times: u64, delay: Delay) -> f64 {
        let iterations = self.threads() as u64 * ITERATIONS;
        // SAFETY: numbers, and a function that may be called by any thread.
        unsafe { hb_constructs(self.threads, construct as c_int, times, delay.wait, delay.length, iterations) }
    }
}

impl Tasks for OpenMp {
    fn recurse(&mut self, recursion: Recursion<'_>) -> u64 {
        match recursion {
            Recursion::Fib(n) => hb_fib(self.threads, n),
            Recursion::Search(root) => hb_search(self.threads, &root),
            _ => cannot(),
        }
    }

    fn spawn_from_one<F: Fn() + Copy + Send + Sync>(&mut self, tasks: u64, task: F) {
        // SAFETY: all tasks have run when the call returns.
        bodies::run(&|_| task(), |part, context| unsafe { hb_spawn(self.threads, tasks, part, context) });
    }
}
