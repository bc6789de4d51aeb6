//! The memory of spawned tasks. A thread keeps some blocks of those that it has run, and puts the next ones that it
//! spawns there: to ask the allocator and to give back to it takes as long as all else that a short task costs.
//!
//! Where one thread spawns and another runs, the blocks go round: a thread that has many puts half of them on a shelf
//! that all threads have in common, a batch at a time, and one that has none takes a batch from there. What finds no
//! room on the shelf is given back to the allocator, and so is all that a thread keeps when it ends.

#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr;
use std::sync::Mutex;

/// The layouts of blocks, of 24 and 56 bytes. Most closures with what belongs to a task are as small as the first;
/// those that are larger than the last get memory of their own. With what glibc adds to each piece they are half a
/// cache line and a whole one.
const LAYOUTS: [Layout; 2] = [Layout::new::<[u64; 3]>(), Layout::new::<[u64; 7]>()];

/// Which size of block a `T` is put into. None: it has memory of its own.
const fn class_of<T>() -> Option<usize> {
    let mut class = 0;
    while class < LAYOUTS.len() {
        if size_of::<T>() <= LAYOUTS[class].size() && align_of::<T>() <= LAYOUTS[class].align() {
            return Some(class);
        }
        class += 1;
    }
    None
}

/// How many blocks go to the shelf together, and come from there: 4 or 8 KiB with what glibc adds.
const BATCH: u32 = 128;

/// How many batches a shelf has room for: half a million blocks, 16 or 32 MiB. A program that has had so many tasks at
/// once will have them again.
const MAX_BATCHES: usize = 4096;

/// The blocks of one size that one thread keeps: less than a batch in `first`, and a whole one in `spare`, or none.
struct KeptBlocks {
    /// The head of the list: the block that was put here last. The first word of each is the address of the next, which
    /// was put here before it, or null.
    first: Cell<*mut u8>,
    count: Cell<u32>,
    /// The head of a second list, so that a thread which takes some and puts some does not go to the shelf each time.
    spare: Cell<*mut u8>,
    /// How many more times the thread passes by the shelf, after it has found nothing there.
    looks_to_skip: Cell<u32>,
    /// The size, as an index.
    class: usize,
}

/// Batches of blocks of one size, which any thread may take.
///
/// A thread that finds the shelf in use does without: it never waits here. So a forked child, in whose memory the lock
/// may be held for ever, can go on as well.
type Shelf = Mutex<Vec<Batch>>;

/// The first block of a batch.
struct Batch(*mut u8);

// SAFETY: the blocks on the shelf belong to nobody else.
unsafe impl Send for Batch {}

static SHELVES: [Shelf; LAYOUTS.len()] = [const { Mutex::new(Vec::new()) }; LAYOUTS.len()];

thread_local! {
    static KEPT_BLOCKS: [KeptBlocks; LAYOUTS.len()] = const { [KeptBlocks::of_class(0), KeptBlocks::of_class(1)] };
}

impl KeptBlocks {
    const fn of_class(class: usize) -> Self {
        let (first, spare) = (Cell::new(ptr::null_mut()), Cell::new(ptr::null_mut()));
        Self { first, count: Cell::new(0), spare, looks_to_skip: Cell::new(0), class }
    }

    #[inline(always)]
    fn take(&self, shelf: &Shelf) -> Option<*mut u8> {
        let block = self.first.get();
        if block.is_null() {
            return self.take_from_batch(shelf);
        }
        // SAFETY: a kept block belongs to this list alone, and its first word is the address of the next.
        self.first.set(unsafe { next_of(block) });
        self.count.set(self.count.get() - 1);
        Some(block)
    }

    /// Keeps `block`, which belongs to nobody else.
    #[inline(always)]
    fn put(&self, block: *mut u8, shelf: &Shelf) {
        // SAFETY: the caller gives the block away; it is large enough for a pointer, and aligned for one.
        unsafe { block.cast::<*mut u8>().write(self.first.replace(block)) };
        self.count.set(self.count.get() + 1);
        if self.count.get() == BATCH {
            self.put_batch_away(shelf);
        }
    }

    /// Makes the spare batch, or else one from the shelf, the list in use, and takes its first block.
    #[cold]
    #[inline(never)]
    fn take_from_batch(&self, shelf: &Shelf) -> Option<*mut u8> {
        let spare = self.spare.replace(ptr::null_mut());
        let batch = if spare.is_null() { self.take_batch_of(shelf)? } else { spare };
        // SAFETY: the batch belongs to this thread now, and so does its first block.
        self.first.set(unsafe { next_of(batch) });
        self.count.set(BATCH - 1);
        Some(batch)
    }

    /// Takes a batch from the shelf, unless a look there would come too soon after one that found nothing.
    fn take_batch_of(&self, shelf: &Shelf) -> Option<*mut u8> {
        let looks_to_skip = self.looks_to_skip.get();
        if looks_to_skip > 0 {
            self.looks_to_skip.set(looks_to_skip - 1);
            return None;
        }
        let batch = shelf.try_lock().ok().and_then(|mut batches| batches.pop());
        if batch.is_none() {
            self.looks_to_skip.set(BATCH);
        }
        batch.map(|Batch(first)| first)
    }

    /// Makes the list in use, which is a batch, the spare one. If there is one already, that goes to the shelf, or to
    /// the allocator if the shelf does not take it.
    #[cold]
    #[inline(never)]
    fn put_batch_away(&self, shelf: &Shelf) {
        let batch = self.spare.replace(self.first.replace(ptr::null_mut()));
        self.count.set(0);
        if batch.is_null() {
            return;
        }
        let is_taken = shelf.try_lock().is_ok_and(|mut batches| {
            let has_room = batches.len() < MAX_BATCHES;
            if has_room {
                batches.push(Batch(batch));
            }
            has_room
        });
        if !is_taken {
            // SAFETY: nobody else has these blocks.
            unsafe { free_all(batch, self.class) };
        }
    }
}

impl Drop for KeptBlocks {
    fn drop(&mut self) {
        for blocks in [&self.first, &self.spare] {
            // SAFETY: nobody else has these blocks.
            unsafe { free_all(blocks.replace(ptr::null_mut()), self.class) };
        }
    }
}

/// The block after `block` in its list, or null.
///
/// # Safety
/// The block is in a list that the caller owns.
#[inline(always)]
unsafe fn next_of(block: *mut u8) -> *mut u8 {
    // SAFETY: as the caller promises.
    unsafe { block.cast::<*mut u8>().read() }
}

/// Gives all blocks of a list back to the allocator. `block`: the first, or null.
///
/// # Safety
/// The caller owns the list, whose blocks are of this class.
unsafe fn free_all(mut block: *mut u8, class: usize) {
    while !block.is_null() {
        // SAFETY: as the caller promises.
        let next = unsafe { next_of(block) };
        // SAFETY: all blocks are allocated with this layout.
        unsafe { dealloc(block, LAYOUTS[class]) };
        block = next;
    }
}

/// Puts `value` on the heap. `take_out` gets it back, on any thread.
#[inline(always)]
pub(crate) fn put_on_heap<T>(value: T) -> *mut T {
    let Some(class) = class_of::<T>() else { return Box::into_raw(Box::new(value)) };
    // In the destructors of a thread's other thread-locals its blocks may be gone already.
    let kept = KEPT_BLOCKS.try_with(|kept| kept[class].take(&SHELVES[class])).unwrap_or(None);
    let place = kept.unwrap_or_else(|| new_block(class)).cast::<T>();
    // SAFETY: the block belongs to nobody else, is large enough, and aligned.
    unsafe { place.write(value) };
    place
}

#[cold]
#[inline(never)]
fn new_block(class: usize) -> *mut u8 {
    // SAFETY: the size is not 0.
    let block = unsafe { alloc(LAYOUTS[class]) };
    if block.is_null() { handle_alloc_error(LAYOUTS[class]) } else { block }
}

/// Takes a value off the heap.
///
/// # Safety
/// `place` is from `put_on_heap`, and is not used again.
#[inline(always)]
pub(crate) unsafe fn take_out<T>(place: *const T) -> T {
    let place = place.cast_mut();
    let Some(class) = class_of::<T>() else {
        // SAFETY: in this case it is the pointer of a box, which the caller owns.
        return *unsafe { Box::from_raw(place) };
    };
    // SAFETY: the caller owns the value, and does not use it there again.
    let value = unsafe { place.read() };
    // As in `put_on_heap`.
    if KEPT_BLOCKS.try_with(|kept| kept[class].put(place.cast(), &SHELVES[class])).is_err() {
        // SAFETY: it was allocated with this layout, and nobody else has it.
        unsafe { dealloc(place.cast(), LAYOUTS[class]) };
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept() -> [u32; 2] {
        KEPT_BLOCKS.with(|kept| [kept[0].count.get(), kept[1].count.get()])
    }

    /// Gives back what a test has left on its shelf.
    fn clear(shelf: &Shelf) {
        for Batch(batch) in shelf.lock().unwrap().drain(..) {
            // SAFETY: nobody else has these blocks.
            unsafe { free_all(batch, 1) };
        }
    }

    #[test]
    fn a_block_is_used_again_by_its_thread() {
        let thread = std::thread::spawn(|| {
            let first = put_on_heap(7_u64);
            // SAFETY: from `put_on_heap`, once.
            assert_eq!((unsafe { take_out(first) }, kept()), (7, [1, 0]));
            let again = put_on_heap([1_u8; 24]);
            assert_eq!((again.cast::<u64>(), kept()), (first, [0, 0]));
            // SAFETY: as above.
            assert_eq!(unsafe { take_out(again) }, [1; 24]);
            let larger = put_on_heap([1_u8; 25]);
            // SAFETY: as above.
            assert_eq!((unsafe { take_out(larger) }, kept()), ([1; 25], [1, 1]));
        });
        thread.join().unwrap();
    }

    #[test]
    fn blocks_go_in_batches_from_a_thread_that_has_many_to_one_that_has_none() {
        let (shelf, full, empty) = (Shelf::default(), KeptBlocks::of_class(1), KeptBlocks::of_class(1));
        let on_shelf = || shelf.lock().unwrap().len();
        let mut put: Vec<_> = (0..3 * BATCH + 1).map(|_| new_block(1)).collect();
        put.iter().for_each(|&block| full.put(block, &shelf));
        assert_eq!((on_shelf(), full.count.get()), (2, 1));
        let mut taken: Vec<_> = std::iter::from_fn(|| empty.take(&shelf)).collect();
        assert_eq!((on_shelf(), taken.len()), (0, 2 * BATCH as usize));
        // The other thread's spare batch is not for this one.
        taken.extend(std::iter::from_fn(|| full.take(&shelf)));
        put.sort_unstable();
        taken.sort_unstable();
        assert_eq!(taken, put);
        taken.into_iter().for_each(|block| empty.put(block, &shelf));
        clear(&shelf);
    }

    #[test]
    fn a_shelf_that_is_full_or_in_use_keeps_nobody_waiting() {
        let (shelf, kept) = (Shelf::default(), KeptBlocks::of_class(1));
        let put_batches = |batches| (0..batches * BATCH).for_each(|_| kept.put(new_block(1), &shelf));
        put_batches(1);
        let in_use = shelf.lock().unwrap();
        put_batches(2);
        assert!(in_use.is_empty());
        drop(in_use);
        put_batches(MAX_BATCHES as u32 + 3);
        let in_use = shelf.lock().unwrap();
        assert_eq!((in_use.len(), kept.count.get()), (MAX_BATCHES, 0));
        // The spare batch, and then none.
        for _ in 0..BATCH {
            // SAFETY: nobody else has the block.
            unsafe { dealloc(kept.take(&shelf).unwrap(), LAYOUTS[1]) };
        }
        assert!(kept.take(&shelf).is_none());
        drop(in_use);
        clear(&shelf);
    }

    #[test]
    fn what_does_not_fit_has_a_box_of_its_own() {
        #[repr(align(64))]
        struct Aligned(u8);
        let before = kept();
        let (large, aligned) = (put_on_heap([3_u8; 57]), put_on_heap(Aligned(4)));
        assert_eq!(aligned.addr() % 64, 0);
        // SAFETY: from `put_on_heap`, once each.
        assert_eq!((unsafe { take_out(large) }, unsafe { take_out(aligned) }.0), ([3; 57], 4));
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
        assert_eq!(taken.join().unwrap(), ("a job".to_owned(), [1, 0]), "it had none before");
    }
}
