//! Loops that make a vector, or take values: `Hive::par_map` and `Hive::par_items`.

#![expect(unsafe_code, reason = "fills a vector's memory from several threads")]

use std::cell::Cell;
use std::mem::{MaybeUninit, needs_drop};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::loops::shared_loop::IntoLoop;
use crate::loops::slice_schedule::SliceSchedule;
use crate::on_drop::on_drop;
use crate::pool::handle::Hive;
use crate::region::bee::Bee;
use crate::region::no_double_panic::NoDoublePanic;

impl Hive {
    /// A vector of what `map` returns for each index of a loop, which all bees of the hive share out: `work` is what
    /// [`par_for`](Self::par_for) takes. The result of the loop's first index comes first.
    ///
    /// ```
    /// let squares = hive::par_map(0..1000, |i| i * i);
    /// assert_eq!(squares[31], 961);
    /// // Values that need not be `Default`, `Copy` or `Clone`, by a schedule.
    /// let files = hive::par_map((5..8, hive::Schedule::Dynamic(1)), |i| format!("part-{i}.dat").into_boxed_str());
    /// assert_eq!(&*files[2], "part-7.dat");
    /// ```
    ///
    /// # Panics
    /// As [`par_for`](Self::par_for). If `map` panics, the results that there are by then are dropped.
    #[track_caller]
    #[doc(alias("collect", "par_iter", "map"))]
    pub fn par_map<R: Send>(&self, work: impl IntoLoop, map: impl Fn(usize) -> R + Sync) -> Vec<R> {
        let map = NoDoublePanic::new(map);
        let work = work.into();
        let range = work.range();
        let mut results = Vec::with_capacity(range.len());
        let slots = Slots::new(results.spare_capacity_mut(), range.start);
        self.run_weighted(work, 1, |range, _| {
            // SAFETY: the loop runs each of its indices at most once.
            unsafe { slots.fill(range, &*map) };
        });
        // Before the results leave the slots: they are dropped there if dropping the closure panics.
        drop(map);
        let filled = slots.all_filled();
        assert_eq!(filled, range.len(), "a loop that has run each index");
        // SAFETY: so many elements have been filled, which are all.
        unsafe { results.set_len(filled) };
        results
    }

    /// Calls `body` once for each item of an iterator, and with the bee that it runs on; `schedule` divides the items
    /// among all bees of the hive. (A loop over some of the indices leaves the other items out, and they are dropped.)
    /// The items are collected first, so the iterator itself runs on the calling thread.
    /// For what cannot be indexed: mutable views of an array, such as those of ndarray's `axis_chunks_iter_mut`, files,
    /// values to be consumed.
    ///
    /// ```
    /// let mut matrix = vec![1.0; 90];
    /// let (left, right) = matrix.split_at_mut(40);
    /// let uneven = left.chunks_mut(7).chain(right.chunks_mut(13)).enumerate();
    /// hive::par_items(uneven, hive::Schedule::Dynamic(1), |(i, part), _bee| part.fill(i as f64));
    /// assert_eq!((matrix[0], matrix[39], matrix[40], matrix[89]), (0.0, 5.0, 6.0, 9.0));
    /// ```
    ///
    /// # Panics
    /// As [`par_for`](Self::par_for), and if a plan or a loop has indices that there is no item for. If `body` panics,
    /// the items that are left are dropped.
    #[track_caller]
    #[doc(alias("into_par_iter", "par_bridge", "axis_chunks_iter_mut"))]
    pub fn par_items<I, F>(&self, items: I, schedule: impl SliceSchedule, body: F)
    where
        I: IntoIterator<Item: Send>,
        F: Fn(I::Item, &Bee<'_>) + Sync,
    {
        let body = NoDoublePanic::new(body);
        let mut items: Vec<_> = items.into_iter().map(|item| Some(NoDoublePanic::new(item))).collect();
        self.par_for_mut(&mut items, schedule, |_, items, bee| {
            items.iter_mut().filter_map(Option::take).for_each(|item| body(item.into_inner(), bee));
        });
    }
}

/// The memory of a vector's elements, which several threads fill. `Hive::alloc` uses it, too.
pub(crate) struct Slots<R> {
    first: *mut MaybeUninit<R>,
    /// The index whose result is the first element.
    start: usize,
    /// How many elements have been filled, in parts that have ended.
    filled: AtomicUsize,
    /// Where these are, if they would have to be dropped.
    parts: Mutex<Vec<Range<usize>>>,
}

// SAFETY: each element is filled by one thread, and dropped by the one that drops this: that is as if it had been sent.
unsafe impl<R: Send> Sync for Slots<R> {}

impl<R> Slots<R> {
    pub(crate) fn new(slots: &mut [MaybeUninit<R>], start: usize) -> Self {
        Self { first: slots.as_mut_ptr(), start, filled: AtomicUsize::new(0), parts: Mutex::new(Vec::new()) }
    }

    /// Fills the elements of these indices with what `make` returns for them.
    ///
    /// # Safety
    /// There are such elements, and nobody else fills them.
    #[inline(always)]
    pub(crate) unsafe fn fill(&self, range: Range<usize>, make: impl Fn(usize) -> R) {
        let start = range.start - self.start;
        // SAFETY: the caller promises it.
        let slots = unsafe { std::slice::from_raw_parts_mut(self.first.wrapping_add(start), range.len()) };
        let end = Cell::new(start);
        let _note_filled = on_drop(|| self.note_filled(start..end.get()));
        for (slot, index) in slots.iter_mut().zip(range) {
            slot.write(make(index));
            end.set(end.get() + 1);
        }
    }

    /// Records what has been filled of a part, also after a panic in it.
    #[inline(always)]
    fn note_filled(&self, part: Range<usize>) {
        // Relaxed: as in `all_filled`.
        self.filled.fetch_add(part.len(), Ordering::Relaxed);
        if needs_drop::<R>() {
            self.parts.lock().unwrap_or_else(PoisonError::into_inner).push(part);
        }
    }

    /// How many elements are filled, after the loop. They are the caller's from now on.
    pub(crate) fn all_filled(mut self) -> usize {
        self.parts.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        // Relaxed: the loop's end orders it.
        self.filled.load(Ordering::Relaxed)
    }
}

impl<R> Drop for Slots<R> {
    /// After a panic in the loop.
    fn drop(&mut self) {
        for index in self.parts.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..).flatten() {
            // SAFETY: it is an element of the vector, which nobody else uses.
            let slot = unsafe { &*self.first.wrapping_add(index) };
            // SAFETY: it has been filled, and nobody else reads it.
            drop(NoDoublePanic::new(unsafe { slot.assume_init_read() }));
        }
    }
}
