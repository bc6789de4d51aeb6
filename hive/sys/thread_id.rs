//! A number for each thread, cheaper to ask for than the standard library's.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Differs between any two threads of a process, living or dead; not 0 and not the largest number.
pub(crate) type ThreadId = u64;

thread_local! {
    /// 0: not given yet.
    static THREAD_ID: Cell<ThreadId> = const { Cell::new(0) };
}

/// The calling thread's.
#[inline(always)]
pub(crate) fn current_thread_id() -> ThreadId {
    match THREAD_ID.get() {
        0 => assign_id(),
        id => id,
    }
}

#[cold]
fn assign_id() -> ThreadId {
    static LAST_ASSIGNED: AtomicU64 = AtomicU64::new(0);
    // Relaxed: only the numbers themselves must differ.
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
