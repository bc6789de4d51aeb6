//! Values that bees show each other: all parts of a slice at once, values of other bees, reductions of values that are
//! not `Copy`, and loops that write to several slices.

#![cfg(target_os = "linux")]

mod common;

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{assert_contains_all, assert_hive_works, panic_message, run_exclusively, silence_panics};
use hive::{Bee, Hive, Parts, PerBee, Plan, Schedule};

#[test]
fn all_parts_are_read_as_one_slice_after_a_barrier() {
    let _alone = run_exclusively();
    silence_panics("cannot have part");
    let hive = Hive::new(4).unwrap();
    for (len, count) in [(0, 1), (3, 4), (100, 4), (100, 7)] {
        let mut data = vec![0; len];
        let parts = Parts::new(&mut data, count);
        hive.spmd(4, |bee| {
            for step in 1..4 {
                for part in (bee.id()..count).step_by(4) {
                    parts.part_mut(bee, part).fill(step);
                }
                bee.barrier();
                assert_eq!(*parts.whole(bee), vec![step; len][..]);
                assert_eq!(format!("{:?}", parts.whole(bee)), format!("{:?}", vec![step; len]));
                bee.barrier();
            }
        });
    }
    let mut data = vec![0; 8];
    let parts = Parts::new(&mut data, 2);
    // Each of the two that come second is found, in whatever order they come.
    for writer in 0..2 {
        let missing_barrier = panic_message(|| {
            hive.spmd(2, |bee| if bee.id() == writer { parts.own_mut(bee).fill(1) } else { drop(parts.whole(bee)) });
        });
        assert_contains_all(&missing_barrier, &["cannot have part"]);
    }
    let held = panic_message(|| {
        hive.spmd(1, |bee| {
            let _second = parts.part_mut(bee, 1);
            drop(parts.whole(bee));
        });
    });
    assert_contains_all(&held, &["cannot have part 1", "being written"]);
    // What was borrowed before the refusal has been given back.
    hive.spmd(2, |bee| parts.own_mut(bee).fill(3));
    hive.spmd(1, |bee| assert_eq!(*parts.whole(bee), [3; 8]));
}

#[test]
fn a_bee_may_write_to_the_own_part_that_only_it_has_read() {
    let _alone = run_exclusively();
    silence_panics("cannot have part");
    let hive = Hive::new(3).unwrap();
    let mut data = vec![1; 30];
    let parts = Parts::new(&mut data, 3);
    hive.spmd(3, |bee| {
        let sum: i32 = parts.part(bee, bee.id()).iter().sum();
        parts.own_mut(bee).fill(sum);
    });
    let message = panic_message(|| {
        hive.spmd(3, |bee| {
            drop(parts.part(bee, 1));
            bee.all_reduce(0, |a, b| a + b);
            drop(parts.part(bee, 1));
            if bee.id() == 2 {
                // All have read it in this phase, or one writes to it before another reads it.
                parts.part_mut(bee, 1).fill(0);
            }
            drop(parts.part(bee, 1));
        });
    });
    assert_contains_all(&message, &["cannot have part 1"]);
    drop(parts);
    assert_eq!(data[..10], [10; 10]);
}

#[test]
fn values_of_other_bees_are_read_after_a_barrier() {
    let _alone = run_exclusively();
    silence_panics("the value of bee");
    silence_panics("there are values");
    let hive = Hive::new(4).unwrap();
    let mut values = PerBee::new(4, |id| vec![id]);
    hive.spmd(4, |bee| {
        for step in 0..3 {
            values.get(bee).push(10 * bee.id() + step);
            assert_eq!(values.get(bee).len(), step + 2, "again, in the same phase");
            bee.barrier();
            for id in 0..4 {
                assert_eq!(values.of(bee, id).last(), Some(&(10 * id + step)));
            }
            bee.barrier();
        }
    });
    assert_eq!(values.iter().map(|value| value.len()).sum::<usize>(), 16);
    for writer in 0..2 {
        let message = panic_message(|| {
            hive.spmd(2, |bee| if bee.id() == writer { values.get(bee).push(1) } else { drop(values.of(bee, writer)) });
        });
        // If the two happen to have it at once, that is what is said; else that a barrier is missing.
        let both_at_once = message.contains("is out already");
        let why = if both_at_once { "is out already" } else { "barrier" };
        assert_contains_all(&message, &[&format!("the value of bee {writer} "), why]);
    }
    let message = panic_message(|| hive.spmd(2, |bee| drop(values.of(bee, 4))));
    assert_contains_all(&message, &["values for 4 bees, and none for bee 4"]);
    let message = panic_message(|| {
        hive.spmd(1, |bee| {
            let _own = values.get(bee);
            values.iter().for_each(drop);
        });
    });
    assert_contains_all(&message, &["the value of bee 0 is out already"]);
    let message = panic_message(|| {
        hive.spmd(1, |bee| {
            let _own = values.of(bee, 0);
            values.get(bee).clear();
        });
    });
    assert_contains_all(&message, &["the value of bee 0 is out already"]);
    values.iter_mut().for_each(Vec::clear);
    assert!(values.iter().all(|value| value.is_empty()));
}

#[test]
fn in_a_destructor_of_an_unwinding_bee_a_missing_barrier_does_not_abort() {
    struct CountInDrop<'b>(&'b Bee<'b>, &'b PerBee<usize>);
    impl Drop for CountInDrop<'_> {
        fn drop(&mut self) {
            *self.1.get(self.0) += 1;
            assert_eq!(*self.1.of(self.0, self.0.id()), 1);
        }
    }
    let _alone = run_exclusively();
    silence_panics("no honey");
    let hive = Hive::new(2).unwrap();
    let (values, gate) = (PerBee::new(2, |_| 0), Barrier::new(2));
    let message = panic_message(|| {
        hive.spmd(2, |bee| {
            let _late = CountInDrop(bee, &values);
            assert_eq!(*values.of(bee, 1 - bee.id()), 0);
            gate.wait();
            panic!("no honey");
        });
    });
    assert_contains_all(&message, &["no honey"]);
    assert!(values.iter().all(|value| *value == 1));
    assert_hive_works(&hive, 2);
}

/// A value that counts how many of it there are.
#[derive(Debug)]
struct Counted<'c>(usize, &'c AtomicUsize);

impl<'c> Counted<'c> {
    fn new(value: usize, count: &'c AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(value, count)
    }
}

impl Clone for Counted<'_> {
    fn clone(&self) -> Self {
        Self::new(self.0, self.1)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn values_that_are_not_copy_are_reduced_in_order_and_dropped() {
    static LIVE: AtomicUsize = AtomicUsize::new(0);
    let _alone = run_exclusively();
    let hive = Hive::new(19).unwrap();
    for team in [1, 2, 3, 5, 19] {
        hive.spmd(team, |bee| {
            for round in 0..20 {
                let text = bee.all_reduce_cloned(format!("{}.", bee.id() + round), |a, b| a + &b);
                assert_eq!(text, (0..team).map(|id| format!("{}.", id + round)).collect::<String>());
                let sum = bee.all_reduce_cloned(Counted::new(bee.id(), &LIVE), |a, b| Counted::new(a.0 + b.0, a.1));
                assert_eq!(sum.0, team * (team - 1) / 2);
            }
        });
        assert_eq!(LIVE.load(Ordering::Relaxed), 0, "all are dropped, in a team of {team}");
    }
}

#[test]
fn misused_reductions_of_such_values_panic_and_free_nothing_too_early() {
    let _alone = run_exclusively();
    silence_panics("");
    let hive = Hive::new(3).unwrap();
    let text = |id: usize| format!("{id}").repeat(100);
    for odd in 0..3 {
        let concat = |a: String, b: String| a + &b;
        // The operation panics on one bee, while others may still read its value.
        let message = panic_message(|| {
            hive.spmd(3, |bee| {
                let op = |a: String, b: String| if bee.id() == odd { panic!("no honey") } else { a + &b };
                bee.all_reduce_cloned(text(bee.id()), op);
            });
        });
        assert_contains_all(&message, &["no honey"]);
        // Another type, another operation, and an operation that itself waits for the bees.
        let message = panic_message(|| {
            hive.spmd(3, |bee| {
                if bee.id() == odd {
                    bee.all_reduce_cloned(vec![1], |a, b| [a, b].concat());
                } else {
                    bee.all_reduce_cloned(text(bee.id()), concat);
                }
            });
        });
        assert_contains_all(&message, &["all_reduce_cloned", "another type"]);
        let message = panic_message(|| {
            hive.spmd(3, |bee| {
                if bee.id() == odd {
                    bee.all_reduce(1, |a, b| a + b);
                } else {
                    bee.all_reduce_cloned(text(bee.id()), concat);
                }
            });
        });
        assert_contains_all(&message, &["all_reduce_cloned", "all_reduce"]);
    }
    let waits = panic_message(|| {
        hive.spmd(3, |bee| {
            bee.all_reduce_cloned(text(bee.id()), |a, b| {
                bee.barrier();
                a + &b
            });
        });
    });
    assert_contains_all(&waits, &["barrier in the work of its all_reduce_cloned"]);
    assert_hive_works(&hive, 3);
}

#[test]
fn loops_write_to_several_slices_at_once() {
    let _alone = run_exclusively();
    silence_panics("different numbers");
    let hive = Hive::new(3).unwrap();
    for schedule in [Schedule::Static, Schedule::StaticChunk(3), Schedule::Dynamic(2), Schedule::Guided(1)] {
        for len in [0, 1, 7, 100] {
            let (mut a, mut b, mut c, mut d) = (vec![0_u8; len], vec![0_usize; len], vec![0.0; len], vec![(); len]);
            hive.par_zip_mut((&mut a, &mut b[..], &mut c, &mut d), schedule, |range, (a, b, c, d), _| {
                assert_eq!([a.len(), b.len(), c.len(), d.len()], [range.len(); 4]);
                for (offset, i) in range.enumerate() {
                    a[offset] += 1;
                    b[offset] += i;
                    c[offset] += i as f64;
                }
            });
            assert!(a.iter().all(|a| *a == 1));
            assert!(b.iter().zip(&c).enumerate().all(|(i, (b, c))| (*b, *c) == (i, i as f64)));
        }
    }
    let plan: Plan = hive.plan(10);
    let (mut x, mut y) = ([0; 10], hive.alloc(10, hive::Placement::LikeLoop(&plan), |i| i));
    hive.par_zip_mut((&mut x, &mut y), &plan, |range, (x, y), bee| {
        assert_eq!(range, plan.range(bee.id()));
        x.copy_from_slice(y);
        y.fill(0);
    });
    assert_eq!((x, y[9]), (std::array::from_fn(|i| i), 0));
    let message = panic_message(|| hive.par_zip_mut((&mut x, &mut [0; 9]), Schedule::Static, |_, _, _| ()));
    assert_contains_all(&message, &["different numbers", "[10, 9]"]);
}
