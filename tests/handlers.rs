//! Start and exit handlers run as the bee that they belong to, and may use any hive, including their own.

#![cfg(target_os = "linux")]

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::thread;
use std::time::Duration;

use common::task_helpers::{PROTOCOLS, assert_hive_and_tasks_work, builders, fib_by_joins, join_on_two_bees};
use common::{Gate, assert_contains_all, panic_message, proc_threads, run_exclusively, silence_panics, wait_until};
use hive::{Builder, Hive, SleepProtocol};

/// The name of these hives' threads.
const THREAD_NAME: &str = "handled";

const BEES: usize = 3;

/// What a start handler does with its hive, the number of its bee, and another hive.
type HandlerAction = (&'static str, fn(&Hive, usize, &Hive));

const HANDLER_ACTIONS: &[HandlerAction] = &[
    ("region", |hive, _, _| assert_eq!(hive.spmd_map(BEES, |bee| bee.bees()), [1])),
    ("region of one", |hive, _, _| assert_eq!(hive.spmd_map(1, |bee| (bee.id(), bee.bees())), [(0, 1)])),
    ("install", |hive, bee, _| {
        assert_eq!(hive.install(|| hive::current().map(|bee| bee.id)), Some(bee));
        assert_eq!(hive.install(|| hive.spmd_map(BEES, |bee| bee.bees())), [1]);
    }),
    ("join", |hive, _, _| assert_eq!(fib_by_joins(hive, 8), 21)),
    ("scope", |hive, _, _| {
        let sum = &AtomicUsize::new(0);
        hive.scope(|scope| {
            (1..=10).for_each(|number| scope.spawn(move |_| _ = sum.fetch_add(number, Ordering::Relaxed)))
        });
        assert_eq!(sum.load(Ordering::Relaxed), 55);
    }),
    ("spawn", |hive, _, _| wait_for(|task| hive.spawn(task))),
    ("spawn_on itself", |hive, bee, _| wait_for(|task| hive.spawn_on(bee, task))),
    ("spawn_on all", |hive, _, _| {
        let hired = hive.stats().per_bee().len();
        (1..hired).for_each(|bee| wait_for(|task| hive.spawn_on(bee, task)));
    }),
    ("broadcast", |hive, _, _| {
        assert_contains_all(&panic_message(|| drop(hive.broadcast(|_| ()))), &["called on a bee"])
    }),
    ("resize", |hive, _, _| [1, 2, BEES].into_iter().for_each(|bees| hive.resize(bees).unwrap())),
    ("resize in a region", |hive, _, _| hive.spmd(1, |_| hive.resize(BEES).unwrap())),
    ("hot and relax", |hive, _, _| hive.keep_spinning(|| hive.stop_spinning())),
    ("what there is to see", |hive, bee, _| {
        assert!(hive.stats().per_bee().len() > bee);
        assert_contains_all(&hive.report().to_string(), &["may grow to 3"]);
        assert!(format!("{hive:?}{:?}", hive.places()).contains("max_bees: 3"));
    }),
    ("another's region", |_, _, other| assert!(matches!(other.spmd_map(2, |bee| bee.bees())[..], [1] | [2, 2]))),
    ("another's tasks", |_, _, other| {
        assert_eq!(other.install(|| fib_by_joins(other, 5)), 5);
        let (sender, receiver) = channel();
        other.spawn_on(1, move || sender.send(()).unwrap());
        receiver.recv().unwrap();
        assert_contains_all(&panic_message(|| drop(other.broadcast(|_| ()))), &["called on a bee"]);
    }),
    ("another's size", |_, _, other| [1, 2].into_iter().for_each(|bees| other.resize(bees).unwrap())),
    ("a hive of its own", |_, _, _| assert_hive_and_tasks_work(&Hive::new(2).unwrap(), 2)),
    ("the global hive", |_, _, _| {
        hive::spmd(2, |_| ());
        assert_eq!(hive::join(|| 1, || 2), (1, 2));
    }),
    ("panic", |_, _, _| panic!("as expected")),
];

/// A way in which a hive gets its bees.
type GrowAction = (&'static str, fn(&Hive));

const GROW_ACTIONS: &[GrowAction] = &[
    ("region", |hive| assert_eq!(hive.spmd_map(BEES, |bee| bee.bees()), [BEES; BEES])),
    ("region in her place", |hive| assert_eq!(hive.install(|| hive.spmd_map(BEES, |bee| bee.bees())), [BEES; BEES])),
    ("resize", |hive| hive.resize(BEES).unwrap()),
    ("resize in a region", |hive| hive.spmd(1, |_| hive.resize(BEES).unwrap())),
    ("spawn", |hive| {
        let (sender, receiver) = channel();
        hive.spawn(move || sender.send(()).unwrap());
        receiver.recv().unwrap();
    }),
    ("resize and drop", |hive| hive.resize(BEES).unwrap()),
];

/// Spawns a task by `spawn`, and runs tasks until that one has been run.
fn wait_for(spawn: impl FnOnce(Box<dyn FnOnce() + Send>)) {
    let done = Arc::new(Gate::new());
    let comes = Arc::clone(&done);
    spawn(Box::new(move || comes.arrive()));
    while done.arrived() == 0 {
        hive::yield_now();
    }
}

/// A hive whose start handlers wait until the hive exists and then run `work` with it, and a gate that counts how many
/// have ended.
fn with_handlers(
    builder: Builder,
    work: impl Fn(&Hive, usize) + Send + Sync + 'static,
    heard: impl Fn(String) + Send + Sync + 'static,
) -> (Arc<Hive>, Arc<Gate>) {
    struct EndSignal(Arc<Gate>);
    impl Drop for EndSignal {
        fn drop(&mut self) {
            self.0.arrive();
        }
    }
    let (place, ended) = (Arc::new(OnceLock::<Weak<Hive>>::new()), Arc::new(Gate::new()));
    let start = {
        let (place, ended) = (Arc::clone(&place), Arc::clone(&ended));
        move |bee| {
            let _ended = EndSignal(Arc::clone(&ended));
            wait_until(|| place.get().is_some());
            assert_eq!(hive::current().map(|bee| bee.id), Some(bee), "it runs as the bee");
            if let Some(hive) = place.get().and_then(Weak::upgrade) {
                work(&hive, bee);
            }
        }
    };
    let builder = builder.thread_name(THREAD_NAME).start_handler(start);
    let builder = builder
        .panic_handler(move |panic| heard(panic.downcast_ref::<&str>().map_or_else(String::new, |m| (*m).to_owned())));
    let hive = Arc::new(builder.build().unwrap());
    place.set(Arc::downgrade(&hive)).expect("set once");
    (hive, ended)
}

/// Runs `case` with each action, on hives of each sleep protocol. If a case panics, its name is printed on standard
/// error.
fn for_each_action(case: impl Fn(Builder, HandlerAction, &Arc<Hive>)) {
    struct Name<'n>(&'n str, SleepProtocol);
    impl Drop for Name<'_> {
        fn drop(&mut self) {
            if thread::panicking() {
                eprintln!("{} in a start handler, {:?}", self.0, self.1);
            }
        }
    }
    let other = Arc::new(Hive::new(2).unwrap());
    for protocol in PROTOCOLS {
        for &verb in HANDLER_ACTIONS {
            let _name = Name(verb.0, protocol);
            case(Hive::builder().sleep(protocol).spin(Duration::from_micros(20)), verb, &other);
        }
    }
    assert_hive_and_tasks_work(&other, 2);
}

/// A handler that does `verb`.
fn handler_for(verb: HandlerAction, other: &Arc<Hive>) -> impl Fn(&Hive, usize) + Send + Sync + 'static {
    let other = Arc::clone(other);
    move |hive, bee| verb.1(hive, bee, &other)
}

#[test]
fn start_handlers_use_the_hive_that_is_built() {
    let _alone = run_exclusively();
    silence_panics("called on a bee");
    for_each_action(|builder, verb, other| {
        let (hive, ended) = with_handlers(builder.bees(BEES).max_bees(BEES), handler_for(verb, other), |heard| {
            assert_eq!(heard, "as expected")
        });
        // At once, while the handlers run.
        assert_eq!(hive.spmd_map(BEES, |bee| bee.bees()), [BEES; BEES]);
        ended.wait_for(BEES - 1);
        assert_hive_and_tasks_work(&hive, BEES);
    });
    proc_threads::wait_until_ended(THREAD_NAME);
}

#[test]
fn start_handlers_use_the_hive_that_grows() {
    let _alone = run_exclusively();
    silence_panics("called on a bee");
    for (way, grow) in GROW_ACTIONS {
        for_each_action(|builder, verb, other| {
            let panics = Arc::new(AtomicUsize::new(0));
            let count = Arc::clone(&panics);
            let heard = move |heard| {
                assert_eq!(heard, "as expected");
                count.fetch_add(1, Ordering::Relaxed);
            };
            let (hive, ended) = with_handlers(builder.bees(1).max_bees(BEES), handler_for(verb, other), heard);
            grow(&hive);
            if *way == "resize and drop" {
                return;
            }
            // Without a barrier: there a bee would wait for another whose handler may be waiting for a task in its
            // mailbox.
            hive.spmd(BEES, |_| ());
            ended.wait_for(BEES - 1);
            let expected = if verb.0 == "panic" { BEES - 1 } else { 0 };
            assert_eq!(panics.load(Ordering::Relaxed), expected, "{} by {way}", verb.0);
            assert_hive_and_tasks_work(&hive, BEES);
        });
    }
    proc_threads::wait_until_ended(THREAD_NAME);
}

#[test]
fn what_start_handlers_wait_for_is_done_while_the_hive_is_resized_under_them() {
    let _alone = run_exclusively();
    for builder in builders() {
        let (hive, ended) = with_handlers(
            builder.bees(1).max_bees(BEES),
            |hive, bee| {
                for _ in 0..20 {
                    assert_eq!(fib_by_joins(hive, 6), 8);
                    wait_for(|task| hive.spawn_on(bee, task));
                    wait_for(|task| hive.spawn(task));
                }
            },
            |heard| panic!("{heard}"),
        );
        hive.resize(BEES).unwrap();
        while ended.arrived() < BEES - 1 {
            for bees in [1, BEES, 2] {
                hive.resize(bees).unwrap();
                hive.spawn(|| ());
                hive.spawn_on(2, || ());
            }
        }
        hive.resize(1).unwrap();
        hive.wait_until_parked();
        assert_eq!((hive.bees(), hive.bees_not_yet_tucked_in()), (1, 0));
        assert_hive_and_tasks_work(&hive, BEES);
    }
    proc_threads::wait_until_ended(THREAD_NAME);
}

/// In a hive that has bee 1, bee 2 waits in its start handler for a half of a join that bee 1 has begun. `grow` makes
/// the hive hire bee 2.
fn while_a_start_handler_waits(protocol: SleepProtocol, grow: fn(&Hive), meanwhile: impl FnOnce(&Hive) + Send) {
    let (held, notes) = (Arc::new(Gate::new()), Arc::new(Mutex::new(Vec::new())));
    let (holds, notes_it) = (Arc::clone(&held), Arc::clone(&notes));
    let builder = Hive::builder().bees(2).max_bees(BEES).sleep(protocol).spin(Duration::ZERO);
    let work = move |hive: &Hive, bee: usize| {
        if bee == 2 {
            join_on_two_bees(hive, || (), || holds.wait_for(1));
            notes_it.lock().unwrap().push("joined");
        }
    };
    let (hive, ended) = with_handlers(builder, work, |heard| panic!("{heard}"));
    grow(&hive);
    let asleep =
        || wait_until(|| matches!(proc_threads::named("handled-2")[..], [tid] if proc_threads::is_asleep(tid)));
    asleep();
    // It is woken for a task that only it may run, and goes to sleep again.
    for _ in 0..3 {
        let note = Arc::clone(&notes);
        hive.spawn_on(2, move || note.lock().unwrap().push("mail"));
        wait_until(|| notes.lock().unwrap().last() == Some(&"mail"));
        notes.lock().unwrap().clear();
        asleep();
    }
    thread::scope(|scope| {
        scope.spawn(|| meanwhile(&hive));
        thread::yield_now();
        held.arrive();
    });
    ended.wait_for(2);
    assert_eq!(*notes.lock().unwrap(), ["joined"]);
    assert_hive_and_tasks_work(&hive, BEES);
    drop(hive);
    proc_threads::wait_until_ended(THREAD_NAME);
}

#[test]
fn a_start_handler_that_waits_in_a_join_gives_up_its_core_and_is_called() {
    let _alone = run_exclusively();
    let in_a_region: fn(&Hive) = |hive| {
        // It is hired at once, and the hive has not grown yet when the handler begins to wait.
        hive.spmd(1, |_| {
            hive.resize(BEES).unwrap();
            wait_until(|| matches!(proc_threads::named("handled-2")[..], [tid] if proc_threads::is_asleep(tid)));
        });
    };
    for protocol in PROTOCOLS {
        for grow in [|hive: &Hive| hive.resize(BEES).unwrap(), in_a_region] {
            while_a_start_handler_waits(protocol, grow, |_| ());
            while_a_start_handler_waits(protocol, grow, |hive| {
                [1, BEES, 2].into_iter().for_each(|bees| hive.resize(bees).unwrap())
            });
            while_a_start_handler_waits(protocol, grow, |hive| hive.spmd(BEES, |bee| bee.barrier()));
            while_a_start_handler_waits(protocol, grow, |hive| (0..10).for_each(|_| hive.spawn(|| ())));
        }
    }
}

#[test]
fn exit_handlers_run_as_the_bee_and_use_other_hives() {
    let _alone = run_exclusively();
    silence_panics("called on a bee");
    let other = Arc::new(Hive::new(2).unwrap());
    for protocol in PROTOCOLS {
        let exits = Arc::new(Mutex::new(Vec::new()));
        let exit = {
            let (exits, other) = (Arc::clone(&exits), Arc::clone(&other));
            move |bee| {
                assert_eq!(hive::current().map(|bee| bee.id), Some(bee));
                hive::yield_now();
                let team = other.spmd_map(2, |bee| bee.bees());
                assert!(team == [1] || team == [2, 2], "{team:?}");
                assert_eq!(fib_by_joins(&other, 5), 5);
                assert_contains_all(&panic_message(|| drop(other.broadcast(|_| ()))), &["called on a bee"]);
                assert_hive_and_tasks_work(&Hive::new(2).unwrap(), 2);
                exits.lock().unwrap().push(bee);
            }
        };
        let hive =
            Hive::builder().bees(BEES).sleep(protocol).thread_name(THREAD_NAME).exit_handler(exit).build().unwrap();
        assert_hive_and_tasks_work(&hive, BEES);
        drop(hive);
        let mut exits = exits.lock().unwrap().clone();
        exits.sort_unstable();
        assert_eq!(exits, [1, 2]);
    }
    proc_threads::wait_until_ended(THREAD_NAME);
}
