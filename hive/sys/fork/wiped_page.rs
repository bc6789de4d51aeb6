//! A mark in memory that no child of the process has, however it was made: it is in a page that the kernel wipes in
//! children.
//!
//! The number of a process would not do. That of a child in another PID namespace may be the same as its parent's: each
//! container has a process 1. And handlers for forks run only where the C library makes the child.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

const MARKED: u32 = 1;

/// The word that has the mark, and has 0 in a child. Null: there is none yet.
static MARK: AtomicPtr<AtomicU32> = AtomicPtr::new(null_mut());

/// The word where the kernel has no such pages: no child is told by it.
static UNWIPED_MARK: AtomicU32 = AtomicU32::new(MARKED);

/// Makes the mark if it is not there. True: it has been there, so this is a child. One thread calls this at a time.
pub(crate) fn renew_mark() -> bool {
    // Relaxed: the callers hold a lock.
    let existing = MARK.load(Ordering::Relaxed);
    let address = if existing.is_null() { new_mark() } else { existing };
    MARK.store(address, Ordering::Relaxed);
    #[expect(unsafe_code, reason = "the page is mapped by hand")]
    // SAFETY: a static, or at the beginning of a page that is mapped for good, and of a type that may be all zeros.
    let mark = unsafe { &*address };
    // Relaxed: as above.
    let was_marked = mark.swap(MARKED, Ordering::Relaxed) == MARKED;
    !was_marked && !existing.is_null()
}

fn new_mark() -> *mut AtomicU32 {
    map_wiped_page().unwrap_or((&raw const UNWIPED_MARK).cast_mut())
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn map_wiped_page() -> Option<*mut AtomicU32> {
    // As much as the kernel makes of it: a page.
    const BYTES: usize = size_of::<AtomicU32>();
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    #[expect(unsafe_code, reason = "a C call")]
    // SAFETY: fresh memory, wherever there is room.
    let page = unsafe { libc::mmap(null_mut(), BYTES, protection, flags, -1, 0) };
    if page == libc::MAP_FAILED {
        return None;
    }
    #[expect(unsafe_code, reason = "a C call")]
    // SAFETY: what was mapped above, in which there is nothing yet.
    let is_wiped = unsafe { libc::madvise(page, BYTES, libc::MADV_WIPEONFORK) } == 0;
    if is_wiped {
        return Some(page.cast());
    }
    #[expect(unsafe_code, reason = "a C call")]
    // SAFETY: what was mapped above, which nobody knows of.
    unsafe {
        libc::munmap(page, BYTES)
    };
    None
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn map_wiped_page() -> Option<*mut AtomicU32> {
    None
}
