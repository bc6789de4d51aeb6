//! Models of new workers: threads that cannot be started, workers that other threads find before the thread that hired
//! them goes on, and what a worker does before its main loop.
//!
//! The protocol is described in `docs/resize.md`.

use std::cell::Cell;
use std::sync::Arc;

use super::Model;
use crate::checked_region::CheckedRegion;
use crate::checked_task::CheckedTask;
use crate::exploration;
use crate::hive::{Hive, OtherThread, PARK};
use crate::protocol::tasks::latch::Latch;
use crate::protocol::tasks::sleep::Sleep;
use crate::protocol::tasks::task::Task;
use crate::protocol::tasks::task_context::TaskContext;
use crate::sync::Semaphore;

pub(super) const MODELS: &[Model] = &[
    Model::bounded(
        3,
        "worker_thread_fails",
        "the thread of a worker cannot be started, and then one can, for a task",
        thread_fails,
    ),
    Model::bounded(2, "worker_for_tasks", "two threads have tasks for a hive without a worker", for_tasks),
    Model::bounded(3, "worker_two_late", "two workers are hired and begin late", two_late_workers),
    Model::bounded(
        2,
        "worker_busy_starter",
        "a new worker queues a task before the thread that hired it goes on",
        busy_starter,
    ),
    Model::bounded(3, "handler", "a start handler waits, and is called", || handler(|_| ())),
    Model::bounded(3, "handler_grow", "the same, while the hive grows", || handler(|hive| hive.resize(2))),
    Model::bounded(2, "handler_grow_shrink", "the same, while the hive grows and shrinks", || {
        handler(|hive| [2, 1].into_iter().for_each(|bees| hive.resize(bees)));
    }),
    Model::bounded(3, "handler_mailbox", "a start handler waits for a task in its own mailbox", || {
        handler_waits_for(|hive, task| hive.team.send_to_mailbox(1, task))
    }),
    Model::bounded(3, "handler_task", "a start handler waits for a task that no other bee is there to run", || {
        handler_waits_for(|hive, task| hive.team.inject(task));
    }),
    Model::bounded(3, "handler_end", "a start handler waits while the hive ends", handler_end),
];

fn thread_fails() {
    let hive = Hive::queen_only_with_tasks(2, Sleep::jec());
    exploration::explore();
    assert!(hive.team.hire(2, |_, _| Err(())).is_err());
    assert!(!hive.team.has_worker(), "nobody has been hired");
    run_a_task(&hive);
    hive.end();
}

fn for_tasks() {
    let hive = Hive::queen_only_with_tasks(2, Sleep::jec());
    exploration::explore();
    let other = OtherThread::spawn(&hive, run_a_task);
    run_a_task(&hive);
    other.join();
    hive.end();
}

/// Posts a task and waits for it, as the library does with a spawned task.
fn run_a_task(hive: &Hive) {
    hive.ensure_worker();
    let (errand, task) = CheckedTask::new();
    hive.team.inject(task);
    errand.wait();
}

fn two_late_workers() {
    let hive = Hive::queen_only_with_tasks(3, Sleep::jec());
    exploration::explore();
    hive.add_workers_with_handler(3, |_| ());
    // Gives both workers time to look at the count.
    (0..2).for_each(|_| loom::thread::yield_now());
    assert!(hive.team.is_hired(2), "what has been counted stays so");
    hive.end();
}

/// Worker 1 may be asleep, and bee 2 does not run what it has queued.
fn busy_starter() {
    let hive = Hive::with_max_bees(3, 2, PARK, Sleep::jec());
    let (errand, task) = CheckedTask::new();
    let task = Arc::new(Cell::new(Some(task)));
    let run = Arc::new(Semaphore::new());
    let waits = Arc::clone(&run);
    hive.add_workers_with_handler(3, move |hand| {
        hand.push(task.take().expect("one worker is started"));
        waits.wait();
    });
    errand.wait();
    run.post();
    hive.end();
}

/// Bee 1 waits in its start handler. Meanwhile the queen does `meanwhile`, and then what bee 1 waits for. Afterwards
/// bee 1 works like any other.
fn handler(meanwhile: fn(&Hive)) {
    let hive = Hive::queen_only_with_tasks(2, Sleep::jec());
    exploration::explore();
    let latch = Arc::new(Latch::default());
    add_worker_waiting_in_handler(&hive, &latch);
    meanwhile(&hive);
    set_latch(&hive, &latch);
    hive.team.wait_until_parked();
    CheckedRegion::new(2).run(&hive, 2);
    hive.end();
}

/// Bee 1 waits in its start handler for a task that it has to run itself.
fn handler_waits_for(post: fn(&Hive, Task)) {
    let hive = Hive::queen_only_with_tasks(2, Sleep::jec());
    exploration::explore();
    let latch = Arc::new(Latch::default());
    add_worker_waiting_in_handler(&hive, &latch);
    let (errand, task) = CheckedTask::with_body({
        let (hive, latch) = (hive.clone(), Arc::clone(&latch));
        move || set_latch(&hive, &latch)
    });
    post(&hive, task);
    errand.wait();
    hive.team.wait_until_parked();
    hive.end();
}

fn handler_end() {
    let hive = Hive::queen_only_with_tasks(2, Sleep::jec());
    exploration::explore();
    let latch = Arc::new(Latch::default());
    add_worker_waiting_in_handler(&hive, &latch);
    hive.team.terminate_all();
    set_latch(&hive, &latch);
}

fn add_worker_waiting_in_handler(hive: &Hive, latch: &Arc<Latch>) {
    let latch = Arc::clone(latch);
    hive.add_workers_with_handler(2, move |hand: &TaskContext<'_>| hand.wait_until(&latch, usize::MAX));
}

#[expect(unsafe_code, reason = "sets a latch")]
fn set_latch(hive: &Hive, latch: &Arc<Latch>) {
    // SAFETY: the caller keeps the latch alive.
    unsafe { hive.team.set_latch(Arc::as_ptr(latch), 1) };
}
