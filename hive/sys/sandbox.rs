//! Whether the program has put itself into a sandbox since it has built its first hive.
//!
//! A seccomp filter may end the process at the first system call that it does not list. So from then on hive makes none
//! that a program on Rust's standard library would not make anyway: `docs/sleep.md`, "In a sandbox", lists them. The
//! question itself is one of these.

use std::sync::atomic::{AtomicI32, Ordering};

/// The restrictions of the thread that built the first hive, at that time. Negative: there is none yet.
static AT_START: AtomicI32 = AtomicI32::new(-1);

/// Called before a hive is built: the first call remembers the restrictions that there are.
pub(crate) fn begin() {
    // Relaxed, both: a number, without a partner. Two threads that build the first hives find the same.
    if AT_START.load(Ordering::Relaxed) < 0 {
        AT_START.store(restrictions(), Ordering::Relaxed);
    }
}

/// Whether the calling thread is in a sandbox that has been set up since the first hive was built, as far as this can
/// be seen. (A process that had both a filter and `no_new_privs` before, and sets a further filter, looks as before.)
/// Each thread may have a filter of its own, and one that has none is in no sandbox, whatever the thread had that built
/// the first hive.
pub(crate) fn has_come() -> bool {
    // Relaxed: see `begin`.
    let (at_start, now) = (AT_START.load(Ordering::Relaxed), restrictions());
    at_start >= 0 && now >= HAS_FILTER && now != at_start
}

/// What [`restrictions`] is at least if the calling thread has a filter.
const HAS_FILTER: i32 = 2;

/// What the kernel says of the calling thread's filters and of its `no_new_privs`, without which a program without
/// special rights cannot set a filter. (Many a program sets that alone, and forbids itself no call by it.)
#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
fn restrictions() -> i32 {
    #[expect(unsafe_code, reason = "a C call")]
    // SAFETY: these calls take numbers only, and return one.
    let ask = |what: libc::c_int| unsafe { libc::prctl(what, 0_u64, 0_u64, 0_u64, 0_u64) };
    // The former is 0 or 2, the latter 0 or 1.
    (ask(libc::PR_GET_SECCOMP).max(0) << 1) + ask(libc::PR_GET_NO_NEW_PRIVS).max(0)
}

#[cfg(any(miri, not(any(target_os = "linux", target_os = "android"))))]
fn restrictions() -> i32 {
    0
}
