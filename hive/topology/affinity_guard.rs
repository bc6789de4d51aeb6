//! Binds a queen's thread to its place for as long as a hive lives that was built with `pin_queen(true)`.
//!
//! `Builder::build` makes the [`AffinityGuard`] and the hive drops it. A thread may build several hives and drop them in
//! any order, also on other threads, so the guards of a thread are kept in a list, and a mask is restored only when the
//! masks of all later guards have been restored.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::sys::thread_id::{ThreadId, current_thread_id};
use crate::topology::pinning;
use crate::topology::pinning::{BindError, RestoreBinding};
use crate::topology::place_assignment::Place;

thread_local! {
    /// The guards of this thread, in the order in which they were made.
    static ACTIVE_GUARDS: RefCell<Vec<ActiveBinding>> = const { RefCell::new(Vec::new()) };
}

/// What one guard has done to this thread.
struct ActiveBinding {
    /// The number of the guard: [`AffinityGuard::id`].
    guard_id: u64,
    /// Whether the guard has been dropped. The entry stays until all guards that were made after it have been dropped,
    /// too.
    is_released: bool,
    /// Restores the mask that the thread had before this guard when the entry is dropped.
    _restore: RestoreBinding,
}

/// Binds one thread to one place while it exists. Dropping it on that thread restores the thread's mask, once all later
/// guards have been dropped. Dropping it on another thread does nothing.
pub(crate) struct AffinityGuard {
    /// The thread that is bound.
    thread: ThreadId,
    /// The number of the guard, which no other guard of the process has.
    id: u64,
}

impl AffinityGuard {
    /// Binds the calling thread to `place` for as long as the guard lives. Returns `None` if the thread is ending and
    /// its thread-local values are gone; the thread is not bound then.
    ///
    /// # Errors
    /// If the system refuses to bind the thread.
    pub(crate) fn bind(place: &Place) -> Result<Option<Self>, BindError> {
        static NEXT_ID: AtomicU64 = AtomicU64::new(0);
        // Relaxed, without a partner: the number publishes no other memory. It is unique because the addition is
        // atomic.
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let restore = pinning::bind(place)?;
        let binding = ActiveBinding { guard_id: id, is_released: false, _restore: restore };
        let pushed = ACTIVE_GUARDS.try_with(|bonds| bonds.borrow_mut().push(binding));
        Ok(pushed.ok().map(|()| Self { thread: current_thread_id(), id }))
    }
}

impl Drop for AffinityGuard {
    fn drop(&mut self) {
        if current_thread_id() == self.thread {
            // This fails if the thread is ending and the list is gone. The mask of such a thread does not matter.
            let _ = ACTIVE_GUARDS.try_with(|active| release(&mut active.borrow_mut(), self.id));
        }
    }
}

/// Marks the guard `id` as dropped, then removes the released guards from the end of the list. Each removal restores a
/// mask, so masks are restored in the reverse of the order in which they were replaced.
fn release(active: &mut Vec<ActiveBinding>, id: u64) {
    active.iter_mut().filter(|binding| binding.guard_id == id).for_each(|tied| tied.is_released = true);
    while active.last().is_some_and(|binding| binding.is_released) {
        active.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::cpu_mask::CpuMask;
    use crate::topology;
    use crate::topology::pin_policy::Pin;
    use crate::topology::place_assignment::PlaceAssignment;
    use crate::topology::shrink::Shrink;

    #[test]
    fn the_mask_is_restored_in_whatever_order_the_guards_are_dropped() {
        let before = pinning::current_mask().unwrap();
        let (machine, _) = topology::read_machine(Some(&before));
        let cpu = |index: usize| machine.cpus()[index % machine.cpus().len()].os_index;
        let guard = |cpu| {
            let places =
                PlaceAssignment::new(&machine, &Pin::Cpus(vec![cpu]), Shrink::Compact, &CpuMask::new()).unwrap();
            AffinityGuard::bind(places.place_of(0).unwrap()).unwrap().expect("the thread is not ending")
        };
        let first = guard(cpu(0));
        let second = guard(cpu(1));
        drop(first);
        assert_eq!(pinning::current_mask().unwrap(), [cpu(1)].into_iter().collect());
        drop(second);
        assert_eq!(pinning::current_mask().unwrap(), before);
    }
}
