//! Decides whether a thread that other threads may be waiting for can start a region of several bees.
//! `Shared::nested_spmd` (`pool/regions.rs`) asks before it starts one; workers ask before they look for tasks.
//!
//! A region waits until each worker of its team has ended the task that it is in the middle of. That task may itself be
//! waiting, in another hive, for the very thread that starts the region. Then both would wait forever. So such a thread
//! gets a team only if none of the team's workers is in the middle of a task, and none begins one before it has come to
//! the region. Otherwise the region is a team of one.
//!
//! The thread, which holds the queen lock, announces the region, executes a *fence*, and looks whether a worker is in
//! a task. A worker that wants a task marks that it is looking for one, executes a *fence*, and looks whether a region
//! has been announced. One of the two fences comes first, and the thread whose fence comes second sees what the other
//! has written. The proof is in `docs/start.md`.
//!
//! Only workers of the announced team heed an announcement. Another worker may never hear of the region, because no
//! start word is published in a group in which the team has no bee; it would hold back from tasks forever, and the
//! region may be waiting for one of those tasks.

use crate::protocol::region::start_line::StartWord;
use crate::protocol::worker::slot::{Slot, TaskPhase};
use crate::protocol::{QueenGuard, Team};
use crate::sync::{Ordering, fence};

impl Team {
    /// Announces a region of `bees` bees to its workers, for a thread that others may be waiting for. Returns whether
    /// the region may be started: no worker of the team that has been hired is in a task, and none begins one before it
    /// has come to that region. If it returns `false`, nothing is announced any more.
    ///
    /// A worker that is hired after this, for the region, is not looked at: the region waits for its start handler.
    ///
    /// The caller holds the queen lock. After `true` it calls `withdraw_announcement` before it releases the lock:
    /// either after the region, or when it starts none.
    pub(crate) fn try_announce_region(&self, _queen_guard: &QueenGuard<'_>, bees: u32) -> bool {
        // The word that the region's start will have: no other region can start before it, because the caller holds the
        // lock. The fence below orders it with the looks at the workers' phases.
        self.announced_region.set(self.region_word().next(bees));
        // SeqCst: pairs with the fence in `try_mark_looking`. Either that worker sees the announcement, or this thread
        // sees its phase below.
        fence(Ordering::SeqCst);
        let mut workers = self.all_slots().take(bees as usize).skip(1);
        let are_idle = workers.all(|slot| self.wait_for_idle(slot));
        if !are_idle {
            self.withdraw_announcement();
        }
        are_idle
    }

    /// Whether the worker of `slot` is in no task. Waits while the worker looks for one; that takes only as long as the
    /// worker's own steps, because a search waits for nobody.
    fn wait_for_idle(&self, slot: &Slot) -> bool {
        // The worker announces nothing when it has looked, so a long wait naps.
        let mut spinner = self.policy().napping_spinner(1);
        loop {
            match slot.phase() {
                TaskPhase::Idle => return true,
                TaskPhase::InTask => return false,
                TaskPhase::Looking => _ = spinner.spin_or_nap(),
            }
        }
    }

    /// Withdraws the announcement, if there is one.
    pub(crate) fn withdraw_announcement(&self) {
        // This needs no order: a worker that sees it late begins to look for tasks late.
        self.announced_region.set(StartWord::NONE);
    }

    /// Called by the worker of `slot`, which is idle and has seen the regions up to `last_epoch`, before it looks for
    /// tasks. Returns whether it may look. If not, it stays idle, and has to come to the announced region first.
    pub(crate) fn try_mark_looking(&self, slot: &Slot, last_epoch: u64) -> bool {
        slot.set_phase(TaskPhase::Looking);
        // SeqCst: pairs with the fence in `try_announce_region`. Either the thread there sees that this worker is not
        // idle, or this worker sees the announcement below.
        fence(Ordering::SeqCst);
        let announced = self.announced_region.get();
        // Not if it has a part in that region, and has not come to it yet.
        let may_look = slot.id >= announced.bees() || announced.epoch() <= last_epoch;
        if !may_look {
            slot.set_phase(TaskPhase::Idle);
        }
        may_look
    }
}
