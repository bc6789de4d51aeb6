//! Panics in a region over several hives: which of them reaches the caller, that no bee hangs, and that the hives work
//! as before afterwards.
//!
//! See `docs/hive-sets.md`.

#![cfg(all(target_os = "linux", feature = "hwloc"))]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::hive_sets::{TWO_BY_TWO, assert_set_works, on_machine, two_hives_of_two};
use common::{Gate, assert_contains_all, panic_message, panic_payload, silence_panics};
use hive::HiveSet;

#[test]
fn a_panic_in_any_bee_reaches_the_caller_and_nobody_hangs() {
    on_machine(TWO_BY_TWO, "a_panic_in_any_bee_reaches_the_caller_and_nobody_hangs", &[], || {
        silence_panics("as expected");
        for hives in two_hives_of_two() {
            for (who, barriers) in (0..4).flat_map(|who| (0..3).map(move |barriers| (who, barriers))) {
                for reduces in [false, true] {
                    let panic = panic_payload(|| {
                        hives.spmd(|bee| {
                            for round in 0..4 {
                                if bee.id() == who && round == barriers {
                                    panic_any(who);
                                }
                                if reduces { _ = bee.all_reduce(round, usize::max) } else { bee.barrier() }
                            }
                            unreachable!("bee {} has passed a barrier without bee {who}", bee.id());
                        });
                    });
                    assert_eq!(panic.downcast_ref(), Some(&who), "after {barriers} barriers");
                    assert_set_works(&hives, 4);
                }
            }
        }
    });
}

#[test]
fn of_several_panics_the_lowest_bee_s_reaches_the_caller() {
    on_machine(TWO_BY_TWO, "of_several_panics_the_lowest_bee_s_reaches_the_caller", &[], || {
        silence_panics("as expected");
        let hives = HiveSet::per_node().unwrap();
        for who in 1_usize..16 {
            let panic = panic_payload(|| {
                hives.spmd(|bee| {
                    if who & (1 << bee.id()) != 0 {
                        panic_any(bee.id());
                    }
                });
            });
            assert_eq!(panic.downcast_ref(), Some(&(who.trailing_zeros() as usize)), "bees {who:b}");
            let panic = panic_payload(|| drop(hives.on_each(|number, _| panic_any(number))));
            assert_eq!(panic.downcast_ref(), Some(&0_usize));
        }
        assert_set_works(&hives, 4);
    });
}

#[test]
fn a_broken_barrier_stays_broken_for_those_who_go_on() {
    on_machine(TWO_BY_TWO, "a_broken_barrier_stays_broken_for_those_who_go_on", &[], || {
        silence_panics("as expected");
        for hives in two_hives_of_two() {
            for who in 0..4 {
                let (broken, panicked) = (AtomicUsize::new(0), Gate::new());
                let panic = panic_payload(|| {
                    hives.spmd(|bee| {
                        if bee.id() == who {
                            panicked.arrive();
                            panic_any(who);
                        }
                        for _ in 0..3 {
                            let met = catch_unwind(AssertUnwindSafe(|| bee.barrier()));
                            broken.fetch_add(usize::from(met.is_err()), Ordering::Relaxed);
                            let met = catch_unwind(AssertUnwindSafe(|| bee.local().barrier()));
                            broken.fetch_add(usize::from(met.is_err()), Ordering::Relaxed);
                        }
                    });
                });
                assert_eq!(panic.downcast_ref(), Some(&who));
                assert_eq!(broken.into_inner(), 3 * 3 * 2, "bee {who} panicked");
                assert_set_works(&hives, 4);
            }
        }
    });
}

/// In the work of a call, on each bee that runs it: a panic, or a barrier of all hives. All bees catch everything.
#[test]
fn a_call_that_ends_by_a_panic_fails_the_region_of_all_hives() {
    on_machine(TWO_BY_TWO, "a_call_that_ends_by_a_panic_fails_the_region_of_all_hives", &[], || {
        silence_panics("bee");
        let hives_and_bees = || {
            two_hives_of_two().flat_map(|hives| {
                let hives = Arc::new(hives);
                (0..4).map(move |who| (Arc::clone(&hives), who))
            })
        };
        for (hives, who) in hives_and_bees() {
            for (is_local, meets) in [(false, false), (false, true), (true, false), (true, true)] {
                // Only the leaders combine the values of all hives.
                if !is_local && who % 2 > 0 {
                    continue;
                }
                let passed = AtomicUsize::new(0);
                let message = panic_message(|| {
                    hives.spmd(|bee| {
                        let add = |a: usize, b: usize| {
                            if bee.id() == who {
                                if meets { bee.barrier() } else { panic_any("as expected") }
                            }
                            a + b
                        };
                        let all_reduce =
                            || if is_local { bee.local().all_reduce(1, add) } else { bee.all_reduce(1, add) };
                        let _ = catch_unwind(AssertUnwindSafe(all_reduce));
                        let met = catch_unwind(AssertUnwindSafe(|| bee.barrier()));
                        passed.fetch_add(usize::from(met.is_ok()), Ordering::Relaxed);
                    });
                });
                assert_contains_all(&message, &["a panic that was caught has ended a call of"]);
                assert_eq!(passed.into_inner(), 0, "bee {who}, local: {is_local}, a barrier: {meets}");
                assert_set_works(&hives, 4);
            }
        }
    });
}

#[test]
fn destructors_may_come_to_barriers_while_a_panic_goes_on() {
    /// Calls barriers when it is dropped.
    struct BarrierOnDrop<'b>(&'b hive::HiveSetBee<'b>);
    impl Drop for BarrierOnDrop<'_> {
        fn drop(&mut self) {
            self.0.barrier();
            self.0.barrier();
        }
    }
    on_machine(TWO_BY_TWO, "destructors_may_come_to_barriers_while_a_panic_goes_on", &[], || {
        silence_panics("as expected");
        for hives in two_hives_of_two() {
            for who in 0..4 {
                let passed: [_; 4] = std::array::from_fn(|_| AtomicUsize::new(0));
                let panic = panic_payload(|| {
                    hives.spmd(|bee| {
                        let _coming = BarrierOnDrop(bee);
                        if bee.id() == who {
                            // Its own destructor runs first, and may meet the others at barriers.
                            panic_any(who);
                        }
                        for _ in 0..5 {
                            bee.barrier();
                            passed[bee.id()].fetch_add(1, Ordering::Relaxed);
                        }
                    });
                });
                assert_eq!(panic.downcast_ref(), Some(&who));
                // Bee `who` is missed at the third barrier at the latest, even if unwinding bees come to it.
                assert!(passed.iter().all(|passed| passed.load(Ordering::Relaxed) <= 2), "bee {who}: {passed:?}");
                assert_set_works(&hives, 4);
            }
        }
    });
}

/// The hive has one bee, which waits for nobody in its own hive.
#[test]
fn destructors_of_a_failed_hive_of_one_meet_no_other_hive() {
    struct OnDrop<F: Fn()>(F);
    impl<F: Fn()> Drop for OnDrop<F> {
        fn drop(&mut self) {
            (self.0)();
        }
    }
    on_machine(TWO_BY_TWO, "destructors_of_a_failed_hive_of_one_meet_no_other_hive", &[], || {
        silence_panics("");
        for (hives, alone) in two_hives_of_two().flat_map(|hives| {
            let hives = Arc::new(hives);
            (0..2).map(move |alone| (Arc::clone(&hives), alone))
        }) {
            hives[alone].resize(1).unwrap();
            for reduces in [false, true] {
                let passed = AtomicUsize::new(0);
                // Of which of the hives it is, does not matter here.
                let _ = panic_payload(|| {
                    hives.spmd(|bee| {
                        let meet = || if reduces { _ = bee.all_reduce(1, usize::max) } else { bee.barrier() };
                        if bee.hive() == alone {
                            let _coming = OnDrop(meet);
                            let work = || panic_any("as expected");
                            let _ = catch_unwind(AssertUnwindSafe(|| bee.local().single(work)));
                            panic_any("as expected");
                        }
                        let met = catch_unwind(AssertUnwindSafe(meet));
                        passed.fetch_add(usize::from(met.is_ok()), Ordering::Relaxed);
                    });
                });
                assert_eq!(passed.into_inner(), 0, "hive {alone}, a reduction: {reduces}");
            }
            hives[alone].resize(2).unwrap();
            assert_set_works(&hives, 4);
        }
    });
}

#[test]
fn a_hive_that_does_not_come_to_a_barrier_is_missed() {
    on_machine(TWO_BY_TWO, "a_hive_that_does_not_come_to_a_barrier_is_missed", &[], || {
        silence_panics("barrier");
        for hives in two_hives_of_two() {
            for absent in 0..2 {
                let message = panic_message(|| {
                    hives.spmd(|bee| {
                        if bee.hive() != absent {
                            bee.barrier();
                        }
                    });
                });
                assert_contains_all(&message, &["barrier number 1", "all bees must call barrier() equally often"]);
                assert_set_works(&hives, 4);
            }
        }
    });
}

/// The caller drops the payload of another hive's bee, because its own panic has priority.
#[test]
fn a_payload_that_nobody_hears_of_may_call_the_hives() {
    on_machine(TWO_BY_TWO, "a_payload_that_nobody_hears_of_may_call_the_hives", &[], || {
        struct CallsOnDrop(Arc<HiveSet>, Arc<AtomicUsize>);
        impl Drop for CallsOnDrop {
            fn drop(&mut self) {
                assert_eq!(self.0.spmd_map(|bee| bee.bees()), [1], "a team of one inside of the region");
                assert_eq!(self.0.on_each(|number, hive| hive.join(|| number, || ()).0), [0, 1]);
                self.0.wait_until_parked();
                self.1.fetch_add(1, Ordering::Relaxed);
            }
        }
        silence_panics("as expected");
        for hives in two_hives_of_two() {
            let (hives, calls) = (Arc::new(hives), Arc::new(AtomicUsize::new(0)));
            let panic = panic_payload(|| {
                hives.spmd(|bee| match bee.id() {
                    0 => {
                        assert!(catch_unwind(AssertUnwindSafe(|| bee.barrier())).is_err());
                        panic_any("the lowest");
                    }
                    3 => panic_any(CallsOnDrop(Arc::clone(&hives), Arc::clone(&calls))),
                    _ => bee.barrier(),
                });
            });
            assert_eq!((panic.downcast_ref(), calls.load(Ordering::Relaxed)), (Some(&"the lowest"), 1));
            assert_set_works(&hives, 4);
        }
    });
}
