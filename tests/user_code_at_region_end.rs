//! User code that hive runs at the end of a region, besides the parts: drops of payloads that reach no caller, and the
//! panic hook for panics of hive's own. Whatever that code calls, nothing may wait for its own caller.
//!
//! Each test runs in a process of its own, because a process has one panic hook.

// As in tests/common/mod.rs.
#![allow(clippy::incompatible_msrv)]
#![cfg(target_os = "linux")]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind, set_hook, take_hook};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use common::process::in_own_process;
use common::task_helpers::{Payload, assert_hive_and_tasks_work, builders, payload_of};
use common::{Gate, assert_contains_all, assert_hive_works, panic_message, silence_panics, wait_until};
use hive::{BarrierShape, Bee, Hive, Schedule};

/// Makes calls on a hive, and counts how often it has made all of them. Several of these calls would wait for their own
/// caller if the caller were not inside of the region.
#[derive(Clone)]
struct HiveCalls {
    hive: Arc<Hive>,
    other: Arc<Hive>,
    rounds_made: Arc<AtomicUsize>,
}

impl HiveCalls {
    fn on(hive: &Arc<Hive>) -> Self {
        let other = Arc::new(Hive::new(2).unwrap());
        Self { hive: Arc::clone(hive), other, rounds_made: Arc::default() }
    }

    fn make(&self) {
        let hive = &self.hive;
        assert_eq!(hive.spmd_map(2, |bee| bee.bees()), [1], "a team of one inside of the region");
        assert_eq!(hive.join(|| 1, || 2), (1, 2));
        assert_eq!(hive.install(|| 3), 3);
        hive.scope(|scope| scope.spawn(|_| ()));
        hive.par_for((0..10, Schedule::Dynamic(1)), |_, _| ());
        hive.wait_until_parked();
        hive.spawn(|| ());
        hive::yield_now();
        let counts = self.other.spmd_map(2, |bee| bee.bees());
        assert!(counts == [1] || counts == [2, 2], "{counts:?}");
        assert_eq!(self.other.join(|| 1, || 2), (1, 2));
        self.rounds_made.fetch_add(1, Ordering::Relaxed);
    }

    fn rounds_made(&self) -> usize {
        self.rounds_made.load(Ordering::Relaxed)
    }
}

/// A payload that makes these calls when it is dropped.
struct CallsOnDrop(HiveCalls);

impl Drop for CallsOnDrop {
    fn drop(&mut self) {
        self.0.make();
    }
}

/// Calls its closure when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Runs `part` on each of `team` bees. Tries again if the hive is busy with a task and the caller is inside of another
/// hive.
fn region(hive: &Hive, team: usize, part: impl Fn(&Bee<'_>) + Sync) {
    let has_run = AtomicBool::new(false);
    wait_until(|| {
        hive.spmd(team, |bee| {
            if bee.bees() == team {
                has_run.store(true, Ordering::Relaxed);
                part(bee);
            }
        });
        has_run.load(Ordering::Relaxed)
    });
}

/// The three positions from which a thread gets the whole team of `hive`: outside, in the queen's position, and in
/// another hive's region.
fn from_every_caller(hive: &Hive, run: impl Fn() + Sync + Send) {
    run();
    hive.install(&run);
    let around = Hive::new(2).unwrap();
    around.spmd(2, |bee| {
        if bee.is_queen() {
            run();
        }
        bee.barrier();
    });
    assert_hive_works(hive, 3);
}

fn hives() -> impl Iterator<Item = Arc<Hive>> {
    builders().map(|builder| Arc::new(builder.bees(3).build().unwrap()))
}

fn caught(work: impl FnOnce()) {
    assert!(catch_unwind(AssertUnwindSafe(work)).is_err());
}

/// Waits until the panic of another bee has been kept.
fn wait_until_poisoned(bee: &Bee<'_>) {
    caught(|| bee.barrier());
}

/// The queen drops the payload of a bee's panic; a bee drops that of another, or its own.
#[test]
fn a_payload_that_nobody_hears_of_may_call_the_hive_whoever_drops_it() {
    in_own_process("a_payload_that_nobody_hears_of_may_call_the_hive_whoever_drops_it", || {
        silence_panics("as expected");
        for hive in hives() {
            for [first, second] in [[1, 0], [2, 1], [1, 2]] {
                let calls = HiveCalls::on(&hive);
                from_every_caller(&hive, || {
                    let lowest = payload_of(|| {
                        region(&hive, 3, |bee| match bee.id() {
                            id if id == first && first > second => panic_any(CallsOnDrop(calls.clone())),
                            id if id == first => panic_any(Payload("lowest")),
                            id if id == second => {
                                wait_until_poisoned(bee);
                                if first > second {
                                    panic_any(Payload("lowest"))
                                } else {
                                    panic_any(CallsOnDrop(calls.clone()))
                                }
                            }
                            // The barrier, until the poison, and then the region's end wait for the drop.
                            _ => bee.barrier(),
                        });
                    });
                    assert_eq!(lowest, "lowest");
                });
                assert_eq!(calls.rounds_made(), 3);
            }
            assert_hive_and_tasks_work(&hive, 3);
        }
    });
}

/// Runs `run`, a region that ends with a panic of hive's own, from every position, until that panic has had `complaint`
/// each time. Some mistakes can be reported from two sides, and the side that sees its mistake first reports it. The
/// panic hook for this panic calls the hive.
fn assert_complains(hive: &Arc<Hive>, complaint: &'static str, run: impl Fn() + Sync + Send) {
    let (calls, said) = (HiveCalls::on(hive), Mutex::new(Vec::new()));
    let hook = calls.clone();
    set_hook(Box::new(move |panic| {
        if panic.payload_as_str().is_some_and(|said| said.contains(complaint)) {
            hook.make();
        }
    }));
    from_every_caller(hive, || {
        let before = calls.rounds_made();
        wait_until(|| {
            said.lock().unwrap().push(panic_message(&run));
            calls.rounds_made() > before
        });
    });
    drop(take_hook());
    assert_contains_all(said.lock().unwrap().last().expect("a panic"), &[complaint]);
}

#[test]
fn the_hook_may_call_the_hive_when_a_part_has_ended_that_others_wait_for() {
    in_own_process("the_hook_may_call_the_hive_when_a_part_has_ended_that_others_wait_for", || {
        for hive in hives() {
            assert_complains(&hive, "has ended, and another bee waits at barrier number 1", || {
                let at_barrier = Gate::new();
                region(&hive, 3, |bee| {
                    if bee.is_queen() {
                        at_barrier.wait_for(2);
                        thread::yield_now();
                    } else {
                        at_barrier.arrive();
                        bee.barrier();
                    }
                });
            });
        }
    });
}

/// The leader of a group waits for that group itself, on a worker's thread.
#[test]
fn the_hook_may_call_the_hive_when_the_part_of_a_group_s_head_has_ended() {
    in_own_process("the_hook_may_call_the_hive_when_the_part_of_a_group_s_head_has_ended", || {
        const TEAM: usize = 18;
        let hive = Arc::new(Hive::builder().bees(TEAM).barrier(BarrierShape::Node).build().unwrap());
        let complaint = "has ended, and another bee waits at barrier number 1";
        assert_complains(&hive, complaint, || {
            // All others end their parts when the last bee, which is not a leader, is at its barrier.
            let at_barrier = Gate::new();
            region(&hive, TEAM, |bee| {
                if bee.id() == TEAM - 1 {
                    at_barrier.arrive();
                    bee.barrier();
                } else {
                    at_barrier.wait_for(1);
                    thread::yield_now();
                }
            });
        });
    });
}

/// The queen catches the panic of a broken barrier. Only then does bee 2 come to it, by `come`.
fn assert_late_arrival(hive: &Hive, come: impl Fn(&Bee<'_>) + Sync) {
    let broken = Gate::new();
    region(hive, 3, |bee| match bee.id() {
        0 => {
            wait_until_poisoned(bee);
            broken.arrive();
        }
        1 => {}
        _ => {
            broken.wait_for(1);
            come(bee);
        }
    });
}

#[test]
fn the_hook_may_call_the_hive_when_a_call_has_failed() {
    in_own_process("the_hook_may_call_the_hive_when_a_call_has_failed", || {
        for hive in hives() {
            assert_complains(&hive, "ended a call of barrier on bee 0", || {
                assert_late_arrival(&hive, |bee| bee.barrier())
            });
        }
    });
}

#[test]
fn the_hook_may_call_the_hive_when_a_bee_has_gone_on_without_the_others() {
    in_own_process("the_hook_may_call_the_hive_when_a_bee_has_gone_on_without_the_others", || {
        for hive in hives() {
            assert_complains(&hive, "gone on after a call that should have panicked", || {
                region(&hive, 3, |bee| {
                    if bee.id() != 1 {
                        caught(|| {
                            let _at_end = OnDrop(|| bee.barrier());
                            resume_unwind(Box::new(()));
                        });
                    }
                });
            });
        }
    });
}

/// A resize that is asked for there takes effect when the region has ended, as one from anywhere else inside does.
#[test]
fn a_size_that_the_hook_or_a_payload_asks_for_is_had_after_the_region() {
    in_own_process("a_size_that_the_hook_or_a_payload_asks_for_is_had_after_the_region", || {
        /// Asks for two bees, and records how many there are then.
        struct Questions(Arc<Hive>, Arc<AtomicUsize>);
        impl Questions {
            fn ask(&self) {
                self.0.resize(2).unwrap();
                self.1.store(self.0.bees(), Ordering::Relaxed);
            }
        }
        struct AsksOnDrop(Questions);
        impl Drop for AsksOnDrop {
            fn drop(&mut self) {
                self.0.ask();
            }
        }
        for hive in hives() {
            let meanwhile = Arc::new(AtomicUsize::new(0));
            let asks = || Questions(Arc::clone(&hive), Arc::clone(&meanwhile));
            silence_panics("as expected");
            let lowest = payload_of(|| {
                hive.spmd(3, |bee| match bee.id() {
                    0 => {
                        wait_until_poisoned(bee);
                        panic_any(Payload("queen"));
                    }
                    1 => panic_any(AsksOnDrop(asks())),
                    _ => bee.barrier(),
                });
            });
            assert_eq!((lowest, meanwhile.swap(0, Ordering::Relaxed), hive.bees()), ("queen", 3, 2));
            let asked = asks();
            set_hook(Box::new(move |panic| {
                if panic.payload_as_str().is_some_and(|said| said.contains("ended a call of")) {
                    asked.ask();
                }
            }));
            assert_contains_all(
                &panic_message(|| assert_late_arrival(&hive, |bee| bee.barrier())),
                &["ended a call of"],
            );
            drop(take_hook());
            assert_eq!((meanwhile.load(Ordering::Relaxed), hive.bees()), (3, 2));
        }
    });
}
