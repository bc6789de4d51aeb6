//! Models of loops whose workers may be away: asleep, parked, just hired, or in the middle of a task. The queen stands
//! in for them, while they may be coming back.
//!
//! The protocol is described in `docs/latecomers.md`.

use std::sync::Arc;

use super::Model;
use crate::checked_region::CheckedRegion;
use crate::checked_task::CheckedTask;
use crate::exploration;
use crate::hive::{Hive, OtherThread, PARK, SPIN, SPIN_THEN_PARK};
use crate::observe::cold_parts;
use crate::protocol::region::body::Wake;
use crate::protocol::tasks::sleep::Sleep;
use crate::sync::{Semaphore, WaitPolicy, set_workers_are_unbound};

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
        in_task(PARK, 1, Wake::AtOnce)
    }),
    Model::bounded(4, "late_in_task_spin", "the same for a worker that never sleeps", || {
        in_task(SPIN, 1, Wake::AtOnce)
    }),
    Model::bounded(3, "late_in_task_twice", "a worker takes a task that lasts until two loops have returned", || {
        in_task(PARK, 2, Wake::AtOnce)
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
    Model::bounded(4, "unwoken_once", "a worker may sleep while a loop runs for which nobody is woken", || {
        play(Hive::with_workers(2, 2, PARK), 2, &[Quiet])
    }),
    Model::bounded(3, "unwoken_then_exact", "the same, and a region that needs each bee follows", || {
        play(Hive::with_workers(2, 2, PARK), 2, &[Quiet, Exact])
    }),
    Model::bounded(3, "unwoken_after_exact", "a worker may fall asleep after a region, as such a loop begins", || {
        play(Hive::with_workers(2, 2, PARK), 2, &[Exact, Quiet])
    }),
    Model::bounded(3, "unwoken_between", "a loop for which nobody is woken between two for which they are", || {
        play(Hive::with_workers(2, 2, PARK), 2, &[Loop, Quiet, Loop])
    }),
    Model::bounded(2, "unwoken_two", "two workers may sleep while such a loop runs", || {
        play(Hive::with_workers(3, 3, PARK), 3, &[Quiet, Exact])
    }),
    Model::bounded(2, "unwoken_leader", "a worker that leads a group may sleep while such a loop runs", || {
        play(Hive::on_nodes(&[0, 1, 1], PARK), 3, &[Quiet, Exact])
    }),
    Model::bounded(3, "unwoken_in_task", "a worker takes a task that lasts until such a loop has returned", || {
        in_task(PARK, 1, Wake::IfLong)
    }),
    Model::bounded(3, "woken_late", "a worker may sleep, and is woken after the queen's own part of a loop", || {
        play(Hive::with_workers(2, 2, PARK), 2, &[Late, Exact])
    }),
    Model::bounded(2, "woken_late_two", "the same for two workers", || {
        play(Hive::with_workers(3, 3, PARK), 3, &[Late, Quiet])
    }),
    Model::bounded(2, "woken_late_leader", "the same for a worker that leads a group", || {
        play(Hive::on_nodes(&[0, 1, 1], PARK), 3, &[Late, Exact])
    }),
    Model::bounded(4, "unbound_twice", "a worker ends its wake-up after its part and sleeps without polling", || {
        unbound(|| play(Hive::with_workers(2, 2, SPIN_THEN_PARK), 2, &[Exact, Exact]))
    }),
    Model::bounded(3, "unbound_then_loop", "the same, and a loop follows, for which nobody is woken", || {
        unbound(|| play(Hive::with_workers(2, 2, SPIN_THEN_PARK), 2, &[Exact, Quiet]))
    }),
    Model::bounded(2, "unbound_shrunk", "the same, while another thread makes the hive smaller and larger", || {
        unbound(shrink_after_region)
    }),
    Model::bounded(3, "unbound_in_task", "the same for a worker that has run a task", || {
        unbound(|| in_task(PARK, 1, Wake::AtOnce))
    }),
];

/// A kind of region.
#[derive(Clone, Copy)]
enum Kind {
    /// The queen may stand in for the workers. She wakes those that sleep.
    Loop,
    /// The same, but she wakes nobody.
    Quiet,
    /// The same, but she wakes those that sleep after her own part.
    Late,
    /// Each bee runs its own part.
    Exact,
}
use Kind::{Exact, Late, Loop, Quiet};

/// Runs these regions in a hive of `bees` bees.
fn play(hive: Hive, bees: u32, kinds: &[Kind]) {
    let mut rounds = CheckedRegion::new(bees);
    for kind in kinds {
        match kind {
            Loop => rounds.run_loop(&hive, bees, Wake::AtOnce),
            Quiet => rounds.run_loop(&hive, bees, Wake::IfLong),
            Late => {
                cold_parts::set_parts_are_long(true);
                rounds.run_loop(&hive, bees, Wake::IfLong);
                cold_parts::set_parts_are_long(false);
            }
            Exact => rounds.run(&hive, bees),
        }
    }
    hive.end();
}

/// Runs a script in which workers are bound to no CPU and expect the next region to find them asleep.
fn unbound(script: impl FnOnce()) {
    set_workers_are_unbound(true);
    script();
    set_workers_are_unbound(false);
}

/// A worker may be about to end its wake-up when it becomes surplus.
fn shrink_after_region() {
    let hive = Hive::with_workers(2, 2, PARK);
    let other = OtherThread::spawn(&hive, |hive| {
        hive.resize(1);
        hive.resize(2);
    });
    let mut rounds = CheckedRegion::new(2);
    rounds.run(&hive, 2);
    other.join();
    rounds.run(&hive, 2);
    hive.end();
}

/// A task that ends only when `loops` loops have returned has come to a worker, or comes to it later. If the queen
/// waited for that worker, nobody would go on.
fn in_task(policy: WaitPolicy, loops: u32, wake: Wake) {
    let hive = Hive::with_tasks(2, 2, policy, Sleep::jec());
    let over = Arc::new(Semaphore::new());
    let (checked, task) = CheckedTask::with_body({
        let over = Arc::clone(&over);
        move || over.wait()
    });
    hive.team.inject(task);
    let mut rounds = CheckedRegion::new(2);
    (0..loops).for_each(|_| rounds.run_loop(&hive, 2, wake));
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
    CheckedRegion::new(2).run_loop(&hive, 2, Wake::AtOnce);
    over.post();
    other.join();
    hive.end();
}
