//! Reductions and prefix sums: their results are right, and as reproducible as their level says.
//!
//! See `docs/collectives.md`.

#![cfg(target_os = "linux")]

mod common;

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{Rng, assert_contains_all, panic_message, run_exclusively, silence_panics};
use hive::{Hive, Reduction, Scan, Schedule};

/// Numbers whose sum depends on the order of the additions: large ones that cancel, and small ones that get lost
/// between them.
fn adversarial(len: usize) -> Vec<f64> {
    let mut dice = Rng::new(11);
    let number = |dice: &mut Rng| {
        let magnitude = 10_f64.powi(dice.next_up_to(33) as i32 - 17);
        let sign = if dice.next_up_to(2) == 1 { 1.0 } else { -1.0 };
        sign * magnitude * dice.next_up_to(1_000_000) as f64
    };
    (0..len).map(|_| number(&mut dice)).collect()
}

fn random_schedule(dice: &mut Rng) -> Schedule {
    match dice.next_up_to(6) {
        1 => Schedule::Static,
        2 => Schedule::StaticChunk(dice.next_up_to(300)),
        3 => Schedule::Dynamic(dice.next_up_to(300)),
        4 => Schedule::Guided(dice.next_up_to(300)),
        5 => Schedule::Factoring,
        _ => Schedule::Affinity,
    }
}

#[test]
fn fixed_is_bit_equal_for_teams_of_1_to_16_and_all_schedules() {
    let _alone = run_exclusively();
    let x = adversarial(20_011);
    let sum = Reduction::deterministic(0.0, |a, b| a + b);
    let mut dice = Rng::new(3);
    let mut bits = HashSet::new();
    for bees in 1..=16 {
        let hive = Hive::new(bees).unwrap();
        for _ in 0..6 {
            let schedule = random_schedule(&mut dice);
            let total: f64 = hive.par_reduce((0..x.len(), schedule), &sum, |range| x[range].iter().sum());
            bits.insert(total.to_bits());
        }
        let in_a_region =
            hive.spmd_map(bees, |bee| bee.reduce_over(0..x.len(), &sum, |range| x[range].iter().sum::<f64>()));
        bits.extend(in_a_region.into_iter().map(f64::to_bits));
    }
    assert_eq!(bits.len(), 1, "{bits:?}");
}

#[test]
fn per_team_is_bit_equal_from_run_to_run() {
    let _alone = run_exclusively();
    let x = adversarial(20_011);
    let sum = Reduction::per_team_size(0.0, |a, b| a + b);
    for bees in [1, 2, 3, 8] {
        let hive = Hive::new(bees).unwrap();
        for schedule in [Schedule::Static, Schedule::Dynamic(1), Schedule::Guided(1), Schedule::Affinity] {
            let run = || hive.par_reduce((0..x.len(), schedule), &sum, |range| x[range].iter().sum::<f64>()).to_bits();
            let bits: HashSet<_> = (0..10).map(|_| run()).collect();
            assert_eq!(bits.len(), 1, "{schedule:?} of {bees}");
        }
        let all = hive
            .spmd_map(bees, |bee| bee.all_reduce(x[bee.split(0..x.len())].iter().sum::<f64>(), |a, b| a + b).to_bits());
        let again = hive
            .spmd_map(bees, |bee| bee.all_reduce(x[bee.split(0..x.len())].iter().sum::<f64>(), |a, b| a + b).to_bits());
        assert!(all.iter().chain(&again).all(|bits| *bits == all[0]), "{bees}: {all:?} {again:?}");
    }
}

#[test]
fn fast_and_per_team_differ_where_fixed_does_not() {
    let _alone = run_exclusively();
    let x = adversarial(20_011);
    let (mut fast, mut per_team) = (HashSet::new(), HashSet::new());
    for bees in 1..=8 {
        let hive = Hive::new(bees).unwrap();
        for chunk in [1, 10, 100] {
            let run = |range: std::ops::Range<usize>| x[range].iter().sum::<f64>();
            fast.insert(
                hive.par_reduce((0..x.len(), Schedule::Dynamic(chunk)), &Reduction::unordered(0.0, |a, b| a + b), run)
                    .to_bits(),
            );
        }
        let sum = Reduction::per_team_size(0.0, |a, b| a + b);
        per_team.insert(hive.par_reduce(0..x.len(), &sum, |range| x[range].iter().sum::<f64>()).to_bits());
    }
    assert!(fast.len() > 1 && per_team.len() > 1, "{fast:?} {per_team:?}");
}

#[test]
fn every_level_is_right_where_order_does_not_matter() {
    let _alone = run_exclusively();
    let mut dice = Rng::new(5);
    for bees in [1, 2, 5] {
        let hive = Hive::new(bees).unwrap();
        for len in [0, 1, 2, 3, 255, 256, 257, 1000] {
            let expected: usize = (0..len).sum();
            let schedule = random_schedule(&mut dice);
            let add = |a: usize, b: usize| a + b;
            let map = |range: std::ops::Range<usize>| range.sum::<usize>();
            assert_eq!(
                hive.par_reduce((0..len, schedule), &Reduction::unordered(0, add), map),
                expected,
                "{schedule:?}"
            );
            assert_eq!(
                hive.par_reduce((0..len, schedule), &Reduction::per_team_size(0, add), map),
                expected,
                "{schedule:?}"
            );
            assert_eq!(
                hive.par_reduce((0..len, schedule), &Reduction::deterministic(0, add).blocks(10), map),
                expected,
                "{schedule:?}"
            );
            let in_region = hive.spmd_map(bees, |bee| {
                let fixed = bee.reduce_over(0..len, &Reduction::deterministic(0, add), map);
                (
                    fixed,
                    bee.reduce_over(0..len, &Reduction::unordered(0, add), map),
                    bee.reduce_over(0..len, &Reduction::per_team_size(0, add), map),
                )
            });
            assert!(in_region.iter().all(|sums| *sums == (expected, expected, expected)), "{in_region:?}");
        }
    }
}

#[test]
fn a_bee_s_part_is_what_it_reduces() {
    let _alone = run_exclusively();
    for bees in [1, 2, 3, 7] {
        let hive = Hive::new(bees).unwrap();
        for len in [0, 1, 5, 576, 1000] {
            let (fixed, per_team) =
                (Reduction::deterministic(true, |a, b| a & b), Reduction::per_team_size(true, |a, b| a & b));
            hive.spmd(bees, |bee| {
                let (own, block) =
                    (fixed.part(7..7 + len, bee.id(), bee.bees()), per_team.part(7..7 + len, bee.id(), bee.bees()));
                assert_eq!(block, bee.split(7..7 + len));
                let inside = |own: &std::ops::Range<usize>, range: std::ops::Range<usize>| {
                    own.start <= range.start && range.end <= own.end
                };
                assert!(bee.reduce_over(7..7 + len, &fixed, |range| inside(&own, range)));
                assert_eq!(bee.scan_inclusive(own.len(), |a, b| a + b), own.end - 7);
                assert_eq!(bee.all_reduce(own.len(), |a, b| a + b), len);
            });
        }
    }
}

#[test]
fn blocks_that_are_reduced_elsewhere_combine_to_the_same_bits() {
    let _alone = run_exclusively();
    let hive = Hive::new(3).unwrap();
    let x = adversarial(20_011);
    for (len, most) in [(0, 256), (1, 256), (255, 256), (20_011, 256), (20_011, 1), (20_011, 7), (20_011, 4096)] {
        let sum = Reduction::deterministic(0.0, |a, b| a + b).blocks(most);
        let total: f64 = hive.par_reduce((5..5 + len, Schedule::Dynamic(2)), &sum, |range| {
            x[range.start - 5..range.end - 5].iter().sum()
        });
        // Three processes, the last of them first.
        let of_process = |process| {
            let own = sum.part(5..5 + len, process, 3);
            let blocks: Vec<_> = sum.blocks_of(5..5 + len).filter(|block| own.contains(&block.start)).collect();
            assert!(blocks.iter().all(|block| block.end <= own.end));
            blocks.into_iter().map(|block| x[block.start - 5..block.end - 5].iter().sum()).collect()
        };
        let parts: Vec<Vec<f64>> = (0..3).rev().map(of_process).collect();
        let combined = sum.combine(parts.into_iter().rev().flatten());
        assert_eq!(combined.to_bits(), total.to_bits(), "{len} indices in up to {most} blocks");
        assert_eq!(sum.blocks_of(5..5 + len).len(), most.min(len));
    }
}

#[test]
#[should_panic(expected = "65536 at most")]
fn more_results_than_there_can_be_blocks_are_refused() {
    Reduction::deterministic(0, |a, b| a + b).combine(0..70_000);
}

#[test]
fn operations_that_are_not_commutative_keep_their_order() {
    let _alone = run_exclusively();
    let hive = Hive::new(4).unwrap();
    let words: Vec<_> = (0..500).map(|i| format!("{i} ")).collect();
    let expected = words.concat();
    let concat = Reduction::deterministic(String::new(), |a, b| a + &b);
    for schedule in [Schedule::Static, Schedule::Dynamic(3), Schedule::Guided(1), Schedule::Affinity] {
        assert_eq!(hive.par_reduce((0..500, schedule), &concat, |range| words[range].concat()), expected);
    }
    let concat = Reduction::per_team_size(String::new(), |a, b| a + &b);
    assert_eq!(hive.par_reduce((0..500, Schedule::Dynamic(3)), &concat, |range| words[range].concat()), expected);
}

#[test]
fn prefix_sums() {
    let _alone = run_exclusively();
    for bees in [1, 2, 3, 7] {
        let hive = Hive::new(bees).unwrap();
        for len in [0, 1, 2, 5, 100, 1000] {
            let data: Vec<u64> = (0..len).map(|i| i * i % 17 + 1).collect();
            let inclusive: Vec<u64> = data
                .iter()
                .scan(0, |sum, x| {
                    *sum += x;
                    Some(*sum)
                })
                .collect();
            let exclusive: Vec<u64> = inclusive.iter().zip(&data).map(|(sum, x)| sum - x).collect();
            let scanned = |scan, fixed| {
                let mut data = data.clone();
                if fixed {
                    hive.par_scan(&mut data, &Reduction::deterministic(0, |a, b| a + b), scan);
                } else {
                    hive.par_scan(&mut data, &Reduction::unordered(0, |a, b| a + b), scan);
                }
                data
            };
            for fixed in [true, false] {
                assert_eq!(scanned(Scan::Inclusive, fixed), inclusive, "{len} by {bees}");
                assert_eq!(scanned(Scan::Exclusive, fixed), exclusive, "{len} by {bees}");
            }
        }
    }
}

#[test]
fn fixed_prefix_sums_are_bit_equal() {
    let _alone = run_exclusively();
    let x = adversarial(5_003);
    let scanned = |bees| {
        let mut x = x.clone();
        Hive::new(bees).unwrap().par_scan(&mut x, &Reduction::deterministic(0.0, |a, b| a + b), Scan::Inclusive);
        x.into_iter().map(f64::to_bits).collect::<Vec<_>>()
    };
    let alone = scanned(1);
    assert!((2..=9).all(|bees| scanned(bees) == alone));
}

#[test]
fn an_exclusive_scan_begins_with_the_neutral_value() {
    let _alone = run_exclusively();
    let mut data = vec![3, 1, 2];
    Hive::new(2).unwrap().par_scan(&mut data, &Reduction::per_team_size(1, |a, b| a * b), Scan::Exclusive);
    assert_eq!(data, [1, 3, 3]);
}

#[test]
fn collectives_of_every_size_of_value() {
    let _alone = run_exclusively();
    for bees in [1, 2, 5, 17, 20] {
        let hive = Hive::new(bees).unwrap();
        hive.spmd(bees, |bee| {
            let (id, n) = (bee.id(), bee.bees());
            for round in 0..50 {
                assert_eq!(bee.all_reduce(id + round, |a, b| a + b), (0..n).sum::<usize>() + n * round);
                assert_eq!(bee.all_reduce([id; 100], |a, b| std::array::from_fn(|i| a[i].max(b[i])))[99], n - 1);
                assert_eq!(bee.reduce(1_u8, |a, b| a + b), (id == 0).then_some(n as u8));
                assert_eq!(bee.scan_inclusive(1, |a, b| a + b), id + 1);
                assert_eq!(bee.scan_exclusive(5, 1, |a, b| a + b), id + 5);
                assert_eq!(bee.broadcast_from(round % n, || id * 10), round % n * 10);
                bee.all_reduce((), |(), ()| ());
            }
        });
    }
}

#[test]
fn only_one_bee_does_what_is_for_a_single_one() {
    let _alone = run_exclusively();
    for bees in [1, 2, 6] {
        let (hive, runs) = (Hive::new(bees).unwrap(), AtomicUsize::new(0));
        for _ in 0..20 {
            hive.spmd(bees, |bee| {
                for round in 1..=30 {
                    let seen = bee.single(|| runs.fetch_add(1, Ordering::Relaxed) + 1);
                    assert_eq!(seen % 30, round % 30);
                }
            });
        }
        assert_eq!(runs.into_inner(), 600);
    }
}

#[test]
fn bees_that_call_different_things_are_told() {
    let _alone = run_exclusively();
    silence_panics("");
    let hive = Hive::new(2).unwrap();
    let different = |odd: &(dyn Fn(&hive::Bee<'_>) + Sync)| {
        panic_message(|| {
            hive.spmd(2, |bee| {
                if bee.id() == 1 {
                    odd(bee);
                } else {
                    bee.all_reduce(1.0, f64::max);
                }
            })
        })
    };
    let other_type = different(&|bee| {
        bee.all_reduce(1_u64, |a, b| a + b);
    });
    assert_contains_all(&other_type, &["came to barrier number 1 for something else", "in the same order"]);
    assert_contains_all(&different(&|bee| bee.barrier()), &["bee 1 came to barrier number 1 for something else"]);
    assert_contains_all(
        &different(&|_| ()),
        &["all bees must call barrier() equally often, counting the collective operations"],
    );
    let three = Hive::new(3).unwrap();
    let inside = panic_message(|| {
        three.spmd(3, |bee| {
            bee.all_reduce(1, |a, b| {
                bee.barrier();
                a + b
            });
        });
    });
    assert_contains_all(&inside, &["bee", "calls barrier in the work of its all_reduce", "must not itself wait"]);
    assert_contains_all(
        &panic_message(|| {
            hive.spmd(2, |bee| {
                bee.broadcast_from(2, || 0);
            })
        }),
        &["no bee 2 in a team of 2"],
    );
    common::assert_hive_works(&hive, 2);
}

/// Where a panic goes on already, it is told afterwards.
#[test]
fn an_operation_that_waits_for_the_bees_in_a_destructor_is_told() {
    /// Comes to a barrier when it is dropped, while a panic goes on.
    struct BarrierOnDrop<'b>(&'b hive::Bee<'b>);
    impl Drop for BarrierOnDrop<'_> {
        fn drop(&mut self) {
            self.0.barrier();
        }
    }
    let _alone = run_exclusively();
    silence_panics("");
    let three = Hive::new(3).unwrap();
    let in_destructor = panic_message(|| {
        three.spmd(3, |bee| {
            bee.all_reduce(1, |a, b| {
                let _ = catch_unwind(AssertUnwindSafe(|| {
                    let _coming = BarrierOnDrop(bee);
                    panic_any("as expected");
                }));
                a + b
            });
        });
    });
    assert_contains_all(&in_destructor, &["an operation on values of all bees must not itself wait for the bees"]);
    common::assert_hive_works(&three, 3);
}

#[test]
fn a_panic_on_the_way_to_a_collective_frees_the_others() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    let hive = Hive::new(3).unwrap();
    for _ in 0..100 {
        let message = panic_message(|| {
            hive.spmd(3, |bee| {
                bee.all_reduce(1, |a, b| a + b);
                assert!(bee.id() != 1, "as expected");
                bee.scan_inclusive(1, |a, b| a + b);
            });
        });
        assert_eq!(message, "as expected");
    }
    assert_eq!(hive.spmd_map(3, |bee| bee.all_reduce(bee.id(), |a, b| a + b)), [3, 3, 3]);
}

/// If not all bees name the same root, a bee reports which bee named which root, and the region does not return
/// normally.
#[test]
fn different_roots_of_a_broadcast_are_told_of() {
    let _alone = run_exclusively();
    silence_panics("with root");
    let hive = Hive::new(3).unwrap();
    for number in 0..27 {
        let roots = [number / 9, number / 3 % 3, number % 3];
        let run =
            || hive.spmd(3, |bee| assert_eq!(bee.broadcast_from(roots[bee.id()], || roots[bee.id()]), roots[bee.id()]));
        if roots == [roots[0]; 3] {
            run();
            continue;
        }
        let said = panic_message(run);
        assert_contains_all(&said, &["at barrier number 1 bee ", " calls broadcast_from with root "]);
        let names = |id: usize| said.contains(&format!("bee {id} calls broadcast_from with root {}, bee ", roots[id]));
        let other = |id: usize| said.contains(&format!(", bee {id} with root {}:", roots[id]));
        assert!((0..3).any(names) && (0..3).any(other), "{roots:?}: {said}");
    }
    common::assert_hive_works(&hive, 3);
}

#[test]
fn a_broadcast_is_not_taken_for_another_collective_of_the_same_type() {
    let _alone = run_exclusively();
    silence_panics("something else");
    let hive = Hive::new(2).unwrap();
    let said = panic_message(|| {
        hive.spmd(2, |bee| {
            if bee.is_queen() {
                bee.broadcast_from(1, || 7)
            } else {
                bee.all_reduce(7, |a, b| a + b)
            };
        });
    });
    assert_contains_all(&said, &["came to barrier number 1 for something else"]);
}
