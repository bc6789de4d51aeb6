//! The slots of a team's bees, by number. `ResizeState`'s lock protects the making of a slot when its worker is hired;
//! the queen's is made with the team, and so are all of a task pool's, before a second thread has it. A slot stays for
//! the life of the team, so that references to it need no count.

#![allow(unsafe_code)]

use std::sync::OnceLock;

use crate::protocol::worker::slot::Slot;
use crate::sync::UnsafeCell;

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
