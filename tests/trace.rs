//! Traces: what hives with tracing on write down.
//!
//! See `docs/tracing.md`.

#![cfg(target_os = "linux")]

mod common;

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use common::task_helpers::{PROTOCOLS, fib_by_joins, join_on_two_bees};
use common::trace_reader::{Slice, Trace, TraceDirectory, trace_of};
use common::{
    Gate, assert_contains_all, assert_hive_works, panic_message, proc_threads, run_exclusively, silence_panics,
    wait_until,
};
use hive::{Hive, Ordered};

#[test]
fn regions_and_their_barriers_are_there_with_their_numbers() {
    let _alone = run_exclusively();
    let room = TraceDirectory::new("regions");
    let trace = trace_of(room.builder(3), |hive| {
        for _ in 0..10 {
            hive.spmd(3, |bee| (0..4).for_each(|_| bee.barrier()));
        }
        hive.spmd(2, |_| ());
        hive.spmd(1, |bee| bee.barrier());
    });
    assert_eq!([trace.count("region"), trace.count("end of region"), trace.count("barrier")], [32, 11, 120]);
    let (mut regions, mut barriers) = (trace.slices_named("region"), trace.slices_named("barrier"));
    assert!(
        regions
            .all(|region| region.depth == 0 && region.args["team"].as_u64().is_some_and(|team| team == 2 || team == 3))
    );
    assert!(barriers.all(|barrier| barrier.depth == 1 && (1..=4).contains(&barrier.args["number"].as_u64().unwrap())));
    let of_queen = |slice: &&Slice| slice.bee == 0;
    let numbers: Vec<_> =
        trace.slices_named("region").filter(of_queen).map(|region| region.args["number"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted_by(|a, b| a + 1 == *b), "{numbers:?}");
    for region in trace.slices_named("region").filter(of_queen) {
        let same = trace.slices_named("region").filter(|other| other.args == region.args);
        let mut parts = 0;
        for other in same {
            assert!(other.begin < region.end && region.begin < region.end, "{other:?} beside {region:?}");
            parts += 1;
        }
        assert_eq!(region.args["team"], parts);
    }
}

#[test]
fn tasks_and_steals_are_there_and_who_was_stolen_from() {
    let _alone = run_exclusively();
    for protocol in PROTOCOLS {
        let room = TraceDirectory::new("tasks");
        let trace = trace_of(room.builder(2).sleep(protocol), |hive| {
            join_on_two_bees(hive, || (), || ());
            assert_eq!(fib_by_joins(hive, 15), 610);
            let (sender, receiver) = mpsc::channel();
            for _ in 0..10 {
                let sender = sender.clone();
                hive.spawn(move || sender.send(()).unwrap());
            }
            assert_eq!(receiver.iter().take(10).count(), 10);
            hive.install(|| hive.spmd(2, |_| ()));
        });
        assert!(trace.count("task") >= 11 && trace.count("steal") >= 1 && trace.count("queen's place") >= 3);
        for steal in trace.slices_named("steal") {
            assert_eq!(steal.args["from"], 1 - steal.bee, "{steal:?}");
            assert!(
                ["core", "cluster", "node", "far"].contains(&steal.args["distance"].as_str().unwrap()),
                "{steal:?}"
            );
        }
        assert!(trace.slices_named("region").any(|region| region.bee == 0 && region.depth == 1), "the one in install");
    }
}

#[test]
fn sleeps_and_parks_are_there() {
    let _alone = run_exclusively();
    let room = TraceDirectory::new("sleeps");
    let trace = trace_of(room.builder(3).spin(Duration::ZERO), |hive| {
        let asleep = || hive.stats().per_bee().iter().filter(|counts| counts.sleeps > counts.wakes).count();
        wait_until(|| asleep() == 2);
        hive.spmd(3, |_| ());
        wait_until(|| asleep() == 2);
        proc_threads::wait_until_asleep(&proc_threads::named("hive-bee"));
        hive.resize(1).unwrap();
        hive.wait_until_parked();
        // They have not been woken for it.
        let meanwhile = Trace::read(&hive.write_trace().unwrap());
        let last = |bee| meanwhile.slices.iter().rfind(|slice| slice.bee == bee).unwrap();
        assert!([1, 2].iter().all(|&bee| last(bee).name == "parked"), "{:?}", meanwhile.slices);
        hive.resize(3).unwrap();
        hive.spmd(3, |bee| {
            if bee.id() == 0 {
                proc_threads::wait_until_asleep(&proc_threads::named("hive-bee"));
            }
            bee.barrier();
        });
    });
    assert_eq!(trace.sizes, [1, 3, 1, 3]);
    let at_least = |name, count| assert!(trace.count(name) >= count, "{name}: {}", trace.count(name));
    [("sleep", 4), ("parked", 4), ("wake bees", 1), ("blocked", 1)]
        .into_iter()
        .for_each(|(name, count)| at_least(name, count));
    let in_barrier = |blocked: &Slice| {
        trace
            .slices_named("barrier")
            .any(|barrier| barrier.bee == blocked.bee && barrier.begin <= blocked.begin && blocked.end <= barrier.end)
    };
    assert!(trace.slices_named("blocked").any(in_barrier));
}

#[test]
fn who_waits_for_another_bee_s_turn_is_seen_to_wait_meanwhile() {
    let _alone = run_exclusively();
    let room = TraceDirectory::new("turns");
    let turns = Ordered::new(0..2);
    let trace = trace_of(room.builder(2), |hive| {
        let waits =
            || Trace::read(&hive.write_trace().unwrap()).slices_named("wait").map(|wait| wait.bee).collect::<Vec<_>>();
        hive.spmd(2, |bee| bee.ordered(&turns, bee.id(), || wait_until(|| waits() == [1])));
    });
    assert_eq!((trace.count("wait"), trace.slices_named("wait").next().unwrap().depth), (1, 1));
}

/// The thread may wait while the queen of a larger team does something else, and the log belongs to that queen.
#[test]
fn who_waits_in_a_team_of_one_writes_in_nobody_s_log() {
    let _alone = run_exclusively();
    let room = TraceDirectory::new("lone-turns");
    let (turns, around, comes) = (Ordered::new(0..2), Hive::new(2).unwrap(), Gate::new());
    let trace = trace_of(room.builder(2), |hive| {
        around.spmd(2, |outer| {
            let holds_up = || {
                comes.wait_for(1);
                thread::sleep(Duration::from_millis(20));
            };
            let id = outer.id();
            hive.spmd(1, |bee| match id {
                0 => bee.ordered(&turns, 0, holds_up),
                _ => {
                    comes.arrive();
                    bee.ordered(&turns, 1, || ());
                }
            });
        });
    });
    assert_eq!(trace.count("wait"), 0);
}

#[test]
fn a_panic_leaves_a_whole_file() {
    let _alone = run_exclusively();
    silence_panics("on purpose");
    let room = TraceDirectory::new("panic");
    let trace = trace_of(room.builder(3), |hive| {
        let message = panic_message(|| {
            hive.spmd(3, |bee| {
                bee.barrier();
                assert!(bee.id() != 1, "on purpose");
                bee.barrier();
            });
        });
        assert_contains_all(&message, &["on purpose"]);
        assert_hive_works(hive, 3);
    });
    assert_eq!(trace.count("region"), 6);
}

#[test]
fn a_file_is_written_while_a_region_runs_and_again_at_the_end() {
    let _alone = run_exclusively();
    let room = TraceDirectory::new("meanwhile");
    let hive = room.builder(2).build().unwrap();
    hive.spmd(2, |bee| {
        if bee.is_queen() {
            bee.barrier();
            assert_eq!(hive.write_trace().unwrap(), room.file());
            bee.barrier();
        } else {
            (0..2).for_each(|_| bee.barrier());
        }
    });
    let trace = Trace::read(&room.file());
    assert_eq!(
        (trace.count("region"), trace.slices_named("region").filter(|region| region.depth == 0).count()),
        (2, 2)
    );
    assert_contains_all(&hive.report().to_string(), &["tracing:", "trace.json", "0 dropped"]);
    drop(hive);
    assert_eq!(Trace::read(&room.file()).count("barrier"), 4);
}
