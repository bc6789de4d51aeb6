//! Whether a thread that others may be waiting for can start a region of several members.
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

use super::signal::StartWord;
use super::slot::Slot;
use super::{Crew, Turned};
use crate::sync::{AtomicU32, AtomicU64, Ordering, fence};

/// The start word of the last region that was announced; one that calls nobody: none, or it was given up.
pub(super) struct Announced(AtomicU64);

impl Announced {
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(StartWord::NONE.bits()))
    }

    fn set(&self, word: StartWord) {
        // Relaxed: the fence in `Crew::announce_region` orders an announcement; a bee that sees late that one was taken back begins to look for tasks late.
        self.0.store(word.bits(), Ordering::Relaxed);
    }

    /// Whether a region has been announced that bee `id`, which has seen those up to `seen`, has a part in and has not come to.
    fn is_ahead_of(&self, id: u32, seen: u64) -> bool {
        // Relaxed: the fence in `Crew::begins_to_look` orders it.
        let word = StartWord::of_bits(self.0.load(Ordering::Relaxed));
        id < word.team() && word.epoch() > seen
    }
}

/// What a bee that is in no region does about tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Phase {
    /// Nothing: before it looks for a task it looks for announcements.
    Idle = 0,
    /// It looks for a task. It will soon be in one, or idle.
    Looking = 1,
    /// It is in the middle of one.
    InTask = 2,
}

/// The phase of one bee. Only the bee itself changes it.
pub(super) struct PhaseWord(AtomicU32);

impl PhaseWord {
    pub(super) fn new() -> Self {
        Self(AtomicU32::new(Phase::Idle as u32))
    }

    pub(super) fn set(&self, phase: Phase) {
        // Relaxed: what has to be ordered is ordered by the fence in `Crew::begins_to_look`.
        self.0.store(phase as u32, Ordering::Relaxed);
    }

    fn get(&self) -> Phase {
        // Relaxed: the fence in `Crew::announce_region` orders it.
        match self.0.load(Ordering::Relaxed) {
            0 => Phase::Idle,
            1 => Phase::Looking,
            2 => Phase::InTask,
            bits => unreachable!("no bee is ever in phase {bits}"),
        }
    }
}

impl Slot {
    /// Whether the bee is in the middle of a task, as far as can be seen from outside.
    pub(super) fn is_in_task(&self) -> bool {
        self.phase.get() == Phase::InTask
    }
}

impl Crew {
    /// Announces a region of `team` members to the bees, for a thread that others may be waiting for. Says whether it may be
    /// started: no bee of the team is in a task, and none begins one before that region.
    ///
    /// The caller, who has the turn, calls `give_up_region` before it gives that on: when the region has ended, or will not be.
    pub(crate) fn announce_region(&self, _turn: &Turned<'_>, team: u32) -> bool {
        self.announced.set(self.root().look().next(team));
        // Pairs with the fence in `begins_to_look`: either a bee sees the announcement, or what it does is seen below.
        fence(Ordering::SeqCst);
        let mut bees = self.all_slots().take(team as usize).skip(1);
        let are_idle = bees.all(|slot| self.is_idle(slot));
        if !are_idle {
            self.give_up_region();
        }
        are_idle
    }

    /// Whether the owner of `slot` is in no task. Waits while it looks for one, which takes no longer than its own steps.
    fn is_idle(&self, slot: &Slot) -> bool {
        let mut patience = self.policy().patience();
        loop {
            match slot.phase.get() {
                Phase::Idle => return true,
                Phase::InTask => return false,
                Phase::Looking if patience.poll_again() => {}
                Phase::Looking => self.policy().give_way(),
            }
        }
    }

    /// Takes an announcement back.
    pub(crate) fn give_up_region(&self) {
        self.announced.set(StartWord::NONE);
    }

    /// The idle owner of `slot`, which has seen the regions up to `seen`, begins to look for tasks. Says no if it may not: it has
    /// to come to a region first.
    pub(super) fn begins_to_look(&self, slot: &Slot, seen: u64) -> bool {
        slot.phase.set(Phase::Looking);
        // Pairs with the fence in `announce_region`: that thread sees that this bee is not idle, or its region is seen below.
        fence(Ordering::SeqCst);
        let may_look = !self.announced.is_ahead_of(slot.id, seen);
        if !may_look {
            slot.phase.set(Phase::Idle);
        }
        may_look
    }
}
