//! Regions: which bee runs what, where and how often; teams of every size; errors; and two queens.

#![cfg(target_os = "linux")]

mod common;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use common::process::in_own_process_with;
use common::sys::UnsyncCell;
use common::{Gate, Rng, assert_contains_all, assert_hive_works, panic_message, run_exclusively, silence_panics};
use hive::{Bee, Hive};

/// Does not compile if `Bee` is Send or Sync, because the item would then be ambiguous.
const _: fn() = || {
    trait AmbiguousIfSend<A> {
        fn item() {}
    }
    impl<T: ?Sized> AmbiguousIfSend<()> for T {}
    struct Is;
    impl<T: ?Sized + Send> AmbiguousIfSend<Is> for T {}
    <Bee<'static> as AmbiguousIfSend<_>>::item();

    trait AmbiguousIfSync<A> {
        fn item() {}
    }
    impl<T: ?Sized> AmbiguousIfSync<()> for T {}
    impl<T: ?Sized + Sync> AmbiguousIfSync<Is> for T {}
    <Bee<'static> as AmbiguousIfSync<_>>::item();

    fn is_shared<T: Send + Sync>() {}
    is_shared::<Hive>();
};

#[test]
fn smoke_each_of_n_bees_runs_once_all_at_the_same_time() {
    let _alone = run_exclusively();
    for n in 1..=8 {
        let hive = Hive::new(n).unwrap();
        let gate = Gate::new();
        let threads: Mutex<Vec<(usize, ThreadId)>> = Mutex::default();
        hive.spmd(n, |bee| {
            assert_eq!((bee.bees(), bee.is_queen()), (n, bee.id() == 0));
            threads.lock().unwrap().push((bee.id(), thread::current().id()));
            gate.arrive_and_wait(n);
        });
        let mut threads = threads.into_inner().unwrap();
        threads.sort_by_key(|&(id, _)| id);
        assert!(threads.iter().map(|&(id, _)| id).eq(0..n), "{threads:?}");
        assert_eq!(threads[0].1, thread::current().id(), "the caller is bee 0");
        let distinct: HashSet<_> = threads.iter().map(|&(_, thread)| thread).collect();
        assert_eq!(distinct.len(), n, "{threads:?}");
        assert_eq!(gate.arrived(), n);
    }
}

#[test]
fn a_body_borrows_mutably_what_it_splits() {
    let _alone = run_exclusively();
    let hive = Hive::new(3).unwrap();
    for n in 1..=3 {
        let mut data = vec![0_usize; 1000];
        let mut rest = &mut data[..];
        let mut parts = Vec::new();
        for range in hive.spmd_map(n, |bee| bee.split(0..1000)) {
            let (part, others) = rest.split_at_mut(range.len());
            parts.push(Mutex::new((range.start, part)));
            rest = others;
        }
        assert!(rest.is_empty());
        hive.spmd(n, |bee| {
            let (start, part) = &mut *parts[bee.id()].lock().unwrap();
            assert_eq!(*start..*start + part.len(), bee.split(0..1000));
            part.iter_mut().enumerate().for_each(|(i, x)| *x = *start + i);
        });
        drop(parts);
        assert!(data.iter().copied().eq(0..1000), "{n} bees");
    }
}

#[test]
fn spmd_map_returns_results_in_order_of_the_bees() {
    let _alone = run_exclusively();
    let hive = Hive::new(2).unwrap();
    for n in 1..=8 {
        // Bee 0 is the last to finish.
        let done = Gate::new();
        let words = hive.spmd_map(n, |bee| {
            done.wait_for(n - 1 - bee.id());
            done.arrive();
            format!("{} of {}", bee.id(), bee.bees())
        });
        assert!(words.into_iter().eq((0..n).map(|id| format!("{id} of {n}"))));
    }
    assert_eq!(hive::spmd_map(3, |bee| bee.id()), [0, 1, 2], "the global hive, too");
}

#[test]
fn a_region_of_none_or_too_many_is_an_error_that_says_the_numbers_and_runs_nothing() {
    let _alone = run_exclusively();
    let hive = Hive::builder().bees(2).max_bees(7).build().unwrap();
    let ran = AtomicBool::new(false);
    let body = |_: &Bee<'_>| ran.store(true, Ordering::Relaxed);

    let none = hive.try_spmd(0, body).unwrap_err().to_string();
    assert_contains_all(&none, &["at least 1 bee", "0 bees were asked for"]);
    for n in [8, 1 << 16, (1 << 32) + 1, usize::MAX] {
        let many = hive.try_spmd(n, body).unwrap_err().to_string();
        assert_contains_all(&many, &[&n.to_string(), "limit is 7"]);
    }
    assert_contains_all(&panic_message(|| hive.spmd(0, body)), &["0", "try_spmd"]);
    assert_contains_all(&panic_message(|| hive.spmd(8, body)), &["8", "7", "try_spmd"]);
    assert_contains_all(&panic_message(|| drop(hive.spmd_map(usize::MAX, body))), &["7", "try_spmd"]);
    assert_contains_all(&panic_message(|| hive::spmd(0, body)), &["0", "try_spmd"]);

    // Inside a region, too, although the team would have one bee there.
    hive.spmd(2, |_| {
        assert!(hive.try_spmd(0, body).is_err());
        assert!(hive.try_spmd(8, body).is_err());
    });
    assert!(!ran.load(Ordering::Relaxed));
    assert_eq!(hive.bees(), 2);
    assert_hive_works(&hive, 7);
}

#[test]
fn a_hive_grows_on_demand_and_keeps_its_size() {
    let _alone = run_exclusively();
    let hive = Hive::builder().bees(1).max_bees(16).build().unwrap();
    assert_eq!((hive.bees(), hive.max_bees()), (1, 16));
    let mut largest = 1;
    for n in [1, 3, 2, 5, 1, 16, 4, 16] {
        assert_hive_works(&hive, n);
        largest = largest.max(n);
        assert_eq!((hive.bees(), hive.bees_not_yet_tucked_in()), (largest, 0));
    }
}

#[test]
fn stress_the_team_changes_its_size_in_every_region() {
    let _alone = run_exclusively();
    let hive = Hive::new(1).unwrap();
    let mut dice = Rng::new(1);
    let runs: [AtomicUsize; 8] = Default::default();
    let mut expected = [0; 8];
    for region in 0..5_000 {
        let n = dice.next_up_to(8);
        hive.spmd(n, |bee| {
            assert_eq!(bee.bees(), n);
            runs[bee.id()].fetch_add(1, Ordering::Relaxed);
        });
        expected[..n].iter_mut().for_each(|count| *count += 1);
        let seen = runs.each_ref().map(|runs| runs.load(Ordering::Relaxed));
        assert_eq!(seen, expected, "region {region}, of {n}");
    }
}

#[test]
fn small_and_large_teams_take_turns_with_barriers() {
    let _alone = run_exclusively();
    let hive = Hive::new(1).unwrap();
    for _ in 0..200 {
        [2, 6, 4, 5, 1].into_iter().for_each(|n| assert_hive_works(&hive, n));
    }
}

#[test]
fn regions_of_two_hives_take_turns_on_one_thread() {
    let _alone = run_exclusively();
    let (first, second) = (Hive::new(3).unwrap(), Hive::new(2).unwrap());
    for _ in 0..500 {
        assert_hive_works(&first, 3);
        assert_hive_works(&second, 2);
    }
}

#[test]
fn what_is_written_before_a_region_is_read_inside_and_what_is_written_inside_after_it() {
    let _alone = run_exclusively();
    let hive = Hive::new(3).unwrap();
    let (given, found): (UnsyncCell, [UnsyncCell; 6]) = Default::default();
    let regions = |first: u64| {
        for number in first..first + 500 {
            let n = 1 + number as usize % 6;
            given.set(number);
            hive.spmd(n, |bee| found[bee.id()].set(given.get() + bee.id() as u64));
            assert!((0..n).all(|id| found[id].get() == number + id as u64));
            if number % 100 == 0 {
                hive.resize(1).unwrap();
            }
        }
    };
    regions(0);
    thread::scope(|scope| scope.spawn(|| regions(1_000)).join().unwrap());
    // Other queens: only the queen lock orders what they do.
    let count = UnsyncCell::default();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..200 {
                    hive.spmd(3, |bee| {
                        if bee.is_queen() {
                            count.set(count.get() + 1);
                        }
                    });
                }
            });
        }
    });
    assert_eq!(count.get(), 800);
}

#[test]
fn stampede_to_the_global_hive_s_first_use() {
    in_own_process_with("stampede_to_the_global_hive_s_first_use", &[("HIVE_NUM_BEES", "3")], || {
        let (start, runs) = (Gate::new(), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    start.arrive_and_wait(8);
                    hive::spmd(3, |bee| {
                        runs.fetch_add(1, Ordering::Relaxed);
                        bee.barrier();
                    });
                });
            }
        });
        assert_eq!((runs.into_inner(), hive::global().bees()), (24, 3));
    });
}

#[test]
fn stampede_of_queens_has_one_region_at_a_time() {
    let _alone = run_exclusively();
    const QUEENS: usize = 8;
    const REGIONS: usize = 200;
    let hive = Hive::new(3).unwrap();
    let (start, inside, runs) = (Gate::new(), AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for queen in 0..QUEENS {
            let (hive, start, inside, runs) = (&hive, &start, &inside, &runs);
            scope.spawn(move || {
                start.arrive_and_wait(QUEENS);
                for region in 0..REGIONS {
                    let team = 2 + (queen + region) % 3;
                    hive.spmd(team, |bee| {
                        if bee.is_queen() {
                            assert_eq!(inside.swap(team, Ordering::Relaxed), 0, "two regions at once");
                        }
                        bee.barrier();
                        assert_eq!(inside.load(Ordering::Relaxed), team);
                        runs.fetch_add(1, Ordering::Relaxed);
                        bee.barrier();
                        if bee.is_queen() {
                            inside.store(0, Ordering::Relaxed);
                        }
                    });
                }
            });
        }
    });
    let teams = (0..QUEENS).flat_map(|queen| (0..REGIONS).map(move |region| 2 + (queen + region) % 3));
    assert_eq!(runs.into_inner(), teams.sum::<usize>());
}

#[test]
fn no_starvation_by_a_queen_who_always_comes_back() {
    let _alone = run_exclusively();
    const SMALL_TEAM: usize = 3;
    let hive = Hive::new(2).unwrap();
    let done = Gate::new();
    thread::scope(|scope| {
        for _ in 0..2 {
            // They continue until the queens of small teams have had their share.
            scope.spawn(|| {
                while done.arrived() < SMALL_TEAM {
                    hive.spmd(2, |_| ());
                }
            });
        }
        for _ in 0..SMALL_TEAM {
            scope.spawn(|| {
                (0..50).for_each(|_| hive.spmd(2, |bee| bee.barrier()));
                done.arrive();
            });
        }
    });
}

#[test]
fn results_are_combined_in_the_order_of_the_bees() {
    let _alone = run_exclusively();
    let hive = Hive::new(2).unwrap();
    // More bees and larger results than the caller's stack has slots for.
    for n in [1, 2, 9] {
        let digits = hive.spmd_reduce(n, |bee| bee.id().to_string(), |a, b| a + &b);
        assert_eq!(digits, &"012345678"[..n]);
        let large = hive.spmd_reduce(n, |bee| [bee.id(); 100], |a, b| std::array::from_fn(|i| 10 * a[i] + b[i]));
        assert_eq!(large[99], (0..n).fold(0, |number, digit| 10 * number + digit));
    }
    let inner = hive.spmd_map(2, |outer| outer.id() + hive.spmd_reduce(5, |bee| bee.bees(), |a, b| a + b));
    assert_eq!(inner, [1, 2], "a nested region is a team of one");
    let ballast = [1; 1000];
    assert_eq!(hive.spmd_reduce(2, move |bee| bee.id() + ballast[999], |a, b| a * b), 2);
}

#[test]
fn a_panic_while_results_are_combined_drops_the_others() {
    let _alone = run_exclusively();
    silence_panics("bee ");
    let hive = Hive::new(3).unwrap();
    let witness = Arc::new(());
    let result_of = |bee: &Bee<'_>| (bee.id(), Arc::clone(&witness));
    let mut calls = 0;
    let combine = |_, (id, _): (usize, _)| {
        calls += 1;
        panic!("bee {id}")
    };
    assert_eq!(panic_message(|| drop(hive.spmd_reduce(3, result_of, combine))), "bee 1");
    assert_eq!((calls, Arc::strong_count(&witness)), (1, 1));
    let refuse = |bee: &Bee<'_>| if bee.id() == 2 { panic!("bee 2") } else { result_of(bee) };
    assert_eq!(panic_message(|| drop(hive.spmd_reduce(3, refuse, |a, _| a))), "bee 2");
    assert_eq!(Arc::strong_count(&witness), 1);
    assert_contains_all(&panic_message(|| hive.spmd_reduce(0, |_| (), |(), ()| ())), &["no region of 0"]);
    assert_hive_works(&hive, 3);
}
