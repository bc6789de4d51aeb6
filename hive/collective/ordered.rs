//! Work that has to be done in the order of a loop's indices.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;

use crate::crew::{Member, Standing};
use crate::frame;
use crate::region::Bee;

/// Whose turn it is, of the indices of a loop. See [`Bee::ordered`].
#[derive(Debug)]
pub struct Ordered {
    next: CachePadded<AtomicUsize>,
    indices: Range<usize>,
}

impl Ordered {
    /// Turns for `indices`, from the first on. After the last it is the first's turn again, so the same turns serve the next loop over the same indices.
    pub const fn new(indices: Range<usize>) -> Self {
        Self { next: CachePadded::new(AtomicUsize::new(indices.start)), indices }
    }

    /// Whether it is the turn of `index`.
    #[inline]
    fn is_turn_of(&self, index: usize) -> bool {
        // Acquire: pairs with the Release in `Turn`; the work of the indices before has been done.
        self.next.load(Ordering::Acquire) == index
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
        // Release: pairs with the Acquire in `ordered`.
        self.turns.next.store(self.turns.after(self.index), Ordering::Release);
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
        if !turns.is_turn_of(index) {
            self.wait_for_turn(turns, index);
        }
        let _turn = Turn { turns, index };
        work()
    }

    /// Waits for the turn of `index`.
    ///
    /// # Panics
    /// As [`ordered`](Self::ordered).
    #[track_caller]
    fn wait_for_turn(&self, turns: &Ordered, index: usize) {
        let (mut looks, mut watch) = (0_u32, Watch::Nobody);
        self.member.wait_until(|| {
            looks = looks.wrapping_add(1);
            turns.is_turn_of(index) || (looks.is_multiple_of(LOOKS) && watch.finds_standstill(self.member, turns, index))
        });
        if let Watch::Over = watch {
            self.member.complain(format_args!(
                "member {} of {} waits for the turn of index {index}, and it is the turn of index {}, which nobody will bring: all other members have come to the \
                 ends of their parts, or wait for turns that do not come either",
                self.id(),
                self.count(),
                turns.next.load(Ordering::Relaxed),
            ));
        }
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
    /// Whether the turn of `index`, which `member` waits for, will never come.
    #[cold]
    fn finds_standstill(&mut self, member: &'m Member<'m>, turns: &Ordered, index: usize) -> bool {
        let is_over = match self {
            // Alone, unless it is inside of something that others do as well.
            Self::Nobody if member.team() == 1 => !frame::is_waited_for(),
            Self::Nobody => {
                *self = Self::Standing(member.stand());
                false
            }
            Self::Standing(standing) => {
                standing.as_ref().is_some_and(|standing| standing.is_for_ever(|| turns.is_turn_of(index)))
            }
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
