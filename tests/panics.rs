//! Panics in bees: which of them reaches the caller, what happens to the other bees, and that the hive works as before
//! afterwards.

#![cfg(target_os = "linux")]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use common::process::in_own_process;
use common::{
    Gate, assert_contains_all, assert_hive_works, panic_message, panic_payload, run_exclusively, silence_panics,
};
use hive::{Bee, Hive};

/// A team that waits at the barrier in the start line, and one that does not.
const TEAMS: [usize; 2] = [2, 6];

/// The payload of a bee's panic, with the bee's number.
#[derive(Debug, PartialEq)]
struct Payload(usize);

/// The number of the bee whose payload reached the caller.
fn who_panicked(body: impl FnOnce()) -> usize {
    panic_payload(body).downcast::<Payload>().expect("a bee's own payload").0
}

/// Hives of each size, with bees that sleep at once when they wait and with bees that poll.
fn hives() -> impl Iterator<Item = (usize, Hive)> {
    let spins = [Duration::ZERO, Duration::from_secs(3600)];
    let built = |n, spin| (n, Hive::builder().bees(n).spin(spin).build().unwrap());
    TEAMS.into_iter().flat_map(move |n| spins.map(|spin| built(n, spin)))
}

#[test]
fn the_lowest_bee_s_payload_reaches_the_caller_whoever_panics() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    for (n, hive) in hives() {
        // Each set of bees, as bits.
        for who in 1_usize..1 << n {
            let panicked = who_panicked(|| {
                hive.spmd(n, |bee| {
                    if who & (1 << bee.id()) != 0 {
                        panic_any(Payload(bee.id()));
                    }
                });
            });
            assert_eq!(panicked, who.trailing_zeros() as usize, "bees {who:b} of {n} panicked");
        }
        assert_hive_works(&hive, n);
    }
}

#[test]
fn the_lowest_of_those_who_panic_in_any_order() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    for (n, hive) in hives() {
        for upwards in [true, false] {
            let gate = Gate::new();
            let panicked = who_panicked(|| {
                hive.spmd(n, |bee| {
                    struct Next<'g>(&'g Gate);
                    impl Drop for Next<'_> {
                        fn drop(&mut self) {
                            self.0.arrive();
                        }
                    }
                    let _next = Next(&gate);
                    gate.wait_for(if upwards { bee.id() } else { n - 1 - bee.id() });
                    panic_any(Payload(bee.id()));
                });
            });
            assert_eq!(panicked, 0);
            assert_hive_works(&hive, n);
        }
    }
}

#[test]
fn others_are_let_go_from_their_barriers() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    for (n, hive) in hives() {
        for who in [0, 1, n - 1] {
            for before in [0, 1, 10] {
                let (passed, unwound) = (AtomicUsize::new(0), AtomicUsize::new(0));
                let panicked = who_panicked(|| {
                    hive.spmd(n, |bee| {
                        let _unwound = CountsUnwinding(&unwound);
                        for round in 0..1_000 {
                            if bee.id() == who && round == before {
                                panic_any(Payload(who));
                            }
                            bee.barrier();
                            passed.fetch_add(1, Ordering::Relaxed);
                        }
                    });
                });
                assert_eq!(panicked, who);
                assert_eq!(unwound.into_inner(), n, "all unwind");
                // A bee that has not yet left an earlier barrier may unwind from there.
                let (least, most) = (before, n * before);
                let passed = passed.into_inner();
                assert!(
                    (least..=most).contains(&passed),
                    "{passed} of {least} to {most}: nobody passes one's missing barrier"
                );
                assert_hive_works(&hive, n);
            }
        }
    }
}

struct CountsUnwinding<'c>(&'c AtomicUsize);

impl Drop for CountsUnwinding<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(usize::from(thread::panicking()), Ordering::Relaxed);
    }
}

#[test]
fn a_panic_after_the_last_barrier_leaves_the_others_alone() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    for (n, hive) in hives() {
        let finished = AtomicUsize::new(0);
        let panicked = who_panicked(|| {
            hive.spmd(n, |bee| {
                (0..5).for_each(|_| bee.barrier());
                if bee.id() == n - 1 {
                    panic_any(Payload(bee.id()));
                }
                finished.fetch_add(1, Ordering::Relaxed);
            });
        });
        // A bee that has not yet left the fifth barrier may be released from it by the panic, although all bees have
        // arrived there.
        assert_eq!(panicked, n - 1);
        assert!(finished.into_inner() < n);
        assert_hive_works(&hive, n);
    }
}

#[test]
fn a_bee_may_catch_what_ends_its_barrier() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    for (n, hive) in hives() {
        let caught = AtomicUsize::new(0);
        let panicked = who_panicked(|| {
            hive.spmd(n, |bee| {
                if bee.id() == 1 {
                    panic_any(Payload(1));
                }
                // Repeatedly: all barriers of the region are broken from now on.
                for _ in 0..3 {
                    let end = catch_unwind(AssertUnwindSafe(|| bee.barrier()));
                    caught.fetch_add(usize::from(end.is_err()), Ordering::Relaxed);
                }
            });
        });
        assert_eq!(panicked, 1);
        assert_eq!(caught.into_inner(), 3 * (n - 1));
        (0..5).for_each(|_| assert_hive_works(&hive, n));
    }
}

#[test]
fn a_bee_that_catches_its_own_panic_has_not_panicked() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    for (n, hive) in hives() {
        hive.spmd(n, |bee| {
            assert!(catch_unwind(|| panic_any(Payload(7))).is_err());
            bee.barrier();
        });
        assert_hive_works(&hive, n);
    }
}

/// Calls a barrier when it is dropped.
struct BarrierOnDrop<'b, 'r>(&'b Bee<'r>);

impl Drop for BarrierOnDrop<'_, '_> {
    fn drop(&mut self) {
        self.0.barrier();
    }
}

/// Runs in a process of its own, because a second panic during unwinding would abort it.
#[test]
fn a_barrier_in_a_destructor_that_unwinding_runs_does_not_abort() {
    in_own_process("a_barrier_in_a_destructor_that_unwinding_runs_does_not_abort", || {
        silence_panics("must call barrier() equally often");
        for (n, hive) in hives() {
            for who in [0, 1, n - 1] {
                // The others wait at the barrier that the destructor of the panicking bee runs, at a later one, or have
                // left the region.
                for others in 0..=2 {
                    let payload = panic_payload(|| {
                        hive.spmd(n, |bee| {
                            if bee.id() == who {
                                let _barrier = BarrierOnDrop(bee);
                                panic_any(Payload(who));
                            }
                            (0..others).for_each(|_| bee.barrier());
                        });
                    });
                    // If the other bees leave that barrier out, it would have panicked itself without the unwinding.
                    assert!(payload.is::<Payload>() || others == 0);
                    assert_hive_works(&hive, n);
                }
                // A destructor of every bee runs a barrier, also while the bee unwinds from a poisoned barrier.
                let panicked = who_panicked(|| {
                    hive.spmd(n, |bee| {
                        let _barrier = BarrierOnDrop(bee);
                        if bee.id() == who {
                            panic_any(Payload(who));
                        }
                        bee.barrier();
                        bee.barrier();
                    });
                });
                assert_eq!(panicked, who);
                assert_hive_works(&hive, n);
            }
        }
    });
}

/// A payload that panics when it is dropped, with another such payload, and so on.
struct PanicsOnDrop(usize);

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        if self.0 > 0 {
            resume_unwind(Box::new(PanicsOnDrop(self.0 - 1)));
        }
    }
}

#[test]
fn a_payload_whose_drop_panics_reaches_the_caller_or_is_got_rid_of() {
    in_own_process("a_payload_whose_drop_panics_reaches_the_caller_or_is_got_rid_of", || {
        silence_panics("as expected");
        for (n, hive) in hives() {
            let all = panic_payload(|| hive.spmd(n, |bee| panic_any(PanicsOnDrop(bee.id() + 1))));
            let lowest = all.downcast::<PanicsOnDrop>().expect("a bomb");
            assert_eq!(lowest.0, 1, "the queen's");
            // Its drop panics, with a payload whose own drop does not.
            assert!(catch_unwind(AssertUnwindSafe(|| drop(lowest))).is_err());
            assert_hive_works(&hive, n);
            let panicked = who_panicked(|| {
                hive.spmd(n, |bee| if bee.is_queen() { panic_any(Payload(0)) } else { panic_any(PanicsOnDrop(3)) });
            });
            assert_eq!(panicked, 0);
            assert_hive_works(&hive, n);
        }
    });
}

#[test]
fn results_of_spmd_map_are_dropped_once_when_another_bee_panics() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    static MADE: AtomicUsize = AtomicUsize::new(0);
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    struct Counted(#[expect(dead_code, reason = "a double drop of it would be a double free")] Box<usize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
    }
    for (n, hive) in hives() {
        for who in 0..n {
            let panicked = who_panicked(|| {
                drop(hive.spmd_map(n, |bee| {
                    if bee.id() == who {
                        panic_any(Payload(who));
                    }
                    MADE.fetch_add(1, Ordering::Relaxed);
                    Counted(Box::new(bee.id()))
                }));
            });
            assert_eq!(panicked, who);
        }
        let results = hive.spmd_map(n, |bee| {
            MADE.fetch_add(1, Ordering::Relaxed);
            Counted(Box::new(bee.id()))
        });
        assert_eq!(results.len(), n);
    }
    assert_eq!(DROPPED.load(Ordering::Relaxed), MADE.load(Ordering::Relaxed));
    assert!(MADE.load(Ordering::Relaxed) > 0);
}

#[test]
fn a_panic_in_a_nested_region_goes_on_in_its_caller() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    for (n, hive) in hives() {
        let other = Hive::new(2).unwrap();
        for inner in [&hive, &other] {
            for who in [0, n - 1] {
                let panicked = who_panicked(|| {
                    hive.spmd(n, |bee| {
                        let outer = bee.id();
                        bee.barrier();
                        if outer == who {
                            // The last bee of the team. The inner region is a team of one if it is of the same hive.
                            inner.spmd(2, |bee| {
                                if bee.id() + 1 == bee.bees() {
                                    panic_any(Payload(outer))
                                }
                            });
                        }
                        bee.barrier();
                    });
                });
                assert_eq!(panicked, who);
                assert_hive_works(&hive, n);
                assert_hive_works(inner, 2);
                // If the panic is caught inside, the region is over.
                hive.spmd(n, |bee| {
                    let caught = catch_unwind(AssertUnwindSafe(|| inner.spmd(2, |_| panic_any(Payload(9)))));
                    assert!(caught.unwrap_err().is::<Payload>());
                    bee.barrier();
                });
            }
        }
    }
}

#[test]
fn a_panic_in_a_team_of_one() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    let hive = Hive::new(3).unwrap();
    for _ in 0..3 {
        assert_eq!(who_panicked(|| hive.spmd(1, |_| panic_any(Payload(4)))), 4);
        // The thread is no longer inside of any region.
        assert_eq!(hive.spmd_map(3, |bee| bee.bees()), [3, 3, 3]);
    }
}

#[test]
fn a_resize_asked_for_inside_takes_effect_although_the_region_panics() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    for (n, hive) in hives() {
        for (asker, size) in [(0, 1), (n - 1, 3), (0, 8), (n - 1, n)] {
            let panicked = who_panicked(|| {
                hive.spmd(n, |bee| {
                    bee.barrier();
                    if bee.id() == asker {
                        hive.resize(size).unwrap();
                        panic_any(Payload(asker));
                    }
                    bee.barrier();
                });
            });
            assert_eq!((panicked, hive.bees()), (asker, size));
            hive.wait_until_parked();
            hive.resize(n).unwrap();
            assert_hive_works(&hive, n);
        }
    }
}

#[test]
fn a_message_is_as_it_was() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    let hive = Hive::new(3).unwrap();
    let message = panic_message(|| hive.spmd(3, |bee| assert_ne!(bee.id(), 2, "no bee {}, as expected", bee.id())));
    assert_contains_all(&message, &["no bee 2, as expected"]);
}

#[test]
fn stress_panics_everywhere_and_regions_between_them() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    let hive = Hive::new(6).unwrap();
    for round in 0..500 {
        let (n, who) = (TEAMS[round % 2], round % 7);
        let ended = catch_unwind(AssertUnwindSafe(|| {
            hive.spmd(n, |bee| {
                if bee.id() != who && bee.id() != who + 2 {
                    (0..round % 3).for_each(|_| bee.barrier());
                }
                if bee.id() == who || bee.id() == who + 2 {
                    panic_any(Payload(bee.id()));
                }
                bee.barrier();
            });
        }));
        assert_eq!(ended.err().map(|payload| payload.downcast::<Payload>().unwrap().0), (who < n).then_some(who));
        assert_hive_works(&hive, n);
    }
}
