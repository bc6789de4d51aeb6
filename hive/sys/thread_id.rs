//! A number for each thread, which is cheaper to ask for than the standard library's `ThreadId`.
//!
//! The queen lock compares it with the number of its owner each time a region starts.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// A thread's number. No two threads of a process have the same one, even if one of them has ended. It is neither 0 nor
/// the largest number, which mean other things where such numbers are stored.
pub(crate) type ThreadId = u64;

thread_local! {
    /// The number of this thread; 0 if it has none yet.
    static THREAD_ID: Cell<ThreadId> = const { Cell::new(0) };
}

/// The number of the calling thread.
#[inline(always)]
pub(crate) fn current_thread_id() -> ThreadId {
    match THREAD_ID.get() {
        0 => assign_id(),
        id => id,
    }
}

/// Gives the calling thread a number.
#[cold]
fn assign_id() -> ThreadId {
    static LAST_ASSIGNED: AtomicU64 = AtomicU64::new(0);
    // Relaxed: the numbers only have to differ.
    let id = LAST_ASSIGNED.fetch_add(1, Ordering::Relaxed) + 1;
    THREAD_ID.set(id);
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_its_id_and_no_other_has_it() {
        let own = current_thread_id();
        let other = std::thread::spawn(current_thread_id).join().unwrap();
        assert_eq!(current_thread_id(), own);
        assert_ne!(other, own);
        assert!(own != 0 && other != 0, "{own}, {other}");
    }
}
