//! Hives that are dropped with work in flight: all of it is run once, what it captured is dropped, and no thread is
//! left.

#![cfg(target_os = "linux")]

mod common;

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use common::completion_log::CompletionLog;
use common::process::in_own_process;
use common::task_helpers::builders;
use common::{Rng, is_stress, proc_threads, silence_panics, wait_until};
use hive::{Builder, Hive, Pin};

/// The most tasks of a hive.
const MAX_TASKS: usize = 40;

/// How many hives are built. Building one takes about a hundred microseconds if no bee is bound.
fn hive_count() -> usize {
    if is_stress() || !cfg!(debug_assertions) { 10_000 } else { 1_000 }
}

/// Counts for all hives together.
struct Counts {
    log: CompletionLog,
    dropped: AtomicU64,
}

/// A task's number, captured by the task.
struct CountedTask {
    number: u64,
    counts: Arc<Counts>,
}

impl CountedTask {
    fn run(self) {
        self.counts.log.complete(self.number);
    }
}

impl Drop for CountedTask {
    fn drop(&mut self) {
        self.counts.dropped.fetch_add(1, Ordering::Release);
    }
}

/// Runs `body` with each builder in turn, `hives` times. Afterwards everything must have been run and dropped, and
/// every thread must have ended.
fn for_each_builder(hives: usize, body: impl Fn(&Builder, &mut Rng, &dyn Fn() -> CountedTask)) {
    let threads = proc_threads::count();
    let books = Arc::new(Counts { log: CompletionLog::new((hives * MAX_TASKS) as u64), dropped: AtomicU64::new(0) });
    let work = || CountedTask { number: books.log.allocate(1).start, counts: Arc::clone(&books) };
    let builders: Vec<_> = builders().map(|builder| builder.pin(Pin::None)).collect();
    let mut dice = Rng::new(hives as u64);
    for number in 0..hives {
        body(&builders[number % builders.len()], &mut dice, &work);
    }
    // If a hive is dropped by one of its own bees, no thread waits for that bee's thread.
    wait_until(|| proc_threads::count() == threads);
    books.log.assert_complete();
    assert_eq!(books.dropped.load(Ordering::Acquire), books.log.allocated());
}

/// Queues `work` for any bee or for one bee.
fn queue(hive: &Hive, bees: usize, rng: &mut Rng, work: CountedTask) {
    match rng.next_up_to(3) {
        1 => hive.spawn_on(rng.next_up_to(bees - 1), || work.run()),
        _ => hive.spawn(|| work.run()),
    }
}

#[test]
fn stress_hives_dropped_by_their_builder() {
    in_own_process("stress_hives_dropped_by_their_builder", || {
        for_each_builder(hive_count(), |builder, dice, work| {
            let bees = 1 + dice.next_up_to(2);
            let hive = builder.clone().bees(bees).build().unwrap();
            for _ in 0..dice.next_up_to(MAX_TASKS) {
                queue(&hive, bees, dice, work());
            }
            // Workers that are awake, surplus, parked, woken from that, and brought back.
            match dice.next_up_to(6) {
                1 => hive.resize(1).unwrap(),
                2 => {
                    hive.resize(1).unwrap();
                    hive.resize(bees).unwrap();
                }
                3 => hive.spmd(bees, |_| ()),
                _ => {}
            }
        });
    });
}

#[test]
fn stress_hives_of_the_queen_alone() {
    in_own_process("stress_hives_of_the_queen_alone", || {
        for_each_builder(hive_count() / 10, |builder, dice, work| {
            let hive = builder.clone().bees(1).build().unwrap();
            for _ in 0..dice.next_up_to(MAX_TASKS) - 1 {
                let work = work();
                hive.spawn(|| work.run());
            }
        });
    });
}

/// A task has the last handle, so the hive ends on one of its workers, or here.
#[test]
fn stress_hives_dropped_by_their_own_tasks() {
    in_own_process("stress_hives_dropped_by_their_own_tasks", || {
        for_each_builder(hive_count() / 10, |builder, dice, work| {
            let bees = 1 + dice.next_up_to(2);
            let hive = Arc::new(builder.clone().bees(bees).build().unwrap());
            for _ in 0..dice.next_up_to(MAX_TASKS / 4) {
                let (own, works) = (Arc::clone(&hive), [(); 4].map(|()| work()));
                hive.spawn(move || {
                    let [first, second, third, fourth] = works;
                    own.join(|| first.run(), || second.run());
                    own.scope(|scope| scope.spawn(|_| third.run()));
                    own.spawn(|| fourth.run());
                });
            }
        });
    });
}

#[test]
fn stress_hives_whose_tasks_panic() {
    in_own_process("stress_hives_whose_tasks_panic", || {
        silence_panics("as expected");
        for_each_builder(hive_count() / 10, |builder, dice, work| {
            let heard = Arc::new(AtomicU64::new(0));
            let count = Arc::clone(&heard);
            let handler = move |_| _ = count.fetch_add(1, Ordering::Relaxed);
            let bees = 1 + dice.next_up_to(2);
            let hive = builder.clone().bees(bees).panic_handler(handler).build().unwrap();
            let tasks = dice.next_up_to(MAX_TASKS) as u64;
            for _ in 0..tasks {
                let work = work();
                hive.spawn(|| {
                    work.run();
                    resume_unwind(Box::new(()));
                });
            }
            drop(hive);
            assert_eq!(heard.load(Ordering::Relaxed), tasks, "the drop has waited for all");
        });
    });
}
