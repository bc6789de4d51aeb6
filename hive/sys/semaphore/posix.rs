//! A POSIX semaphore. A post is one atomic addition, without a system call, if no thread waits.

#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::io::{Error, ErrorKind};
use std::mem::MaybeUninit;
use std::time::{Duration, SystemTime};

/// The longest wait with an end. Callers that ask for more wait again.
const LONGEST_WAIT: Duration = Duration::from_secs(3_600);

/// A counting semaphore that starts with no permit.
pub(crate) struct Semaphore {
    // Boxed, because POSIX forbids moving a semaphore that has been initialised.
    raw: Box<UnsafeCell<libc::sem_t>>,
}

// SAFETY: any number of threads may call `sem_post`, `sem_wait` and `sem_timedwait` on one semaphore at the same time;
// that is what it is for.
unsafe impl Send for Semaphore {}
// SAFETY: as above. Between `new` and `drop` the semaphore is accessed by these calls only.
unsafe impl Sync for Semaphore {}

impl Semaphore {
    pub(crate) fn new() -> Self {
        // SAFETY: `sem_t` is plain bytes, for which zeros are valid; `sem_init` below fills them in.
        let raw = Box::new(UnsafeCell::new(unsafe { MaybeUninit::<libc::sem_t>::zeroed().assume_init() }));
        // SAFETY: the pointer is to a `sem_t` in the box, which no other thread knows yet.
        let status = unsafe { libc::sem_init(raw.get(), 0, 0) };
        assert_eq!(status, 0, "sem_init of a private semaphore: {}", Error::last_os_error());
        Self { raw }
    }

    /// Adds a permit, and wakes a waiting thread if there is one. Everything before the post happens before the return
    /// of the `wait` that takes the permit.
    pub(crate) fn post(&self) {
        // SAFETY: `new` has initialised the semaphore.
        let status = unsafe { libc::sem_post(self.raw.get()) };
        assert_eq!(status, 0, "sem_post: {}", Error::last_os_error());
    }

    /// Takes a permit; sleeps until there is one. If a signal handler interrupts the sleep, the thread goes on waiting.
    pub(crate) fn wait(&self) {
        loop {
            // SAFETY: `new` has initialised the semaphore.
            let status = unsafe { libc::sem_wait(self.raw.get()) };
            if status == 0 {
                return;
            }
            let error = Error::last_os_error();
            assert_eq!(error.kind(), ErrorKind::Interrupted, "sem_wait: {error}");
        }
    }

    /// As `wait`, but for no longer than `time`. Returns whether it has taken a permit. It may return false earlier:
    /// the time is limited to an hour, and a signal handler ends the wait. And the time is measured by the system's
    /// clock: if that is set meanwhile, the wait ends as much too early or too late.
    pub(crate) fn wait_for(&self, time: Duration) -> bool {
        // An hour is as good as any longer time, and cannot overflow.
        let deadline = SystemTime::now()
            .checked_add(time.min(LONGEST_WAIT))
            .and_then(|end| end.duration_since(SystemTime::UNIX_EPOCH).ok());
        let deadline = deadline.unwrap_or_default();
        // SAFETY: `timespec` is plain numbers, for which zeros are valid.
        let mut end: libc::timespec = unsafe { MaybeUninit::zeroed().assume_init() };
        end.tv_sec = deadline.as_secs() as _;
        end.tv_nsec = deadline.subsec_nanos() as _;
        // SAFETY: `new` has initialised the semaphore, and the time is valid: its nanoseconds are below a second.
        let status = unsafe { libc::sem_timedwait(self.raw.get(), &raw const end) };
        if status == 0 {
            return true;
        }
        let error = Error::last_os_error();
        let is_late = error.raw_os_error() == Some(libc::ETIMEDOUT);
        assert!(is_late || error.kind() == ErrorKind::Interrupted, "sem_timedwait: {error}");
        false
    }
}

impl Drop for Semaphore {
    fn drop(&mut self) {
        // SAFETY: `new` has initialised the semaphore, and `&mut self` shows that no other thread can wait on it or
        // post it.
        unsafe { libc::sem_destroy(self.raw.get()) };
    }
}
