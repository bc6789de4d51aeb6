//! Barriers inside regions: what they order, and what happens when not all bees come.
//!
//! See `docs/barrier.md`.

#![cfg(target_os = "linux")]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;
use std::time::Duration;

use common::sys::{self, UnsyncCell};
use common::{
    Gate, assert_contains_all, assert_hive_works, panic_message, proc_threads, run_exclusively, silence_panics,
    wait_until,
};
use hive::{Bee, Hive};

/// A team that waits at the barrier in the start line, and one that does not.
const TEAMS: [usize; 2] = [2, 6];

/// Waiting bees sleep at once, or poll for longer than any test takes.
const SPINS: [Duration; 2] = [Duration::ZERO, Duration::from_secs(3600)];

/// A part of the message of the panic when bees have left a barrier out.
const MISMATCH: &str = "all bees must call barrier() equally often";

fn hive(bees: usize, spin: Duration) -> Hive {
    Hive::builder().bees(bees).spin(spin).build().unwrap()
}

/// Each bee writes its own cell and reads all others'.
fn check_phases(hive: &Hive, n: usize, rounds: u64) {
    let cells: Vec<UnsyncCell> = (0..n).map(|_| UnsyncCell::default()).collect();
    hive.spmd(n, |bee| {
        for round in 1..=rounds {
            cells[bee.id()].set(round);
            bee.barrier();
            assert!(cells.iter().all(|cell| cell.get() == round), "round {round} of {n} bees");
            bee.barrier();
        }
    });
    assert!(cells.iter().all(|cell| cell.get() == rounds));
}

#[test]
fn smoke_what_is_written_before_a_barrier_is_read_after_it() {
    let _alone = run_exclusively();
    let hive = Hive::new(8).unwrap();
    for n in 1..=8 {
        check_phases(&hive, n, 1_000);
    }
}

#[test]
fn stress_thousands_of_barriers_in_one_region() {
    let _alone = run_exclusively();
    for n in TEAMS {
        for spin in SPINS {
            check_phases(&hive(n, spin), n, 2_000);
        }
    }
}

#[test]
fn the_last_to_come_wakes_those_who_sleep_there() {
    let _alone = run_exclusively();
    for n in TEAMS {
        let hive = hive(n, Duration::ZERO);
        for last in [0, 1, n - 1] {
            let sleepers: Vec<AtomicI32> = (0..n).map(|_| AtomicI32::new(0)).collect();
            hive.spmd(n, |bee| {
                for round in 1..=3 {
                    if bee.id() == last {
                        until_others_sleep(&sleepers, last);
                        sleepers.iter().for_each(|tid| tid.store(0, Ordering::Relaxed));
                    } else {
                        sleepers[bee.id()].store(sys::tid(), Ordering::Release);
                    }
                    bee.barrier();
                    bee.barrier();
                    assert!(round > 0);
                }
            });
        }
    }
}

fn until_others_sleep(sleepers: &[AtomicI32], except: usize) {
    for (_, tid) in sleepers.iter().enumerate().filter(|&(id, _)| id != except) {
        wait_until(|| tid.load(Ordering::Acquire) != 0 && proc_threads::is_asleep(tid.load(Ordering::Acquire)));
    }
}

/// What the others do when the part of the bee that leaves the barrier out ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Others {
    /// They are on their way to the barrier.
    OnTheirWay,
    /// They are at the barrier, or almost there.
    Come,
    /// They are at the barrier and asleep.
    Asleep,
}

/// All bees but one, or only one, come to one barrier more than the others.
fn mismatch(
    hive: &Hive,
    n: usize,
    skips_barrier: impl Fn(usize) -> bool + Sync,
    before: usize,
    others: Others,
) -> String {
    let waiting = (0..n).filter(|&id| !skips_barrier(id)).count();
    let (come, tids) = (Gate::new(), (0..n).map(|_| AtomicI32::new(0)).collect::<Vec<_>>());
    let message = panic_message(|| {
        hive.spmd(n, |bee| {
            (0..before).for_each(|_| bee.barrier());
            if !skips_barrier(bee.id()) {
                tids[bee.id()].store(sys::tid(), Ordering::Release);
                come.arrive();
                bee.barrier();
                return;
            }
            if others != Others::OnTheirWay {
                come.wait_for(waiting);
                (0..10).for_each(|_| thread::yield_now());
            }
            if others == Others::Asleep {
                let asleep = |id: usize| proc_threads::is_asleep(tids[id].load(Ordering::Acquire));
                wait_until(|| (0..n).filter(|&id| !skips_barrier(id)).all(asleep));
            }
        });
    });
    assert_hive_works(hive, n);
    message
}

#[test]
fn a_barrier_that_a_bee_does_not_come_to_panics_and_says_so() {
    let _alone = run_exclusively();
    silence_panics(MISMATCH);
    for n in TEAMS {
        for spin in SPINS {
            let hive = hive(n, spin);
            for others in [Others::OnTheirWay, Others::Come, Others::Asleep] {
                // Bees that poll for an hour sleep only if there are not enough CPUs to poll on.
                if others == Others::Asleep && spin != Duration::ZERO {
                    continue;
                }
                for before in [0, 3] {
                    for odd in [0, 1, n - 1] {
                        let what = format!("team {n}, {spin:?}, {others:?}, {before} barriers before, {odd} alone");
                        let one_leaves = mismatch(&hive, n, |id| id == odd, before, others);
                        assert!(one_leaves.contains(MISMATCH), "{what} leaves: {one_leaves}");
                        assert_contains_all(&one_leaves, &[&format!("barrier number {}", before + 1), &n.to_string()]);
                        let one_stays = mismatch(&hive, n, |id| id != odd, before, others);
                        assert!(one_stays.contains(MISMATCH), "{what} stays: {one_stays}");
                    }
                }
            }
        }
    }
}

#[test]
fn stress_mismatches_of_every_kind_leave_the_hive_as_it_was() {
    let _alone = run_exclusively();
    silence_panics(MISMATCH);
    let hive = Hive::new(6).unwrap();
    for round in 0..300 {
        let n = TEAMS[round % 2];
        mismatch(&hive, n, |id| id == round % n, round % 3, Others::OnTheirWay);
    }
}

/// A bee catches the panic of a barrier that another bee has left out, and continues.
#[test]
fn a_mismatch_that_is_caught_inside_does_not_spoil_later_regions() {
    let _alone = run_exclusively();
    silence_panics(MISMATCH);
    for n in TEAMS {
        let hive = Hive::new(n).unwrap();
        for stays in [0, n - 1] {
            // Whatever is caught, the region has failed.
            let ended = catch_unwind(AssertUnwindSafe(|| {
                hive.spmd(n, |bee| {
                    if bee.id() == stays {
                        let caught = catch_unwind(AssertUnwindSafe(|| bee.barrier()));
                        assert!(caught.is_err());
                    }
                });
            }));
            assert!(ended.is_err());
            (0..10).for_each(|_| assert_hive_works(&hive, n));
            check_phases(&hive, n, 100);
        }
    }
}

/// The same in a destructor that runs during another unwinding, where the barrier returns instead of panicking.
#[test]
fn a_mismatch_in_a_destructor_that_unwinding_runs_does_not_spoil_later_regions() {
    let _alone = run_exclusively();
    silence_panics(MISMATCH);
    struct Barrier<'b, 'r>(&'b Bee<'r>);
    impl Drop for Barrier<'_, '_> {
        fn drop(&mut self) {
            self.0.barrier();
        }
    }
    for n in TEAMS {
        let hive = Hive::new(n).unwrap();
        for stays in [0, n - 1] {
            let _ = catch_unwind(AssertUnwindSafe(|| {
                hive.spmd(n, |bee| {
                    if bee.id() == stays {
                        let caught = catch_unwind(AssertUnwindSafe(|| {
                            let _barrier = Barrier(bee);
                            std::panic::resume_unwind(Box::new("as expected"));
                        }));
                        assert!(caught.is_err());
                    }
                });
            }));
            (0..10).for_each(|_| assert_hive_works(&hive, n));
            check_phases(&hive, n, 100);
        }
    }
}

#[test]
fn a_team_of_one_passes_its_barriers() {
    let _alone = run_exclusively();
    let hive = Hive::new(4).unwrap();
    hive.spmd(1, |bee| (0..1_000).for_each(|_| bee.barrier()));
    check_phases(&hive, 4, 100);
}
