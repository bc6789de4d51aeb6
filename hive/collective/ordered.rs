//! Work that has to be done in the order of a loop's indices.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;

use crate::crew::{Member, Standing};
use crate::frame;
use crate::region::Bee;

/// Whose turn it is, of the indices of a loop. See [`Bee::ordered`].
#[derive(Debug)]
pub struct Ordered {
    word: CachePadded<Word>,
    indices: Range<usize>,
}

/// Whose turn it is, and in which region. Both are written by who has the turn, and by who begins anew.
#[derive(Debug)]
struct Word {
    next: AtomicUsize,
    /// The key of the region whose turns these are. `ANYBODY`: also members of regions around that one or beside it bring them.
    region: AtomicU64,
}

const ANYBODY: u64 = 0;

/// In place of the key while somebody begins anew.
const BEGINNING: u64 = 1;

impl Ordered {
    /// Turns for `indices`, from the first on. After the last it is the first's turn again, so the same turns serve the next loop over the same indices,
    /// after a [barrier](Bee::barrier): a member that is ahead in that loop could otherwise take the turn of an index that is still to come in this one.
    ///
    /// Each region begins with the first, also after one that was broken by a panic amid its turns. That is not so in a region inside another region, a task or an
    /// [`install`](crate::install), or of several hives, where some of the turns
    /// may be those of members elsewhere: after a panic there, make other turns.
    pub const fn new(indices: Range<usize>) -> Self {
        let word = Word { next: AtomicUsize::new(indices.start), region: AtomicU64::new(ANYBODY) };
        Self { word: CachePadded::new(word), indices }
    }

    /// Whether it is the turn of `index` in the region with this key.
    #[inline]
    fn is_turn_of(&self, index: usize, region: u64) -> bool {
        // Acquire, the first: pairs with the Release in `begin` and `claim`; what is read of `next` below is this region's.
        // Acquire, the second: pairs with the Release in `Turn`; the work of the indices before has been done.
        self.word.region.load(Ordering::Acquire) == region && self.word.next.load(Ordering::Acquire) == index
    }

    /// The same, or the turn of `index` among those of anybody.
    fn is_open_to(&self, index: usize, region: u64) -> bool {
        self.is_turn_of(index, region) || self.is_turn_of(index, ANYBODY)
    }

    /// The key of a region that is over, if these are still its turns.
    fn left_over(&self, region: u64) -> Option<u64> {
        // Relaxed: says what to try.
        let found = self.word.region.load(Ordering::Relaxed);
        (![ANYBODY, BEGINNING, region].contains(&found)).then_some(found)
    }

    /// Begins anew where the turns are those of a region that is over: by who brings the first index. Nobody else of this region has a turn before that. False: they are not; the first index may
    /// come for the second time in this region.
    fn begin_after_another(&self, region: u64) -> bool {
        // Relaxed, both: a swap sees the last key that was written, and that of a region that is over only the first of this one finds. Who finds `BEGINNING` waits for the key.
        let swap = |old| self.word.region.compare_exchange(old, BEGINNING, Ordering::Relaxed, Ordering::Relaxed);
        let is_first = self.left_over(region).is_some_and(|old| swap(old).is_ok());
        if is_first {
            self.begin(region);
        }
        is_first
    }

    fn begin(&self, region: u64) {
        // Relaxed: comes with the key.
        self.word.next.store(self.indices.start, Ordering::Relaxed);
        // Release: pairs with the Acquire in `is_turn_of`.
        self.word.region.store(region, Ordering::Release);
    }

    /// By who has the turn: it is one of this region, or of anybody.
    fn claim(&self, region: u64) {
        // Relaxed: who has the turn has seen the last that was written.
        if self.word.region.load(Ordering::Relaxed) != region {
            // Release: pairs with the Acquire in `is_turn_of`.
            self.word.region.store(region, Ordering::Release);
        }
    }

    fn after(&self, index: usize) -> usize {
        if index + 1 < self.indices.end { index + 1 } else { self.indices.start }
    }
}

/// The turn of an index. Passed on when it is over, be it by a panic that the body catches.
struct Turn<'t> {
    turns: &'t Ordered,
    index: usize,
}

impl Drop for Turn<'_> {
    #[inline]
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `is_turn_of`.
        self.turns.word.next.store(self.turns.after(self.index), Ordering::Release);
    }
}

impl Bee<'_> {
    /// Runs `work` when all indices before `index` have had their turn: OpenMP's `ordered`.
    ///
    /// Each index of `turns` must come exactly once, from a member of this team, and no member may come with one while it still has to bring another that is lower: loops of all schedules see to that. So that members do not wait for one
    /// another all the time, neighbouring indices should be different members': [`StaticChunk(1)`](crate::Schedule::StaticChunk) or [`Guided`](crate::Schedule::Guided), not [`Static`](crate::Schedule::Static).
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
    /// If `index` is none of the `turns`.
    ///
    /// If its turn will never come: each member of the team has returned from the region's body, or stands here as well, and none
    /// of those who stand has its turn. This is found out by those who have waited for long. It is not where somebody else might
    /// pass a turn on: in a region inside another region or a task, or of several hives. Nor is it where members wait for
    /// something else, such as a barrier; where a team meets in several groups ([`BarrierShape`](crate::BarrierShape)); and
    /// where member 0 has returned but keeps polling ([`Hive::hot`](crate::Hive::hot)). There the others wait for ever.
    ///
    /// When another member has panicked, it ends this part by unwinding, as a barrier does; in a destructor [that must not](Self::barrier) it runs `work` out of
    /// turn.
    #[inline]
    #[track_caller]
    pub fn ordered<R>(&self, turns: &Ordered, index: usize, work: impl FnOnce() -> R) -> R {
        assert!(turns.indices.contains(&index), "index {index} has no turn among {:?}", turns.indices);
        let region = self.member.region_key().max(BEGINNING + 1);
        // Out of turn in a destructor only, which then has no turn to pass on.
        let has_turn = turns.is_turn_of(index, region) || self.wait_for_turn(turns, index, region);
        let _turn = has_turn.then_some(Turn { turns, index });
        work()
    }

    /// Waits for the turn of `index`. False: it has not come, and this is a destructor that must not panic.
    ///
    /// # Panics
    /// As [`ordered`](Self::ordered).
    #[track_caller]
    fn wait_for_turn(&self, turns: &Ordered, index: usize, region: u64) -> bool {
        let is_alone = self.member.team() == 1;
        let is_among_others = if is_alone { frame::is_waited_for() } else { self.member.is_among_others() };
        if is_among_others {
            // Acquire: as in `is_turn_of`, whoever has passed it on.
            return self.wait_until_turn(turns, index, ANYBODY, || turns.word.next.load(Ordering::Acquire) == index);
        }
        if index == turns.indices.start {
            if is_alone {
                // All regions of a member alone have the same key; and nobody else has a turn.
                turns.begin(region);
                return true;
            }
            if turns.begin_after_another(region) {
                return true;
            }
        }
        self.wait_until_turn(turns, index, region, || turns.is_open_to(index, region))
    }

    /// Waits until it `is_turn` of `index`, and claims it for `region`.
    #[track_caller]
    fn wait_until_turn(&self, turns: &Ordered, index: usize, region: u64, is_turn: impl Fn() -> bool) -> bool {
        let (mut looks, mut watch) = (0_u32, Watch::Nobody);
        self.member.wait_until(|| {
            looks = looks.wrapping_add(1);
            is_turn() || (looks.is_multiple_of(LOOKS) && watch.finds_standstill(self.member, &is_turn))
        });
        if let Watch::Over = watch {
            let next = match turns.left_over(region) {
                Some(_) => turns.indices.start,
                None => turns.word.next.load(Ordering::Relaxed),
            };
            self.member.complain(format_args!(
                "member {} of {} waits for the turn of index {index}, and it is the turn of index {next}, which nobody will bring: all other members have come to the \
                 ends of their parts, or wait for turns that do not come either",
                self.id(),
                self.count(),
            ));
            return false;
        }
        let has_come = is_turn();
        if has_come {
            turns.claim(region);
        }
        has_come
    }
}

/// Looks whether the turn has come between two looks whether it ever will.
const LOOKS: u32 = 1 << 12;

/// What a member that waits for its turn knows of the others.
enum Watch<'m> {
    /// Nothing: it has not waited for long.
    Nobody,
    /// It stands, if it can be told who else does.
    Standing(Option<Standing<'m>>),
    /// Nobody will go on.
    Over,
}

impl<'m> Watch<'m> {
    /// Whether the turn that `member` waits for will never come.
    #[cold]
    fn finds_standstill(&mut self, member: &'m Member<'m>, is_turn: impl Fn() -> bool) -> bool {
        let is_over = match self {
            // Alone, unless it is inside of something that others do as well.
            Self::Nobody if member.team() == 1 => !frame::is_waited_for(),
            Self::Nobody => {
                *self = Self::Standing(member.stand());
                false
            }
            Self::Standing(standing) => standing.as_ref().is_some_and(|standing| standing.is_for_ever(is_turn)),
            Self::Over => true,
        };
        if is_over {
            // It goes, as it does when its turn has come.
            *self = Self::Over;
        }
        is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_go_round() {
        let turns = Ordered::new(3..5);
        assert_eq!((turns.after(3), turns.after(4)), (4, 3));
        let last = Ordered::new(0..usize::MAX);
        assert_eq!(last.after(usize::MAX - 1), 0);
    }

    #[test]
    fn work_is_done_in_order_over_and_over() {
        let hive = crate::Hive::new(3).unwrap();
        let (turns, log) = (Ordered::new(10..16), std::sync::Mutex::new(Vec::new()));
        hive.spmd(3, |bee| {
            for _ in 0..20 {
                for index in (10 + bee.id()..16).step_by(bee.count()) {
                    bee.ordered(&turns, index, || log.lock().unwrap().push(index));
                }
            }
        });
        let expected: Vec<_> = (0..20).flat_map(|_| 10..16).collect();
        assert_eq!(log.into_inner().unwrap(), expected);
    }

    #[test]
    #[should_panic(expected = "index 9 has no turn among 10..16")]
    fn an_index_without_a_turn_is_refused() {
        let hive = crate::Hive::new(1).unwrap();
        hive.spmd(1, |bee| bee.ordered(&Ordered::new(10..16), 9, || ()));
    }

    #[test]
    fn a_panic_that_is_caught_passes_the_turn_on() {
        let hive = crate::Hive::new(2).unwrap();
        let (turns, log) = (Ordered::new(0..4), std::sync::Mutex::new(Vec::new()));
        hive.spmd(2, |bee| {
            for index in (bee.id()..4).step_by(2) {
                let turn =
                    || bee.ordered(&turns, index, || if index == 1 { std::panic::resume_unwind(Box::new(1)) } else { index });
                if let Ok(index) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(turn)) {
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
        let hive = crate::Hive::new(3).unwrap();
        let turns = Ordered::new(0..3);
        hive.spmd(3, |bee| bee.ordered(&turns, bee.id(), || assert!(bee.id() > 0, "no square today")));
    }
}
