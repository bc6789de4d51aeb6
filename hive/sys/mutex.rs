//! A mutex for which a forked child does not wait forever.

use std::sync::{MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

use crate::sys::fork;

/// `std`'s mutex, with one difference: a forked child does not wait for it forever. In the child, a mutex from before
/// the fork may be held by a thread of the parent, which will never unlock it there.
pub(crate) struct Mutex<T> {
    /// The fork generation of the process that made the mutex.
    generation: u32,
    mutex: std::sync::Mutex<T>,
}

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { generation: fork::generation(), mutex: std::sync::Mutex::new(value) }
    }

    /// Locks the mutex, poisoned or not: the few things that may panic under one leave nothing half done. In a forked
    /// child, aborts if a mutex from before the fork stays locked for a second.
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        if self.generation != fork::generation() {
            return self.lock_in_child();
        }
        self.mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks a mutex from before the fork. If a thread of the child holds it, it is unlocked soon. If it stays locked,
    /// a thread of the parent held it at the fork.
    #[cold]
    fn lock_in_child(&self) -> MutexGuard<'_, T> {
        const ATTEMPTS: u32 = 1_000;
        for _ in 0..ATTEMPTS {
            match self.mutex.try_lock() {
                Ok(guard) => return guard,
                Err(TryLockError::Poisoned(error)) => return error.into_inner(),
                Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(1)),
            }
        }
        fork::abort_forked_child()
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Forks a child that locks `mutex` and exits, with code 0 if the value is 7. Returns the child's wait status.
    #[expect(unsafe_code, reason = "forks")]
    fn status_of_child_locking(mutex: &Mutex<u32>) -> libc::c_int {
        // Any call of this registers the handlers that count forks. Without them the mutex would not know that it is in
        // a child, and the child would wait for a held one for ever.
        fork::without_forks(|| ());
        // SAFETY: the child only takes the lock and exits.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let is_seven = *mutex.lock() == 7;
            // SAFETY: `_exit` has no preconditions; it ends the child.
            unsafe { libc::_exit(i32::from(!is_seven)) };
        }
        let mut status = 0;
        // SAFETY: `status` is a valid place for the result, and the child was made above.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        status
    }

    #[test]
    fn a_child_takes_a_lock_that_nobody_has_and_waits_for_no_other() {
        let mutex = Mutex::new(7);
        assert_eq!(status_of_child_locking(&mutex), 0);
        let held = mutex.lock();
        assert_eq!(status_of_child_locking(&mutex), libc::SIGABRT, "ended by a signal");
        drop(held);
        assert_eq!(*mutex.lock(), 7);
    }
}
