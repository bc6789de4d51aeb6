//! More bees than CPUs: regions and barriers make progress, whether the bees sleep at once, poll first, or poll without
//! end.

#![cfg(target_os = "linux")]

mod common;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use common::{assert_hive_works, panic_message, proc_threads, run_exclusively, silence_panics};
use hive::{ErrorKind, Hive, Parts, PerBee, Reduction, Schedule};

/// Runs barriers and regions of `n` bees.
fn assert_progress(hive: &Hive, n: usize, barriers: usize, regions: usize) {
    let runs = AtomicUsize::new(0);
    hive.spmd(n, |bee| {
        for round in 1..=barriers {
            runs.fetch_add(1, Ordering::Relaxed);
            bee.barrier();
            assert_eq!(runs.load(Ordering::Relaxed), n * round);
            bee.barrier();
        }
    });
    (0..regions).for_each(|_| {
        hive.spmd(n, |_| {
            runs.fetch_add(1, Ordering::Relaxed);
        });
    });
    assert_eq!(runs.into_inner(), n * (barriers + regions));
}

#[test]
fn eight_bees_meet_at_barriers() {
    let _alone = run_exclusively();
    // Endless polling must give way where CPUs are short; otherwise each barrier would cost time slices.
    for spin in [Duration::ZERO, Duration::from_micros(200), Duration::MAX] {
        let hive = Hive::builder().bees(8).spin(spin).build().unwrap();
        assert_progress(&hive, 8, 1_000, 1_000);
    }
}

#[test]
fn sixty_four_bees_meet_at_barriers() {
    let _alone = run_exclusively();
    for spin in [Duration::ZERO, Duration::from_micros(200), Duration::MAX] {
        let hive = Hive::builder().bees(64).spin(spin).build().unwrap();
        assert_progress(&hive, 64, 50, 50);
    }
}

#[test]
fn a_thousand_bees() {
    let _alone = run_exclusively();
    let hive = Hive::builder().bees(1).max_bees(1_000).stack_size(64 << 10).build().unwrap();
    if let Err(error) = hive.try_spmd(1_000, |_| ()) {
        assert_eq!(error.kind(), ErrorKind::Threads, "{error}");
        return println!("skipped: {error}");
    }
    assert_progress(&hive, 1_000, 2, 2);
    hive.resize(1).unwrap();
    hive.wait_until_parked();
    assert_progress(&hive, 1_000, 1, 1);
}

#[test]
fn hives_that_poll_without_end_beside_each_other() {
    let _alone = run_exclusively();
    let built = || Hive::builder().bees(3).spin(Duration::MAX).build().unwrap();
    let hives = [built(), built(), built()];
    thread::scope(|scope| {
        for hive in &hives {
            scope.spawn(|| assert_progress(hive, 3, 300, 300));
        }
    });
}

/// A hive that has two bees for each CPU, and one more.
fn crowded_hive() -> Hive {
    Hive::new(2 * proc_threads::own_cpus().len() + 1).unwrap()
}

/// In loops each bee has its part, its number and its values, and no more threads run short ones than there are CPUs.
#[test]
fn each_part_of_a_loop_is_run_once_and_by_few_threads() {
    let _alone = run_exclusively();
    let hive = crowded_hive();
    let (bees, most) = (hive.bees(), proc_threads::own_cpus().len().max(2));
    let mut data = vec![0; 10 * bees];
    let mut runs = PerBee::new(bees, |_| 0);
    let queen = thread::current().id();
    for round in 1..=200 {
        let threads = Mutex::new(Vec::new());
        let parts = Parts::new(&mut data, bees);
        hive.par_for(0..bees, |range, bee| {
            assert_eq!((range, bee.bees()), (bee.id()..bee.id() + 1, bees));
            assert!(!bee.is_queen() || thread::current().id() == queen, "her part is hers");
            parts.own_mut(bee).iter_mut().for_each(|element| *element += bee.id());
            *runs.get(bee) += 1;
            let mut threads = threads.lock().unwrap();
            if !threads.contains(&thread::current().id()) {
                threads.push(thread::current().id());
            }
        });
        drop(parts);
        // As long as nothing is known of the loop. Where it has turned out to be long, each bee has its own thread.
        assert!(round > 1 || threads.into_inner().unwrap().len() <= most);
        assert!(data.iter().enumerate().all(|(index, element)| *element == round * (index / 10)));
    }
    assert!(runs.iter_mut().all(|runs| *runs == 200));
    assert_hive_works(&hive, bees);
}

#[test]
fn loops_of_all_schedules_and_reductions_are_complete() {
    const LEN: usize = 10_000;
    let _alone = run_exclusively();
    let hive = crowded_hive();
    let (count, bits) = (Reduction::unordered(0, |a, b| a + b), Reduction::per_team_size(0.0, |a: f64, b| a + b));
    let inverse = |range: std::ops::Range<usize>| range.map(|i| 1.0 / (i as f64 + 0.3)).sum::<f64>();
    let expected = hive.par_reduce(0..LEN, &bits, inverse).to_bits();
    for schedule in [
        Schedule::Static,
        Schedule::StaticChunk(7),
        Schedule::Dynamic(1),
        Schedule::Guided(3),
        Schedule::Factoring,
        Schedule::Affinity,
    ] {
        for _ in 0..50 {
            let mut seen = vec![0_u8; LEN];
            hive.par_for_mut(&mut seen, schedule, |_, part, _| part.iter_mut().for_each(|times| *times += 1));
            assert!(seen.iter().all(|times| *times == 1), "{schedule:?}");
            assert_eq!(hive.par_reduce((0..LEN, schedule), &count, |range| range.len()), LEN, "{schedule:?}");
            assert_eq!(hive.par_reduce(0..LEN, &bits, inverse).to_bits(), expected, "as many bees as ever");
        }
    }
}

#[test]
fn a_part_that_panics_ends_a_loop_and_all_others_run() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    let hive = crowded_hive();
    for culprit in 0..hive.bees() {
        let ran = AtomicUsize::new(0);
        let message = panic_message(|| {
            hive.par_for(0..hive.bees(), |_, bee| {
                ran.fetch_add(1, Ordering::Relaxed);
                assert!(bee.id() != culprit, "as expected: {culprit}");
            });
        });
        assert!(message.contains(&format!("as expected: {culprit}")), "{message}");
        assert_eq!(ran.into_inner(), hive.bees());
    }
    assert_hive_works(&hive, hive.bees());
}
