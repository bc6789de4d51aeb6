//! Whether a thread that others may be waiting for can start a region of several bees.
//!
//! A region waits until each bee of its team has ended the task that it is in the middle of. That task may itself be waiting, in
//! another hive, for the very thread that starts the region: then both would wait for ever. So such a thread gets a team only if
//! none of the bees is in the middle of a task, and none begins one before it has come to the region.
//!
//! The thread, which has the turn, announces the region, *fence*, looks whether a bee is in a task. A bee says that it looks for
//! tasks, *fence*, looks whether a region has been announced. One of the two fences comes first, and whoever comes second sees
//! what the other has said. The proof is in `docs/start.md`.
//!
//! Only bees of the team mind an announcement. Others may never hear of the region: it may have no part for anybody in the group in which they listen.

use crate::protocol::region::start_line::StartWord;
use crate::protocol::worker::slot::Slot;
use crate::protocol::{Leadership, Team};
use crate::sync::{AtomicU32, AtomicU64, Ordering, fence};

/// The start word of the last region that was announced; one that calls nobody: none, or it was given up.
pub(crate) struct AnnouncedRegion(AtomicU64);

impl AnnouncedRegion {
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(StartWord::NONE.bits()))
    }

    fn set(&self, word: StartWord) {
        // Relaxed: the fence in `Team::try_announce_region` orders an announcement; a bee that sees late that one was taken back begins to look for tasks late.
        self.0.store(word.bits(), Ordering::Relaxed);
    }

    /// Whether a region has been announced that bee `id`, which has seen those up to `last_epoch`, has a part in and has not come to.
    fn is_pending_for(&self, id: u32, last_epoch: u64) -> bool {
        // Relaxed: the fence in `Team::try_mark_looking` orders it.
        let word = StartWord::from_bits(self.0.load(Ordering::Relaxed));
        id < word.bees() && word.epoch() > last_epoch
    }
}

/// What a bee that is in no region does about tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum TaskPhase {
    /// Nothing: before it looks for a task it looks for announcements.
    Idle = 0,
    /// It looks for a task. It will soon be in one, or idle.
    Looking = 1,
    /// It is in the middle of one.
    InTask = 2,
}

/// The phase of one bee. Only the bee itself changes it.
pub(crate) struct TaskPhaseWord(AtomicU32);

impl TaskPhaseWord {
    pub(crate) fn new() -> Self {
        Self(AtomicU32::new(TaskPhase::Idle as u32))
    }

    pub(crate) fn set(&self, phase: TaskPhase) {
        // Relaxed: what has to be ordered is ordered by the fence in `Team::try_mark_looking`.
        self.0.store(phase as u32, Ordering::Relaxed);
    }

    fn get(&self) -> TaskPhase {
        // Relaxed: the fence in `Team::try_announce_region` orders it.
        match self.0.load(Ordering::Relaxed) {
            0 => TaskPhase::Idle,
            1 => TaskPhase::Looking,
            2 => TaskPhase::InTask,
            bits => unreachable!("no bee is ever in phase {bits}"),
        }
    }
}

impl Slot {
    /// Whether the bee is in the middle of a task, as far as can be seen from outside.
    pub(crate) fn is_in_task(&self) -> bool {
        self.phase.get() == TaskPhase::InTask
    }
}

impl Team {
    /// Announces a region of `team` bees to the bees, for a thread that others may be waiting for. Says whether it may be
    /// started: no bee of the team is in a task, and none begins one before that region.
    ///
    /// The caller, who has the turn, calls `withdraw_announcement` before it gives that on: when the region has ended, or will not be.
    pub(crate) fn try_announce_region(&self, _leadership: &Leadership<'_>, bees: u32) -> bool {
        self.announced_region.set(self.root_line().load().next(bees));
        // Pairs with the fence in `try_mark_looking`: either a bee sees the announcement, or what it does is seen below.
        fence(Ordering::SeqCst);
        let mut workers = self.all_slots().take(bees as usize).skip(1);
        let are_idle = workers.all(|slot| self.wait_for_idle(slot));
        if !are_idle {
            self.withdraw_announcement();
        }
        are_idle
    }

    /// Whether the owner of `target` is in no task. Waits while it looks for one, which takes no longer than its own steps.
    fn wait_for_idle(&self, slot: &Slot) -> bool {
        let mut spinner = self.policy().spinner();
        loop {
            match slot.phase.get() {
                TaskPhase::Idle => return true,
                TaskPhase::InTask => return false,
                TaskPhase::Looking if spinner.spin_once() => {}
                TaskPhase::Looking => self.policy().yield_core(),
            }
        }
    }

    /// Takes an announcement back.
    pub(crate) fn withdraw_announcement(&self) {
        self.announced_region.set(StartWord::NONE);
    }

    /// The idle owner of `target`, which has seen the regions up to `last_epoch`, begins to look for tasks. Says no if it may not: it has
    /// to come to a region first.
    pub(crate) fn try_mark_looking(&self, slot: &Slot, last_epoch: u64) -> bool {
        slot.phase.set(TaskPhase::Looking);
        // Pairs with the fence in `try_announce_region`: that thread sees that this bee is not idle, or its region is seen below.
        fence(Ordering::SeqCst);
        let may_look = !self.announced_region.is_pending_for(slot.id, last_epoch);
        if !may_look {
            slot.phase.set(TaskPhase::Idle);
        }
        may_look
    }
}
