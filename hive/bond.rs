//! What binds a queen's thread for the life of a hive that was built with `pin_queen(true)`.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::pin::{self, PinError, Rebound};
use crate::thread_token::{ThreadToken, this_thread};
use crate::topology::Place;

thread_local! {
    /// The bonds of this thread, in the order in which they were made.
    static BONDS: RefCell<Vec<Tied>> = const { RefCell::new(Vec::new()) };
}

struct Tied {
    bond: u64,
    /// Whether the bond is over; its mask is still in the way of a later one's, which is put back first.
    is_over: bool,
    _rebound: Rebound,
}

/// The bond of one thread to one place. Dropping it on that thread gives the mask back; on another it does nothing.
pub(crate) struct Bond {
    thread: ThreadToken,
    id: u64,
}

impl Bond {
    /// Binds the calling thread to `place` for as long as the bond lives. None: the thread is ending, and has no use for it.
    pub(crate) fn tie(place: &Place) -> Result<Option<Self>, PinError> {
        static TIED: AtomicU64 = AtomicU64::new(0);
        // Relaxed: only uniqueness counts.
        let id = TIED.fetch_add(1, Ordering::Relaxed);
        let rebound = pin::bind(place)?;
        let tied = Tied { bond: id, is_over: false, _rebound: rebound };
        let tied = BONDS.try_with(|bonds| bonds.borrow_mut().push(tied));
        Ok(tied.ok().map(|()| Self { thread: this_thread(), id }))
    }
}

impl Drop for Bond {
    fn drop(&mut self) {
        if this_thread() == self.thread {
            // An ending thread has no use for its mask.
            let _ = BONDS.try_with(|bonds| untie(&mut bonds.borrow_mut(), self.id));
        }
    }
}

/// Masks go back in the reverse of the order in which they came.
fn untie(bonds: &mut Vec<Tied>, id: u64) {
    bonds.iter_mut().filter(|tied| tied.bond == id).for_each(|tied| tied.is_over = true);
    while bonds.pop_if(|tied| tied.is_over).is_some() {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{self, CpuMask, Pin, Places, Shrink};

    #[test]
    fn the_mask_comes_back_whatever_the_order_of_the_ends() {
        let before = pin::current_mask().unwrap();
        let (machine, _) = topology::read(Some(&before));
        let cpu = |index: usize| machine.cpus()[index % machine.cpus().len()].os_index;
        let bond = |cpu| {
            let places = Places::new(&machine, &Pin::Cpus(vec![cpu]), Shrink::Compact, &CpuMask::new()).unwrap();
            Bond::tie(places.of(0).unwrap()).unwrap().expect("the thread is not ending")
        };
        let first = bond(cpu(0));
        let second = bond(cpu(1));
        drop(first);
        assert_eq!(pin::current_mask().unwrap(), [cpu(1)].into_iter().collect());
        drop(second);
        assert_eq!(pin::current_mask().unwrap(), before);
    }
}
