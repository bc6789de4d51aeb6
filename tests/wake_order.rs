//! Which bee wakes which when tasks come to a hive whose workers all sleep.
//!
//! See `docs/sleep.md`.

#![cfg(target_os = "linux")]

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::{self, sleep};
use std::time::Duration;

use common::trace_reader::{Trace, TraceDirectory};
use common::{Gate, proc_threads, run_exclusively, wait_until};
use hive::{Hive, SleepProtocol};

const BEES: usize = 8;

/// A hive whose bees sleep at once when they have nothing to do, and that traces which bee wakes which.
fn sleepy(directory: &TraceDirectory) -> Hive {
    directory.builder(BEES).spin(Duration::ZERO).sleep(SleepProtocol::Jec).build().unwrap()
}

/// Waits until all workers have been asleep for 20 ms.
fn wait_until_all_asleep(hive: &Hive) {
    let asleep = || hive.stats().per_bee().iter().filter(|counts| counts.sleeps > counts.wakes).count();
    wait_until(|| asleep() == BEES - 1);
    proc_threads::wait_until_asleep(&proc_threads::named("hive-bee"));
    sleep(Duration::from_millis(20));
}

/// The number of wake-ups on the longest path from the queen, who has posted the tasks, to a bee, since a thread last
/// took the queen's position. None if the first bee was awake before the queen had posted all tasks, or if a bee did
/// not sleep.
fn longest_wake_path(trace: &Trace) -> Option<usize> {
    let begin = trace.slices_named("queen's place").last()?.begin;
    let posted = trace.slices_named("task").filter(|task| task.bee == 0).last()?.begin;
    let wakes: Vec<_> = trace.slices_named("woken").filter(|woken| woken.begin >= begin).collect();
    let wakers: BTreeMap<u64, u64> =
        wakes.iter().map(|woken| (woken.bee, woken.args["by"].as_u64().unwrap())).collect();
    let is_conclusive = posted > begin && wakes.len() == BEES - 1 && wakers.len() == BEES - 1;
    if !is_conclusive || wakes.iter().any(|woken| woken.begin < posted) {
        return None;
    }
    let path_len = |&bee: &u64| std::iter::successors(Some(bee), |bee| wakers.get(bee).copied()).skip(1).count();
    wakers.keys().map(path_len).max()
}

/// Each task waits for all others, so each bee has to come. If bees woke each other one after the other, all would be
/// up after seven wake times, and with a tree after three.
#[test]
fn sleepers_are_woken_as_by_a_tree() {
    let _alone = run_exclusively();
    let room = TraceDirectory::new("wakes");
    let hive = sleepy(&room);
    let round = || {
        wait_until_all_asleep(&hive);
        let gate = Gate::new();
        hive.scope(|scope| (0..BEES).for_each(|_| scope.spawn(|_| gate.arrive_and_wait(BEES))));
        longest_wake_path(&Trace::read(&hive.write_trace().unwrap()))
    };
    let mut ways: Vec<_> = std::iter::repeat_with(round).flatten().take(5).collect();
    ways.sort_unstable();
    // Not in every round: while a thief moves tasks they are in no queue, and a bee that looks for them at that moment
    // wakes no other.
    assert!(ways[2] <= 3, "wake-ups one after the other, in each of five rounds: {ways:?}");
}

/// The queen checks whether a bee that her region needs is asleep. A sleeping bee that the region does not need must
/// not make her wake those that are awake.
#[test]
fn a_region_calls_nobody_for_the_sake_of_sleepers_outside_its_team() {
    let _alone = run_exclusively();
    if thread::available_parallelism().unwrap().get() < 2 {
        return println!("skipped: with one CPU nobody polls");
    }
    let room = TraceDirectory::new("beside");
    // A bee that is awake stays so, except where there are more bees than CPUs, until the bees are told to stop
    // spinning or are too many.
    let hive = room.builder(4).spin(Duration::from_secs(60)).build().unwrap();
    let sleepers = || hive.stats().per_bee()[1..].iter().filter(|counts| counts.sleeps > counts.wakes).count();
    let calls = || Trace::read(&hive.write_trace().unwrap()).count("wake bees");
    wait_until(|| {
        hive.stop_spinning();
        sleepers() == 3
    });
    // A bee is counted before it sleeps, and as long as it does not, bee 1 has no CPU of its own.
    proc_threads::wait_until_asleep(&proc_threads::named("hive-bee"));
    hive.spmd(2, |_| ());
    assert_eq!(sleepers(), 2);
    let before = calls();
    assert!(before > 0, "bee 1 was asleep");
    (0..100).for_each(|_| hive.spmd(2, |bee| bee.barrier()));
    assert_eq!((calls() - before, sleepers()), (0, 2));
}

#[test]
fn one_task_wakes_one_bee() {
    let _alone = run_exclusively();
    let room = TraceDirectory::new("one-wake");
    let hive = sleepy(&room);
    for _ in 0..5 {
        wait_until_all_asleep(&hive);
        let before = hive.stats().total().wakes;
        let over = Arc::new(Gate::new());
        hive.spawn({
            let over = Arc::clone(&over);
            move || over.arrive()
        });
        over.wait_for(1);
        wait_until_all_asleep(&hive);
        assert_eq!(hive.stats().total().wakes, before + 1);
    }
}
