//! A POSIX semaphore: a post with nobody waiting is one atomic addition, without a system call.

#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::io::{Error, ErrorKind};
use std::mem::MaybeUninit;
use std::time::{Duration, SystemTime};

/// The longest wait with an end.
const LONGEST_WAIT: Duration = Duration::from_secs(3_600);

/// A counting semaphore that starts with no permit.
pub(crate) struct Semaphore {
    // Boxed: POSIX forbids moving an initialised semaphore.
    raw: Box<UnsafeCell<libc::sem_t>>,
}

// SAFETY: `sem_post` and `sem_wait` may be called from any thread on one semaphore at once; that is what it is for.
unsafe impl Send for Semaphore {}
// SAFETY: as above; no other access is made between `new` and `drop`.
unsafe impl Sync for Semaphore {}

impl Semaphore {
    pub(crate) fn new() -> Self {
        // SAFETY: `sem_t` is plain bytes that `sem_init` below fills in.
        let raw = Box::new(UnsafeCell::new(unsafe { MaybeUninit::<libc::sem_t>::zeroed().assume_init() }));
        // SAFETY: the pointer is to a `sem_t` that lives in the box and that nobody else knows yet.
        let status = unsafe { libc::sem_init(raw.get(), 0, 0) };
        assert_eq!(status, 0, "sem_init of a private semaphore: {}", Error::last_os_error());
        Self { raw }
    }

    /// Adds a permit, waking a waiter if there is one. Everything before it happens before the `wait` that takes the permit.
    pub(crate) fn post(&self) {
        // SAFETY: the semaphore was initialised by `new`.
        let status = unsafe { libc::sem_post(self.raw.get()) };
        assert_eq!(status, 0, "sem_post: {}", Error::last_os_error());
    }

    /// Takes a permit, sleeping until there is one. A signal handler that interrupts the sleep does not end it.
    pub(crate) fn wait(&self) {
        loop {
            // SAFETY: the semaphore was initialised by `new`.
            let status = unsafe { libc::sem_wait(self.raw.get()) };
            if status == 0 {
                return;
            }
            let error = Error::last_os_error();
            assert_eq!(error.kind(), ErrorKind::Interrupted, "sem_wait: {error}");
        }
    }

    /// As `wait`, but not for longer than `time`, by a clock that may be set. Says whether there was a permit.
    pub(crate) fn wait_for(&self, time: Duration) -> bool {
        // Far enough in the future for anybody who waits longer.
        let deadline = SystemTime::now()
            .checked_add(time.min(LONGEST_WAIT))
            .and_then(|end| end.duration_since(SystemTime::UNIX_EPOCH).ok());
        let deadline = deadline.unwrap_or_default();
        // SAFETY: `timespec` is plain numbers.
        let mut end: libc::timespec = unsafe { MaybeUninit::zeroed().assume_init() };
        end.tv_sec = deadline.as_secs() as libc::time_t;
        end.tv_nsec = deadline.subsec_nanos() as _;
        // SAFETY: the semaphore was initialised by `new`, and the time is a valid one.
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
        // SAFETY: initialised by `new`, and `&mut self` says that no thread waits on it or can post it.
        unsafe { libc::sem_destroy(self.raw.get()) };
    }
}
