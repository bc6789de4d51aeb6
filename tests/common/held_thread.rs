//! A thread that has no CPU, as far as it can tell: a signal holds it where it is.

#![allow(unsafe_code, reason = "C calls")]

use std::hint;
use std::io::Error;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// A thread that a signal keeps from going on until this is dropped, wherever the signal has met it.
pub(crate) struct HeldThread;

static HELD: AtomicU64 = AtomicU64::new(0);
const RELEASED: u64 = 0;
const SENT: u64 = 1;
const IS_HELD: u64 = 2;

/// Holds thread `tid` of this process; returns once it is held. One thread at a time.
pub(crate) fn hold(tid: i32) -> HeldThread {
    extern "C" fn on_signal(_: i32) {
        HELD.store(IS_HELD, Ordering::SeqCst);
        // Not until it is RELEASED: the next one may have been SENT already, and comes when this one has ended.
        while HELD.load(Ordering::SeqCst) == IS_HELD {
            hint::spin_loop();
        }
    }
    // SAFETY: an all-zero action is a valid one.
    let mut action = unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() };
    action.sa_sigaction = on_signal as *const () as usize;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the action is valid, and its function may be called at any time: it uses one atomic number.
    let status = unsafe { libc::sigaction(libc::SIGPROF, &raw const action, null_mut()) };
    assert_eq!(status, 0, "a handler: {}", Error::last_os_error());
    HELD.store(SENT, Ordering::SeqCst);
    // SAFETY: the call takes numbers only.
    let status = unsafe { libc::syscall(libc::SYS_tgkill, std::process::id() as i32, tid, libc::SIGPROF) };
    assert_eq!(status, 0, "a signal for thread {tid}: {}", Error::last_os_error());
    while HELD.load(Ordering::SeqCst) != IS_HELD {
        thread::yield_now();
    }
    HeldThread
}

impl Drop for HeldThread {
    fn drop(&mut self) {
        HELD.store(RELEASED, Ordering::SeqCst);
    }
}
