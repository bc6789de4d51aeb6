//! Work that has to be done in the order of a loop's indices.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;

use crate::protocol::region::deadlock::StallGuard;
use crate::protocol::region::region_context::RegionContext;
use crate::region::bee::Bee;
use crate::region::nesting;

/// Whose turn it is, of the indices of a loop. See [`Bee::ordered`].
#[derive(Debug)]
pub struct Ordered {
    state: CachePadded<OrderState>,
    indices: Range<usize>,
}

/// Whose turn it is, and in which region. Both are written by who has the turn, and by who begins anew.
#[derive(Debug)]
struct OrderState {
    next: AtomicUsize,
    /// The key of the region whose turns these are. `ANY_REGION`: also bees of regions around that one or beside it bring them.
    region: AtomicU64,
}

const ANY_REGION: u64 = 0;

/// In place of the key while somebody begins anew.
const RESETTING: u64 = 1;

impl Ordered {
    /// Turns for `indices_of`, from the first on. After the last it is the first's turn again, so the same turns serve the next loop over the same indices,
    /// after a [barrier](Bee::barrier): a bee that is ahead in that loop could otherwise take the turn of an index that is still to come in this one.
    ///
    /// Each region begins with the first, also after one that was broken by a panic amid its turns. That is not so in a region inside another region, a task or an
    /// [`install`](crate::pool::global::install), or of several hives, where some of the turns
    /// may be those of bees elsewhere: after a panic there, make other turns.
    pub const fn new(indices: Range<usize>) -> Self {
        let state = OrderState { next: AtomicUsize::new(indices.start), region: AtomicU64::new(ANY_REGION) };
        Self { state: CachePadded::new(state), indices }
    }

    /// Whether it is the turn of `index` in the region with this key.
    #[inline]
    fn is_next(&self, index: usize, region: u64) -> bool {
        // Acquire, the first: pairs with the Release in `reset` and `set_region`; what is read of `next` below is this region's.
        // Acquire, the second: pairs with the Release in `AdvanceOnDrop`; the work of the indices before has been done.
        self.state.region.load(Ordering::Acquire) == region && self.state.next.load(Ordering::Acquire) == index
    }

    /// The same, or the turn of `index` among those of anybody.
    fn may_run(&self, index: usize, region: u64) -> bool {
        self.is_next(index, region) || self.is_next(index, ANY_REGION)
    }

    /// The key of a region that is over, if these are still its turns.
    fn stale_region(&self, region: u64) -> Option<u64> {
        // Relaxed: says what to try.
        let key = self.state.region.load(Ordering::Relaxed);
        (![ANY_REGION, RESETTING, region].contains(&key)).then_some(key)
    }

    /// Begins anew where the turns are those of a region that is over: by who brings the first index. Nobody else of this region has a turn before that. False: they are not; the first index may
    /// come for the second time in this region.
    fn reset_if_stale(&self, region: u64) -> bool {
        // Relaxed, both: a swap sees the last key that was written, and that of a region that is over only the first of this one finds. Who finds `RESETTING` waits for the key.
        let swap = |old| self.state.region.compare_exchange(old, RESETTING, Ordering::Relaxed, Ordering::Relaxed);
        let has_won = self.stale_region(region).is_some_and(|old| swap(old).is_ok());
        if has_won {
            self.reset(region);
        }
        has_won
    }

    fn reset(&self, region: u64) {
        // Relaxed: comes with the key.
        self.state.next.store(self.indices.start, Ordering::Relaxed);
        // Release: pairs with the Acquire in `is_next`.
        self.state.region.store(region, Ordering::Release);
    }

    /// By who has the turn: it is one of this region, or of anybody.
    fn set_region(&self, region: u64) {
        // Relaxed: who has the turn has seen the last that was written.
        if self.state.region.load(Ordering::Relaxed) != region {
            // Release: pairs with the Acquire in `is_next`.
            self.state.region.store(region, Ordering::Release);
        }
    }

    fn index_after(&self, index: usize) -> usize {
        if index + 1 < self.indices.end { index + 1 } else { self.indices.start }
    }
}

/// The turn of an index. Passed on when it is over, be it by a panic that the body catches.
struct AdvanceOnDrop<'t> {
    order: &'t Ordered,
    index: usize,
}

impl Drop for AdvanceOnDrop<'_> {
    #[inline]
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `is_next`.
        self.order.state.next.store(self.order.index_after(self.index), Ordering::Release);
    }
}

impl Bee<'_> {
    /// Runs `work` when all indices before `index` have had their turn: OpenMP's `ordered`.
    ///
    /// Each index of `order` must come exactly once, from a bee of this team, and no bee may come with one while it still has to bring another that is lower: loops of all schedules see to that. So that bees do not wait for one
    /// another all the time, neighbouring indices should be different bees': [`StaticChunk(1)`](crate::loops::schedule::Schedule::StaticChunk) or [`Guided`](crate::loops::schedule::Schedule::Guided), not [`Static`](crate::loops::schedule::Schedule::Static).
    ///
    /// ```
    /// use std::sync::Mutex;
    /// use hive::{Loop, Ordered, Schedule};
    ///
    /// let (squares, turns, lines) = (Loop::new(0..100, Schedule::StaticChunk(1)), Ordered::new(0..100), Mutex::new(Vec::new()));
    /// hive::spmd(4, |bee| {
    ///     bee.for_each(&squares, |range| {
    ///         for i in range {
    ///             let square = i * i; // at the same time
    ///             bee.ordered(&turns, i, || lines.lock().unwrap().push(square)); // one after the other
    ///         }
    ///     });
    /// });
    /// assert!(lines.into_inner().unwrap().is_sorted());
    /// ```
    ///
    /// # Panics
    /// If `index` is none of the `order`.
    ///
    /// If its turn will never come: each bee of the team has returned from the region's body, or stands here as well, and none
    /// of those who stand has its turn. This is found out by those who have waited for long. It is not where somebody else might
    /// pass a turn on: in a region inside another region or a task, or of several hives. Nor is it where bees wait for
    /// something else, such as a barrier; where a team meets in several groups ([`BarrierShape`](crate::protocol::region::shape::BarrierShape)); and
    /// where bee 0 has returned but keeps polling ([`Hive::keep_spinning`](crate::pool::handle::Hive::hot)). There the others wait for ever.
    ///
    /// When another bee has panicked, it ends this part by unwinding, as a barrier does; in a destructor [that must not](Self::barrier) it runs `work` out of
    /// turn.
    #[inline]
    #[track_caller]
    pub fn ordered<R>(&self, order: &Ordered, index: usize, work: impl FnOnce() -> R) -> R {
        assert!(order.indices.contains(&index), "index {index} has no turn among {:?}", order.indices);
        let region = self.context.region_key().max(RESETTING + 1);
        // Out of turn in a destructor only, which then has no turn to pass on.
        let is_next = order.is_next(index, region) || self.wait_for_index(order, index, region);
        let _advance = is_next.then_some(AdvanceOnDrop { order, index });
        work()
    }

    /// Waits for the turn of `index`. False: it has not come, and this is a destructor that must not panic.
    ///
    /// # Panics
    /// As [`ordered`](Self::ordered).
    #[track_caller]
    fn wait_for_index(&self, order: &Ordered, index: usize, region: u64) -> bool {
        let is_alone = self.context.bees() == 1;
        let is_among_others = if is_alone { nesting::is_waited_for() } else { self.context.has_outside_help() };
        if is_among_others {
            // Acquire: as in `is_next`, whoever has passed it on.
            return self
                .poll_until_next(order, index, ANY_REGION, || order.state.next.load(Ordering::Acquire) == index);
        }
        if index == order.indices.start {
            if is_alone {
                // All regions of a bee alone have the same key; and nobody else has a turn.
                order.reset(region);
                return true;
            }
            if order.reset_if_stale(region) {
                return true;
            }
        }
        self.poll_until_next(order, index, region, || order.may_run(index, region))
    }

    /// Waits until it `is_next` of `index`, and claims it for `region`.
    #[track_caller]
    fn poll_until_next(&self, order: &Ordered, index: usize, region: u64, is_next: impl Fn() -> bool) -> bool {
        let (mut polls, mut check) = (0_u32, DeadlockCheck::NotStarted);
        self.context.wait_until(|| {
            polls = polls.wrapping_add(1);
            is_next() || (polls.is_multiple_of(POLLS_PER_CHECK) && check.check_for_deadlock(self.context, &is_next))
        });
        if let DeadlockCheck::Deadlocked = check {
            let next = match order.stale_region(region) {
                Some(_) => order.indices.start,
                None => order.state.next.load(Ordering::Relaxed),
            };
            self.context.panic_or_poison(format_args!(
                "member {} of {} waits for the turn of index {index}, and it is the turn of index {next}, which nobody will bring: all other members have come to the \
                 ends of their parts, or wait for turns that do not come either",
                self.id(),
                self.bees(),
            ));
            return false;
        }
        let has_index_come = is_next();
        if has_index_come {
            order.set_region(region);
        }
        has_index_come
    }
}

/// Looks whether the turn has come between two looks whether it ever will.
const POLLS_PER_CHECK: u32 = 1 << 12;

/// What a bee that waits for its turn knows of the others.
enum DeadlockCheck<'m> {
    /// Nothing: it has not waited for long.
    NotStarted,
    /// It stands, if it can be told who else does.
    Registered(Option<StallGuard<'m>>),
    /// Nobody will go on.
    Deadlocked,
}

impl<'m> DeadlockCheck<'m> {
    /// Whether the turn that `member` waits for will never come.
    #[cold]
    fn check_for_deadlock(&mut self, context: &'m RegionContext<'m>, is_next: impl Fn() -> bool) -> bool {
        let is_deadlocked = match self {
            // Alone, unless it is inside of something that others do as well.
            Self::NotStarted if context.bees() == 1 => !nesting::is_waited_for(),
            Self::NotStarted => {
                *self = Self::Registered(context.declare_stall());
                false
            }
            Self::Registered(standing) => standing.as_ref().is_some_and(|standing| standing.confirm_deadlock(is_next)),
            Self::Deadlocked => true,
        };
        if is_deadlocked {
            // It goes, as it does when its turn has come.
            *self = Self::Deadlocked;
        }
        is_deadlocked
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

    #[test]
    fn a_caught_panic_lets_the_next_index_run() {
        let hive = Hive::new(2).unwrap();
        let (order, log) = (Ordered::new(0..4), std::sync::Mutex::new(Vec::new()));
        hive.spmd(2, |bee| {
            for index in (bee.id()..4).step_by(2) {
                let run =
                    || {
                        bee.ordered(&order, index, || {
                            if index == 1 { std::panic::resume_unwind(Box::new(1)) } else { index }
                        })
                    };
                if let Ok(index) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) {
                    log.lock().unwrap().push(index);
                }
            }
        });
        let mut log = log.into_inner().unwrap();
        log.sort_unstable();
        assert_eq!(log, [0, 2, 3]);
    }

    #[test]
    #[should_panic(expected = "no square today")]
    fn a_panic_ends_the_wait_of_the_others() {
        let hive = Hive::new(3).unwrap();
        let order = Ordered::new(0..3);
        hive.spmd(3, |bee| bee.ordered(&order, bee.id(), || assert!(bee.id() > 0, "no square today")));
    }
}
