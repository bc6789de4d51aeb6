//! `Bee::ordered`: work inside a parallel loop that has to be done in the order of the loop's indices.
//!
//! The bees of a region share an [`Ordered`], which holds the index that may run next. A bee polls it until its own
//! index is next, with naps between polls when that takes long, runs its work, and stores the following index. How the
//! order begins anew in each region, and how bees find out that an index will never come, is in `docs/collectives.md`.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;

use crate::on_drop::on_drop;
use crate::protocol::region::exchange_slots::Operation;
use crate::region::bee::Bee;
use crate::region::nesting;

/// The order of a loop's indices, shared by the bees that run the loop: which index may run next. See [`Bee::ordered`].
///
/// ```
/// use std::sync::Mutex;
/// use hive::{Ordered, Schedule};
///
/// let (turns, sums) = (Ordered::new(0..100), Mutex::new(vec![0.0]));
/// hive::spmd_all(|bee| {
///     bee.for_range((0..100, Schedule::StaticChunk(1)), |range| {
///         for i in range {
///             let x = (i as f64).sqrt(); // in parallel
///             bee.ordered(&turns, i, || { // one after the other
///                 let mut sums = sums.lock().unwrap();
///                 let before = sums[i];
///                 sums.push(before + x);
///             });
///         }
///     });
/// });
/// assert!(sums.into_inner().unwrap().is_sorted());
/// ```
#[derive(Debug)]
pub struct Ordered {
    state: CachePadded<OrderState>,
    /// All indices of the order, from the first to the last.
    indices: Range<usize>,
}

/// Which index may run next, and in which region. In a cache line of its own, because all bees that wait poll it.
///
/// Both fields are written by the bee whose index is next, and by the bee that begins the order anew.
#[derive(Debug)]
struct OrderState {
    /// The index that may run next.
    next: AtomicUsize,
    /// The key of the region whose bees may go by `next`. `ANY_REGION`: bees of all regions may. `RESETTING`: nobody
    /// may for now.
    ///
    /// A panic leaves `next` at some index in the middle. The key tells the bees of the next region that this index is
    /// not theirs.
    region: AtomicU64,
}

/// Not a region's key. Stands for all regions, where regions inside or beside one another share an order.
const ANY_REGION: u64 = 0;

/// Not a region's key. In place of the key while a bee begins the order anew.
const RESETTING: u64 = 1;

impl Ordered {
    /// An order of `indices`, from the first on. After the last index the first is next again, so the same order can
    /// serve another loop over the same indices. There must be a [barrier](Bee::barrier) between the two loops: a bee
    /// that is ahead in the second loop could otherwise take the turn of an index that the first loop has yet to run.
    ///
    /// In each region the order begins with the first index, even if a panic has cut short the region before. This does
    /// not hold in a region inside another region, a task or an [`install`](crate::install), or of several hives, where
    /// other regions may run some of the indices: after a panic there, make a new `Ordered`.
    ///
    /// ```
    /// static TURNS: hive::Ordered = hive::Ordered::new(0..8);
    /// hive::spmd(4, |bee| {
    ///     for i in (bee.id()..8).step_by(bee.bees()) {
    ///         bee.ordered(&TURNS, i, || println!("{i}"));
    ///     }
    /// });
    /// ```
    pub const fn new(indices: Range<usize>) -> Self {
        let state = OrderState { next: AtomicUsize::new(indices.start), region: AtomicU64::new(ANY_REGION) };
        Self { state: CachePadded::new(state), indices }
    }

    /// Whether `index` may run next in the region with the key `region`.
    #[inline]
    fn is_next(&self, index: usize, region: u64) -> bool {
        // Acquire, the first: pairs with the Release in `reset` and in `poll_for_turn`. The value of `next` that is
        // read below is then one of this region, or a later one.
        // Acquire, the second: pairs with the Release in `advance`. The work of the indices before is done and
        // visible.
        self.state.region.load(Ordering::Acquire) == region && self.state.next.load(Ordering::Acquire) == index
    }

    /// The key in the word, if it is the key of another region. That region is over, because an order belongs to one
    /// region at a time. None if the order is this region's, anybody's, or about to be reset.
    fn stale_region(&self, region: u64) -> Option<u64> {
        // Relaxed: a hint. `reset_if_stale` confirms it by a swap, and the panic message only shows it.
        let key = self.state.region.load(Ordering::Relaxed);
        (![ANY_REGION, RESETTING, region].contains(&key)).then_some(key)
    }

    /// Begins the order anew if it still belongs to a region that is over. Called by the bee that has the first index;
    /// before that index has run, no other bee of its region may run anything. Returns whether this bee has begun it
    /// anew, and so may run the first index.
    ///
    /// False: the order is this region's already. The first index may come for the second time in this region, and then
    /// has to wait.
    fn reset_if_stale(&self, region: u64) -> bool {
        // Relaxed, both: the swap hands nothing over; the Release in `reset` does. A swap sees the newest key, so of
        // several swaps in one region only the first finds the key of a region that is over. A bee that finds
        // `RESETTING` waits for the key that follows.
        let swap = |old| self.state.region.compare_exchange(old, RESETTING, Ordering::Relaxed, Ordering::Relaxed);
        let has_won = self.stale_region(region).is_some_and(|old| swap(old).is_ok());
        if has_won {
            self.reset(region);
        }
        has_won
    }

    /// Makes the first index the next one, for the region with this key. Only by a bee that has made sure that no other
    /// bee writes meanwhile.
    fn reset(&self, region: u64) {
        // Relaxed: published by the store of the key, which a bee reads first.
        self.state.next.store(self.indices.start, Ordering::Relaxed);
        // Release: pairs with the Acquire in `is_next`.
        self.state.region.store(region, Ordering::Release);
    }

    /// Lets the index after `index` run, which has run its work.
    fn advance(&self, index: usize) {
        // Release: pairs with the Acquire in `is_next` and in `wait_for_index`. It publishes the work of this index to
        // the bee of the following one.
        self.state.next.store(self.index_after(index), Ordering::Release);
    }

    /// The index that follows `index`: after the last one comes the first.
    fn index_after(&self, index: usize) -> usize {
        if index + 1 < self.indices.end { index + 1 } else { self.indices.start }
    }
}

impl Bee<'_> {
    /// Runs `work` when the work of all indices before `index` is done: OpenMP's `ordered`.
    ///
    /// Each index of `order` must come exactly once, from a bee of this team, and no bee may come with an index while
    /// it still has a lower one to bring. In loops of all schedules this is so. To keep bees from waiting for one
    /// another all the time, give neighbouring indices to different bees: use
    /// [`StaticChunk(1)`](crate::Schedule::StaticChunk) or [`Guided`](crate::Schedule::Guided), not
    /// [`Static`](crate::Schedule::Static).
    ///
    /// ```
    /// use std::sync::Mutex;
    /// use hive::{Loop, Ordered, Schedule};
    ///
    /// let squares = Loop::new(0..100, Schedule::StaticChunk(1));
    /// let (order, lines) = (Ordered::new(0..100), Mutex::new(Vec::new()));
    /// hive::spmd(4, |bee| {
    ///     bee.for_each(&squares, |range| {
    ///         for i in range {
    ///             let square = i * i; // at the same time
    ///             bee.ordered(&order, i, || lines.lock().unwrap().push(square)); // one after the other
    ///         }
    ///     });
    /// });
    /// assert!(lines.into_inner().unwrap().is_sorted());
    /// ```
    ///
    /// # Panics
    /// If `order` does not contain `index`; in the work of another call, except in the bodies of
    /// [`for_each`](Self::for_each) and [`for_range`](Self::for_range); and in the body of a loop that is a region of
    /// its own, such as [`par_for`](crate::par_for). If `work` panics, the region has failed, whatever is caught: see
    /// [`barrier`](Self::barrier).
    ///
    /// If the index can never become the next one: each bee of the team either has returned from the region's body or
    /// waits here, and none of those that wait has the index that is next. Bees that have waited for long find this
    /// out. They cannot find it out in these cases, in which they wait for ever:
    /// - if another region could still let the index run: in a region inside another region or a task, or of several
    ///   hives;
    /// - if some bees wait for something else, such as a barrier;
    /// - if the team meets in several groups ([`BarrierShape`](crate::BarrierShape));
    /// - if bee 0 has returned but keeps polling ([`Hive::keep_spinning`](crate::Hive::keep_spinning)).
    ///
    /// If another bee has panicked, this call unwinds the body of this bee, as a barrier does. In a destructor [that
    /// must not panic](Self::barrier) it runs `work` at once, although its index is not next.
    #[inline]
    #[track_caller]
    #[doc(alias = "omp ordered")]
    pub fn ordered<R>(&self, order: &Ordered, index: usize, work: impl FnOnce() -> R) -> R {
        let call = self.context.begin_call(Operation::Ordered);
        if self.context.has_failed() {
            // A destructor that must not panic.
            return work();
        }
        assert!(order.indices.contains(&index), "index {index} has no turn among {:?}", order.indices);
        // The two smallest numbers are `ANY_REGION` and `RESETTING`, so they cannot be keys.
        let region = self.context.region_key().max(RESETTING + 1);
        // If the wait has ended without success, this is a destructor that must not panic. `work` then runs out of
        // order, and no other index is allowed to run after it.
        let is_next = order.is_next(index, region) || self.wait_for_index(order, index, region);
        // The following index may run even if the work panics: that may be the turn of a bee of another region, which
        // has not failed.
        let advance = is_next.then(|| on_drop(|| order.advance(index)));
        let result = work();
        drop(advance);
        call.end();
        result
    }

    /// Waits until `index` is next. False if it has not become the next one and this is a destructor that must not
    /// panic.
    ///
    /// # Panics
    /// As [`ordered`](Self::ordered).
    #[track_caller]
    fn wait_for_index(&self, order: &Ordered, index: usize, region: u64) -> bool {
        // Whether bees of other regions may run some of the indices. The key of one region would keep them out, so all
        // go by the index alone, whatever the key says.
        let is_alone = self.context.bees == 1;
        let is_among_others = if is_alone { nesting::is_waited_for() } else { self.context.has_outside_help() };
        if is_among_others && nesting::is_inside_loop() {
            self.context.refuse_in_loop(Operation::Ordered);
            return false;
        }
        if is_among_others {
            // Acquire: as in `is_next`; pairs with the Release in `advance`, of a bee of whatever region.
            return self.poll_for_turn(order, index, ANY_REGION, || order.state.next.load(Ordering::Acquire) == index);
        }
        // The first index begins the order anew where a region before has left it.
        if index == order.indices.start {
            if is_alone {
                // All regions of a team of one have the same key, so the key cannot tell whether the order is stale.
                // But there is no other bee whose index could be next.
                order.reset(region);
                return true;
            }
            if order.reset_if_stale(region) {
                return true;
            }
        }
        let may_run = || order.is_next(index, region) || order.is_next(index, ANY_REGION);
        self.poll_for_turn(order, index, region, may_run)
    }

    /// Polls until `is_next` returns true, and then makes the order belong to `region`. Returns whether `index` has
    /// become the next one.
    #[track_caller]
    fn poll_for_turn(&self, order: &Ordered, index: usize, region: u64, is_next: impl Fn() -> bool) -> bool {
        // The index can never come. In a destructor that must not panic, `panic_or_fail` returns, and the work runs
        // out of order.
        if self.waits_in_vain(&is_next) {
            let next = match order.stale_region(region) {
                Some(_) => order.indices.start,
                // Relaxed: for the message only.
                None => order.state.next.load(Ordering::Relaxed),
            };
            self.context.panic_or_fail(format_args!(
                "bee {} of {} waits for the turn of index {index}, and it is the turn of index {next}, which nobody \
                 will bring: all other bees have come to the ends of their parts, or wait for turns \
                 that do not come either",
                self.id(),
                self.bees(),
            ));
            return false;
        }
        // Not next if another bee has panicked and this is a destructor that must not panic.
        let has_index_come = is_next();
        // The order is this region's or anybody's, and becomes this region's.
        // Relaxed: only the bee whose index is next writes the key, and this bee has seen what the bee before it wrote.
        if has_index_come && order.state.region.load(Ordering::Relaxed) != region {
            // Release: pairs with the Acquire in `is_next`.
            order.state.region.store(region, Ordering::Release);
        }
        has_index_come
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::handle::Hive;

    #[test]
    fn indices_wrap_around() {
        let order = Ordered::new(3..5);
        assert_eq!((order.index_after(3), order.index_after(4)), (4, 3));
        let last = Ordered::new(0..usize::MAX);
        assert_eq!(last.index_after(usize::MAX - 1), 0);
    }

    #[test]
    fn work_is_done_in_order_over_and_over() {
        let hive = Hive::new(3).unwrap();
        let (order, log) = (Ordered::new(10..16), std::sync::Mutex::new(Vec::new()));
        hive.spmd(3, |bee| {
            for _ in 0..20 {
                for index in (10 + bee.id()..16).step_by(bee.bees()) {
                    bee.ordered(&order, index, || log.lock().unwrap().push(index));
                }
            }
        });
        let expected: Vec<_> = (0..20).flat_map(|_| 10..16).collect();
        assert_eq!(log.into_inner().unwrap(), expected);
    }

    #[test]
    #[should_panic(expected = "index 9 has no turn among 10..16")]
    fn an_index_out_of_range_is_refused() {
        let hive = Hive::new(1).unwrap();
        hive.spmd(1, |bee| bee.ordered(&Ordered::new(10..16), 9, || ()));
    }

    /// Each bee of a region has a region of its own, and these share an order. One of them fails, and the others go on.
    #[test]
    fn a_panic_lets_the_next_index_run_in_another_region() {
        let outer = Hive::new(3).unwrap();
        let hives: Vec<_> = (0..3).map(|_| Hive::new(1).unwrap()).collect();
        let (order, log) = (Ordered::new(0..3), std::sync::Mutex::new(Vec::new()));
        outer.spmd(3, |bee| {
            let id = bee.id();
            let work = || {
                if id == 1 { std::panic::resume_unwind(Box::new(1)) } else { log.lock().unwrap().push(id) }
            };
            let inner = || hives[id].spmd(1, |inner| inner.ordered(&order, id, work));
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(inner));
            assert_eq!(ended.is_err(), id == 1);
        });
        assert_eq!(log.into_inner().unwrap(), [0, 2]);
    }

    #[test]
    #[should_panic(expected = "no square today")]
    fn a_panic_ends_the_wait_of_the_others() {
        let hive = Hive::new(3).unwrap();
        let order = Ordered::new(0..3);
        hive.spmd(3, |bee| bee.ordered(&order, bee.id(), || assert!(bee.id() > 0, "no square today")));
    }
}
