//! The words of later rounds. Numbers of rounds in words would come round, and nobody could tell a word that was left
//! behind from one that is ahead. So rounds come in *generations*, as many as can be told apart, and each generation has
//! a set of words of its own. Members may be in different generations, however far apart: a set is used again when all
//! have left it.

use super::words::Words;
use crate::sync::{AtomicBool, AtomicU32, OnceLock, Ordering};

/// The number of no set.
const NONE: u32 = u32::MAX;

/// Enough rows for all numbers that a set can have.
const ROWS: usize = u32::BITS as usize;

/// The words of one generation, and how its members find those of the next.
struct Set {
    words: Words,
    way: Way,
    /// Whether no generation has it.
    is_free: AtomicBool,
}

impl Set {
    fn new(members: usize) -> Self {
        Self { words: Words::new(members), way: Way::new(), is_free: AtomicBool::new(true) }
    }

    /// As new. Nobody else may be at it.
    fn reset(&self) {
        self.words.reset();
        self.way.reset();
        // Release: pairs with the Acquire in `claim`; whoever uses it next finds it as new.
        self.is_free.store(true, Ordering::Release);
    }
}

/// The way from a generation to the next.
pub(super) struct Way {
    /// The set of the next generation. NONE: nobody has come there yet.
    next: AtomicU32,
    /// The members that have gone there. They do not come back.
    left: AtomicU32,
}

impl Way {
    pub(super) fn new() -> Self {
        Self { next: AtomicU32::new(NONE), left: AtomicU32::new(0) }
    }

    /// As new. Nobody else may be at it.
    pub(super) fn reset(&self) {
        // Relaxed: whoever uses it next is told by something else.
        self.next.store(NONE, Ordering::Relaxed);
        self.left.store(0, Ordering::Relaxed);
    }
}

/// The sets of all generations but the first, which are made when somebody needs them. Row r has 2^r, so that a set has
/// its place for good, and its number says where that is.
pub(super) struct Later {
    members: usize,
    rows: [OnceLock<Box<[Set]>>; ROWS],
}

impl Later {
    /// For a team of up to `members`.
    pub(super) fn new(members: usize) -> Self {
        Self { members, rows: [(); ROWS].map(|()| OnceLock::new()) }
    }

    /// Takes a member of a team of `team` from its generation, the first of all or one that has set `from`, to the next.
    /// Returns the number of the next one's set.
    #[cold]
    pub(super) fn go_on(&self, first: &Way, from: Option<u32>, team: u32) -> u32 {
        let set = from.map(|number| self.set(number));
        let way = set.map_or(first, |set| &set.way);
        let next = self.next(way);
        // AcqRel: pairs with itself; all that the others did to the set has happened before the last of them makes it
        // as new.
        let left = way.left.fetch_add(1, Ordering::AcqRel) + 1;
        if let Some(set) = set.filter(|_| left == team) {
            set.reset();
        }
        next
    }

    /// The set after this way: one that the first who comes provides. The caller has not gone there yet, so the way is
    /// still that of its generation.
    fn next(&self, way: &Way) -> u32 {
        // Acquire: pairs with the Release below; the words are as new.
        let next = way.next.load(Ordering::Acquire);
        if next != NONE {
            return next;
        }
        let fresh = self.claim();
        // Release: pairs with the Acquire above and with that of the failure, which is as that above.
        match way.next.compare_exchange(NONE, fresh, Ordering::Release, Ordering::Acquire) {
            Ok(_) => fresh,
            Err(next) => {
                // Release: pairs with the Acquire in `claim`, as that in `reset`, which the caller has claimed it after.
                self.set(fresh).is_free.store(true, Ordering::Release);
                next
            }
        }
    }

    /// A set that no generation has. It is the caller's alone.
    fn claim(&self) -> u32 {
        // Acquire: pairs with the Release in `reset` and in `next`. The load saves swaps, and decides nothing.
        let is_mine = |set: &Set| set.is_free.load(Ordering::Relaxed) && set.is_free.swap(false, Ordering::Acquire);
        (0..NONE).find(|&number| is_mine(self.set(number))).unwrap_or_else(|| unreachable!("no memory is as large"))
    }

    /// The words of set `number`.
    pub(super) fn words(&self, number: u32) -> &Words {
        &self.set(number).words
    }

    fn set(&self, number: u32) -> &Set {
        let row = (number + 1).ilog2();
        let sets = self.rows[row as usize].get_or_init(|| (0..1_u32 << row).map(|_| Set::new(self.members)).collect());
        &sets[(number + 1 - (1 << row)) as usize]
    }

    /// As new. Nobody else may be at it.
    pub(super) fn reset(&self) {
        self.rows.iter().filter_map(OnceLock::get).flatten().for_each(Set::reset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Later {
        /// The sets that have been made.
        fn made(&self) -> usize {
            self.rows.iter().filter_map(OnceLock::get).map(|row| row.len()).sum()
        }
    }

    #[test]
    fn all_members_go_from_a_generation_to_the_same_set() {
        let (later, first) = (Later::new(3), Way::new());
        let next = [(); 3].map(|()| later.go_on(&first, None, 3));
        assert_eq!(next, [next[0]; 3]);
        let after = [(); 3].map(|()| later.go_on(&first, Some(next[0]), 3));
        assert!(after == [after[0]; 3] && after[0] != next[0]);
    }

    #[test]
    fn members_that_keep_together_need_three_sets_for_ever() {
        let (later, first) = (Later::new(2), Way::new());
        let mut at = [None; 2];
        for _ in 0..1_000 {
            at = at.map(|from| Some(later.go_on(&first, from, 2)));
            assert_eq!(at[0], at[1]);
        }
        assert!(later.made() <= 3, "{} sets", later.made());
    }

    #[test]
    fn who_runs_ahead_gets_a_set_for_each_generation_and_the_others_find_them() {
        const GENERATIONS: usize = 100;
        let (later, first) = (Later::new(2), Way::new());
        let run = || {
            let mut at = None;
            let mut through = || *at.insert(later.go_on(&first, at, 2));
            (0..GENERATIONS).map(|_| through()).collect::<Vec<_>>()
        };
        let ahead = run();
        let mut different = ahead.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), GENERATIONS);
        assert_eq!(run(), ahead);
        assert_eq!(later.made(), 127);
        // All are free again but the last, which they are in.
        let free = (0..127).filter(|&number| later.set(number).is_free.load(Ordering::Relaxed)).count();
        assert_eq!(free, 126);
    }

    #[test]
    fn a_set_is_as_new_when_all_have_left_it() {
        let (later, first) = (Later::new(2), Way::new());
        let set = later.go_on(&first, None, 2);
        assert_eq!(later.words(set).queue().take(3, 5, |_| 5), Some(0..5));
        assert_ne!(later.go_on(&first, Some(set), 2), set);
        assert_eq!(later.words(set).queue().take(1, 5, |_| 5), None, "somebody is still in it");
        later.go_on(&first, Some(set), 2);
        assert_eq!(later.words(set).queue().take(1, 5, |_| 5), Some(0..5));
    }
}
