//! The slots of a team's bees, by number, and how many of the workers have been hired. `ResizeState`'s lock protects
//! the making of a slot when its worker is hired; the queen's is made with the team, and so are all of a task pool's,
//! before a second thread has it. A slot stays for the life of the team, so that references to it need no count.

use crate::protocol::worker::slot::Slot;
use crate::sync::{AtomicU32, Ordering, SlotOnce};

/// Room for one slot for each bee that the team can ever have, each filled when its bee is hired, at the latest. A slot
/// is in a box so that room for many bees costs little until they are hired.
///
/// Users of a slot must not rely on the order that a `SlotOnce` gives, and the models' has none; they have learned of
/// the bee through `Hired` or `Occupancy`.
pub(crate) struct SlotTable(Box<[SlotOnce<Box<Slot>>]>);

impl SlotTable {
    /// Room for `max_bees` slots, none of which is made yet.
    pub(crate) fn new(max_bees: u32) -> Self {
        Self((0..max_bees).map(|_| SlotOnce::new()).collect())
    }

    /// How many bees there is room for.
    pub(crate) fn capacity(&self) -> u32 {
        self.0.len() as u32
    }

    /// Makes the slot of bee `id` by calling `slot`, unless there is one already. The caller holds the lock of the
    /// team's `ResizeState`, or no second thread has the team yet.
    pub(crate) fn make(&self, id: u32, slot: impl FnOnce() -> Slot) {
        self.0[id as usize].get_or_init(|| Box::new(slot()));
    }

    /// The slot of bee `id`, which the caller knows to have been hired, or to belong to a task pool.
    ///
    /// # Panics
    /// If the slot was never made, which is a fault of the caller.
    #[inline(always)]
    pub(crate) fn get(&self, id: u32) -> &Slot {
        self.0[id as usize].get().unwrap_or_else(|| unreachable!("bee {id} was never hired"))
    }
}

/// How many workers have been hired: the number of the last worker that has a thread, and all before it have one. It
/// never falls. A slot beyond it may exist, because a slot is made before its thread.
///
/// Everybody who looks for a bee goes by this count: the queues, thieves, statistics, and resizes. So nobody finds a
/// worker for which the system has made no thread. See `docs/resize.md`.
#[derive(Default)]
pub(crate) struct Hired(AtomicU32);

impl Hired {
    /// The number of workers hired so far.
    pub(crate) fn count(&self) -> u32 {
        // Acquire: pairs with the Release in `count_in`. A caller that learns of a worker by its number also finds its
        // slot.
        self.0.load(Ordering::Acquire)
    }

    /// Counts worker `id`, which has a thread. Called twice for each: by the thread that hires it, under the lock of
    /// `ResizeState`, before it hires the next one; and by the worker itself, before it does anything that others may
    /// have to find. Either may be first. (For the queen, `id` 0, it does nothing.)
    pub(crate) fn count_in(&self, id: u32) {
        // A worker may be late, when others have been hired already, and must not lower the number.
        let raised = |now: u32| (now < id).then_some(id);
        // Release: pairs with the Acquire in `count`; publishes the worker's slot. Every change of the number is a
        // read-modify-write, so a reader of a later number sees that slot, too. Failure is Relaxed: the worker has been
        // counted already, so there is nothing to publish.
        let _ = self.0.fetch_update(Ordering::Release, Ordering::Relaxed, raised);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bee_counted_late_lowers_nothing() {
        let hired = Hired::default();
        assert_eq!(hired.count(), 0);
        hired.count_in(1);
        hired.count_in(2);
        hired.count_in(1);
        hired.count_in(0);
        assert_eq!(hired.count(), 2);
    }
}
