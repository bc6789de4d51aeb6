//! Models of loops whose workers may be away: asleep, parked, just hired, or in the middle of a task. The queen stands
//! in for them, while they may be coming back.
//!
//! The protocol is described in `docs/latecomers.md`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::Model;
use crate::checked_region::CheckedRegion;
use crate::checked_task::CheckedTask;
use crate::exploration;
use crate::hive::{Hive, LoopStart, OtherThread, PARK, SPIN, SPIN_THEN_PARK};
use crate::protocol::tasks::sleep::Sleep;
use crate::sync::{Semaphore, WaitPolicy, set_looks_before_deadline, set_workers_are_unbound};

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
        in_task(PARK, 1, LoopStart::AtOnce)
    }),
    Model::bounded(4, "late_in_task_spin", "the same for a worker that never sleeps", || {
        in_task(SPIN, 1, LoopStart::AtOnce)
    }),
    Model::bounded(3, "late_in_task_twice", "a worker takes a task that lasts until two loops have returned", || {
        in_task(PARK, 2, LoopStart::AtOnce)
    }),
    Model::bounded(
        4,
        "late_task_comes",
        "a task that lasts until a loop has returned comes while the loop runs",
        || task_comes(SPIN),
    ),
    Model::bounded(3, "turn_once", "two bees run a loop of three parts, of whom one may sleep", || {
        play(Hive::with_workers(2, 2, PARK), 2, &[InTurn])
    }),
    Model::bounded(2, "turn_spin", "two bees that poll run a loop of three parts, and one of two parts", || {
        play(Hive::with_workers(2, 2, SPIN), 2, &[InTurn, Loop])
    }),
    Model::bounded(3, "late_leader", "a worker that leads a group may be away while two loops run", || {
        play(Hive::on_nodes(&[0, 1, 1], PARK), 3, &[Loop])
    }),
    Model::bounded(2, "late_leader_twice", "the same in a loop and a region that needs each bee", || {
        play(Hive::on_nodes(&[0, 1, 1], PARK), 3, &[Loop, Exact])
    }),
    Model::bounded(2, "late_two_groups", "workers of two groups, both led by the queen, may be away", || {
        play(Hive::on_nodes(&[0, 0, 1], PARK), 3, &[Loop, Loop])
    }),
    Model::bounded(
        4,
        "unwoken_once",
        "a worker sleeps or comes for the first time while the queen runs a loop",
        || play(Hive::with_workers(2, 2, PARK), 2, &[Short]),
    ),
    Model::bounded(3, "unwoken_then_exact", "the same, and a region that needs each bee follows", || {
        play(Hive::with_workers(2, 2, PARK), 2, &[Short, Exact])
    }),
    Model::bounded(3, "unwoken_after_exact", "a worker may fall asleep after a region, as such a loop begins", || {
        play(Hive::with_workers(2, 2, PARK), 2, &[Exact, Short])
    }),
    Model::bounded(3, "unwoken_between", "such a loop between two that are started on the workers", || {
        play(Hive::with_workers(2, 2, PARK), 2, &[Loop, Short, Loop])
    }),
    Model::bounded(2, "unwoken_two", "two workers may sleep while such a loop runs", || {
        play(Hive::with_workers(3, 3, PARK), 3, &[Short, Exact])
    }),
    Model::bounded(2, "unwoken_leader", "a worker that leads a group may sleep while such a loop runs", || {
        play(Hive::on_nodes(&[0, 1, 1], PARK), 3, &[Short, Exact])
    }),
    Model::bounded(3, "unwoken_in_task", "a worker takes a task that lasts until such a loop has returned", || {
        in_task(PARK, 1, LoopStart::IfLong)
    }),
    Model::bounded(2, "unwoken_panic", "two parts of such a loop panic, of which the queen runs all", || {
        panic_in_short_loop()
    }),
    Model::bounded(3, "woken_late", "a loop is started on a worker only after the queen's own part", || {
        play(Hive::with_workers(2, 2, PARK), 2, &[Late(0), Exact])
    }),
    Model::bounded(2, "woken_late_two", "the same for two workers, and a loop that is not started follows", || {
        play(Hive::with_workers(3, 3, PARK), 3, &[Late(0), Short])
    }),
    Model::bounded(2, "woken_late_leader", "the same for a worker that leads a group", || {
        play(Hive::on_nodes(&[0, 1, 1], PARK), 3, &[Late(0), Exact])
    }),
    Model::bounded(2, "woken_later", "a loop is started after the queen has run the part of a worker as well", || {
        play(Hive::with_workers(3, 3, PARK), 3, &[Late(1), Exact])
    }),
    Model::bounded(3, "woken_in_part", "a loop is started between two chunks of the queen's own part", || {
        play(Hive::with_workers(2, 2, PARK), 2, &[InPart, Short, Exact])
    }),
    Model::bounded(1, "woken_in_part_leader", "the same in two groups, both led by the queen", || {
        play(Hive::on_nodes(&[0, 0, 1], PARK), 3, &[InPart])
    }),
    Model::bounded(2, "surplus_late", "a worker that is surplus takes part in two loops, or comes too late", || {
        made_surplus(PARK, LoopStart::AtOnce)
    }),
    Model::bounded(3, "surplus_late_spin", "the same, and the worker does not sleep before it parks", || {
        made_surplus(SPIN, LoopStart::AtOnce)
    }),
    Model::bounded(3, "surplus_if_long", "the same in loops of which the queen begins the parts", || {
        made_surplus(PARK, LoopStart::IfLong)
    }),
    Model::bounded(4, "unbound_twice", "a worker ends its wake-up after its part and sleeps without polling", || {
        unbound(|| play(Hive::with_workers(2, 2, SPIN_THEN_PARK), 2, &[Exact, Exact]))
    }),
    Model::bounded(3, "unbound_then_loop", "the same, and a loop follows, for which nobody is woken", || {
        unbound(|| play(Hive::with_workers(2, 2, SPIN_THEN_PARK), 2, &[Exact, Short]))
    }),
    Model::bounded(2, "unbound_shrunk", "the same, while another thread makes the hive smaller and larger", || {
        unbound(shrink_after_region)
    }),
    Model::bounded(3, "unbound_in_task", "the same for a worker that has run a task", || {
        unbound(|| in_task(PARK, 1, LoopStart::AtOnce))
    }),
];

/// A kind of region.
#[derive(Clone, Copy)]
enum Kind {
    /// The queen may stand in for the workers. She wakes those that sleep.
    Loop,
    /// She runs all parts herself, and the workers never hear of it.
    Short,
    /// She runs one part more than this, and then starts the region on the workers, because that has taken long.
    Late(u32),
    /// She starts it on the workers between two chunks of her own part.
    InPart,
    /// The bees run the parts of one bee more than they are, in turn.
    InTurn,
    /// Each bee runs its own part.
    Exact,
}
use Kind::{Exact, InPart, InTurn, Late, Loop, Short};

/// Runs these regions in a hive of `bees` bees.
fn play(hive: Hive, bees: u32, kinds: &[Kind]) {
    let mut rounds = CheckedRegion::new(bees + 1);
    for kind in kinds {
        match kind {
            InTurn => rounds.run_loop(&hive, bees + 1, LoopStart::InTurn(bees)),
            Loop => rounds.run_loop(&hive, bees, LoopStart::AtOnce),
            Short => rounds.run_loop(&hive, bees, LoopStart::IfLong),
            InPart => with_looks_before_deadline(0, || rounds.run_loop_in_chunks(&hive, bees)),
            Late(looks) => {
                with_looks_before_deadline(*looks, || rounds.run_loop(&hive, bees, LoopStart::IfLong));
            }
            Exact => rounds.run(&hive, bees),
        }
    }
    hive.end();
}

/// Runs `script` with deadlines that have passed after so many looks.
fn with_looks_before_deadline(looks: u32, script: impl FnOnce()) {
    set_looks_before_deadline(looks);
    script();
    set_looks_before_deadline(u32::MAX);
}

/// A loop that the queen runs alone ends with the panic of the bee with the lowest id, after all parts have run.
fn panic_in_short_loop() {
    let hive = Hive::with_workers(3, 3, PARK);
    exploration::explore();
    let ran = AtomicU32::new(0);
    let payload = hive.try_loop_region(3, LoopStart::IfLong, |context| {
        // Relaxed: only the queen's thread counts.
        ran.fetch_add(1, Ordering::Relaxed);
        if context.id < 2 {
            std::panic::resume_unwind(Box::new(context.id));
        }
    });
    assert_eq!(payload.expect_err("two parts have panicked").downcast_ref(), Some(&0_u32));
    assert_eq!(ran.into_inner(), 3, "parts that have run");
    CheckedRegion::new(3).run(&hive, 3);
    hive.end();
}

/// Runs a script in which workers are bound to no CPU and expect the next region to find them asleep.
fn unbound(script: impl FnOnce()) {
    set_workers_are_unbound(true);
    script();
    set_workers_are_unbound(false);
}

/// The worker becomes surplus before loops that are still for two bees, and belongs to the hive again after them.
fn made_surplus(policy: WaitPolicy, start: LoopStart) {
    let hive = Hive::with_workers(2, 2, policy);
    let mut rounds = CheckedRegion::new(2);
    hive.resize(1);
    rounds.run_loop(&hive, 2, start);
    rounds.run_loop(&hive, 2, start);
    hive.resize(2);
    rounds.run(&hive, 2);
    hive.end();
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
fn in_task(policy: WaitPolicy, loops: u32, start: LoopStart) {
    let hive = Hive::with_tasks(2, 2, policy, Sleep::jec());
    let over = Arc::new(Semaphore::new());
    let (checked, task) = CheckedTask::with_body({
        let over = Arc::clone(&over);
        move || over.wait()
    });
    hive.team.inject(task);
    let mut rounds = CheckedRegion::new(2);
    (0..loops).for_each(|_| rounds.run_loop(&hive, 2, start));
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
    CheckedRegion::new(2).run_loop(&hive, 2, LoopStart::AtOnce);
    over.post();
    other.join();
    hive.end();
}
