//! Bees that wait for how far one other bee has come: `Bee::signal` and `Bee::wait_for`.
//!
//! See `docs/collectives.md`, "Signals".

#![cfg(target_os = "linux")]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use common::{assert_contains_all, panic_message, run_exclusively};
use hive::{Hive, SharedSlice};

/// A sweep over a grid in which each cell is made of those to its left and above.
fn sweep(hive: &Hive, bees: usize, sweeps: usize) -> Vec<u64> {
    let (rows, columns) = (24, 31);
    let mut grid: Vec<u64> = (0..rows * columns).map(|i| i as u64 % 7).collect();
    let cells = SharedSlice::new(&mut grid);
    hive.spmd(bees, |bee| {
        let mut done = 0;
        for _ in 0..sweeps {
            for row in 1..rows {
                if bee.id() > 0 {
                    bee.wait_for(bee.id() - 1, done + 1);
                }
                for column in bee.split(1..columns) {
                    let (left, above) =
                        (cells.get(row * columns + column - 1), cells.get((row - 1) * columns + column));
                    cells.set(row * columns + column, left.wrapping_mul(31).wrapping_add(above.rotate_left(7)) + 1);
                }
                done += 1;
                bee.signal(done);
            }
            bee.barrier();
        }
    });
    grid
}

#[test]
fn a_wavefront_is_the_same_on_every_team() {
    let expected = sweep(&Hive::new(1).unwrap(), 1, 5);
    let hive = Hive::new(4).unwrap();
    for bees in [2, 3, 4] {
        for _ in 0..20 {
            assert_eq!(sweep(&hive, bees, 5), expected, "{bees} bees");
        }
    }
}

#[test]
fn counts_begin_at_0_in_each_region() {
    let hive = Hive::new(3).unwrap();
    for round in 0..200 {
        let written = AtomicUsize::new(0);
        hive.spmd(3, |bee| {
            assert!(bee.signalled(bee.id()) == 0, "round {round}");
            if bee.id() == 1 {
                written.store(round, Ordering::Relaxed);
                bee.signal(1 + round % 3);
            } else {
                bee.wait_for(1, 1);
                assert_eq!(written.load(Ordering::Relaxed), round);
                assert_eq!(bee.signalled(1), 1 + round % 3);
            }
        });
    }
}

#[test]
fn a_team_of_one_waits_for_nobody() {
    let hive = Hive::new(2).unwrap();
    hive.spmd(1, |bee| {
        bee.signal(3);
        bee.wait_for(0, 100);
        bee.wait_for(7, 1);
        assert_eq!(bee.signalled(7), 0);
    });
    hive.spmd(2, |_| hive.spmd(2, |inner| inner.wait_for(inner.bees() - 1, 1)));
}

#[test]
fn a_signal_that_never_comes_is_told_of() {
    let _alone = run_exclusively();
    let hive = Hive::new(3).unwrap();
    // The others have left, or wait in a circle, or for a turn that does not come.
    let turns = hive::Ordered::new(0..4);
    for case in 0..4 {
        let said = panic_message(|| {
            hive.spmd(3, |bee| match (case, bee.id()) {
                (0, 1) => bee.wait_for(0, 1),
                (1, id) => bee.wait_for((id + 1) % 3, 1),
                (2, 2) => bee.ordered(&turns, 3, || ()),
                (2, id) => bee.wait_for(2, 1 + id),
                (3, id) => bee.wait_for(id, 1),
                _ => bee.signal(0),
            });
        });
        assert!(said.contains("which it never will") || said.contains("which nobody will bring"), "{case}: {said}");
    }
    let said = panic_message(|| {
        hive.spmd(2, |bee| if bee.is_queen() { bee.wait_for(1, 5) } else { bee.signal(4) });
    });
    assert_contains_all(&said, &["bee 0 of 2 waits for bee 1 to signal 5", "it has signalled 4"]);
    common::assert_hive_works(&hive, 3);
}

#[test]
fn what_cannot_be_right_is_refused() {
    let hive = Hive::new(2).unwrap();
    let refused = |body: fn(&hive::Bee<'_>)| panic_message(|| hive.spmd(2, body));
    assert!(refused(|bee| bee.wait_for(2, 1)).contains("there is no bee 2 to wait for in a team of 2"));
    assert!(refused(|bee| _ = bee.signalled(5)).contains("there is no bee 5 in a team of 2"));
    let said = refused(|bee| {
        bee.signal(5);
        bee.signal(4);
    });
    assert!(said.contains("signals 4 after 5"), "{said}");
    let said = refused(|bee| bee.single(|| bee.wait_for(1, 1)));
    assert_contains_all(&said, &["calls wait_for in the work of its single"]);
    let said = panic_message(|| hive.par_for(0..1000, |_, bee| bee.signal(1)));
    assert!(said.contains("calls signal in a loop that is a region of its own"), "{said}");
    common::assert_hive_works(&hive, 2);
}

#[test]
fn a_wait_is_allowed_in_loops_of_a_region() {
    let hive = Hive::new(3).unwrap();
    let sum = AtomicUsize::new(0);
    hive.spmd(3, |bee| {
        bee.for_range(0..30, |range| {
            if bee.id() > 0 {
                bee.wait_for(bee.id() - 1, range.start);
            }
            bee.signal(range.end);
            sum.fetch_add(range.len(), Ordering::Relaxed);
        });
    });
    assert_eq!(sum.into_inner(), 30);
}

#[test]
fn a_panic_ends_the_waits_of_the_others() {
    let hive = Hive::new(3).unwrap();
    for late in [false, true] {
        let has_unwound = AtomicBool::new(false);
        let said = panic_message(|| {
            hive.spmd(3, |bee| {
                if bee.id() == 2 {
                    if late {
                        std::thread::sleep(std::time::Duration::from_millis(30));
                    }
                    panic!("no tile today");
                }
                let ended = catch_unwind(AssertUnwindSafe(|| bee.wait_for(2, 1)));
                has_unwound.fetch_or(ended.is_err(), Ordering::Relaxed);
                if let Err(payload) = ended {
                    std::panic::resume_unwind(payload);
                }
            });
        });
        assert!(said.contains("no tile today") && has_unwound.into_inner(), "{said}");
    }
    common::assert_hive_works(&hive, 3);
}

/// In a destructor that must not panic a wait for what never comes returns.
#[test]
fn a_wait_in_a_destructor_returns() {
    struct Waits<'b, 'r>(&'b hive::Bee<'r>);
    impl Drop for Waits<'_, '_> {
        fn drop(&mut self) {
            self.0.wait_for(1 - self.0.id(), 100);
            self.0.signal(1);
        }
    }
    let hive = Hive::new(2).unwrap();
    let said = panic_message(|| {
        hive.spmd(2, |bee| {
            if bee.is_queen() {
                let _waits = Waits(bee);
                panic!("as expected");
            }
        });
    });
    assert!(said.contains("as expected"), "{said}");
    common::assert_hive_works(&hive, 2);
}
