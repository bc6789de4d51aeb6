//! Everything that works before also works at the end of a thread: in the destructor of a thread-local and in an
//! `atexit` handler, on any thread. A table of cases, made of places, orders of destruction and operations, each in a
//! process of its own.

#![cfg(target_os = "linux")]

mod common;

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Mutex, OnceLock};
use std::thread;

use common::process::{is_child, rerun, run_in_child};
use common::{assert_hive_works, sys};
use hive::{Hive, HiveSet, Parts, PerBee, Placement, Reduction, Scan, Schedule};

/// An operation on a hive.
type Operation = fn(&Hive);

/// The operations: a name, the number of bees that the hive has before, and the function.
const OPERATIONS: &[(&str, usize, Operation)] = &[
    ("a region", 3, |hive| assert_hive_works(hive, 3)),
    ("a region of one", 3, |hive| assert_hive_works(hive, 1)),
    ("a region that grows the hive", 2, |hive| assert_hive_works(hive, 5)),
    ("a region that makes the first bee", 1, |hive| assert_hive_works(hive, 2)),
    ("spmd_map", 3, |hive| assert_eq!(hive.spmd_map(3, |bee| bee.id()), [0, 1, 2])),
    ("a nested region", 3, |hive| hive.spmd(3, |_| assert_hive_works(hive, 1))),
    ("a static loop", 3, |hive| assert_loops(hive, Schedule::Static)),
    ("a dynamic loop", 3, |hive| assert_loops(hive, Schedule::Dynamic(7))),
    ("a guided loop", 3, |hive| assert_loops(hive, Schedule::Guided(7))),
    ("a loop to write", 3, |hive| {
        let mut data = vec![0; 1_000];
        hive.par_for_mut(&mut data, Schedule::Dynamic(7), |range, part, _| range.zip(part).for_each(|(i, x)| *x = i));
        hive.par_rows_mut(&mut data, 10, Schedule::Guided(1), |_, part, _| part.iter_mut().for_each(|x| *x += 1));
        assert!(data.into_iter().eq(1..=1_000));
    }),
    ("reductions", 3, |hive| {
        let sum = |range: std::ops::Range<usize>| range.sum::<usize>();
        assert_eq!(hive.par_reduce(0..1_000, &Reduction::per_team_size(0, |a, b| a + b), sum), 499_500);
        assert_eq!(
            hive.par_reduce((0..1_000, Schedule::Dynamic(7)), &Reduction::unordered(0, |a, b| a + b), sum),
            499_500
        );
        assert_eq!(
            hive.par_reduce((0..1_000, Schedule::Guided(7)), &Reduction::deterministic(0, |a, b| a + b), sum),
            499_500
        );
    }),
    ("a scan", 3, |hive| {
        let mut data = vec![1; 1_000];
        hive.par_scan(&mut data, &Reduction::per_team_size(0, |a, b| a + b), Scan::Inclusive);
        assert!(data.into_iter().eq(1..=1_000));
    }),
    ("collectives", 3, |hive| {
        hive.spmd(3, |bee| {
            assert_eq!(bee.all_reduce(bee.id(), |a, b| a + b), 3);
            assert_eq!(bee.broadcast_from(1, || 7) + bee.single(|| 1), 8);
        });
    }),
    ("slices", 3, |hive| {
        let mut data = [0; 300];
        let (parts, counts) = (Parts::new(&mut data, 3), PerBee::new(3, |_| 0));
        hive.spmd(3, |bee| {
            parts.own_mut(bee).fill(bee.id());
            *counts.get(bee) += 1;
        });
    }),
    ("install", 3, |hive| assert_eq!(hive.install(|| hive.spmd_map(2, |bee| bee.id())), [0, 1])),
    ("join", 3, |hive| assert_eq!(common::task_helpers::fib_by_joins(hive, 12), 144)),
    ("scope", 3, assert_scopes),
    ("scope from outside", 3, |hive| {
        let (busy, free) = (common::Gate::new(), common::Gate::new());
        thread::scope(|scope| {
            // Not joined by `thread::scope`, which parks the calling thread; the standard library may not be able to do
            // that here.
            let queen = scope.spawn(|| {
                hive.spmd(2, |_| {
                    busy.arrive();
                    free.wait_for(1);
                });
            });
            busy.wait_for(2);
            assert_scopes(hive);
            free.arrive();
            queen.join().unwrap();
        });
    }),
    ("spawn", 3, |hive| assert_spawns(|send| hive.spawn(move || send(1)))),
    ("spawn without a bee", 1, |hive| assert_spawns(|send| hive.spawn(move || send(1)))),
    ("spawn_on", 3, |hive| assert_spawns(|send| hive.spawn_on(2, move || send(hive::current().unwrap().id - 1)))),
    // A bee that is about to end is refused a broadcast, because the thread that drops the bee's hive may be the one
    // that would be waited for.
    ("broadcast", 3, |hive| match catch_unwind(AssertUnwindSafe(|| hive.broadcast(|bee| bee * 10))) {
        Ok(results) => assert_eq!(results, [10, 20]),
        Err(panic) => {
            assert!(panic.downcast_ref::<&str>().is_some_and(|text| text.contains("broadcast is called on a bee")))
        }
    }),
    ("growth", 2, |hive| {
        hive.resize(5).unwrap();
        assert_hive_works(hive, 5);
    }),
    ("the first growth", 1, |hive| hive.resize(3).unwrap()),
    ("shrinking", 3, |hive| {
        hive.resize(1).unwrap();
        hive.wait_until_parked();
        assert_eq!((hive.bees(), hive.bees_not_yet_tucked_in()), (1, 0));
        assert_hive_works(hive, 2);
    }),
    ("hot and relax", 3, |hive| {
        hive.keep_spinning(|| assert_hive_works(hive, 3));
        hive.stop_spinning();
    }),
    ("a hive of its own", 3, |_| assert_hive_works(&Hive::new(3).unwrap(), 4)),
    ("a hive that binds its builder", 2, |_| {
        let before = common::proc_threads::cpus(sys::tid());
        let hive = Hive::builder().bees(2).pin_queen(true).build().unwrap();
        assert_hive_works(&hive, 2);
        drop(hive);
        assert_eq!(common::proc_threads::cpus(sys::tid()), before);
    }),
    ("a hive that is watched", 2, |_| {
        let hive =
            Hive::builder().bees(2).deadlock_watchdog(Some(std::time::Duration::from_secs(100))).build().unwrap();
        assert_hive_works(&hive, 2);
    }),
    ("the end of a hive", 3, |_| {
        drop(HIVE_TO_DROP.get().and_then(|hive| hive.lock().unwrap().take()).expect("a hive"))
    }),
    ("the global hive", 3, |_| assert_hive_works(hive::global(), 3)),
    ("several hives", 3, |_| {
        let hives = HiveSet::builder().share(true).build().unwrap();
        hives.spmd(|bee| bee.barrier());
    }),
    ("placed memory", 3, |hive| {
        let data = hive.alloc(10_000, Placement::Interleave, |i| i);
        assert_eq!((data[9_999], hive::memory_nodes().is_empty()), (9_999, false));
    }),
    ("a fork", 3, |hive| {
        let child = sys::fork(|| {
            assert!(hive.try_spmd(2, |_| ()).is_err());
            assert_hive_works(&Hive::new(2).unwrap(), 3);
        });
        child.join();
    }),
    ("looking", 3, |hive| {
        assert!(hive.report().to_string().contains("bees"));
        assert_eq!((hive.places().len(), hive.stats().per_bee().len()), (3, 3));
        hive.spmd(2, |bee| bee.unpinned(|| assert!(format!("{:?} {bee:?}", bee.place()).contains("Bee"))));
    }),
];

fn assert_loops(hive: &Hive, schedule: Schedule) {
    for _ in 0..2 {
        let sum = AtomicUsize::new(0);
        hive.par_for((0..1_000, schedule), |range, _| {
            sum.fetch_add(range.sum(), Ordering::Relaxed);
        });
        assert_eq!(sum.into_inner(), 499_500);
    }
}

fn assert_scopes(hive: &Hive) {
    let count = AtomicUsize::new(0);
    hive.scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|_| {
                count.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(count.into_inner(), 10);
}

/// `spawn` must queue a task that calls its argument with 1.
fn assert_spawns(spawn: impl FnOnce(Box<dyn FnOnce(usize) + Send>)) {
    let (sender, receiver) = channel();
    spawn(Box::new(move |number| sender.send(number).unwrap()));
    assert_eq!(receiver.recv(), Ok(1));
}

/// The place where the operation runs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ExitPlace {
    /// The destructors of thread-locals on a thread that calls `exit`.
    Exiting,
    /// The destructors of thread-locals on a thread of the program's.
    Thread,
    /// The destructors of thread-locals on a bee of another hive.
    Bee,
    /// The destructor of a key of the C library, which runs after the thread-locals' destructors.
    Key,
    /// An `atexit` handler.
    AtExit,
}

const EXIT_PLACES: [ExitPlace; 5] =
    [ExitPlace::Exiting, ExitPlace::Thread, ExitPlace::Bee, ExitPlace::Key, ExitPlace::AtExit];

/// The state of hive's thread-locals at that time. Those that were created last are destroyed first.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Locals {
    Alive,
    Destroyed,
    /// The thread has not used hive before.
    NeverCreated,
}

const LOCALS: [Locals; 3] = [Locals::Alive, Locals::Destroyed, Locals::NeverCreated];

/// The hive that is used. It lives as long as the process.
static HIVE: OnceLock<Hive> = OnceLock::new();
/// The hive that is dropped.
static HIVE_TO_DROP: OnceLock<Mutex<Option<Hive>>> = OnceLock::new();
/// The operation and its name.
static OPERATION: OnceLock<(&str, Operation)> = OnceLock::new();

/// What a process prints whose case passed.
const SUCCESS_MESSAGE: &str = "[it works]";

/// Does the operation and prints whether it worked.
fn run_operation() {
    let hive = HIVE.get().expect("the hive was made");
    let (name, verb) = OPERATION.get().expect("there is something to do");
    let outcome = catch_unwind(AssertUnwindSafe(|| verb(hive)));
    // Whatever the outcome, the hive must work as before.
    let other = thread::spawn(|| {
        hive.resize(2).unwrap();
        hive.wait_until_parked();
        assert_hive_works(hive, 4);
    });
    let after = other.join();
    if outcome.is_ok() && after.is_ok() {
        println!("{SUCCESS_MESSAGE}");
    } else {
        println!("{name} {}, and afterwards the hive {}", outcome_word(outcome.is_ok()), outcome_word(after.is_ok()));
    }
}

fn outcome_word(well: bool) -> &'static str {
    if well { "worked" } else { "panicked" }
}

struct RunsOnDrop;

impl Drop for RunsOnDrop {
    fn drop(&mut self) {
        run_operation();
    }
}

thread_local! {
    static LAST: RunsOnDrop = const { RunsOnDrop };
}

/// Creates the thread-local of the calling thread, and hive's.
fn create_locals(locals: Locals) {
    if locals == Locals::Destroyed {
        LAST.with(|_| ());
    }
    create_hive_locals(locals);
    LAST.with(|_| ());
}

fn create_hive_locals(locals: Locals) {
    if locals != Locals::NeverCreated {
        use_everything(HIVE.get().expect("the hive was made"));
    }
}

/// Makes every call that creates a thread-local of hive's.
fn use_everything(hive: &Hive) {
    let before = hive.bees();
    assert_hive_works(hive, 2);
    [Schedule::Static, Schedule::Dynamic(7), Schedule::Guided(7)]
        .into_iter()
        .for_each(|schedule| assert_loops(hive, schedule));
    hive.install(|| assert_eq!(hive.join(|| 1, || 2), (1, 2)));
    drop(Hive::builder().bees(2).pin_queen(true).build().unwrap());
    hive.resize(before).unwrap();
    hive.wait_until_parked();
}

/// Runs one case, whose result is visible at the end of the process.
fn run(place: ExitPlace, locals: Locals, verb: usize) {
    let (name, bees, verb) = OPERATIONS[verb];
    // On another thread, so that this thread has no thread-local of hive's from it.
    let hives = move || (Hive::new(bees).unwrap(), Mutex::new(Some(Hive::new(2).unwrap())));
    let (hive, other) = thread::spawn(hives).join().unwrap();
    assert!(HIVE.set(hive).is_ok() && HIVE_TO_DROP.set(other).is_ok() && OPERATION.set((name, verb)).is_ok());
    match place {
        ExitPlace::Exiting => create_locals(locals),
        ExitPlace::Thread => thread::spawn(move || create_locals(locals)).join().unwrap(),
        ExitPlace::Bee => Hive::new(2).unwrap().spmd(2, |bee| {
            if bee.id() == 1 {
                create_locals(locals);
            }
        }),
        ExitPlace::Key => {
            let part = move || {
                sys::at_thread_exit(run_operation);
                create_hive_locals(locals);
            };
            thread::spawn(part).join().unwrap();
        }
        ExitPlace::AtExit => {
            sys::at_exit(run_operation);
            create_hive_locals(locals);
        }
    }
}

/// The case of a process of its own: the numbers of its place, order and operation.
const CASE_VARIABLE: &str = "HIVE_TEST_CASE";

#[test]
fn everything_works_in_a_thread_s_last_moments() {
    const TEST: &str = "everything_works_in_a_thread_s_last_moments";
    if is_child() {
        let case = env::var(CASE_VARIABLE).unwrap();
        let [place, locals, verb] = case.split(' ').map(|n| n.parse().unwrap()).collect::<Vec<usize>>()[..] else {
            unreachable!()
        };
        run_in_child(|| run(EXIT_PLACES[place], LOCALS[locals], verb));
    }
    // The C library calls these when all thread-locals are gone.
    let first = |place| usize::from(matches!(EXIT_PLACES[place], ExitPlace::Key | ExitPlace::AtExit));
    let places =
        (0..EXIT_PLACES.len()).flat_map(|place| (first(place)..LOCALS.len()).map(move |locals| (place, locals)));
    let cases: Vec<_> =
        places.flat_map(|(place, locals)| (0..OPERATIONS.len()).map(move |verb| (place, locals, verb))).collect();
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(&(place, locals, verb)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let case = format!("{place} {locals} {verb}");
            let output = match catch_unwind(|| rerun(TEST, &[(CASE_VARIABLE, &case)])) {
                Ok(Ok(output)) if output.contains(SUCCESS_MESSAGE) => continue,
                Ok(Ok(output) | Err(output)) => output,
                Err(_) => "hangs".to_owned(),
            };
            let name = format!("{:?}, thread-locals {:?}: {}", EXIT_PLACES[place], LOCALS[locals], OPERATIONS[verb].0);
            failures.lock().unwrap().push(format!("== {name}\n{output}"));
        }
    };
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(work);
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} of {} cases:\n{}", failures.len(), cases.len(), failures.join("\n"));
}
