//! The slots of a team's bees, by number, and how many of the workers have been hired. `ResizeState`'s lock protects
//! the making of a slot when its worker is hired; the queen's is made with the team, and so are all of a task pool's,
//! before a second thread has it. A slot stays for the life of the team, so that references to it need no count.

#![allow(unsafe_code)]

use std::sync::OnceLock;

use crate::protocol::worker::slot::Slot;
use crate::sync::{AtomicU32, Ordering, UnsafeCell};

/// Room for one slot for each bee that the team can ever have, each filled when its bee is hired, at the latest.
pub(crate) struct SlotTable(Box<[SlotCell]>);

struct SlotCell {
    /// The slot, once it has been made. It is in a box so that room for many bees costs little until they are hired.
    slot: OnceLock<Box<Slot>>,
    /// Holds no data. It is written when the slot is made and read when the slot is used, so that a model checker
    /// reports a use that only the `OnceLock` itself orders after the making. Users of a slot must not rely on the
    /// order that the `OnceLock` gives; they have learned of the bee through `Hired` or `Occupancy`.
    model_probe: UnsafeCell<()>,
}

// SAFETY: the slot is in a `OnceLock`, and a `Slot` may be used by several threads at once. The only other field is an
// `UnsafeCell` of the unit type: it holds no data that could be raced for, and nobody keeps a reference to it.
unsafe impl Sync for SlotCell {}

impl SlotTable {
    /// Room for `max_bees` slots, none of which is made yet.
    pub(crate) fn new(max_bees: u32) -> Self {
        Self((0..max_bees).map(|_| SlotCell { slot: OnceLock::new(), model_probe: UnsafeCell::new(()) }).collect())
    }

    /// How many bees there is room for.
    pub(crate) fn capacity(&self) -> u32 {
        self.0.len() as u32
    }

    /// Makes the slot of bee `id` by calling `slot`, unless there is one already. The caller holds the lock of the
    /// team's `ResizeState`, or no second thread has the team yet.
    pub(crate) fn make(&self, id: u32, slot: impl FnOnce() -> Slot) {
        let cell = &self.0[id as usize];
        cell.slot.get_or_init(|| {
            cell.model_probe.with_mut(|_| ());
            Box::new(slot())
        });
    }

    /// The slot of bee `id`, which the caller knows to have been hired, or to belong to a task pool.
    ///
    /// # Panics
    /// If the slot was never made, which is a fault of the caller.
    #[inline(always)]
    pub(crate) fn get(&self, id: u32) -> &Slot {
        let cell = &self.0[id as usize];
        cell.model_probe.with(|_| ());
        cell.slot.get().unwrap_or_else(|| unreachable!("bee {id} was never hired"))
    }

    /// The slot of bee `id`, or None if none has been made for it yet.
    pub(crate) fn try_get(&self, id: u32) -> Option<&Slot> {
        self.0[id as usize].slot.get().map(|slot| &**slot)
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
