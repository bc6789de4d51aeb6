//! Rivals in C++: oneTBB, citor and libfork. Each is a table of functions (`c/rival.hpp`), which a file in `c` fills.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::hint::black_box;
use std::ops::Range;

use crate::catalog::RuntimeId;
use crate::kernels::recursion::Recursion;
use crate::runtimes::Runtime;
use crate::runtimes::bodies::{self, Part};
use crate::runtimes::loops::Loops;
use crate::runtimes::tasks::Tasks;
use crate::system::cpus;

type Pool = *mut c_void;

#[repr(C)]
struct Table {
    create: unsafe extern "C" fn(threads: usize, cpus: *const usize) -> Pool,
    destroy: unsafe extern "C" fn(Pool),
    region: unsafe extern "C" fn(Pool, Part, *const c_void),
    /// By blocks where `chunk` is 0; so is the sum.
    a_loop: unsafe extern "C" fn(Pool, len: usize, chunk: usize, Part, *const c_void),
    sum: unsafe extern "C" fn(Pool, len: usize, chunk: usize, Part<f64>, *const c_void) -> f64,
    recurse: unsafe extern "C" fn(Pool, &Recursion<'_>) -> u64,
}

unsafe extern "C" {
    #[cfg(tbb_compiled)]
    safe static hb_tbb: Table;
    #[cfg(citor_compiled)]
    safe static hb_citor: Table;
    #[cfg(libfork_compiled)]
    safe static hb_libfork: Table;
}

pub(crate) struct NativePool {
    table: &'static Table,
    pool: Pool,
    threads: usize,
}

// SAFETY: shared, it is only asked for its size.
unsafe impl Sync for NativePool {}

impl NativePool {
    /// The pool binds its threads to one CPU each, and this binds the calling one.
    pub(crate) fn new(runtime: RuntimeId, cpus: &[usize]) -> Result<Self, String> {
        let table = match runtime {
            #[cfg(tbb_compiled)]
            RuntimeId::Tbb => &hb_tbb,
            #[cfg(citor_compiled)]
            RuntimeId::Citor => &hb_citor,
            #[cfg(libfork_compiled)]
            RuntimeId::Libfork => &hb_libfork,
            _ => return super::availability(runtime).and(Err("no rival in C++".to_owned())),
        };
        let threads = cpus.len();
        cpus::pin_to_any(cpus);
        // SAFETY: there are so many CPUs.
        let pool = unsafe { (table.create)(threads, cpus.as_ptr()) };
        cpus::pin(cpus[0]);
        if pool.is_null() { Err("no more threads than cores".to_owned()) } else { Ok(Self { table, pool, threads }) }
    }
}

impl Drop for NativePool {
    fn drop(&mut self) {
        // SAFETY: nobody else has it.
        unsafe { (self.table.destroy)(self.pool) };
    }
}

impl Runtime for NativePool {
    fn threads(&self) -> usize {
        self.threads
    }

    fn region<F: Fn(usize) + Sync>(&mut self, threads: usize, body: F) {
        debug_assert_eq!(threads, self.threads(), "a pool has one size");
        let body = |ids: Range<usize>| body(ids.start);
        // SAFETY: the call returns when all threads are done with the body.
        bodies::run(&body, |part, context| unsafe { (self.table.region)(self.pool, part, context) });
    }

    fn sums(&mut self, times: u64) -> f64 {
        let numbers = |ids: Range<usize>| ids.map(|id| black_box(id + 1) as f64).sum();
        (0..times).map(|_| self.sum(self.threads, numbers)).sum()
    }
}

impl Loops for NativePool {
    fn blocks<F: Fn(Range<usize>) + Sync>(&mut self, len: usize, body: F) {
        self.dynamic(len, 0, body);
    }

    fn dynamic<F: Fn(Range<usize>) + Sync>(&mut self, len: usize, chunk: usize, body: F) {
        // SAFETY: as in `region`.
        bodies::run(&body, |part, context| unsafe { (self.table.a_loop)(self.pool, len, chunk, part, context) });
    }

    fn sum<F: Fn(Range<usize>) -> f64 + Sync>(&mut self, len: usize, body: F) -> f64 {
        self.dynamic_sum(len, 0, body)
    }

    fn dynamic_sum<F: Fn(Range<usize>) -> f64 + Sync>(&mut self, len: usize, chunk: usize, body: F) -> f64 {
        // SAFETY: as in `region`.
        bodies::run(&body, |part, context| unsafe { (self.table.sum)(self.pool, len, chunk, part, context) })
    }
}

impl Tasks for NativePool {
    fn recurse(&mut self, recursion: Recursion<'_>) -> u64 {
        // SAFETY: the pool lives, and so does what the recursion refers to.
        unsafe { (self.table.recurse)(self.pool, &recursion) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;
    use crate::runtimes::loops::tests::loops_are_right;
    use crate::runtimes::tasks::tests::joins_are_right;

    #[test]
    fn loops_and_joins() {
        let cpus = cpus::in_order_of_use();
        let is_here = |runtime: &RuntimeId| super::super::availability(*runtime).is_ok();
        for runtime in [RuntimeId::Tbb, RuntimeId::Citor, RuntimeId::Libfork].into_iter().filter(is_here) {
            // The larger pool first: citor makes no pool that is larger than its first one could be.
            for cpus in [&cpus[..cpus.len().min(2)], &cpus[..1]] {
                // On a thread of its own, because it is bound.
                let test = || {
                    let mut team = NativePool::new(runtime, cpus).unwrap();
                    joins_are_right(&mut team);
                    if runtime != RuntimeId::Libfork {
                        loops_are_right(&mut team);
                        let mut once = [const { AtomicUsize::new(0) }; 2];
                        team.region(cpus.len(), |id| _ = once[id].fetch_add(1, Ordering::Relaxed));
                        assert!(once[..cpus.len()].iter_mut().all(|runs| *runs.get_mut() == 1));
                    }
                };
                thread::scope(|scope| scope.spawn(test).join().unwrap());
            }
        }
    }
}
