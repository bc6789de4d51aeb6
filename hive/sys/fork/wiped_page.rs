//! A mark in memory by which a child process is told from its parent, however the child was made. The mark is in a page
//! that the kernel fills with zeros in children (`MADV_WIPEONFORK`).
//!
//! `fork.rs` checks the mark before it changes anything in the process's shared state. The process's number would not
//! do: a child in another PID namespace may have the same number as its parent, since each container has a process 1.
//! Handlers for forks would not do either: they run only if the C library makes the child.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// The value of the word in a process that has set the mark.
const MARKED: u32 = 1;

/// The address of the word with the mark. The word is `MARKED`, or 0 in a child. Null: no word has been set up yet.
static MARK: AtomicPtr<AtomicU32> = AtomicPtr::new(null_mut());

/// The word for systems without such pages. It is always marked, so no child is detected by it.
static UNWIPED_MARK: AtomicU32 = AtomicU32::new(MARKED);

/// Sets the mark if it is not set. Returns true if it had been set and has been wiped since, which means that this
/// process is a child. Only one thread may call this at a time.
pub(crate) fn renew_mark() -> bool {
    // Relaxed: the callers hold the lock on forks, or are the only thread of a child.
    // The first call sets up the word. Later calls find it, marked in the process itself and 0 in a child.
    let existing = MARK.load(Ordering::Relaxed);
    let address = if existing.is_null() { new_mark() } else { existing };
    MARK.store(address, Ordering::Relaxed);
    #[expect(unsafe_code, reason = "the page is mapped by hand")]
    // SAFETY: the address is that of a static, or of the beginning of a page that stays mapped for good. An `AtomicU32`
    // may be all zeros.
    let mark = unsafe { &*address };
    // Relaxed: see above.
    let was_marked = mark.swap(MARKED, Ordering::Relaxed) == MARKED;
    !was_marked && !existing.is_null()
}

/// Sets up a word for the mark.
fn new_mark() -> *mut AtomicU32 {
    map_wiped_page().unwrap_or((&raw const UNWIPED_MARK).cast_mut())
}

/// Maps a page that the kernel wipes in children. None if the kernel cannot do that.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[expect(unsafe_code, reason = "C calls")]
fn map_wiped_page() -> Option<*mut AtomicU32> {
    // The kernel rounds this up to a page.
    const BYTES: usize = size_of::<AtomicU32>();
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: this maps fresh memory, at an address that the kernel chooses.
    let page = unsafe { libc::mmap(null_mut(), BYTES, protection, flags, -1, 0) };
    if page == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the memory was mapped above and nothing uses it yet.
    let is_wiped = unsafe { libc::madvise(page, BYTES, libc::MADV_WIPEONFORK) } == 0;
    if is_wiped {
        return Some(page.cast());
    }
    // SAFETY: the memory was mapped above and nothing refers to it.
    unsafe { libc::munmap(page, BYTES) };
    None
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn map_wiped_page() -> Option<*mut AtomicU32> {
    None
}
