//! Models of the queen lock, which a thread holds while it is the queen.
//!
//! The protocol is described in `docs/queen-lock.md`.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use super::Model;
use crate::checked_region::CheckedRegion;
use crate::checked_task::{CheckedJoin, CheckedTask};
use crate::data::Datum;
use crate::hive::{Hive, OtherThread, PARK, SPIN, SPIN_THEN_PARK};
use crate::protocol::QueenGuard;
use crate::protocol::tasks::latch::Latch;
use crate::protocol::tasks::sleep::Sleep;
use crate::protocol::tasks::task_context::TaskContext;
use crate::sync::WaitPolicy;

pub(super) const MODELS: &[Model] = &[
    Model::exhaustive("lock_two", "two queens acquire the lock, and one of them may queue", || contend(PARK, 2, 1)),
    Model::exhaustive("lock_two_spin_then_park", "the same, with a poll before sleeping", || {
        contend(SPIN_THEN_PARK, 2, 1)
    }),
    Model::bounded(3, "lock_again", "two queens acquire the lock twice each", || contend(PARK, 2, 2)),
    Model::bounded(3, "lock_again_spin_then_park", "the same, with a poll before sleeping", || {
        contend(SPIN_THEN_PARK, 2, 2)
    }),
    Model::bounded(
        2,
        "lock_three_spin_then_park",
        "three queens, of whom two may queue and poll before they sleep",
        || contend(SPIN_THEN_PARK, 3, 1),
    ),
    Model::bounded(3, "lock_two_spin", "two queens that never sleep acquire the lock twice each", || {
        contend(SPIN, 2, 2)
    }),
    Model::bounded(2, "lock_three_spin", "three queens that never sleep, of whom two may queue", || {
        contend(SPIN, 3, 1)
    }),
    Model::bounded(2, "lock_three", "three queens, of whom two may queue", || contend(PARK, 3, 1)),
    Model::bounded(3, "lock_try", "a second queen tries the lock, and a third queues", try_while_queued),
    Model::bounded(2, "lock_regions", "two queens start regions of one bee", regions),
    Model::bounded(2, "lock_join", "an outsider joins while another thread starts a region", join_beside_region),
];

/// `queens` threads acquire the lock `times` each, and change data that only the holder may change.
fn contend(policy: WaitPolicy, queens: u32, times: u32) {
    let hive = Hive::with_workers(1, 1, policy);
    let held = Arc::new(Datum::new(0));
    let hold = move |hive: &Hive, held: &Datum| {
        for _ in 0..times {
            let _turn = hive.team.become_queen();
            held.set(held.get() + 1);
        }
    };
    let others: Vec<_> = (1..queens)
        .map(|_| {
            let held = Arc::clone(&held);
            OtherThread::spawn(&hive, move |hive| hold(hive, &held))
        })
        .collect();
    hold(&hive, &held);
    others.into_iter().for_each(OtherThread::join);
    assert_eq!(held.get(), queens * times, "turns taken");
    hive.end();
}

fn try_while_queued() {
    let hive = Hive::with_workers(1, 1, PARK);
    let held = Arc::new(Datum::new(0));
    let queue = OtherThread::spawn(&hive, {
        let held = Arc::clone(&held);
        move |hive| {
            let _turn = hive.team.become_queen();
            held.set(held.get() + 1);
        }
    });
    // loom runs one thread at a time, so a cell is enough to return the result.
    let tried = Rc::new(Cell::new(0));
    let trier = OtherThread::spawn(&hive, {
        let (held, tried) = (Arc::clone(&held), Rc::clone(&tried));
        move |hive| {
            if let Some(_turn) = hive.team.try_become_queen() {
                held.set(held.get() + 1);
                tried.set(1);
            }
        }
    });
    let turn = hive.team.become_queen();
    held.set(held.get() + 1);
    drop(turn);
    queue.join();
    trier.join();
    assert_eq!(held.get(), 2 + tried.get(), "turns taken");
    hive.end();
}

fn regions() {
    let hive = Hive::with_workers(2, 2, PARK);
    let other = OtherThread::spawn(&hive, |hive| CheckedRegion::new(2).run(hive, 2));
    CheckedRegion::new(2).run(&hive, 2);
    other.join();
    hive.end();
}

/// The outsider becomes the queen if it can: it then shares one half of a join, or runs it itself. If it cannot, it
/// leaves both halves to a worker.
fn join_beside_region() {
    let hive = Hive::with_tasks(2, 2, PARK, Sleep::jec());
    let held = Arc::new(Datum::new(0));
    let outsider = OtherThread::spawn(&hive, {
        let held = Arc::clone(&held);
        move |hive| match hive.team.try_become_queen() {
            Some(turn) => {
                held.set(held.get() + 1);
                join_as_queen(hive, turn);
            }
            None => {
                let (both, task) = CheckedTask::new();
                hive.team.inject(task);
                both.wait();
            }
        }
    });
    hive.region(2, |context| {
        if context.id == 0 {
            held.set(held.get() + 1);
        }
    });
    outsider.join();
    hive.end();
}

#[expect(unsafe_code, reason = "sets a latch")]
fn join_as_queen(hive: &Hive, lock: QueenGuard<'_>) {
    let hand = TaskContext::for_queen(&hive.team, lock);
    let latch = Arc::new(Latch::default());
    let (half, _) = CheckedTask::with_body({
        let (team, latch) = (Arc::clone(&hive.team), Arc::clone(&latch));
        // SAFETY: this closure keeps the latch alive.
        move || unsafe { team.set_latch(Arc::as_ptr(&latch), 0) }
    });
    let join = CheckedJoin::new(half);
    join.link(&hand);
    hand.share_joins_now();
    if join.unlink(&hand) || hand.reclaim_or_wait(join.second_half.job(), &latch) {
        join.second_half.task().run(None);
    }
    join.second_half.wait();
    hand.inject_remaining();
}
