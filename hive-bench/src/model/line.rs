//! A cache line: which cores have a copy, which one may write it, and the values of its words.

use std::collections::BTreeSet;
use std::mem;

/// The words of a line that matter. All of them only grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// The region that has been started.
    Start,
    /// How many bees have come to the end of a region.
    Left,
    /// How many bees have come to a barrier.
    Arrivals,
}

/// A line's number, and a word of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell(pub(super) usize, pub(super) Word);

/// What a core requests of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    /// A copy.
    Copy,
    /// The only copy.
    Ownership,
}

/// One line, as the caches see it.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// The core that answers requests for the line. It always has a copy.
    owner: usize,
    /// All cores that have one.
    holders: BTreeSet<usize>,
    /// The owner has written since the line came to it.
    is_written: bool,
    words: [u64; 3],
}

impl Line {
    /// A line of zeros that is only in the cache of `owner`.
    pub(super) fn new(owner: usize) -> Self {
        Self { owner, holders: BTreeSet::from([owner]), is_written: false, words: [0; 3] }
    }

    pub(super) fn has_copy(&self, core: usize) -> bool {
        self.holders.contains(&core)
    }

    /// Whether the core may write without a request.
    pub(super) fn is_exclusive(&self, core: usize) -> bool {
        self.owner == core && self.holders.len() == 1
    }

    pub(super) fn word(&self, word: Word) -> u64 {
        self.words[word as usize]
    }

    /// Adds one to a word, for the core that is the only holder.
    pub(super) fn add(&mut self, word: Word) {
        debug_assert_eq!(self.holders.len(), 1, "a write while others have copies");
        self.words[word as usize] += 1;
        self.is_written = true;
    }

    /// How long the core waits: a copy comes from the nearest holder, and ownership takes as long as the distance to
    /// the farthest holder.
    pub(super) fn transfer(&self, core: usize, want: Want, one_way: &[u64]) -> u64 {
        let others = self.holders.iter().filter(|other| **other != core).map(|other| one_way[*other]);
        let time = if want == Want::Copy { others.min() } else { others.max() };
        time.unwrap_or(0)
    }

    /// Grants the request. Returns the cores that lose their copies.
    ///
    /// A line that its only holder has written moves to its reader, with the right to write it: processors take a line
    /// that is read and then written in turn for one that migrates.
    pub(super) fn grant(&mut self, core: usize, want: Want) -> BTreeSet<usize> {
        let migrates = self.is_written && self.holders.len() == 1 && self.owner != core;
        if want == Want::Copy && !migrates {
            self.holders.insert(core);
            return BTreeSet::new();
        }
        let mut losers = mem::replace(&mut self.holders, BTreeSet::from([core]));
        losers.remove(&core);
        (self.owner, self.is_written) = (core, false);
        losers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE_WAY: [u64; 3] = [10, 20, 30];

    #[test]
    fn a_written_line_moves_to_its_reader() {
        let mut line = Line::new(0);
        line.add(Word::Start);
        assert_eq!(line.transfer(1, Want::Copy, &ONE_WAY), 10);
        assert_eq!(line.grant(1, Want::Copy), BTreeSet::from([0]));
        assert!(line.is_exclusive(1) && !line.has_copy(0));
    }

    #[test]
    fn a_line_that_nobody_has_written_is_shared() {
        let mut line = Line::new(0);
        line.add(Word::Start);
        line.grant(1, Want::Copy);
        assert_eq!(line.grant(2, Want::Copy), BTreeSet::new());
        assert!(line.has_copy(1) && line.has_copy(2) && !line.is_exclusive(1));
    }

    #[test]
    fn ownership_waits_for_the_farthest_copy() {
        let mut line = Line::new(1);
        line.grant(2, Want::Copy);
        assert_eq!(line.transfer(0, Want::Copy, &ONE_WAY), 20);
        assert_eq!(line.transfer(0, Want::Ownership, &ONE_WAY), 30);
        assert_eq!(line.grant(0, Want::Ownership), BTreeSet::from([1, 2]));
        assert!(line.is_exclusive(0));
    }

    #[test]
    fn the_owner_of_a_shared_line_asks_the_others_only() {
        let mut line = Line::new(0);
        line.grant(2, Want::Copy);
        assert!(!line.is_exclusive(0));
        assert_eq!(line.transfer(0, Want::Ownership, &ONE_WAY), 30);
    }
}
