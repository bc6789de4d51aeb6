//! Models of loops whose workers may be away: asleep, parked, just hired, or in the middle of a task. The queen stands
//! in for them, while they may be coming back.
//!
//! The protocol is described in `docs/latecomers.md`.

use std::sync::Arc;

use super::Model;
use crate::checked_region::CheckedRegion;
use crate::checked_task::CheckedTask;
use crate::exploration;
use crate::hive::{Hive, OtherThread, PARK, SPIN};
use crate::protocol::tasks::sleep::Sleep;
use crate::sync::{Semaphore, WaitPolicy};

pub(super) const MODELS: &[Model] = &[
    Model::bounded(
        4,
        "late_once",
        "a worker falls asleep, or has not yet come for the first time, while a loop runs",
        || play(Hive::with_workers(2, 2, PARK), 2, &[Loop]),
    ),
    Model::bounded(4, "late_twice", "a worker may sleep before and after each of two loops", || {
        play(Hive::with_workers(2, 2, PARK), 2, &[Loop, Loop])
    }),
    Model::bounded(4, "late_spin", "a worker that polls comes to two loops, to the first for the first time", || {
        play(Hive::with_workers(2, 2, SPIN), 2, &[Loop, Loop])
    }),
    Model::bounded(
        4,
        "late_then_exact",
        "a worker that may be excused from a loop runs its part of the next region",
        || play(Hive::with_workers(2, 2, PARK), 2, &[Loop, Exact]),
    ),
    Model::bounded(3, "late_between_exact", "a loop between two regions that need each bee", || {
        play(Hive::with_workers(2, 2, PARK), 2, &[Exact, Loop, Exact])
    }),
    Model::bounded(3, "late_two", "two workers may sleep while a loop runs", || {
        play(Hive::with_workers(3, 3, PARK), 3, &[Loop])
    }),
    Model::bounded(2, "late_two_twice", "two workers may sleep before and after each of two loops", || {
        play(Hive::with_workers(3, 3, PARK), 3, &[Loop, Loop])
    }),
    Model::bounded(3, "late_parked", "a loop makes the hive larger by a worker that is parked", || {
        play(Hive::with_workers(2, 1, PARK), 2, &[Loop, Loop])
    }),
    Model::bounded(3, "late_hired", "a loop makes the hive larger by a worker whose thread is just starting", || {
        let hive = Hive::new(2, PARK);
        exploration::explore();
        play(hive, 2, &[Loop, Exact]);
    }),
    Model::bounded(4, "late_in_task", "a worker takes a task that lasts until a loop has returned", || {
        in_task(PARK, 1)
    }),
    Model::bounded(4, "late_in_task_spin", "the same for a worker that never sleeps", || in_task(SPIN, 1)),
    Model::bounded(3, "late_in_task_twice", "a worker takes a task that lasts until two loops have returned", || {
        in_task(PARK, 2)
    }),
    Model::bounded(
        4,
        "late_task_comes",
        "a task that lasts until a loop has returned comes while the loop runs",
        || task_comes(SPIN),
    ),
    Model::bounded(3, "late_leader", "a worker that leads a group may be away while two loops run", || {
        play(Hive::on_nodes(&[0, 1, 1], PARK), 3, &[Loop])
    }),
    Model::bounded(2, "late_leader_twice", "the same in a loop and a region that needs each bee", || {
        play(Hive::on_nodes(&[0, 1, 1], PARK), 3, &[Loop, Exact])
    }),
    Model::bounded(2, "late_two_groups", "workers of two groups, both led by the queen, may be away", || {
        play(Hive::on_nodes(&[0, 0, 1], PARK), 3, &[Loop, Loop])
    }),
];

/// A kind of region.
#[derive(Clone, Copy)]
enum Kind {
    /// The queen may stand in for the workers.
    Loop,
    /// Each bee runs its own part.
    Exact,
}
use Kind::{Exact, Loop};

/// Runs these regions in a hive of `bees` bees.
fn play(hive: Hive, bees: u32, kinds: &[Kind]) {
    let mut rounds = CheckedRegion::new(bees);
    for kind in kinds {
        match kind {
            Loop => rounds.run_loop(&hive, bees),
            Exact => rounds.run(&hive, bees),
        }
    }
    hive.end();
}

/// A task that ends only when `loops` loops have returned has come to a worker, or comes to it later. If the queen
/// waited for that worker, nobody would go on.
fn in_task(policy: WaitPolicy, loops: u32) {
    let hive = Hive::with_tasks(2, 2, policy, Sleep::jec());
    let over = Arc::new(Semaphore::new());
    let (checked, task) = CheckedTask::with_body({
        let over = Arc::clone(&over);
        move || over.wait()
    });
    hive.team.inject(task);
    let mut rounds = CheckedRegion::new(2);
    (0..loops).for_each(|_| rounds.run_loop(&hive, 2));
    over.post();
    checked.wait();
    rounds.run(&hive, 2);
    hive.end();
}

/// The same, but another thread posts the task while the loop runs.
fn task_comes(policy: WaitPolicy) {
    let hive = Hive::with_tasks(2, 2, policy, Sleep::jec());
    let over = Arc::new(Semaphore::new());
    let other = OtherThread::spawn(&hive, {
        let over = Arc::clone(&over);
        move |hive| {
            let (checked, task) = CheckedTask::with_body(move || over.wait());
            hive.team.inject(task);
            checked.wait();
        }
    });
    CheckedRegion::new(2).run_loop(&hive, 2);
    over.post();
    other.join();
    hive.end();
}
