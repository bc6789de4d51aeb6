//! Loops with results, over items and tiles, that end early, and reductions in one line.

#![cfg(target_os = "linux")]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::panic_message;
use hive::{Hive, Loop, Rows, Schedule, SharedSlice, Stop};
use proptest::prelude::*;

const SCHEDULES: [Schedule; 6] = [
    Schedule::Static,
    Schedule::StaticChunk(3),
    Schedule::Dynamic(5),
    Schedule::Guided(2),
    Schedule::Factoring,
    Schedule::Affinity,
];

/// A value that counts how many of its kind there are.
struct Counted<'c>(&'c AtomicUsize);

impl<'c> Counted<'c> {
    fn new(count: &'c AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn results_of_a_map_are_in_order_under_all_schedules() {
    let hive = Hive::new(3).unwrap();
    for schedule in SCHEDULES {
        for range in [0..0, 7..8, 5..505] {
            let results = hive.par_map((range.clone(), schedule), |i| format!("{i}"));
            assert!(results.iter().zip(range.clone()).all(|(result, i)| *result == i.to_string()));
            assert_eq!(results.len(), range.len());
        }
    }
    let plan = hive.plan(100);
    assert!(hive.par_map(&plan, |i| i).into_iter().eq(0..100));
    assert_eq!(hive.par_map(0..1000, |_| ()).len(), 1000, "values without a size");
    assert!(hive.par_map(Loop::from(0..50).min_work(100), |i| i).into_iter().eq(0..50));
}

#[test]
fn a_panic_in_a_map_drops_each_result_once() {
    let hive = Hive::new(3).unwrap();
    for schedule in SCHEDULES {
        for bad in [0, 1, 50, 149] {
            let count = AtomicUsize::new(0);
            let result = catch_unwind(AssertUnwindSafe(|| {
                hive.par_map((0..150, schedule), |i| if i == bad { panic!("{bad}") } else { Counted::new(&count) })
            }));
            assert!(result.is_err());
            assert_eq!(count.load(Ordering::Relaxed), 0, "{schedule:?}");
        }
    }
}

#[test]
fn each_item_is_taken_once_and_dropped_after_a_panic() {
    let hive = Hive::new(3).unwrap();
    for schedule in SCHEDULES {
        let (count, seen) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let items = (0..100).map(|i| (i, Counted::new(&count)));
        hive.par_items(items, schedule, |(i, _item), _| _ = seen.fetch_add(i, Ordering::Relaxed));
        assert_eq!((count.load(Ordering::Relaxed), seen.into_inner()), (0, 4950));
        let items: Vec<_> = (0..100).map(|i| (i, Counted::new(&count))).collect();
        let bad = |(i, _item): (usize, Counted<'_>), _: &hive::Bee<'_>| assert!(i != 40, "40");
        assert!(catch_unwind(AssertUnwindSafe(|| hive.par_items(items, schedule, bad))).is_err());
        assert_eq!(count.into_inner(), 0, "{schedule:?}");
    }
}

proptest! {
    #[test]
    fn the_first_index_is_found(len in 0usize..20_000, hits in proptest::collection::vec(0usize..20_000, 0..4)) {
        let start = len / 3;
        let expected = hits.iter().copied().filter(|hit| (start..len).contains(hit)).min();
        prop_assert_eq!(hive::par_find(start..len, |i| hits.contains(&i)), expected);
    }

    #[test]
    fn each_cell_of_a_matrix_is_in_one_tile(
        rows in 0usize..40, width in 1usize..40, tile in [1usize..20, 1usize..20], which in 0usize..6
    ) {
        let mut matrix = vec![0; rows * width];
        hive::par_tiles_mut(&mut matrix, width, tile, SCHEDULES[which], |mut tile, _| {
            let columns = tile.columns();
            for row in tile.rows() {
                assert_eq!(tile.row(row).len(), columns.len());
                for column in columns.clone() {
                    tile[(row, column)] += row * width + column;
                }
            }
            tile.rows_mut().for_each(|row| row.iter_mut().for_each(|cell| *cell += 1));
        });
        prop_assert!(matrix.iter().enumerate().all(|(i, cell)| *cell == i + 1));
    }

    #[test]
    fn rows_of_different_widths_go_together(rows in 0usize..100, widths in [1usize..5, 1usize..5], which in 0usize..6) {
        let (mut a, mut b, mut c) = (vec![0; rows * widths[0]], vec![0; rows * widths[1]], vec![0; rows]);
        let slices = (Rows::new(&mut a, widths[0]), &mut c, Rows::new(&mut b, widths[1]));
        hive::par_zip_mut(slices, SCHEDULES[which], |range, (a, c, b), _| {
            assert_eq!((a.len(), b.len()), (range.len() * widths[0], range.len() * widths[1]));
            for (i, row) in range.clone().enumerate() {
                a[i * widths[0]..][..widths[0]].iter_mut().for_each(|cell| *cell += row + 1);
                b[i * widths[1]..][..widths[1]].iter_mut().for_each(|cell| *cell += row + 1);
                c[i] += row + 1;
            }
        });
        prop_assert!(a.iter().enumerate().all(|(i, cell)| *cell == i / widths[0] + 1));
        prop_assert!(b.iter().enumerate().all(|(i, cell)| *cell == i / widths[1] + 1));
        prop_assert!(c.iter().enumerate().all(|(i, cell)| *cell == i + 1));
    }
}

#[test]
fn eight_slices_are_written_at_once() {
    let mut slices = [(); 8].map(|()| vec![0_u32; 100]);
    let [a, b, c, d, e, f, g, h] = &mut slices;
    hive::par_zip_mut((a, b, c, d, e, f, g, h), Schedule::Static, |_, (a, b, c, d, e, f, g, h), _| {
        for (number, part) in [a, b, c, d, e, f, g, h].into_iter().enumerate() {
            part.iter_mut().for_each(|x| *x += number as u32);
        }
    });
    assert!(slices.iter().enumerate().all(|(number, slice)| slice.iter().all(|x| *x == number as u32)));
    let message = panic_message(|| {
        hive::par_zip_mut((Rows::new(&mut [0; 6], 2), &mut [0; 4]), Schedule::Static, |_, _, _| ());
    });
    assert!(message.contains("of rows: [3, 4]"), "{message}");
}

#[test]
fn a_cell_outside_of_its_tile_is_refused() {
    let mut matrix = vec![0; 64];
    for (cell, expected) in [((4, 0), "row 4 is none of the tile's, 0..4"), ((0, 4), "column 4 is none of the")] {
        let message = panic_message(|| {
            let plan = Loop::from(0..1);
            hive::par_tiles_mut(&mut matrix, 8, [4, 4], plan, |mut tile, _| tile[cell] = 1);
        });
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_loop_that_is_stopped_begins_no_more_pieces() {
    let hive = Hive::new(2).unwrap();
    for schedule in SCHEDULES {
        let (stop, ran) = (Stop::new(), AtomicUsize::new(0));
        let count = |range: std::ops::Range<usize>| ran.fetch_add(range.len(), Ordering::Relaxed);
        assert!(hive.par_for_until((0..10_000, schedule), &stop, |range, _| _ = count(range)));
        assert_eq!(ran.swap(0, Ordering::Relaxed), 10_000);
        let is_done = hive.par_for_until((0..10_000, schedule), &stop, |range, _| {
            count(range);
            stop.stop();
        });
        // Each bee may have been in the middle of one piece.
        assert!(!is_done && ran.swap(0, Ordering::Relaxed) < 1000, "{schedule:?}");
        assert!(!hive.par_for_until((0..10_000, schedule), &stop, |_, _| unreachable!("it has been stopped")));
        assert!(!hive.par_for_until((0..0, schedule), &stop, |_, _| unreachable!("there is no index")));
        // A fault in the last index counts as one in the first.
        let last = Stop::new();
        let is_done = hive.par_for_until((0..10_000, schedule), &last, |range, _| {
            if range.contains(&9_999) {
                last.stop();
            }
        });
        assert!(!is_done, "{schedule:?}");
    }
}

/// The chunks that are left when a loop has ended are not dealt out one by one.
#[test]
fn loops_of_any_length_end_early() {
    for schedule in SCHEDULES.into_iter().chain([Schedule::Dynamic(1), Schedule::StaticChunk(1)]) {
        for end in [1 << 40, usize::MAX / 2] {
            let (stop, hive) = (Stop::new(), Hive::new(2).unwrap());
            let is_done = hive.par_for_until((0..end, schedule), &stop, |_, _| stop.stop());
            assert!(!is_done, "{schedule:?}");
        }
    }
    assert_eq!(hive::par_find(0..usize::MAX / 2, |i| i >= 31_623), Some(31_623));
}

#[test]
fn a_deadline_stops() {
    let late = Stop::at(Instant::now());
    assert!(late.is_stopped() && !hive::par_for_until(0..10, &late, |_, _| ()));
    let (early, never) = (Stop::after(Duration::from_secs(3600)), Stop::after(Duration::MAX));
    assert!(!early.is_stopped() && !never.is_stopped());
    early.stop();
    assert!(early.is_stopped());
}

#[test]
fn reductions_in_one_line_are_the_same_bits_for_all_teams() {
    let x: Vec<f64> = (0..12_345_u32).map(|i| f64::from(i.wrapping_mul(2_654_435_761)).sin() / 3.0).collect();
    let results = |bees: usize, schedule| {
        let hive = Hive::builder().bees(bees).pin(hive::Pin::None).build().unwrap();
        let sum = hive.par_sum((0..x.len(), schedule), |i| x[i]);
        let (least, most) = hive.par_min_max((0..x.len(), schedule), |i| x[i]).unwrap();
        let (index, value) = hive.par_argmin((0..x.len(), schedule), |i| x[i]).unwrap();
        ([sum, hive.par_dot(&x, &x), least, most, value].map(f64::to_bits), index)
    };
    let expected = results(1, Schedule::Static);
    for bees in 1..=5 {
        for schedule in SCHEDULES {
            assert_eq!(results(bees, schedule), expected, "{bees} bees, {schedule:?}");
        }
    }
    let plain = x.iter().sum::<f64>();
    assert!((f64::from_bits(expected.0[0]) - plain).abs() < 1e-9);
    assert_eq!(f64::from_bits(expected.0[2]), x.iter().copied().fold(f64::MAX, f64::min));
    assert_eq!(expected.1, x.iter().position(|x| *x == f64::from_bits(expected.0[2])).unwrap());
}

#[test]
fn nothing_and_nan_have_no_smallest_value() {
    let nan = [f64::NAN; 10];
    assert_eq!((hive::par_min_max(0..10, |i| nan[i]), hive::par_argmin(0..10, |i| nan[i])), (None, None));
    assert_eq!(hive::par_sum(0..0, |_| 1.0_f64), 0.0);
    assert_eq!(hive::par_dot::<f64>(&[], &[]), 0.0);
    let message = panic_message(|| _ = hive::par_dot(&[1.0], &[]));
    assert!(message.contains("different lengths"), "{message}");
}

#[test]
fn two_bees_at_one_element_are_found_if_there_is_no_barrier_between() {
    let mut data = [0_u64; 8];
    let shared = SharedSlice::new(&mut data);
    let hive = Hive::new(2).unwrap();
    hive.spmd(2, |bee| {
        for round in 0..4 {
            shared.scatter(bee, (bee.id() + round) % 2, bee.id() as u64);
            shared.scatter(bee, (bee.id() + round) % 2, round as u64);
            bee.barrier();
        }
    });
    assert_eq!((shared.get(0), shared.get(1), shared.len()), (3, 3, 8));
    if cfg!(debug_assertions) {
        let message = panic_message(|| hive.spmd(2, |bee| shared.scatter(bee, 5, bee.id() as u64)));
        assert!(message.contains("writes to element 5, and bee"), "{message}");
    }
    // So is a read without a barrier after the write, even if a signal orders it.
    let read = |bee: &hive::Bee<'_>, wait: fn(&hive::Bee<'_>)| {
        if bee.is_queen() {
            shared.scatter(bee, 4, 17);
            bee.signal(1);
        }
        wait(bee);
        assert_eq!(shared.gather(bee, 4), 17);
    };
    hive.spmd(2, |bee| read(bee, |bee| bee.barrier()));
    if cfg!(debug_assertions) {
        let message = panic_message(|| hive.spmd(2, |bee| read(bee, |bee| bee.wait_for(0, 1))));
        assert!(message.contains("bee 1 reads element 4, and bee 0 has written to it"), "{message}");
    }
    // Without the check either value is there.
    hive.spmd(2, |bee| shared.set(6, 10 + bee.id() as u64));
    assert!([10, 11].contains(&shared.get(6)));
    assert!(panic_message(|| _ = shared.get(8)).contains("there is no element 8: the slice has 8"));
}
