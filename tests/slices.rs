//! Slices in parts, and per-bee values: right where they are used correctly, refused where they are not.

#![cfg(target_os = "linux")]

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use common::{assert_contains_all, panic_message, run_exclusively, silence_panics};
use hive::{Hive, Parts, PerBee, Schedule};
use proptest::prelude::*;

proptest! {
    #[test]
    fn parts_cover_the_slice_once(len in 0usize..300, parts in 1usize..40, width in 1usize..7) {
        let mut data = vec![0; len * width];
        let split = Parts::rows(&mut data, width, parts);
        let ranges: Vec<_> = (0..split.count()).map(|part| split.range(part)).collect();
        prop_assert_eq!(ranges.len(), parts);
        prop_assert_eq!((ranges[0].start, ranges[parts - 1].end), (0, len * width));
        prop_assert!(ranges.windows(2).all(|two| two[0].end == two[1].start));
        prop_assert!(ranges.iter().all(|range| range.start % width == 0));
        let rows = |range: &std::ops::Range<usize>| range.len() / width;
        prop_assert!(ranges.iter().map(rows).max().unwrap() - ranges.iter().map(rows).min().unwrap() <= 1);
    }

    #[test]
    fn each_element_is_written_by_one(len in 0usize..500, bees in 1usize..5, more in 0usize..20) {
        let _alone = run_exclusively();
        let mut data = vec![0; len];
        let parts = Parts::new(&mut data, bees + more);
        hive::par_for((0..parts.count(), Schedule::Dynamic(1)), |range, bee| {
            for part in range {
                parts.part_mut(bee, part).iter_mut().for_each(|x| *x += 1);
            }
        });
        drop(parts);
        prop_assert!(data.iter().all(|x| *x == 1));
    }

    #[test]
    fn loops_write_each_row_once(rows in 0usize..200, width in 1usize..5, chunk in 1usize..50, which in 0usize..5) {
        let _alone = run_exclusively();
        let schedule = [
            Schedule::Static,
            Schedule::StaticChunk(chunk),
            Schedule::Dynamic(chunk),
            Schedule::Guided(chunk),
            Schedule::Affinity,
        ][which];
        let mut data = vec![0; rows * width];
        hive::par_rows_mut(&mut data, width, schedule, |rows, part, _| {
            assert_eq!(part.len(), rows.len() * width);
            for (row, cells) in rows.zip(part.chunks_exact_mut(width)) {
                cells.iter_mut().for_each(|cell| *cell += row + 1);
            }
        });
        prop_assert!(data.iter().enumerate().all(|(i, cell)| *cell == i / width + 1));
    }

    #[test]
    fn uneven_parts_end_where_they_are_told(mut ends in proptest::collection::vec(0usize..100, 0..10)) {
        ends.push(100);
        ends.sort_unstable();
        let mut data: Vec<_> = (0..100).collect();
        let parts = Parts::cut_at(&mut data, &ends);
        let starts = std::iter::once(0).chain(ends.iter().copied());
        for (part, (start, end)) in starts.zip(&ends).enumerate() {
            prop_assert_eq!(parts.range(part), start..*end);
        }
    }
}

#[test]
fn neighbours_are_read_after_a_barrier() {
    let _alone = run_exclusively();
    for bees in [1, 2, 5] {
        let hive = Hive::new(bees).unwrap();
        let mut data = vec![0_usize; 40];
        let parts = Parts::new(&mut data, bees);
        hive.spmd(bees, |bee| {
            for round in 1..200 {
                parts.own_mut(bee).fill(round);
                bee.barrier();
                assert!((0..bees).all(|part| parts.part(bee, part).iter().all(|x| *x == round)));
                bee.barrier();
            }
        });
        drop(parts);
        assert!(data.iter().all(|x| *x == 199));
    }
}

#[test]
fn a_part_is_lent_to_one_writer_or_to_readers() {
    let _alone = run_exclusively();
    silence_panics("");
    let hive = Hive::new(2).unwrap();
    let with = |body: &(dyn Fn(&hive::Bee<'_>, &Parts<'_, i32>) + Sync)| {
        let mut data = vec![0; 10];
        let parts = Parts::new(&mut data, 2);
        panic_message(|| hive.spmd(2, |bee| body(bee, &parts)))
    };
    let twice = with(&|bee, parts| drop((parts.own_mut(bee), parts.own_mut(bee))));
    assert_contains_all(&twice, &["bee 0 cannot have part 0", "it is being written to"]);
    let both = with(&|bee, parts| drop((parts.part(bee, bee.id()), parts.own_mut(bee))));
    assert_contains_all(&both, &["it is being read"]);
    // Found every time, whichever bee comes first: this bee has long returned the part.
    let without_barrier = with(&|bee, parts| {
        if bee.id() == 0 {
            drop(parts.own_mut(bee));
            drop(parts.part(bee, 0));
        }
    });
    assert_contains_all(&without_barrier, &["written to since the last barrier"]);
    let other_way = with(&|bee, parts| {
        if bee.id() == 0 {
            drop(parts.part(bee, 1));
            drop(parts.part_mut(bee, 1));
        }
    });
    assert_contains_all(&other_way, &["read since the last barrier"]);
    assert_contains_all(&with(&|bee, parts| drop(parts.part(bee, 2))), &["no parts 2..3: their numbers are below 2"]);
    let mut data = vec![0; 10];
    let parts = Parts::new(&mut data, 2);
    hive.spmd(2, |bee| drop(parts.own_mut(bee)));
    hive.spmd(2, |bee| assert_eq!(parts.part(bee, 1 - bee.id()).len(), 5));
    // Neither are parts forgotten where the team is smaller than they were cut for, as inside of another region.
    for bees in [1, 3] {
        let message = panic_message(|| Hive::new(bees).unwrap().spmd(bees, |bee| drop(parts.own_mut(bee))));
        assert_contains_all(&message, &["there are 2 parts", &format!("the team has {bees} bees"), "of_bee"]);
    }
    let nested = || hive.spmd(2, |_| hive.spmd(2, |bee| drop(parts.own_mut(bee))));
    assert_contains_all(&panic_message(nested), &["the team has 1 bees"]);
}

/// A team may have 65,535 bees, and each of them several guards of one part.
#[test]
fn a_part_has_as_many_readers_as_there_can_be_bees() {
    const BEES: usize = u16::MAX as usize;
    let _alone = run_exclusively();
    silence_panics("");
    let hive = Hive::new(1).unwrap();
    let mut data = vec![7; 4];
    let parts = Parts::new(&mut data, 2);
    let values = PerBee::new(1, |_| 7);
    hive.spmd(1, |bee| {
        let of_part: Vec<_> = (0..4 * BEES).map(|_| parts.part(bee, 0)).collect();
        let of_value: Vec<_> = (0..4 * BEES).map(|_| values.of(bee, 0)).collect();
        assert!(of_part.iter().all(|part| part[..] == [7, 7]) && of_value.iter().all(|value| **value == 7));
    });
    // All are given back, so they may write again. What is forgotten is never given back.
    hive.spmd(1, |bee| (parts.part_mut(bee, 0)[0], *values.get(bee)) = (8, 8));
    let forget = |read: &(dyn Fn(&hive::Bee<'_>) + Sync)| {
        panic_message(|| hive.spmd(1, |bee| (0..32 * BEES).for_each(|_| read(bee))))
    };
    let of_part = forget(&|bee| std::mem::forget(parts.part(bee, 0)));
    assert_contains_all(&of_part, &["bee 0 cannot have part 0: it has as many readers", "forgotten"]);
    let of_value = forget(&|bee| std::mem::forget(values.of(bee, 0)));
    assert_contains_all(&of_value, &["the value of bee 0 has as many readers", "forgotten"]);
}

#[test]
fn a_part_goes_from_hive_to_hive() {
    let _alone = run_exclusively();
    let mut data = vec![0; 10];
    let parts = Parts::new(&mut data, 2);
    // For each of these hives, this is its first region.
    Hive::new(2).unwrap().spmd(2, |bee| parts.own_mut(bee).fill(1));
    Hive::new(2).unwrap().spmd(2, |bee| assert_eq!(parts.part(bee, 1 - bee.id())[..], [1; 5]));
}

#[test]
fn a_part_comes_back_from_a_bee_that_panics() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    let hive = Hive::new(2).unwrap();
    let mut data = vec![0; 10];
    let parts = Parts::new(&mut data, 2);
    panic_message(|| {
        hive.spmd(2, |bee| {
            let _part = parts.own_mut(bee);
            panic!("as expected");
        });
    });
    hive.spmd(2, |bee| parts.own_mut(bee).fill(1));
    drop(parts);
    assert_eq!(data, [1; 10]);
}

#[test]
fn bad_parts_are_refused() {
    let _alone = run_exclusively();
    silence_panics("");
    let mut data = vec![0; 10];
    assert_contains_all(&panic_message(|| drop(Parts::new(&mut data.clone(), 0))), &["0 parts"]);
    assert_contains_all(&panic_message(|| drop(Parts::rows(&mut data.clone(), 3, 2))), &["10 elements", "rows of 3"]);
    assert_contains_all(&panic_message(|| drop(Parts::rows(&mut data.clone(), 0, 2))), &["row of 0"]);
    assert_contains_all(&panic_message(|| drop(Parts::cut_at(&mut data.clone(), &[5, 3, 10]))), &["[5, 3, 10]"]);
    assert_contains_all(
        &panic_message(|| hive::par_rows_mut(&mut data.clone(), 3, Schedule::Static, |_, _, _| ())),
        &["10 elements", "rows of 3"],
    );
    assert_contains_all(
        &panic_message(|| hive::par_rows_mut(&mut data.clone(), 0, Schedule::Static, |_, _, _| ())),
        &["row of 0"],
    );
    assert_contains_all(&panic_message(|| drop(Parts::cut_at(&mut data, &[5]))), &["ends at 5", "10 elements"]);
}

#[test]
fn each_bee_has_a_value_of_its_own() {
    let _alone = run_exclusively();
    let hive = Hive::new(3).unwrap();
    let per_bee = PerBee::new(3, |bee| vec![bee]);
    for _ in 0..10 {
        hive.spmd(3, |bee| per_bee.get(bee).push(bee.id()));
    }
    let values: Vec<_> = per_bee.into_iter().collect();
    assert!(values.iter().enumerate().all(|(bee, value)| *value == vec![bee; 11]), "{values:?}");
}

#[test]
fn a_value_is_out_once() {
    let _alone = run_exclusively();
    silence_panics("");
    let hive = Hive::new(2).unwrap();
    let per_bee = PerBee::new(1, |_| 0);
    assert_contains_all(
        &panic_message(|| hive.spmd(2, |bee| drop(per_bee.get(bee)))),
        &["for 1 bees", "none for bee 1"],
    );
    assert_contains_all(
        &panic_message(|| hive.spmd(1, |bee| drop((per_bee.get(bee), per_bee.get(bee))))),
        &["out already"],
    );
    // Bees with the same number in several hives never have the value at the same time.
    let (refused, sum) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let hive = Hive::new(1).unwrap();
                for _ in 0..1000 {
                    let got = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        hive.spmd(1, |bee| *per_bee.get(bee) += 1)
                    }));
                    if got.is_ok() { &sum } else { &refused }.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(sum.load(Ordering::Relaxed) + refused.load(Ordering::Relaxed), 3000);
    assert_eq!(per_bee.into_iter().sum::<usize>(), sum.into_inner());
}

#[test]
fn wrong_ends_of_parts_are_told_of_in_words() {
    let cut_at = |ends: &[usize]| panic_message(|| drop(Parts::cut_at(&mut [0; 8], ends)));
    assert_eq!(cut_at(&[]), "a slice cannot be cut into 0 parts");
    assert_eq!(cut_at(&[3, 5]), "the last part ends at 5, and the slice has 8 elements");
}

/// What the triad of `docs/memory.md` has to give, wherever it is run.
fn add_by_plan(hive: &Hive, plan: &hive::Plan) {
    let source: Vec<usize> = (0..plan.len()).collect();
    let mut sums = vec![1; plan.len()];
    hive.par_for_mut(&mut sums, plan, |range, sums, _| {
        assert_eq!(range.len(), sums.len());
        sums.iter_mut().zip(&source[range]).for_each(|(sum, index)| *sum += index);
    });
    assert!(sums.iter().enumerate().all(|(index, sum)| *sum == index + 1));
}

#[test]
fn a_plan_divides_a_slice_in_teams_of_any_size() {
    let _alone = run_exclusively();
    let hive = Hive::new(3).unwrap();
    let plan = hive.plan(1000).aligned(8);
    add_by_plan(&hive, &plan);
    hive.spmd(2, |_| add_by_plan(&hive, &plan)); // nested: one bee runs what the three own
    hive.join(|| add_by_plan(&hive, &plan), || add_by_plan(&hive, &plan));
    hive.resize(1).unwrap();
    add_by_plan(&hive, &plan); // it grows to the size of the plan
    assert_eq!(hive.bees(), 3);
    // The elements that the plan does not know of stay as they are.
    let mut longer = vec![0; 1010];
    hive.par_for_mut(&mut longer, &plan, |_, part, _| part.fill(1));
    assert_eq!(longer.iter().sum::<i32>(), 1000);
}

#[test]
fn a_loop_divides_a_slice_or_a_part_of_it() {
    let _alone = run_exclusively();
    let hive = Hive::new(2).unwrap();
    let mut rows = vec![0; 70];
    let inner = hive::Loop::new(1..9, Schedule::Dynamic(2));
    hive.par_rows_mut(&mut rows, 7, inner, |numbers, part, _| {
        part.chunks_exact_mut(7).zip(numbers).for_each(|(row, number)| row.fill(number));
    });
    assert!(rows.chunks_exact(7).enumerate().all(|(number, row)| row == [number % 9; 7]));
    let refused = |work: hive::Loop| panic_message(|| hive.par_for_mut(&mut [0; 10], work, |_, _, _| ()));
    silence_panics("does not fit");
    assert!(refused((0..11).into()).contains("a loop over 0..11 does not fit a slice of 10"));
    assert!(refused((11..12).into()).contains("does not fit"));
    hive.par_for_mut(&mut [0; 10], hive::Loop::from(12..12), |_, _, _| unreachable!("there are no indices"));
    let plan = hive.plan(11);
    let refused = panic_message(|| hive.par_for_mut(&mut [0; 10], &plan, |_, _, _| ()));
    assert!(refused.contains("a plan for 11 indices does not fit a slice of 10"), "{refused}");
}

#[test]
fn a_plan_with_a_minimum_of_work_runs_each_index_once_and_in_order() {
    let _alone = run_exclusively();
    let hive = Hive::new(4).unwrap();
    let concat = hive::Reduction::per_team_size(String::new(), |a: String, b: String| a + &b);
    for min_work in 1..=9 {
        let plan = hive.plan(8);
        let work = hive::Loop::from(&plan).min_work(min_work);
        let runs = AtomicUsize::new(0);
        hive.spmd(4, |bee| bee.for_each(&work, |range| _ = runs.fetch_add(range.len(), Ordering::Relaxed)));
        assert_eq!(runs.into_inner(), 8, "at least {min_work} each");
        let digits = |range: std::ops::Range<usize>| range.map(|index| index.to_string()).collect();
        assert_eq!(hive.par_reduce(work, &concat, digits), "01234567", "at least {min_work} each");
        assert_eq!(hive.par_reduce(&plan, &concat, digits), "01234567");
    }
}

#[test]
fn neighbouring_parts_are_one_slice() {
    let hive = Hive::new(2).unwrap();
    let mut data: Vec<usize> = (0..10).collect();
    let parts = Parts::new(&mut data, 5);
    hive.spmd(2, |bee| {
        // One bee writes to the last parts while both read the first ones.
        assert_eq!(parts.parts(bee, 0..3)[..], [0, 1, 2, 3, 4, 5]);
        if bee.is_queen() {
            parts.parts_mut(bee, 3..5).fill(7);
        }
        assert!(parts.parts(bee, 2..2).is_empty());
        bee.barrier();
        assert_eq!(parts.whole(bee)[4..], [4, 5, 7, 7, 7, 7]);
    });
    let refused =
        |range: std::ops::Range<usize>| panic_message(|| hive.spmd(1, |bee| drop(parts.parts(bee, range.clone()))));
    assert!(refused(3..6).contains("there are no parts 3..6: their numbers are below 5"));
    assert!(refused(5..6).contains("there are no parts 5..6"));
    let message = panic_message(|| hive.spmd(1, |bee| drop(parts.part(bee, usize::MAX))));
    let part = usize::MAX;
    assert!(message.contains(&format!("there are no parts {part}..{part}: their numbers are below 5")), "{message}");
    // A part that cannot be had gives back those before it.
    let message = panic_message(|| {
        hive.spmd(2, |bee| {
            if bee.is_queen() {
                let _held = parts.part_mut(bee, 2);
                drop(parts.parts(bee, 0..5));
            }
        });
    });
    assert!(message.contains("part 2: it is being written to, by this bee itself: drop the guard"), "{message}");
    hive.spmd(1, |bee| parts.parts_mut(bee, 0..5).fill(0));
}

#[test]
fn a_guard_that_lives_on_past_a_barrier_is_named() {
    let hive = Hive::new(2).unwrap();
    let mut data = vec![0; 4];
    let parts = Parts::new(&mut data, 2);
    let message = panic_message(|| {
        hive.spmd(2, |bee| {
            let guard = (bee.id() == 1).then(|| parts.part(bee, 0));
            bee.barrier();
            if guard.is_some() {
                parts.part_mut(bee, 0).fill(1);
            }
        });
    });
    assert_contains_all(&message, &["bee 1 cannot have part 0", "by this bee itself since before the last barrier"]);
}

#[test]
fn the_parts_of_a_bee_are_all_parts_of_the_team() {
    let mut data = vec![0; 7];
    for bees in 1..5 {
        let parts = Parts::new(&mut data, 7);
        let hive = Hive::new(bees).unwrap();
        hive.spmd(bees, |bee| parts.of_bee(bee).for_each(|part| parts.part_mut(bee, part)[0] += 1));
    }
    assert_eq!(data, [4; 7]);
}
