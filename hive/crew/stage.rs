//! Which cache line the signal lies in.
//!
//! The part of a processor that keeps track of a line depends on the line's address, and the way there and back from two cores may be half as
//! long again for one line as for another. So there are several, and before the crew begins two threads rehearse on each: empty regions of
//! two, of nothing but what a region does to the signal's line.

use std::hint::black_box;
use std::ops::Deref;

use super::job::Job;
use super::muster::{Account, Base, End};
use super::signal::{Order, Signal};

/// The signal, among the lines that it might lie in.
pub(crate) struct Stage {
    lines: Box<[Signal]>,
    chosen: usize,
}

impl Stage {
    /// A signal in the first of so many lines.
    pub(crate) fn new(lines: usize) -> Self {
        assert!(lines > 0, "a signal needs a line");
        Self { lines: (0..lines).map(|_| Signal::new()).collect(), chosen: 0 }
    }

    pub(crate) fn lines(&self) -> &[Signal] {
        &self.lines
    }

    /// The signal anew, in line number `line`.
    pub(crate) fn choose(mut self, line: usize) -> Self {
        self.lines[line] = Signal::new();
        self.chosen = line;
        self
    }
}

impl Deref for Stage {
    type Target = Signal;

    #[inline(always)]
    fn deref(&self) -> &Signal {
        &self.lines[self.chosen]
    }
}

/// The queen's side of a rehearsal on one line.
pub(crate) struct Leader<'s> {
    signal: &'s Signal,
    base: Base,
}

impl<'s> Leader<'s> {
    pub(crate) fn new(signal: &'s Signal) -> Self {
        Self { signal, base: Base::first() }
    }

    /// Runs a region. None if it is given up, because `look_again`, which is asked after each look in vain, said no.
    #[expect(unsafe_code, reason = "publishes an order")]
    pub(crate) fn region(&mut self, mut look_again: impl FnMut() -> bool) -> Option<()> {
        // SAFETY: nobody else publishes on this line, and the follower has left the last region.
        unsafe { self.signal.publish(self.signal.look().next(2), Order { job: Job::idle(), base: self.base }) };
        let account = Account { size: 2, is_gathered: false, base: self.base, passed: 0 };
        while !self.signal.near.has_ended(&account) {
            if !look_again() {
                return None;
            }
        }
        self.base = self.signal.near.conclude(&account, End::Clean);
        Some(())
    }
}

/// The bee's side of a rehearsal on one line.
pub(crate) struct Follower<'s> {
    signal: &'s Signal,
    seen: u64,
}

impl<'s> Follower<'s> {
    pub(crate) fn new(signal: &'s Signal) -> Self {
        Self { signal, seen: 0 }
    }

    /// Has its part in a region. None as for the leader.
    #[expect(unsafe_code, reason = "reads the order")]
    pub(crate) fn region(&mut self, mut look_again: impl FnMut() -> bool) -> Option<()> {
        let mut word = self.signal.look();
        while !word.calls(1, self.seen) {
            if !look_again() {
                return None;
            }
            word = self.signal.look();
        }
        self.seen = word.epoch();
        // SAFETY: the word calls this member, which leaves below.
        black_box(unsafe { self.signal.order() });
        // Nobody sleeps in a rehearsal.
        let _ = self.signal.near.leave();
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rehearsal_leaves_no_trace_in_the_line_that_is_chosen() {
        let stage = Stage::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut follower = Follower::new(&stage.lines()[1]);
                (0..100).for_each(|_| follower.region(|| true).unwrap());
            });
            let mut leader = Leader::new(&stage.lines()[1]);
            (0..100).for_each(|_| leader.region(|| true).unwrap());
        });
        assert_eq!(stage.lines()[1].look().epoch(), 100);
        assert_eq!(stage.choose(1).look().epoch(), 0);
    }

    #[test]
    fn a_region_that_nobody_follows_is_given_up() {
        let stage = Stage::new(1);
        let mut looks = 0;
        let ended = Leader::new(&stage).region(|| {
            looks += 1;
            looks < 10
        });
        assert_eq!((ended, looks), (None, 10));
    }
}
