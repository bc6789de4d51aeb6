//! The members' slots, by number: each is made when its member is hired, and stays for the life of the crew.

#![allow(unsafe_code)]

use std::sync::OnceLock;

use super::slot::Slot;
use crate::sync::UnsafeCell;

pub(super) struct Slots(Box<[Place]>);

struct Place {
    slot: OnceLock<Box<Slot>>,
    /// Written as the slot is made, and read as it is used: so the models see a use that nothing but the lock's own order comes after the
    /// making, an order that users do not rely on.
    made: UnsafeCell<()>,
}

// SAFETY: slots are made for several threads, and nobody has a reference to what is in `made`: there is nothing in it.
unsafe impl Sync for Place {}

impl Slots {
    /// Room for `members`, with none made.
    pub(super) fn new(members: u32) -> Self {
        Self((0..members).map(|_| Place { slot: OnceLock::new(), made: UnsafeCell::new(()) }).collect())
    }

    /// Makes the slot of member `id`, unless it is there. Under the roster's lock, or before there is a second thread.
    pub(super) fn make(&self, id: u32, slot: impl FnOnce() -> Slot) {
        let place = &self.0[id as usize];
        place.slot.get_or_init(|| {
            place.made.with_mut(|_| ());
            Box::new(slot())
        });
    }

    /// The slot of a member that the caller knows to have been hired.
    #[inline(always)]
    pub(super) fn of(&self, id: u32) -> &Slot {
        let place = &self.0[id as usize];
        place.made.with(|_| ());
        place.slot.get().unwrap_or_else(|| unreachable!("member {id} was never hired"))
    }

    /// The slot of a member that may not have been hired yet.
    pub(super) fn if_made(&self, id: u32) -> Option<&Slot> {
        self.0[id as usize].slot.get().map(|slot| &**slot)
    }
}
