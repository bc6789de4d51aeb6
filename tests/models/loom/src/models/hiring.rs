//! Bees that come to a hive: threads that cannot be made, whoever finds them first, and what they do before they live.

use std::sync::Arc;

use super::Model;
use crate::crew::{Hand, Latch, Sleep, Task};
use crate::errand::Errand;
use crate::hive::{Helper, Hive, SLEEPY};
use crate::rounds::Rounds;
use crate::stage;
use crate::sync::Semaphore;

pub(super) const MODELS: &[Model] = &[
    Model::up_to(3, "hire_failed", "no thread is made for a bee, and then one is, for a task", failed),
    Model::up_to(2, "hire_for_tasks", "two threads have tasks for a hive without a bee", for_tasks),
    Model::up_to(3, "hire_two", "two bees are hired, and begin late", two),
    Model::up_to(2, "hire_busy", "a bee has a task for the others before whoever has hired it goes on", busy),
    Model::up_to(3, "handler", "a start handler waits, and is called", || handler(|_| ())),
    Model::up_to(3, "handler_grow", "the same, while the hive grows", || handler(|hive| hive.resize(2))),
    Model::up_to(2, "handler_grow_shrink", "the same, while the hive grows and shrinks", || {
        handler(|hive| [2, 1].into_iter().for_each(|bees| hive.resize(bees)));
    }),
    Model::up_to(3, "handler_mail", "a start handler waits for mail of its own", || {
        handler_waits_for(|hive, task| hive.crew.send(1, task))
    }),
    Model::up_to(3, "handler_task", "a start handler waits for a task, which nobody else is there to run", || {
        handler_waits_for(|hive, task| hive.crew.inject(task));
    }),
    Model::up_to(3, "handler_end", "a start handler waits while the hive ends", handler_end),
];

fn failed() {
    let hive = Hive::alone_with_tasks(2, Sleep::jec());
    stage::play();
    assert!(hive.crew.hire(2, |_, _| Err(())).is_err());
    assert!(!hive.crew.has_bee(), "nobody has been hired");
    run_a_task(&hive);
    hive.end();
}

fn for_tasks() {
    let hive = Hive::alone_with_tasks(2, Sleep::jec());
    stage::play();
    let other = Helper::spawn(&hive, run_a_task);
    run_a_task(&hive);
    other.join();
    hive.end();
}

/// As the library does with what is spawned.
fn run_a_task(hive: &Hive) {
    hive.have_a_bee();
    let (errand, task) = Errand::new();
    hive.crew.inject(task);
    errand.wait();
}

fn two() {
    let hive = Hive::alone_with_tasks(3, Sleep::jec());
    stage::play();
    hive.hire_with(3, |_| ());
    // Both have a look at the count.
    (0..2).for_each(|_| loom::thread::yield_now());
    assert!(hive.crew.is_hired(2), "what has been counted stays so");
    hive.end();
}

/// Bee 1 may be asleep, and bee 2 does not run what it has queued.
fn busy() {
    let hive = Hive::with_room(3, 2, SLEEPY, Sleep::jec());
    let (errand, task) = Errand::new();
    let run = Arc::new(Semaphore::new());
    let waits = Arc::clone(&run);
    hive.hire_with(3, move |hand| {
        hand.push(task);
        waits.wait();
    });
    errand.wait();
    run.post();
    hive.end();
}

/// Bee 1 waits in its start handler; the queen does something meanwhile, and what it waits for. Afterwards it is as good as any.
fn handler(meanwhile: fn(&Hive)) {
    let hive = Hive::alone_with_tasks(2, Sleep::jec());
    stage::play();
    let latch = Arc::new(Latch::new());
    hire_waiting(&hive, &latch);
    meanwhile(&hive);
    set(&hive, &latch);
    hive.crew.settle();
    Rounds::new(2).region(&hive, 2);
    hive.end();
}

/// Bee 1 waits in its start handler for a task that it has to run itself.
fn handler_waits_for(post: fn(&Hive, Task)) {
    let hive = Hive::alone_with_tasks(2, Sleep::jec());
    stage::play();
    let latch = Arc::new(Latch::new());
    hire_waiting(&hive, &latch);
    let (errand, task) = Errand::of({
        let (hive, latch) = (hive.clone(), Arc::clone(&latch));
        move || set(&hive, &latch)
    });
    post(&hive, task);
    errand.wait();
    hive.crew.settle();
    hive.end();
}

fn handler_end() {
    let hive = Hive::alone_with_tasks(2, Sleep::jec());
    stage::play();
    let latch = Arc::new(Latch::new());
    hire_waiting(&hive, &latch);
    hive.crew.dismiss_all();
    set(&hive, &latch);
}

fn hire_waiting(hive: &Hive, latch: &Arc<Latch>) {
    let latch = Arc::clone(latch);
    hive.hire_with(2, move |hand: &Hand<'_>| hand.work_until(&latch));
}

#[expect(unsafe_code, reason = "sets a latch")]
fn set(hive: &Hive, latch: &Arc<Latch>) {
    // SAFETY: the caller keeps it alive.
    unsafe { hive.crew.set_latch(Arc::as_ptr(latch), 1) };
}
