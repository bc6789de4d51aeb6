//! Threads that are something else besides a bee: a guest library owns them from their first step to their last, and has the bee live its life inside.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// A bee's life, from its hiring to its dismissal.
pub(crate) type LifeOfABee = Box<dyn FnOnce() + Send>;

/// What the guest does on a thread; it calls the life once.
pub(crate) type Seat = Box<dyn FnOnce(LifeOfABee) + Send>;

/// The seats that a guest has prepared, by the numbers of the bees that they are for.
#[derive(Default)]
pub(crate) struct Seats(Mutex<BTreeMap<u32, Seat>>);

impl Seats {
    /// Has the thread of bee `member`, which has not been hired yet, run `seat`.
    #[cfg(feature = "rayon")]
    pub(crate) fn reserve(&self, member: u32, seat: Seat) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(member, seat);
    }

    /// What the thread of bee `member` is to run, whose life is `life`.
    pub(crate) fn seated<L: FnOnce() + Send + 'static>(&self, member: u32, life: L) -> impl FnOnce() + Send + use<L> {
        let life = Box::new(life) as LifeOfABee;
        let seat = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&member);
        move || match seat {
            Some(seat) => seat(life),
            None => life(),
        }
    }

    /// Gives up those that nobody has taken.
    pub(crate) fn clear(&self) {
        let seats = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        drop(seats);
    }
}
