//! A system that refuses calls: starting threads, affinity and signal masks, at each call in turn.
//! The operation then gives an error or a panic that names the refused call, or works without it. Nothing hangs, and
//! when the system no longer refuses, the hive works as before.

#![cfg(target_os = "linux")]

#[path = "refused_calls/libc_calls.rs"]
mod calls;
mod common;
#[path = "refused_calls/programs.rs"]
mod programs;

use std::any::Any;
use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;

use calls::{Call, FaultGuard};
use common::proc_threads::own_cpus;
use common::process::in_own_process;
use common::task_helpers::{assert_hive_and_tasks_work, builders};
use common::{assert_contains_all, panic_message, silence_panics, sys};
use hive::{Builder, Hive, Pin};
use programs::{MAX_BEES, PROGRAMS, Program};

/// At most this many calls of a program are refused one by one: a program may make more calls the longer it waits.
const MIN_REFUSALS: usize = 12;

/// The text of what ended a program: an error or a panic.
fn panic_text(payload: Box<dyn Any + Send>) -> String {
    let as_text = payload.downcast::<String>().map(|text| *text);
    as_text.unwrap_or_else(|payload| payload.downcast_ref::<&str>().map_or("no text".to_owned(), ToString::to_string))
}

/// Runs `program` while the calls with these numbers are refused. None: the program made fewer calls.
///
/// At the end the calling thread has all of its CPUs again. A hive takes some of them from the thread that starts
/// workers, to move it off theirs, and gives them back at once; if just that call is refused, the thread has lost them.
fn run(program: Program, template: &Builder, call: Call, numbers: RangeInclusive<usize>, errno: i32) -> Option<String> {
    let cpus = own_cpus();
    let kept = template.clone().bees(1).max_bees(MAX_BEES).build().unwrap();
    let fault = FaultGuard::new(call, numbers, errno);
    let ended = catch_unwind(AssertUnwindSafe(|| program(&kept, template)));
    let has_struck = fault.was_refused();
    drop(fault);
    let outcome = match ended {
        Ok(Ok(())) => String::new(),
        Ok(Err(error)) => error,
        Err(payload) => panic_text(payload),
    };
    assert_hive_and_tasks_work(&kept, MAX_BEES);
    assert_eq!(program(&kept, template), Ok(()), "once more, with the system itself again");
    drop(kept);
    assert!(has_struck || own_cpus() == cpus, "nothing was refused, and the thread has lost some of its CPUs");
    sys::bind(&cpus);
    has_struck.then_some(outcome)
}

/// Runs each program once for each call that it makes, with the calls refused from that one on, as many as `runs` says.
/// A run that does not succeed must name one of the `expected` words. Returns how many runs succeeded, and how many
/// ended with these words.
#[track_caller]
fn refuse_each(call: Call, errno: i32, runs: [usize; 2], templates: &[Builder], expected: &[&str]) -> (usize, usize) {
    let (mut well, mut otherwise) = (0, 0);
    for like in templates {
        for (name, program) in PROGRAMS {
            for many in runs {
                for number in 1..=MIN_REFUSALS {
                    let Some(outcome) = run(program, like, call, number..=number.saturating_add(many - 1), errno)
                    else {
                        break;
                    };
                    let is_known = outcome.is_empty() || expected.iter().any(|word| outcome.contains(word));
                    assert!(is_known, "{name}, {call:?} number {number} and {} more refused: {outcome}", many - 1);
                    if outcome.is_empty() { well += 1 } else { otherwise += 1 }
                }
            }
        }
    }
    println!("{call:?}, error {errno}: {well} cases ended well, {otherwise} with an error or a panic that says why");
    (well, otherwise)
}

fn pinned_and_unpinned() -> [Builder; 2] {
    [Hive::builder().pin(Pin::None), Hive::builder()]
}

#[test]
fn a_bee_that_could_not_be_made_is_no_bee() {
    in_own_process("a_bee_that_could_not_be_made_is_no_bee", || {
        silence_panics("no ");
        for builder in builders() {
            let hive = builder.bees(1).max_bees(4).build().unwrap();
            for _ in 0..3 {
                {
                    let fault = FaultGuard::new(Call::MakeThread, 1..=1, libc::EAGAIN);
                    let words = ["no worker to run tasks", "the system made no thread for bee 1 of 2"];
                    assert_contains_all(&panic_message(|| hive.spawn(|| ())), &words);
                    assert!(fault.was_refused());
                }
                assert_contains_all(&panic_message(|| hive.spawn_on(1, || ())), &["has no such bee"]);
                assert_eq!(hive.stats().per_bee().len(), 1);
                hive.wait_until_parked();
                assert_eq!(hive.bees_not_yet_tucked_in(), 0);
                assert!(hive.broadcast(|bee| bee).is_empty());
            }
            let (sender, receiver) = channel();
            hive.spawn(move || sender.send(hive::current().unwrap().id).unwrap());
            assert_eq!(receiver.recv(), Ok(1));
            assert_hive_and_tasks_work(&hive, 4);
        }
    });
}

/// Another hive can have the core of a worker whose thread could not be made or bound.
#[test]
fn a_bee_that_could_not_be_made_or_bound_keeps_no_core() {
    in_own_process("a_bee_that_could_not_be_made_or_bound_keeps_no_core", || {
        silence_panics("no worker");
        let (cpus, on_cores) = (own_cpus(), |bees| Hive::builder().bees(bees).max_bees(64).pin(Pin::Core));
        if cpus.len() < 2 {
            return println!("skipped: there is only CPU {cpus:?}");
        }
        let absurd_stack = on_cores(1).stack_size(1 << 60);
        let calls = [(Call::MakeThread, libc::EAGAIN), (Call::SetAffinity, libc::EPERM)];
        let cases = calls.map(|call| (on_cores(1), Some(call))).into_iter().chain([(absurd_stack, None)]);
        for (builder, refused) in cases {
            let ways: [&dyn Fn(&Hive); 4] = [
                &|hive| drop(hive.resize(cpus.len())),
                &|hive| hive.spmd(1, |_| drop(hive.resize(cpus.len()))),
                &|hive| drop(hive.try_spmd(cpus.len(), |_| ())),
                &|hive| drop(catch_unwind(AssertUnwindSafe(|| hive.spawn(|| ())))),
            ];
            for grow in ways {
                let hive = builder.clone().build().unwrap();
                let fault = refused.map(|(call, errno)| FaultGuard::new(call, 1..=usize::MAX, errno));
                grow(&hive);
                assert!(fault.as_ref().is_none_or(FaultGuard::was_refused));
                drop(fault);
                let places = on_cores(cpus.len()).build().unwrap().places();
                let others = places.iter().flatten().flat_map(|place| place.cpus().to_vec()).collect::<HashSet<_>>();
                assert_eq!(others.len(), cpus.len() - 1, "{refused:?}: {others:?}");
                assert!(!others.contains(&hive.places()[0].as_ref().expect("the queen's").cpus()[0]));
                drop(hive);
                sys::bind(&cpus);
            }
        }
    });
}

/// The one call, and that call with all that follow.
const ONE_OR_ALL: [usize; 2] = [1, usize::MAX];

#[test]
fn each_thread_in_turn_is_refused() {
    in_own_process("each_thread_in_turn_is_refused", || {
        silence_panics("the system made no thread");
        let words = ["the system made no thread", "os error 11"];
        let (_, otherwise) = refuse_each(Call::MakeThread, libc::EAGAIN, ONE_OR_ALL, &pinned_and_unpinned(), &words);
        assert!(otherwise > 0, "some threads cannot be done without");
    });
}

#[test]
fn each_change_of_cpus_in_turn_is_refused() {
    in_own_process("each_change_of_cpus_in_turn_is_refused", || {
        let likes = [Hive::builder(), Hive::builder().pin(Pin::Cpus(vec![own_cpus()[0]])).pin_queen(true)];
        // The last text: a queen whose mask could not be restored has only her own CPU, which several hives cannot
        // share.
        let words = ["sched_setaffinity", "has a CPU that this process may use"];
        for errno in [libc::EINVAL, libc::EPERM] {
            let (well, _) = refuse_each(Call::SetAffinity, errno, ONE_OR_ALL, &likes, &words);
            assert!(well > 0);
        }
    });
}

#[test]
fn each_look_at_the_cpus_in_turn_is_refused() {
    in_own_process("each_look_at_the_cpus_in_turn_is_refused", || {
        let likes = [Hive::builder(), Hive::builder().pin(Pin::Cpus(vec![own_cpus()[0]])).pin_queen(true)];
        refuse_each(Call::GetAffinity, libc::EPERM, ONE_OR_ALL, &likes, &["sched_getaffinity"]);
    });
}

#[test]
fn each_change_of_the_signal_mask_in_turn_is_refused() {
    in_own_process("each_change_of_the_signal_mask_in_turn_is_refused", || {
        refuse_each(Call::SignalMask, libc::EPERM, ONE_OR_ALL, &pinned_and_unpinned(), &["pthread_sigmask"]);
    });
}
