//! The memory of the spawned tasks of task pools. A thread keeps some blocks of those that it has run, and puts the
//! next ones that it spawns there: to ask the allocator and to give back to it takes as long as all else that a short
//! task costs.
//!
//! A thread that only spawns asks the allocator each time, and one that only runs gives back to it what it does not
//! keep. When a thread ends, it gives back all. A hive's own tasks are often spawned by one thread and run by another,
//! and that took a third longer this way; so they do without.

#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr;

/// The size of a block. Most closures are smaller than that with what belongs to a task, and the others get memory of
/// their own. It is small enough for the lists without a lock that glibc keeps of small pieces: where one thread spawns
/// many tasks and others run them, these give the memory back to the heap of that one.
const BLOCK: Layout = match Layout::from_size_align(64, 16) {
    Ok(layout) => layout,
    Err(_) => unreachable!(),
};

/// How many blocks a thread keeps at most: 16 KiB.
const MAX_KEPT: u32 = 256;

/// The blocks that one thread keeps.
struct KeptBlocks {
    /// The last one that was put here. The first word of each is the address of the one before it, or null.
    last: Cell<*mut u8>,
    count: Cell<u32>,
}

thread_local! {
    static KEPT_BLOCKS: KeptBlocks = const { KeptBlocks { last: Cell::new(ptr::null_mut()), count: Cell::new(0) } };
}

impl KeptBlocks {
    #[inline(always)]
    fn take(&self) -> Option<*mut u8> {
        let block = self.last.get();
        if block.is_null() {
            return None;
        }
        // SAFETY: a kept block belongs to this list alone, and its first word is the address of the one before it.
        self.last.set(unsafe { block.cast::<*mut u8>().read() });
        self.count.set(self.count.get() - 1);
        Some(block)
    }

    /// Keeps `block`, which belongs to nobody else, if there is room. Returns whether there was.
    #[inline(always)]
    fn put(&self, block: *mut u8) -> bool {
        let has_room = self.count.get() < MAX_KEPT;
        if has_room {
            // SAFETY: the caller gives the block away; it is large enough for a pointer, and aligned for one.
            unsafe { block.cast::<*mut u8>().write(self.last.replace(block)) };
            self.count.set(self.count.get() + 1);
        }
        has_room
    }
}

impl Drop for KeptBlocks {
    fn drop(&mut self) {
        while let Some(block) = self.take() {
            // SAFETY: all blocks are allocated with this layout.
            unsafe { dealloc(block, BLOCK) };
        }
    }
}

const fn fits<T>() -> bool {
    size_of::<T>() <= BLOCK.size() && align_of::<T>() <= BLOCK.align()
}

/// Puts `value` on the heap. `take_out` gets it back, on any thread.
#[inline(always)]
pub(crate) fn put_on_heap<T>(value: T) -> *mut T {
    if !fits::<T>() {
        return Box::into_raw(Box::new(value));
    }
    // In the destructors of a thread's other thread-locals its blocks may be gone already.
    let kept = KEPT_BLOCKS.try_with(KeptBlocks::take).unwrap_or(None);
    let place = kept.unwrap_or_else(new_block).cast::<T>();
    // SAFETY: the block belongs to nobody else, is large enough, and aligned.
    unsafe { place.write(value) };
    place
}

#[cold]
#[inline(never)]
fn new_block() -> *mut u8 {
    // SAFETY: the size is not 0.
    let block = unsafe { alloc(BLOCK) };
    if block.is_null() { handle_alloc_error(BLOCK) } else { block }
}

/// Takes a value off the heap.
///
/// # Safety
/// `place` is from `put_on_heap`, and is not used again.
#[inline(always)]
pub(crate) unsafe fn take_out<T>(place: *mut T) -> T {
    if !fits::<T>() {
        // SAFETY: in this case it is the pointer of a box, which the caller owns.
        return *unsafe { Box::from_raw(place) };
    }
    // SAFETY: the caller owns the value, and does not use it there again.
    let value = unsafe { place.read() };
    let is_kept = KEPT_BLOCKS.try_with(|kept| kept.put(place.cast())).unwrap_or(false);
    if !is_kept {
        // SAFETY: it was allocated with this layout, and nobody else has it.
        unsafe { dealloc(place.cast(), BLOCK) };
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept() -> u32 {
        KEPT_BLOCKS.with(|kept| kept.count.get())
    }

    #[test]
    fn blocks_are_used_again_and_not_more_are_kept_than_allowed() {
        let thread = std::thread::spawn(|| {
            let first = put_on_heap(7_u64);
            // SAFETY: from `put_on_heap`, once.
            assert_eq!((unsafe { take_out(first) }, kept()), (7, 1));
            let again = put_on_heap([1_u8; 60]);
            assert_eq!((again.cast::<u64>(), kept()), (first, 0));
            // SAFETY: as above.
            assert_eq!(unsafe { take_out(again) }, [1; 60]);
            let many: Vec<_> = (0..2 * MAX_KEPT).map(put_on_heap).collect();
            for (number, &place) in (0..).zip(&many) {
                // SAFETY: as above.
                assert_eq!(unsafe { take_out(place) }, number);
            }
            assert_eq!(kept(), MAX_KEPT);
        });
        thread.join().unwrap();
    }

    #[test]
    fn what_does_not_fit_has_a_box_of_its_own() {
        #[repr(align(64))]
        struct Aligned(u8);
        let before = kept();
        let (large, aligned) = (put_on_heap([3_u8; 65]), put_on_heap(Aligned(4)));
        assert_eq!(aligned.addr() % 64, 0);
        // SAFETY: from `put_on_heap`, once each.
        assert_eq!((unsafe { take_out(large) }, unsafe { take_out(aligned) }.0), ([3; 65], 4));
        assert_eq!(kept(), before);
    }

    #[test]
    fn a_value_may_be_taken_out_on_another_thread() {
        struct Sent(*mut String);
        // SAFETY: a `String` may be sent, and it is used by one thread at a time.
        unsafe impl Send for Sent {}
        let sent = Sent(put_on_heap("a job".to_owned()));
        let taken = std::thread::spawn(move || {
            let sent = sent;
            // SAFETY: from `put_on_heap`, once.
            (unsafe { take_out(sent.0) }, kept())
        });
        assert_eq!(taken.join().unwrap(), ("a job".to_owned(), 1));
    }
}
