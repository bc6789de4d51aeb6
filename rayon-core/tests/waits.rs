//! What a thread begins while it waits in a pool, what it leaves for later, and what it drops in a panic.

mod common;

use std::mem::take;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::thread::{self, panicking};

use common::{next, pool};
use rayon_core::{ThreadPoolBuilder, Yield};

#[test]
fn who_waits_for_a_scope_begins_nothing_from_outside_while_the_scope_has_jobs_of_its_own() {
    let pool = pool(1);
    for _ in 0..20 {
        let is_in_scope = Arc::new(AtomicBool::new(false));
        let (sender, receiver) = channel();
        pool.install(|| {
            let (was_in_scope, sender) = (Arc::clone(&is_in_scope), sender);
            let job = move || sender.send(was_in_scope.load(Ordering::Relaxed)).unwrap();
            thread::scope(|scope| scope.spawn(|| pool.spawn(job)).join().unwrap());
            is_in_scope.store(true, Ordering::Relaxed);
            rayon_core::scope(|scope| (0..1000).for_each(|_| scope.spawn(|_| ())));
            is_in_scope.store(false, Ordering::Relaxed);
        });
        assert!(!next(&receiver));
    }
}

#[test]
fn a_join_whose_second_half_has_ended_does_not_wait_for_what_the_first_has_spawned() {
    let pool = pool(2);
    let (begun, has_begun) = channel();
    let (end, is_to_end) = channel::<()>();
    let has_run = Arc::new(AtomicBool::new(false));
    let job = {
        let ran = Arc::clone(&has_run);
        move || ran.store(true, Ordering::Relaxed)
    };
    pool.install(move || {
        let a = move || {
            // The other thread comes to this when it has ended the second half.
            rayon_core::spawn(move || {
                begun.send(()).unwrap();
                is_to_end.recv().unwrap();
            });
            next(&has_begun);
            rayon_core::spawn(job);
        };
        rayon_core::join(a, || ());
        assert!(!has_run.load(Ordering::Relaxed));
        end.send(()).unwrap();
    });
}

#[test]
fn a_first_half_that_yields_until_the_second_has_run_comes_to_an_end_at_any_depth() {
    fn descend(levels: u32, yields: fn() -> Option<Yield>) {
        let has_run = AtomicBool::new(false);
        let first = || {
            if levels > 0 {
                descend(levels - 1, yields);
            }
            while !has_run.load(Ordering::Acquire) {
                yields();
            }
        };
        rayon_core::join(first, || has_run.store(true, Ordering::Release));
    }
    // With a sanitizer a level takes two kilobytes and more of the stack.
    let pool = |threads| ThreadPoolBuilder::new().num_threads(threads).stack_size(16 << 20).build().unwrap();
    for threads in [1, 2] {
        let pool = pool(threads);
        for levels in [0, 2, 4, 5, 9, 10, 1_000] {
            pool.install(|| descend(levels, rayon_core::yield_now));
        }
    }
    // Another thread's own tasks may be what this one waits for, so it yields to its own only if it is alone.
    pool(1).install(|| descend(1_000, rayon_core::yield_local));
}

#[test]
fn what_the_first_half_of_a_join_has_spawned_is_run_before_the_second_half_at_any_depth() {
    /// Calls `work` inside the first halves of so many joins.
    fn within_joins(levels: usize, work: &(dyn Fn() + Sync)) {
        if levels == 0 {
            work();
        } else {
            rayon_core::join(|| within_joins(levels - 1, work), || ());
        }
    }
    let order = Mutex::new(Vec::new());
    let note = |what: &'static str| order.lock().unwrap().push(what);
    let note = &note;
    for threads in [1, 2] {
        let pool = pool(threads);
        // With two threads the other one is busy all the time.
        let (begun, has_begun) = channel();
        let (end, is_to_end) = channel::<()>();
        if threads > 1 {
            pool.spawn(move || {
                begun.send(()).unwrap();
                is_to_end.recv().unwrap_err();
            });
            next(&has_begun);
        }
        for levels in 0..20 {
            let join = || {
                rayon_core::scope(|scope| {
                    let first = || scope.spawn(|_| note("spawned"));
                    rayon_core::join(|| rayon_core::join(first, || note("inner")), || note("outer"));
                });
                let (sent, is_sent) = channel();
                rayon_core::join(|| rayon_core::spawn_fifo(move || sent.send(()).unwrap()), move || next(&is_sent));
            };
            pool.install(|| within_joins(levels, &join));
            let order = take(&mut *order.lock().unwrap());
            assert_eq!(order, ["spawned", "inner", "outer"], "at level {levels} in a pool of {threads}");
        }
        drop(end);
    }
}

#[test]
fn what_a_half_returned_sees_the_panic_of_the_other_when_it_is_dropped() {
    /// Counts the drops during a panic.
    struct Guard<'c>(&'c AtomicUsize);
    impl Drop for Guard<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(usize::from(panicking()), Ordering::Relaxed);
        }
    }
    /// Joins at this depth of joins.
    fn descend(levels: usize, drops: &AtomicUsize) {
        if levels > 0 {
            rayon_core::join(|| descend(levels - 1, drops), || ());
            return;
        }
        let join = || rayon_core::join(|| Guard(drops), || resume_unwind(Box::new("second")));
        catch_unwind(AssertUnwindSafe(join)).map(drop).unwrap_err();
        let join = || rayon_core::join(|| resume_unwind(Box::new("first")), || Guard(drops));
        catch_unwind(AssertUnwindSafe(join)).map(drop).unwrap_err();
        let scope = || {
            rayon_core::scope(|scope| {
                scope.spawn(|_| resume_unwind(Box::new("job")));
                Guard(drops)
            })
        };
        catch_unwind(AssertUnwindSafe(scope)).map(drop).unwrap_err();
    }
    for threads in [1, 2] {
        for levels in [0, 2, 5, 20] {
            let drops = AtomicUsize::new(0);
            pool(threads).install(|| descend(levels, &drops));
            assert_eq!(drops.into_inner(), 3, "at level {levels} in a pool of {threads}");
        }
    }
}

#[test]
fn what_a_blocked_thread_has_spawned_is_run_before_all_that_has_come_from_outside() {
    const JOBS: usize = 10_000;
    let (pool, ran) = (pool(2), Arc::new(AtomicUsize::new(0)));
    let (busy, free) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (other_busy, other_free) = (Arc::clone(&busy), Arc::clone(&free));
    pool.spawn(move || {
        other_busy.wait();
        other_free.wait();
    });
    busy.wait();
    pool.install(|| {
        // No thread is free to run these yet.
        let from_outside = || {
            for _ in 0..JOBS {
                let ran = Arc::clone(&ran);
                pool.spawn(move || _ = ran.fetch_add(1, Ordering::Relaxed));
            }
        };
        thread::scope(|scope| scope.spawn(from_outside).join().unwrap());
        let (sender, receiver) = channel();
        let ran = Arc::clone(&ran);
        rayon_core::spawn(move || sender.send(ran.load(Ordering::Relaxed)).unwrap());
        free.wait();
        assert!(next(&receiver) < JOBS);
    });
}
