//! The bees' slots, by number: each is made when its bee is hired, and stays for the life of the team.

#![allow(unsafe_code)]

use std::sync::OnceLock;

use crate::protocol::worker::slot::Slot;
use crate::sync::UnsafeCell;

pub(crate) struct SlotTable(Box<[SlotCell]>);

struct SlotCell {
    slot: OnceLock<Box<Slot>>,
    /// Written as the slot is made, and read as it is used: so the models see a use that nothing but the lock's own order comes after the
    /// making, an order that users do not rely on.
    model_probe: UnsafeCell<()>,
}

// SAFETY: slots are made for several threads, and nobody has a reference to what is in `made`: there is nothing in it.
unsafe impl Sync for SlotCell {}

impl SlotTable {
    /// Room for `members`, with none made.
    pub(crate) fn new(max_bees: u32) -> Self {
        Self((0..max_bees).map(|_| SlotCell { slot: OnceLock::new(), model_probe: UnsafeCell::new(()) }).collect())
    }

    /// Makes the slot of bee `id`, unless it is there. Under the roster's lock, or before there is a second thread.
    pub(crate) fn make(&self, id: u32, slot: impl FnOnce() -> Slot) {
        let cell = &self.0[id as usize];
        cell.slot.get_or_init(|| {
            cell.model_probe.with_mut(|_| ());
            Box::new(slot())
        });
    }

    /// The slot of a bee that the caller knows to have been hired.
    #[inline(always)]
    pub(crate) fn get(&self, id: u32) -> &Slot {
        let cell = &self.0[id as usize];
        cell.model_probe.with(|_| ());
        cell.slot.get().unwrap_or_else(|| unreachable!("bee {id} was never hired"))
    }

    /// The slot of a bee that may not have been hired yet.
    pub(crate) fn try_get(&self, id: u32) -> Option<&Slot> {
        self.0[id as usize].slot.get().map(|slot| &**slot)
    }
}
