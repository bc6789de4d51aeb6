//! Hives that are dropped by bees: by their own, by each other's, and in cycles, wherever those bees are. Each drop
//! returns, all that was queued is run once, and no thread is left.

#![cfg(target_os = "linux")]

mod common;

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::completion_log::CompletionLog;
use common::hive_sets::{TWO_BY_TWO, on_machine};
use common::task_helpers::{assert_hive_and_tasks_work, builders, join_on_two_bees};
use common::{
    Gate, Rng, assert_contains_all, is_stress, proc_threads, run_exclusively, silence_panics, sys, wait_until,
};
use hive::{Builder, Hive, HiveSet, Pin};

/// The name of these hives' threads.
const THREAD_NAME: &str = "ending";

fn build(builder: &Builder, bees: usize) -> Arc<Hive> {
    Arc::new(builder.clone().bees(bees).thread_name(THREAD_NAME).build().unwrap())
}

/// How often each case is run with each builder. What a run shows depends on its timing.
const ROUNDS: usize = 8;

/// Runs `case` repeatedly with each builder. Afterwards no thread of the hives is left.
fn for_each_builder(case: impl Fn(&Builder)) {
    for builder in builders() {
        (0..ROUNDS).for_each(|_| case(&builder));
    }
    proc_threads::wait_until_ended(THREAD_NAME);
}

/// A channel: a thread that has dropped a hive sends, and the test waits for that.
fn drop_signal() -> (Sender<()>, Receiver<()>) {
    channel()
}

/// Waits until `count` threads have reported their drops.
fn await_drops(said: &Receiver<()>, count: usize) {
    (0..count).for_each(|_| said.recv().expect("they do not panic"));
}

/// Gives each of `hives` a task that drops the last handle of the next hive. All do so at the same time, each through
/// `within`.
fn drop_in_cycle(hives: Vec<Arc<Hive>>, within: impl Fn(Box<dyn FnOnce() + Send>) + Clone + Send + 'static) {
    let (count, gate, (sender, receiver)) = (hives.len(), Arc::new(Gate::new()), drop_signal());
    for (number, hive) in hives.iter().enumerate() {
        let (next, gate) = (Arc::clone(&hives[(number + 1) % count]), Arc::clone(&gate));
        let (sender, within) = (sender.clone(), within.clone());
        hive.spawn(move || {
            gate.arrive_and_wait(count + 1);
            within(Box::new(move || drop(next)));
            sender.send(()).unwrap();
        });
    }
    drop(hives);
    gate.arrive_and_wait(count + 1);
    await_drops(&receiver, count);
}

#[test]
fn two_hives_by_tasks_of_each_other() {
    let _alone = run_exclusively();
    for_each_builder(|builder| {
        for bees in [2, 3] {
            drop_in_cycle(vec![build(builder, bees), build(builder, 2)], |drop_it| drop_it());
        }
    });
}

#[test]
fn hives_of_the_queen_alone_by_tasks_of_each_other() {
    let _alone = run_exclusively();
    for_each_builder(|builder| {
        drop_in_cycle(vec![build(&builder.clone().max_bees(1), 1), build(builder, 1)], |drop_it| drop_it())
    });
}

#[test]
fn hives_in_a_ring() {
    let _alone = run_exclusively();
    for_each_builder(|builder| {
        for count in [1, 3, 5] {
            drop_in_cycle((0..count).map(|_| build(builder, 2)).collect(), |drop_it| drop_it());
        }
    });
}

#[test]
fn hives_in_a_ring_in_regions_scopes_and_joins_of_yet_another() {
    let _alone = run_exclusively();
    let middle = Arc::new(Hive::new(3).unwrap());
    let (region, scope, join) = (Arc::clone(&middle), Arc::clone(&middle), Arc::clone(&middle));
    for_each_builder(|builder| {
        let three = || (0..3).map(|_| build(builder, 2)).collect();
        let region = Arc::clone(&region);
        drop_in_cycle(three(), move |drop_it| {
            let last = Mutex::new(Some(drop_it));
            region.spmd(2, |bee| {
                if bee.id() + 1 == bee.bees() {
                    (last.lock().unwrap().take().unwrap())();
                }
            });
        });
        let scope = Arc::clone(&scope);
        drop_in_cycle(three(), move |drop_it| scope.scope(|scope| scope.spawn(|_| drop_it())));
        let join = Arc::clone(&join);
        drop_in_cycle(three(), move |drop_it| _ = join.join(|| (), drop_it));
    });
    assert_hive_and_tasks_work(&middle, 3);
}

#[test]
fn a_hive_by_its_own_task() {
    let _alone = run_exclusively();
    for_each_builder(|builder| {
        for bees in 1..=3 {
            let hive = build(builder, bees);
            let ran = Arc::new(AtomicUsize::new(0));
            let (sender, receiver) = drop_signal();
            let gate = Arc::new(Gate::new());
            let (own, waits) = (Arc::clone(&hive), Arc::clone(&gate));
            hive.spawn(move || {
                waits.wait_for(1);
                drop(own);
                sender.send(()).unwrap();
            });
            for _ in 0..10 {
                let ran = Arc::clone(&ran);
                hive.spawn(move || _ = ran.fetch_add(1, Ordering::Release));
            }
            drop(hive);
            gate.arrive();
            await_drops(&receiver, 1);
            wait_until(|| ran.load(Ordering::Acquire) == 10);
        }
    });
}

/// A bee of the hive waits for a region of another hive, in which the bee's own hive is dropped.
#[test]
fn a_hive_in_the_region_that_its_bee_leads() {
    let _alone = run_exclusively();
    let other = Arc::new(Hive::new(3).unwrap());
    for_each_builder(|builder| {
        for id in 0..3 {
            let hive = build(builder, 2);
            let (sender, receiver) = drop_signal();
            let (last, other, gate) = (Mutex::new(Some(Arc::clone(&hive))), Arc::clone(&other), Arc::new(Gate::new()));
            let waits = Arc::clone(&gate);
            hive.spawn(move || {
                waits.wait_for(1);
                other.spmd(3, |bee| {
                    if bee.id() == id {
                        drop(last.lock().unwrap().take());
                    }
                    bee.barrier();
                });
                sender.send(()).unwrap();
            });
            drop(hive);
            gate.arrive();
            await_drops(&receiver, 1);
        }
    });
    assert_hive_and_tasks_work(&other, 3);
}

/// The same with tasks of another hive, for which the bee waits.
#[test]
fn a_hive_in_the_scope_and_the_join_that_its_bee_waits_for() {
    let _alone = run_exclusively();
    let other = Arc::new(Hive::new(3).unwrap());
    let scope: fn(&Hive, Arc<Hive>) = |other, last| {
        other.scope(|scope| {
            let begun = Arc::new(Gate::new());
            let begins = Arc::clone(&begun);
            scope.spawn(move |_| {
                begins.arrive();
                drop(last);
            });
            // That is, on another thread.
            begun.wait_for(1);
        });
    };
    let join: fn(&Hive, Arc<Hive>) = |other, last| _ = other.install(|| join_on_two_bees(other, || (), || drop(last)));
    for_each_builder(|builder| {
        for within in [scope, join] {
            let hive = build(builder, 2);
            let (sender, receiver) = drop_signal();
            let (last, other, gate) = (Arc::clone(&hive), Arc::clone(&other), Arc::new(Gate::new()));
            let waits = Arc::clone(&gate);
            hive.spawn(move || {
                waits.wait_for(1);
                within(&other, last);
                sender.send(()).unwrap();
            });
            drop(hive);
            gate.arrive();
            await_drops(&receiver, 1);
        }
    });
    assert_hive_and_tasks_work(&other, 3);
}

/// The drop waits for a task that starts a region, and that region needs the bee that drops.
#[test]
fn a_hive_whose_task_starts_a_region_with_the_bee_that_drops_it() {
    let _alone = run_exclusively();
    let other = Arc::new(Hive::new(2).unwrap());
    for_each_builder(|builder| {
        for late in [false, true] {
            let hive = build(builder, 2);
            let (sender, receiver) = drop_signal();
            let (begun, dropping) = (Arc::new(Gate::new()), Arc::new(Gate::new()));
            let (begins, waits, uses) = (Arc::clone(&begun), Arc::clone(&dropping), Arc::clone(&other));
            let says = sender.clone();
            hive.spawn(move || {
                begins.arrive();
                waits.wait_for(1);
                if late {
                    thread::sleep(Duration::from_millis(1));
                }
                let counts = uses.spmd_map(2, |bee| bee.bees());
                assert!(counts == [1] || counts == [2, 2], "{counts:?}");
                says.send(()).unwrap();
            });
            begun.wait_for(1);
            other.spawn_on(1, move || {
                dropping.arrive();
                drop(hive);
                sender.send(()).unwrap();
            });
            await_drops(&receiver, 2);
        }
    });
    assert_hive_and_tasks_work(&other, 2);
}

#[test]
fn two_hives_by_a_start_handler_and_a_task() {
    let _alone = run_exclusively();
    for_each_builder(|builder| {
        let second = build(builder, 2);
        let (sender, receiver) = drop_signal();
        let gate = Arc::new(Gate::new());
        let last = Mutex::new(Some(Arc::clone(&second)));
        let (waits, says) = (Arc::clone(&gate), sender.clone());
        let start = move |_| {
            waits.arrive_and_wait(3);
            drop(last.lock().unwrap().take());
            says.send(()).unwrap();
        };
        let first = build(&builder.clone().start_handler(start), 2);
        let meets = Arc::clone(&gate);
        second.spawn(move || {
            meets.arrive_and_wait(3);
            drop(first);
            sender.send(()).unwrap();
        });
        drop(second);
        gate.arrive();
        await_drops(&receiver, 2);
    });
}

#[test]
fn two_hives_by_an_exit_handler_and_a_task() {
    let _alone = run_exclusively();
    for_each_builder(|builder| {
        let second = build(builder, 2);
        let (sender, receiver) = drop_signal();
        let gate = Arc::new(Gate::new());
        let (last, says) = (Mutex::new(Some(Arc::clone(&second))), sender.clone());
        let exit = move |_| {
            drop(last.lock().unwrap().take());
            says.send(()).unwrap();
        };
        let first = build(&builder.clone().exit_handler(exit), 2);
        let waits = Arc::clone(&gate);
        second.spawn(move || {
            waits.wait_for(1);
            // The exit handler of this hive drops the hive of which this thread is a bee.
            drop(first);
            sender.send(()).unwrap();
        });
        drop(second);
        gate.arrive();
        await_drops(&receiver, 2);
    });
}

#[test]
fn two_hives_by_the_end_of_a_thread_and_a_task() {
    let _alone = run_exclusively();
    thread_local! {
        static LAST: Mutex<Option<Arc<Hive>>> = const { Mutex::new(None) };
    }
    for_each_builder(|builder| {
        let [first, second] = [2, 2].map(|bees| build(builder, bees));
        let (sender, receiver) = drop_signal();
        let gate = Arc::new(Gate::new());
        let keeps = Arc::clone(&second);
        first.broadcast(|_| LAST.with(|last| *last.lock().unwrap() = Some(Arc::clone(&keeps))));
        drop(keeps);
        let waits = Arc::clone(&gate);
        second.spawn(move || {
            waits.wait_for(1);
            // A bee of this hive, at the end of its thread, drops the hive of which this thread is a bee.
            drop(first);
            sender.send(()).unwrap();
        });
        drop(second);
        gate.arrive();
        await_drops(&receiver, 1);
    });
}

#[test]
fn two_hives_by_tasks_of_each_other_that_unwind() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    for_each_builder(|builder| {
        let heard = Arc::new(Gate::new());
        let hears = Arc::clone(&heard);
        let builder = builder.clone().panic_handler(move |_| hears.arrive());
        let hives = [2, 2].map(|bees| build(&builder, bees));
        let gate = Arc::new(Gate::new());
        for number in 0..2 {
            let (last, gate) = (Arc::clone(&hives[1 - number]), Arc::clone(&gate));
            hives[number].spawn(move || {
                let _last = last;
                gate.arrive_and_wait(3);
                resume_unwind(Box::new(()));
            });
        }
        drop(hives);
        gate.arrive_and_wait(3);
        heard.wait_for(2);
    });
}

#[test]
fn what_was_queued_is_run_though_nobody_waits_and_the_timeline_is_written() {
    let _alone = run_exclusively();
    let directory = std::env::temp_dir().join(format!("hive-ends-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    for builder in builders() {
        const TASKS: u64 = 40;
        let ledger = Arc::new(CompletionLog::new(2 * TASKS));
        let hives = [0, 1].map(|number| build(&builder.clone().trace(directory.join(format!("{number}.json"))), 3));
        let files = hives.each_ref().map(|hive| hive.write_trace().unwrap());
        for number in 0..2 * TASKS {
            let hive = &hives[(number % 2) as usize];
            let ledger = Arc::clone(&ledger);
            let task = move || ledger.complete(ledger.allocate(1).start);
            if number % 3 == 0 { hive.spawn_on(1 + (number % 2) as usize, task) } else { hive.spawn(task) }
        }
        let [first, second] = hives;
        drop_in_cycle(vec![first, second], |drop_it| drop_it());
        proc_threads::wait_until_ended(THREAD_NAME);
        ledger.assert_complete();
        assert_eq!(ledger.allocated(), 2 * TASKS);
        for file in files {
            let timeline = std::fs::read_to_string(&file).unwrap();
            assert_contains_all(&timeline, &["bee 2", "\"task\"", "\n]}"]);
            let json: serde_json::Value = serde_json::from_str(&timeline).expect("it is whole");
            assert!(json["traceEvents"].is_array());
        }
    }
    std::fs::remove_dir_all(directory).unwrap();
}

/// The CPUs that a hive has for itself are recorded for as long as the hive lives, and no longer.
#[test]
fn the_places_of_hives_that_nobody_has_waited_for_are_free_again() {
    let _alone = run_exclusively();
    let cpus = proc_threads::cpus(sys::tid());
    let plain = Hive::builder().pin(Pin::None).spin(Duration::ZERO);
    let pinned = plain.clone().pin(Pin::Cpus(cpus.clone()));
    for _ in 0..ROUNDS {
        let hives = vec![build(&pinned, cpus.len().max(2)), build(&plain, 2)];
        assert_contains_all(&HiveSet::per_node().unwrap_err().to_string(), &["no CPU is left"]);
        drop_in_cycle(hives, |drop_it| drop_it());
        wait_until(|| HiveSet::per_node().is_ok());
    }
}

#[test]
#[cfg_attr(not(feature = "hwloc"), ignore = "the machine that it needs is one that hwloc pretends to have")]
fn several_hives_by_tasks_of_theirs_and_of_each_other() {
    on_machine(TWO_BY_TWO, "several_hives_by_tasks_of_theirs_and_of_each_other", &[], || {
        let threads = proc_threads::count();
        for round in 0..4 * ROUNDS {
            let build = || {
                let like = Hive::builder().bees(2).thread_name(THREAD_NAME);
                Arc::new(HiveSet::builder().share(true).template(like).build().unwrap())
            };
            let (gate, (sender, receiver)) = (Arc::new(Gate::new()), drop_signal());
            let hives = [build(), build()];
            assert_eq!(hives[0].len(), 2);
            for number in 0..2 {
                // The handle of the other hive, or of its own.
                let last = Arc::clone(&hives[if round % 2 == 0 { 1 - number } else { number }]);
                let (gate, sender) = (Arc::clone(&gate), sender.clone());
                hives[number][round / 2 % 2].spawn(move || {
                    gate.arrive_and_wait(3);
                    drop(last);
                    sender.send(()).unwrap();
                });
            }
            drop(hives);
            gate.arrive_and_wait(3);
            await_drops(&receiver, 2);
            wait_until(|| proc_threads::count() == threads);
        }
    });
}

/// A few hives whose tasks have handles of any of them and drop these wherever they run.
#[test]
fn stress_hives_that_have_handles_of_one_another() {
    let _alone = run_exclusively();
    let stress = is_stress();
    let builders: Vec<_> = builders().collect();
    for round in 0..if stress { 5_000 } else { 200 } {
        let mut dice = Rng::new(round as u64 + 1);
        let count = 1 + dice.next_up_to(3);
        let hives: Vec<_> =
            (0..count).map(|_| build(&builders[dice.next_up_to(builders.len()) - 1], dice.next_up_to(3))).collect();
        let (gate, (sender, receiver)) = (Arc::new(Gate::new()), drop_signal());
        let mut tasks = 0;
        for hive in &hives {
            for _ in 0..dice.next_up_to(3) {
                tasks += 1;
                let mut handle = || Arc::clone(&hives[dice.next_up_to(count) - 1]);
                let (last, uses) = (handle(), handle());
                let (how, gate, sender) = (dice.next_up_to(6), Arc::clone(&gate), sender.clone());
                hive.spawn(move || {
                    gate.wait_for(1);
                    match how {
                        1 => uses.spmd(uses.max_bees().min(2), |bee| bee.barrier()),
                        2 => uses.scope(|scope| scope.spawn(|_| drop(last))),
                        3 => {
                            let last = Mutex::new(Some(last));
                            uses.spmd(2, |_| drop(last.lock().unwrap().take()));
                        }
                        4 => {
                            drop(last);
                            uses.spmd(2, |_| ());
                        }
                        5 => _ = uses.join(|| (), || drop(last)),
                        _ => drop(last),
                    }
                    drop(uses);
                    sender.send(()).unwrap();
                });
            }
        }
        gate.arrive();
        // The tasks may have the last handles of some of them.
        drop(hives);
        await_drops(&receiver, tasks);
    }
    proc_threads::wait_until_ended(THREAD_NAME);
}
