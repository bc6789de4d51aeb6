//! Calling: waking the workers before the loop that they are woken for is started. On a processor that has slept it
//! takes some microseconds to prepare a loop, and to wake a worker takes tens of them, so the two go on side by side.
//!
//! `pool/lone_loops.rs` and `pool/lone_parts.rs` call the workers as soon as it is decided to wake them. Correctness
//! does not depend on it. A worker that is called for nothing polls for a while and falls asleep again; and the start
//! wakes whoever sleeps all the same (`wake_if_asleep`), because a worker may not have been called, or may have fallen
//! asleep again. See "The call" in `docs/lone-loops.md`.

use crate::protocol::Team;
use crate::protocol::worker::slot::SlotState;

impl Team {
    /// Wakes those workers of a team of `bees` that sleep, for a loop that is about to start. Needs no lock.
    ///
    /// Only in a small hive, whose workers the queen wakes herself: in a larger one, where they wake one another, she
    /// would have to look at all of them twice. And not if the calling thread is on a CPU that a worker is bound to:
    /// the worker would poll there while this thread has yet to start the loop.
    #[inline(never)]
    pub(crate) fn call_workers(&self, bees: u32) {
        if self.are_woken_by_queen() && !self.policy().is_on_worker_cpu() {
            for slot in (1..bees.min(self.bees())).map(|id| self.slot(id)) {
                if slot.state() == SlotState::Asleep {
                    self.wake(slot, SlotState::Asleep, SlotState::Notified);
                }
            }
        }
    }
}
