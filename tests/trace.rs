//! Timelines: what traced hives write down.

#![cfg(target_os = "linux")]

mod common;

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use common::tasks::{PROTOCOLS, fib, join_apart};
use common::trace::{Room, Slice, Trace, traced};
use common::{Gate, alone, assert_says, assert_works, hush, message_of, task, until};
use hive::{Hive, Ordered};

#[test]
fn regions_and_their_barriers_are_there_with_their_numbers() {
    let _alone = alone();
    let room = Room::new("regions");
    let trace = traced(room.builder(3), |hive| {
        for _ in 0..10 {
            hive.spmd(3, |bee| (0..4).for_each(|_| bee.barrier()));
        }
        hive.spmd(2, |_| ());
        hive.spmd(1, |bee| bee.barrier());
    });
    assert_eq!([trace.count("region"), trace.count("end of region"), trace.count("barrier")], [32, 11, 120]);
    let (mut regions, mut barriers) = (trace.named("region"), trace.named("barrier"));
    assert!(regions.all(|region| region.depth == 0 && region.args["team"].as_u64().is_some_and(|team| team == 2 || team == 3)));
    assert!(barriers.all(|barrier| barrier.depth == 1 && (1..=4).contains(&barrier.args["number"].as_u64().unwrap())));
    let of_queen = |slice: &&Slice| slice.member == 0;
    let numbers: Vec<_> = trace.named("region").filter(of_queen).map(|region| region.args["number"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted_by(|a, b| a + 1 == *b), "{numbers:?}");
    for region in trace.named("region").filter(of_queen) {
        let same = trace.named("region").filter(|other| other.args == region.args);
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
    let _alone = alone();
    for protocol in PROTOCOLS {
        let room = Room::new("tasks");
        let trace = traced(room.builder(2).sleep(protocol), |hive| {
            join_apart(hive, || (), || ());
            assert_eq!(fib(hive, 15), 610);
            let (sender, receiver) = mpsc::channel();
            for _ in 0..10 {
                let sender = sender.clone();
                hive.spawn(move || sender.send(()).unwrap());
            }
            assert_eq!(receiver.iter().take(10).count(), 10);
            hive.install(|| hive.spmd(2, |_| ()));
        });
        assert!(trace.count("task") >= 11 && trace.count("steal") >= 1 && trace.count("queen's place") >= 3);
        for steal in trace.named("steal") {
            assert_eq!(steal.args["from"], 1 - steal.member, "{steal:?}");
            assert!(["core", "cluster", "node", "far"].contains(&steal.args["distance"].as_str().unwrap()), "{steal:?}");
        }
        assert!(trace.named("region").any(|region| region.member == 0 && region.depth == 1), "the one in install");
    }
}

#[test]
fn sleeps_and_parks_are_there() {
    let _alone = alone();
    let room = Room::new("sleeps");
    let trace = traced(room.builder(3).spin(Duration::ZERO), |hive| {
        let asleep = || hive.stats().members().iter().filter(|counts| counts.sleeps > counts.wakes).count();
        until(|| asleep() == 2);
        hive.spmd(3, |_| ());
        until(|| asleep() == 2);
        task::until_asleep(&task::named("hive-bee"));
        hive.resize(1).unwrap();
        hive.settle();
        // Nobody has woken them for it.
        let meanwhile = Trace::read(&hive.write_trace().unwrap());
        let last = |member| meanwhile.slices.iter().rfind(|slice| slice.member == member).unwrap();
        assert!([1, 2].iter().all(|&member| last(member).name == "parked"), "{:?}", meanwhile.slices);
        hive.resize(3).unwrap();
        hive.spmd(3, |bee| {
            if bee.id() == 0 {
                task::until_asleep(&task::named("hive-bee"));
            }
            bee.barrier();
        });
    });
    assert_eq!(trace.sizes, [1, 3, 1, 3]);
    let at_least = |name, count| assert!(trace.count(name) >= count, "{name}: {}", trace.count(name));
    [("sleep", 4), ("parked", 4), ("wake bees", 1), ("doze", 1)].into_iter().for_each(|(name, count)| at_least(name, count));
    let in_barrier = |doze: &Slice| {
        trace
            .named("barrier")
            .any(|barrier| barrier.member == doze.member && barrier.begin <= doze.begin && doze.end <= barrier.end)
    };
    assert!(trace.named("doze").any(in_barrier));
}

#[test]
fn who_waits_for_another_member_s_turn_is_seen_to_wait_meanwhile() {
    let _alone = alone();
    let room = Room::new("turns");
    let turns = Ordered::new(0..2);
    let trace = traced(room.builder(2), |hive| {
        let waits = || Trace::read(&hive.write_trace().unwrap()).named("wait").map(|wait| wait.member).collect::<Vec<_>>();
        hive.spmd(2, |bee| bee.ordered(&turns, bee.id(), || until(|| waits() == [1])));
    });
    assert_eq!((trace.count("wait"), trace.named("wait").next().unwrap().depth), (1, 1));
}

/// It may wait while the queen of a larger team does something else, whose log that is.
#[test]
fn who_waits_in_a_team_of_one_writes_in_nobody_s_log() {
    let _alone = alone();
    let room = Room::new("lone-turns");
    let (turns, around, comes) = (Ordered::new(0..2), Hive::new(2).unwrap(), Gate::new());
    let trace = traced(room.builder(2), |hive| {
        around.spmd(2, |outer| {
            let holds_up = || {
                comes.wait_for(1);
                thread::sleep(Duration::from_millis(20));
            };
            let id = outer.id();
            hive.spmd(1, |bee| match id {
                0 => bee.ordered(&turns, 0, holds_up),
                _ => {
                    comes.come();
                    bee.ordered(&turns, 1, || ());
                }
            });
        });
    });
    assert_eq!(trace.count("wait"), 0);
}

#[test]
fn a_panic_leaves_a_whole_file() {
    let _alone = alone();
    hush("on purpose");
    let room = Room::new("panic");
    let trace = traced(room.builder(3), |hive| {
        let message = message_of(|| {
            hive.spmd(3, |bee| {
                bee.barrier();
                assert!(bee.id() != 1, "on purpose");
                bee.barrier();
            });
        });
        assert_says(&message, &["on purpose"]);
        assert_works(hive, 3);
    });
    assert_eq!(trace.count("region"), 6);
}

#[test]
fn a_file_is_written_while_a_region_runs_and_again_at_the_end() {
    let _alone = alone();
    let room = Room::new("meanwhile");
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
    assert_eq!((trace.count("region"), trace.named("region").filter(|region| region.depth == 0).count()), (2, 2));
    assert_says(&hive.report().to_string(), &["tracing:", "trace.json", "0 dropped"]);
    drop(hive);
    assert_eq!(Trace::read(&room.file()).count("barrier"), 4);
}
