//! A bee that waits long inside of a region leaves its CPU, also where nobody wakes it: it naps between polls. It still
//! notices all that ends its wait.

#![cfg(target_os = "linux")]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use common::process::in_own_process;
use common::{
    Gate, assert_contains_all, panic_message, proc_threads, run_exclusively, silence_panics, sys, wait_until,
};
use hive::{Bee, Hive, Loop, Ordered, Schedule};

/// How long the bee that is waited for takes.
const LONG: Duration = Duration::from_millis(300);

/// A wait of the calling thread.
struct Wait {
    began: Instant,
    cpu_time_before: Duration,
}

impl Wait {
    fn begin() -> Self {
        Self { began: Instant::now(), cpu_time_before: sys::thread_cpu_time() }
    }

    /// Checks, at its end, that the wait has taken as long as the other bee, and little CPU time.
    fn assert_cheap(self, what: &str) {
        let (waited, used) = (self.began.elapsed(), sys::thread_cpu_time() - self.cpu_time_before);
        assert!(waited >= LONG, "{what} has ended after {waited:?}, before the other bee");
        assert!(used < waited / 3, "{what} of {waited:?} has used {used:?} of CPU time");
    }
}

/// Hives of two bees that poll for the default time, not at all, and for a millisecond without being bound to CPUs.
fn hives() -> impl Iterator<Item = Hive> {
    let unbound = Hive::builder().pin(hive::Pin::None).spin(Duration::from_millis(1));
    [Hive::builder(), Hive::builder().spin(Duration::ZERO), unbound]
        .into_iter()
        .map(|builder| builder.bees(2).build().unwrap())
}

#[test]
fn a_long_wait_for_an_index_uses_little_cpu() {
    let _alone = run_exclusively();
    for hive in hives() {
        // The queen waits, and then the worker.
        for waiting in 0..2 {
            let (order, has_wait_begun) = (Ordered::new(0..2), AtomicBool::new(false));
            hive.spmd(2, |bee| {
                if bee.id() == waiting {
                    let wait = Wait::begin();
                    has_wait_begun.store(true, Ordering::Relaxed);
                    bee.ordered(&order, 1, || wait.assert_cheap("a wait in `ordered`"));
                } else {
                    wait_until(|| has_wait_begun.load(Ordering::Relaxed));
                    bee.ordered(&order, 0, || sleep(LONG));
                }
            });
        }
    }
}

/// Runs a shared loop in which bee `slow` sleeps in the middle of a batch, and the other bee waits for what is left of
/// that. Returns whether it has had to: a bee that loses its CPU while its batches are measured claims one unit at a
/// time for a while, and then there is nothing to wait for.
fn has_waited_for_a_batch(hive: &Hive, slow: usize) -> bool {
    let shared = Loop::new(0..1 << 16, Schedule::Dynamic(1));
    let (has_slow_bee_a_batch, has_wait_begun) = (AtomicBool::new(false), AtomicBool::new(false));
    let has_waited = AtomicBool::new(false);
    hive.spmd(2, |bee| {
        if bee.id() == slow {
            let mut calls = 0;
            bee.for_each(&shared, |_| {
                calls += 1;
                // By now the bee claims many units at a time.
                if calls == 4_000 {
                    has_slow_bee_a_batch.store(true, Ordering::Relaxed);
                    wait_until(|| has_wait_begun.load(Ordering::Relaxed));
                    sleep(LONG);
                }
            });
        } else {
            let mut wait = None;
            bee.for_each(&shared, |_| {
                // This bee goes on from its first unit when the other one is in its batch.
                if wait.is_none() {
                    wait_until(|| has_slow_bee_a_batch.load(Ordering::Relaxed));
                    wait = Some(Wait::begin());
                    has_wait_begun.store(true, Ordering::Relaxed);
                }
            });
            let wait = wait.expect("the bee has a block");
            if wait.began.elapsed() >= LONG {
                wait.assert_cheap("a loop");
                has_waited.store(true, Ordering::Relaxed);
            }
        }
    });
    has_waited.into_inner()
}

#[test]
fn a_long_wait_at_the_end_of_a_shared_loop_uses_little_cpu() {
    let _alone = run_exclusively();
    for hive in hives() {
        for slow in 0..2 {
            wait_until(|| has_waited_for_a_batch(&hive, slow));
        }
    }
}

/// Waits until bee 1, whose thread has the number in `tid`, naps.
fn wait_until_napping(tid: &AtomicI32) {
    wait_until(|| tid.load(Ordering::Relaxed) > 0);
    let naps = || proc_threads::sleep_count(tid.load(Ordering::Relaxed));
    let before = naps();
    wait_until(|| naps() > before + 3);
}

/// Runs a region in which bee 1 waits for an index that bee 0 does not bring. When bee 1 naps, `leave` runs on bee 0.
fn while_napping(hive: &Hive, wait: impl Fn(&Bee<'_>, &Ordered) + Sync, leave: impl Fn(i32) + Sync) {
    let (order, tid) = (Ordered::new(0..2), AtomicI32::new(0));
    hive.spmd(2, |bee| {
        if bee.id() == 1 {
            tid.store(sys::tid(), Ordering::Relaxed);
            wait(bee, &order);
        } else {
            wait_until_napping(&tid);
            leave(tid.load(Ordering::Relaxed));
        }
    });
}

#[test]
fn a_panic_ends_a_nap() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    for hive in hives() {
        let is_past = AtomicBool::new(false);
        let said = panic_message(|| {
            let wait = |bee: &Bee<'_>, order: &Ordered| {
                bee.ordered(order, 1, || ());
                is_past.store(true, Ordering::Relaxed);
            };
            while_napping(&hive, wait, |_| panic!("as expected"));
        });
        assert_eq!((said.as_str(), is_past.into_inner()), ("as expected", false));
        common::assert_hive_works(&hive, 2);
    }
}

#[test]
fn a_deadlock_is_found_after_a_few_naps() {
    let _alone = run_exclusively();
    silence_panics("which nobody will bring");
    for hive in hives() {
        let (before, naps) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
        let said = panic_message(|| {
            let wait = |bee: &Bee<'_>, order: &Ordered| {
                let end = catch_unwind(AssertUnwindSafe(|| bee.ordered(order, 1, || ())));
                let after = proc_threads::sleep_count(sys::tid());
                naps.store(after - before.load(Ordering::Relaxed), Ordering::Relaxed);
                resume_unwind(end.expect_err("the index never comes"));
            };
            while_napping(&hive, wait, |tid| before.store(proc_threads::sleep_count(tid), Ordering::Relaxed));
        });
        assert_contains_all(&said, &["bee 1 of 2 waits for the turn of index 1", "which nobody will bring"]);
        // The queen first polls at the end of the region, for a millisecond at most, and counts as having left when
        // she sleeps there.
        let naps = naps.into_inner();
        assert!(naps < 2_000, "{naps} naps from the end of the other bee to the panic");
        common::assert_hive_works(&hive, 2);
    }
}

/// Under SCHED_FIFO the kernel runs no thread of a lower priority on a CPU where one of a higher polls or yields.
#[test]
fn a_waiter_lets_a_thread_of_lower_priority_run() {
    in_own_process("a_waiter_lets_a_thread_of_lower_priority_run", || {
        let cpu = proc_threads::cpus(sys::tid())[0];
        sys::bind(&[cpu]);
        if let Err(error) = sys::schedule_fifo(1) {
            return println!("skipped: SCHED_FIFO is not permitted here: {error}");
        }
        let hive = Hive::new(2).unwrap();
        let order = Ordered::new(0..2);
        // If the bee that waits kept the CPU, the other one would never run there, and the test's time limit would end
        // this.
        hive.spmd(2, |bee| {
            if bee.id() == 1 {
                sys::schedule_fifo(2).expect("it was permitted just now");
            }
            bee.barrier();
            bee.ordered(&order, bee.id(), || {
                let used_before = sys::thread_cpu_time();
                wait_until(|| sys::thread_cpu_time() - used_before > Duration::from_millis(50));
            });
        });
    });
}

/// While workers sleep at a barrier, CPUs are free, and workers of another hive go on polling.
#[test]
fn workers_asleep_at_a_barrier_are_not_counted() {
    in_own_process("workers_asleep_at_a_barrier_are_not_counted", || {
        let cpus = thread::available_parallelism().expect("Linux says it").get();
        if cpus < 2 {
            return println!("skipped: with one CPU nobody polls");
        }
        let asleep = Hive::builder().bees(cpus + 1).spin(Duration::ZERO).build().unwrap();
        let polling = Hive::builder().bees(2).spin(Duration::MAX).build().unwrap();
        let tids: Vec<_> = asleep.spmd_map(cpus + 1, |_| sys::tid());
        let sleeps = || polling.stats().total().sleeps;
        let (at_barrier, is_watched) = (Gate::new(), AtomicBool::new(false));
        thread::scope(|scope| {
            // The queen of the one hive comes to the barrier when the other hive has been watched.
            scope.spawn(|| {
                asleep.spmd(cpus + 1, |bee| {
                    if bee.is_queen() {
                        while !is_watched.load(Ordering::Relaxed) {
                            sleep(Duration::from_millis(1));
                        }
                    } else {
                        at_barrier.arrive();
                    }
                    bee.barrier();
                });
            });
            at_barrier.wait_for(cpus);
            proc_threads::wait_until_asleep(&tids[1..]);
            polling.spmd(2, |_| ());
            let before = sleeps();
            sleep(Duration::from_millis(50));
            is_watched.store(true, Ordering::Relaxed);
            assert_eq!(sleeps(), before, "the worker of the other hive has taken the CPUs for short");
        });
    });
}
