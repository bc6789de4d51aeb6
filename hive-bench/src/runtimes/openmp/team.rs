//! The regions, barriers, kernels and tasks of `c/openmp.c`, called.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;

use super::environment::expect_library;
use crate::catalog::RuntimeId;
use crate::catalog::{Construct, ITERATIONS};
use crate::kernels::in_c::InC;
use crate::kernels::kernel::{Kernel, Kernels};
use crate::kernels::search::Node;
use crate::kernels::sparse::System;
use crate::kernels::{disjoint::Disjoint, jacobi, triad};
use crate::runtimes::Runtime;
use crate::runtimes::constructs::{Constructs, Delay, check};
use crate::runtimes::solve::Solve;
use crate::runtimes::tasks::Tasks;

/// One piece of work: context, step, and the piece's begin and end.
type Work = extern "C" fn(*const c_void, u64, usize, usize);

unsafe extern "C" {
    fn omp_get_thread_num() -> c_int;
    fn hb_region(threads: c_int, body: extern "C" fn(*const c_void, usize), context: *const c_void);
    fn hb_empty_regions(threads: c_int, times: u64);
    fn hb_alternate(threads: c_int, pairs: u64);
    fn hb_barriers(threads: c_int, times: u64);
    fn hb_sums(threads: c_int, times: u64) -> f64;
    fn hb_regions_of_work(threads: c_int, steps: u64, work: Work, context: *const c_void, len: usize);
    fn hb_one_region_of_work(threads: c_int, steps: u64, work: Work, context: *const c_void, len: usize);
    fn hb_fib(threads: c_int, n: u64) -> u64;
    fn hb_spawn(threads: c_int, tasks: u64, body: extern "C" fn(*const c_void, usize), context: *const c_void);
    fn hb_constructs(
        threads: c_int,
        construct: c_int,
        times: u64,
        wait: extern "C" fn(u64),
        length: u64,
        iterations: u64,
    ) -> f64;
    fn hb_search(threads: c_int, hash: u64, depth: u32, children: u32) -> u64;
}

/// The file from which OpenMP was loaded into this process.
pub(crate) fn library() -> Result<String, String> {
    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
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
    threads: usize,
}

impl OpenMp {
    pub(crate) fn host<T>(runtime: RuntimeId, threads: usize, work: impl FnOnce(&mut Self) -> T) -> Result<T, String> {
        expect_library(runtime, &library()?)?;
        Ok(work(&mut Self { threads }))
    }

    fn size(&self) -> c_int {
        int(self.threads)
    }

    fn regions_of_work<F: Fn(u64, Range<usize>) + Sync>(&self, steps: u64, work: F, len: usize) {
        // SAFETY: `piece::<F>` gets the closure it expects, and the call returns when all threads are done with it.
        unsafe { hb_regions_of_work(self.size(), steps, piece::<F>, (&raw const work).cast(), len) };
    }

    fn one_region_of_work<F: Fn(u64, Range<usize>) + Sync>(&self, steps: u64, work: F, len: usize) {
        // SAFETY: as in `regions_of_work`.
        unsafe { hb_one_region_of_work(self.size(), steps, piece::<F>, (&raw const work).cast(), len) };
    }
}

fn int(threads: usize) -> c_int {
    c_int::try_from(threads).expect("a team is no larger than the machine")
}

extern "C" fn call<F: Fn(usize) + Sync>(body: *const c_void, id: usize) {
    // SAFETY: `region` passes a pointer to its closure, which outlives the region, and which is Sync.
    let body = unsafe { &*body.cast::<F>() };
    body(id);
}

extern "C" fn piece<F: Fn(u64, Range<usize>) + Sync>(work: *const c_void, step: u64, begin: usize, end: usize) {
    // SAFETY: the callers pass a pointer to their closure, which outlives the call, and which is Sync.
    let work = unsafe { &*work.cast::<F>() };
    work(step, begin..end);
}

impl Runtime for OpenMp {
    fn threads(&self) -> usize {
        self.threads
    }

    fn region<F: Fn(usize) + Sync>(&mut self, threads: usize, body: F) {
        // SAFETY: `call::<F>` gets the closure it expects, and the call returns when all threads are done with it.
        unsafe { hb_region(int(threads), call::<F>, (&raw const body).cast()) };
    }

    fn empty_regions(&mut self, threads: usize, times: u64) {
        // SAFETY: only numbers.
        unsafe { hb_empty_regions(int(threads), times) };
    }

    fn sums(&mut self, times: u64) -> f64 {
        // SAFETY: only numbers.
        unsafe { hb_sums(self.size(), times) }
    }

    fn alternate(&mut self, pairs: u64) {
        // SAFETY: only numbers.
        unsafe { hb_alternate(self.size(), pairs) };
    }

    fn barriers(&mut self, times: u64) -> Result<(), String> {
        // SAFETY: only numbers.
        unsafe { hb_barriers(self.size(), times) };
        Ok(())
    }

    fn triads(&mut self, times: u64, arrays: &mut triad::Triad) {
        let len = arrays.a.len();
        let (a, b, c) = (Disjoint::new(&mut arrays.a), &arrays.b, &arrays.c);
        let work = |_step, piece: Range<usize>| {
            // SAFETY: each thread gets a piece of its own.
            let part = unsafe { a.part(piece.clone()) };
            triad::triad(part, &b[piece.clone()], &c[piece]);
        };
        self.regions_of_work(times, work, len);
    }

    fn jacobi(&mut self, steps: u64, plates: &mut jacobi::Plates) {
        let (even, odd) = (Disjoint::new(&mut plates.even), Disjoint::new(&mut plates.odd));
        self.regions_of_work(steps, |step, rows| heat(step, rows, &even, &odd), jacobi::SIDE);
    }

    fn jacobi_one_region(&mut self, steps: u64, plates: &mut jacobi::Plates) -> Result<(), String> {
        let (even, odd) = (Disjoint::new(&mut plates.even), Disjoint::new(&mut plates.odd));
        self.one_region_of_work(steps, |step, rows| heat(step, rows, &even, &odd), jacobi::SIDE);
        Ok(())
    }
}

impl Constructs for OpenMp {
    fn constructs(&mut self, construct: Construct, times: u64, delay: Delay) -> Result<(), String> {
        let iterations = self.threads as u64 * ITERATIONS;
        // SAFETY: numbers, and a function that may be called by any thread.
        let total =
            unsafe { hb_constructs(self.size(), construct as c_int, times, delay.wait, delay.length, iterations) };
        if construct == Construct::Reduction { check(total, times, self.threads) } else { Ok(()) }
    }
}

impl Kernels for OpenMp {
    fn run(&mut self, kernel: &mut impl Kernel, steps: u64) {
        kernel.run_in_c(InC::OpenMp { threads: self.size() }, steps);
    }
}

impl Solve for OpenMp {
    fn solve(&mut self, system: &mut System, iterations: u64) -> Result<(), String> {
        system.in_c(InC::OpenMp { threads: self.size() }, iterations)
    }
}

impl Tasks for OpenMp {
    fn fib(&mut self, n: u64) -> Result<u64, String> {
        // SAFETY: only numbers.
        Ok(unsafe { hb_fib(self.size(), n) })
    }

    fn search(&mut self, root: Node) -> Result<u64, String> {
        let (hash, depth) = root.parts();
        if root.children() == 0 {
            return Ok(1);
        }
        // SAFETY: only numbers.
        Ok(1 + unsafe { hb_search(self.size(), hash, depth, root.children()) })
    }

    fn spawn_from_one<F: Fn() + Copy + Send + Sync>(&mut self, tasks: u64, task: F) -> Result<(), String> {
        let body = move |_| task();
        // SAFETY: each task gets the closure that it expects, and all have run when the call returns.
        unsafe { hb_spawn(self.size(), tasks, of_type(&body), (&raw const body).cast()) };
        Ok(())
    }
}

/// `call` for a closure whose type has no name.
fn of_type<F: Fn(usize) + Sync>(_body: &F) -> extern "C" fn(*const c_void, usize) {
    call::<F>
}

/// One thread's rows of one step.
fn heat(step: u64, rows: Range<usize>, even: &Disjoint<'_>, odd: &Disjoint<'_>) {
    let (from, to) = if step.is_multiple_of(2) { (even, odd) } else { (odd, even) };
    // SAFETY: each thread gets rows of its own, and all are in the same step: it ends with a barrier or with the
    // region.
    unsafe { jacobi::sweep_part(to, from, rows) };
}
