//! Workers that are bound by default sleep unbound between short regions that are far apart, and are bound whenever
//! that matters. Each test runs in a process of its own: the default binding depends on the other hives of a process.

#![cfg(target_os = "linux")]

mod common;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::process::{build_bound, in_own_process};
use common::{Gate, assert_contains_all, assert_hive_works, kernel, proc_threads, sys, time_limit, wait_until};
use hive::{Hive, Pin, Schedule};

/// Longer than workers poll.
const GAP: Duration = Duration::from_millis(2);

/// A hive of two bees, and the thread of its worker.
struct Subject {
    hive: Hive,
    worker: i32,
    /// The CPU that the worker is bound to, and all those of its node, on which it may sleep.
    own: Vec<usize>,
    node: Vec<usize>,
}

impl Subject {
    /// None: there is nothing to test, since the process has only one CPU of the worker's node, or another program has
    /// some.
    fn new(builder: &hive::Builder) -> Option<Self> {
        let [hive] = build_bound(|| [builder.clone().bees(2).build().unwrap()])?;
        let begin = Instant::now();
        let (worker, own) = loop {
            let look = |bee: &hive::Bee<'_>| (sys::tid(), bee.place().map(|place| place.cpus().to_vec()));
            // If the queen has come to its CPU, it has left that to her for a moment.
            if let (worker, Some(own)) = hive.spmd_map(2, look).remove(1) {
                break (worker, own);
            }
            assert!(begin.elapsed() < time_limit(), "the worker is not bound: {}", hive.report());
            sleep(GAP);
        };
        assert_eq!(own.len(), 1, "a worker is bound to one CPU");
        // Where the kernel does not list nodes, all CPUs count as one.
        let listed = kernel::cpus().and_then(|cpus| cpus.into_iter().find(|cpu| cpu.number == own[0]));
        let node = listed.map_or_else(|| proc_threads::cpus(sys::tid()), |cpu| cpu.node);
        if node.len() < 2 {
            println!("skipped: the worker's node has only CPU {node:?}");
            return None;
        }
        Some(Self { hive, worker, own, node })
    }

    /// Keeps the test's thread, which is the queen, off the worker's CPU: from there the worker would move away.
    fn keep_queen_away(&self) {
        let others: Vec<_> = self.node.iter().copied().filter(|cpu| !self.own.contains(cpu)).collect();
        sys::bind(&others);
        // The worker may have left its CPU to her before, and comes back with one of the next regions.
        self.short_region();
        while self.cpus_asleep() == others {
            self.short_region();
        }
    }

    fn short_region(&self) {
        sleep(GAP);
        self.hive.spmd(2, |_| ());
    }

    /// What `look` returns on the worker, in a region that does nothing unless `is_to_look`. The queen waits for it in
    /// her own part, and not at the region's end: from there she might bring the worker to her CPU meanwhile, if it has
    /// lost its own.
    fn see_if<R: Send>(&self, is_to_look: bool, look: impl Fn(&hive::Bee<'_>) -> R + Sync) -> Option<R> {
        let has_looked = AtomicBool::new(!is_to_look);
        let part = |bee: &hive::Bee<'_>| {
            if bee.is_queen() || !is_to_look {
                wait_until(|| has_looked.load(Ordering::Relaxed));
                return None;
            }
            let seen = look(bee);
            has_looked.store(true, Ordering::Relaxed);
            Some(seen)
        };
        self.hive.spmd_map(2, part).remove(1)
    }

    /// The CPUs of the worker, once it sleeps.
    fn cpus_asleep(&self) -> Vec<usize> {
        proc_threads::wait_until_asleep(&[self.worker]);
        proc_threads::cpus(self.worker)
    }

    /// Runs short regions far apart until the worker sleeps unbound. It learns that in five regions, unless other
    /// programs disturb these.
    fn unbind(&self) {
        let begin = Instant::now();
        while self.cpus_asleep() != self.node {
            assert!(begin.elapsed() < time_limit(), "the worker sleeps bound: {}", self.hive.report());
            self.short_region();
        }
    }
}

/// Runs `test` in a process of its own.
fn with_worker(name: &str, test: impl FnOnce(Subject)) {
    in_own_process(name, || Subject::new(&Hive::builder()).map_or((), test));
}

#[test]
fn a_worker_sleeps_unbound_between_short_regions_only() {
    with_worker("a_worker_sleeps_unbound_between_short_regions_only", |subject| {
        subject.keep_queen_away();
        assert_contains_all(&subject.hive.report().to_string(), &["not while they sleep between short regions"]);
        subject.unbind();
        // A region whose body is not known runs bound. Once it is known to be long, the worker is bound while it
        // sleeps, too.
        let cpus = subject.see_if(true, |_| {
            let cpus = sys::own_mask();
            sleep(Duration::from_millis(1));
            cpus
        });
        assert_eq!(cpus.as_ref(), Some(&subject.own));
        assert_eq!(subject.cpus_asleep(), subject.own);
        subject.unbind();
        assert_hive_works(&subject.hive, 2);
    });
}

#[test]
fn a_bee_has_a_place_only_while_it_is_bound_to_it() {
    with_worker("a_bee_has_a_place_only_while_it_is_bound_to_it", |subject| {
        let inner = Hive::builder().bees(1).pin(Pin::None).build().unwrap();
        subject.keep_queen_away();
        let cpus_of_place = |bee: &hive::Bee<'_>| bee.place().map(|place| place.cpus().to_vec());
        // In a region of another hive's inside of it, too.
        let look = |bee: &hive::Bee<'_>| (cpus_of_place(bee), inner.spmd_map(1, cpus_of_place), sys::own_mask());
        // Looking may take so long that the worker is bound for the next regions of this body. So most only begin.
        let (begin, mut was_unbound, mut times_unbound) = (Instant::now(), false, 0);
        while times_unbound < 5 {
            assert!(begin.elapsed() < time_limit(), "the worker runs bound: {}", subject.hive.report());
            // If a region has found it so before and has left it so.
            let is_unbound = subject.cpus_asleep() == subject.node;
            let is_to_look = is_unbound && was_unbound;
            was_unbound = is_unbound;
            sleep(GAP);
            let Some((place, inner_places, mask)) = subject.see_if(is_to_look, look) else { continue };
            let is_unbound = mask == subject.node;
            assert!(is_unbound || mask == subject.own, "{mask:?}");
            assert_eq!(place, (!is_unbound).then_some(mask));
            assert_eq!(inner_places, [place]);
            times_unbound += usize::from(is_unbound);
        }
    });
}

#[test]
fn tasks_and_loops_run_bound() {
    with_worker("tasks_and_loops_run_bound", |subject| {
        subject.keep_queen_away();
        for round in 0..5 {
            subject.unbind();
            let seen = Mutex::new(None);
            let note = || {
                if sys::tid() == subject.worker {
                    *seen.lock().unwrap() = Some(proc_threads::cpus(subject.worker));
                }
            };
            if round % 2 == 0 {
                // The two tasks wait for each other, so the worker has to run one of them.
                let gate = Gate::new();
                let task = || {
                    note();
                    gate.arrive_and_wait(2);
                };
                subject.hive.scope(|scope| {
                    scope.spawn(|_| task());
                    scope.spawn(|_| task());
                });
            } else {
                // Long, so that the worker is woken for it, and comes in time.
                subject.hive.par_for((0..2_000, Schedule::Dynamic(1)), |range, _| {
                    if seen.lock().unwrap().is_none() {
                        range.for_each(|_| sleep(Duration::from_millis(1)));
                    }
                    note();
                });
            }
            let seen = seen.into_inner().unwrap();
            assert_eq!(seen, Some(subject.own.clone()), "round {round}");
        }
    });
}

#[test]
fn regions_that_follow_each_other_find_the_worker_bound() {
    with_worker("regions_that_follow_each_other_find_the_worker_bound", |subject| {
        subject.keep_queen_away();
        subject.unbind();
        let begin = Instant::now();
        while proc_threads::cpus(subject.worker) != subject.own {
            assert!(begin.elapsed() < time_limit(), "the worker stays unbound");
            (0..100).for_each(|_| subject.hive.spmd(2, |_| ()));
        }
        subject.unbind();
        // While waits go on polling, the worker is not to share the queen's CPU.
        subject.hive.keep_spinning(|| {
            subject.hive.spmd(2, |_| ());
            subject.hive.spmd(2, |_| ());
            assert_eq!(proc_threads::cpus(subject.worker), subject.own);
        });
    });
}

#[test]
fn a_mask_that_the_program_sets_stays() {
    in_own_process("a_mask_that_the_program_sets_stays", || {
        // First while the worker is bound, then while it sleeps unbound.
        for is_unbound in [false, true] {
            let Some(subject) = Subject::new(&Hive::builder()) else { return };
            subject.keep_queen_away();
            if is_unbound {
                subject.unbind();
            }
            let other: Vec<_> = subject.node.iter().copied().find(|&cpu| cpu != subject.own[0]).into_iter().collect();
            subject.hive.spmd(2, |bee| {
                if bee.id() == 1 {
                    sys::bind(&other);
                }
            });
            for _ in 0..20 {
                subject.short_region();
                assert_eq!(subject.cpus_asleep(), other);
            }
            // For the next hive.
            sys::bind(&subject.node);
        }
    });
}

#[test]
fn places_that_the_program_asks_for_are_kept_to() {
    in_own_process("places_that_the_program_asks_for_are_kept_to", || {
        let cpus = proc_threads::cpus(sys::tid());
        for pin in [Pin::Core, Pin::Cpus(cpus)] {
            let Some(subject) = Subject::new(&Hive::builder().pin(pin)) else { return };
            for _ in 0..20 {
                subject.short_region();
                assert_eq!(subject.cpus_asleep(), subject.own);
            }
        }
    });
}

#[test]
fn hives_are_resized_and_dropped_while_workers_sleep_unbound() {
    with_worker("hives_are_resized_and_dropped_while_workers_sleep_unbound", |subject| {
        subject.keep_queen_away();
        for _ in 0..5 {
            subject.unbind();
            subject.hive.resize(1).unwrap();
            subject.hive.wait_until_parked();
            // The worker comes back bound. It is kept awake until the region has begun: a worker that has unbound
            // itself, but does not sleep yet, runs the region where it is.
            let cpus = subject.hive.keep_spinning(|| {
                subject.hive.resize(2).unwrap();
                subject.hive.spmd_map(2, |_| sys::own_mask())
            });
            assert_eq!(cpus[1], subject.own);
        }
        subject.unbind();
        sys::bind(&subject.node);
        drop(subject);
        let Some(next) = Subject::new(&Hive::builder()) else { return };
        next.unbind();
        assert_hive_works(&next.hive, 2);
    });
}
