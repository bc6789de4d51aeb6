//! Which cache line the signal lies in.
//!
//! The part of a processor that keeps track of a line depends on the line's address, and the way there and back from two cores may be half as
//! long again for one line as for another. So there are several, and before the team begins two threads rehearse on each: empty regions of
//! two, of nothing but what a region does to the signal's line.

use std::hint::black_box;
use std::ops::Deref;

use crate::protocol::region::barrier::{BaseCount, RegionEnd, View};
use crate::protocol::region::body::BodyFn;
use crate::protocol::region::start_line::{StartLine, StartOrder};

/// The signal, among the lines that it might lie in.
pub(crate) struct LineChoice {
    lines: Box<[StartLine]>,
    chosen: usize,
}

impl LineChoice {
    /// A signal in the first of so many lines.
    pub(crate) fn new(lines: usize) -> Self {
        assert!(lines > 0, "a signal needs a line");
        Self { lines: (0..lines).map(|_| StartLine::new()).collect(), chosen: 0 }
    }

    pub(crate) fn lines(&self) -> &[StartLine] {
        &self.lines
    }

    /// The signal anew, in line number `write_line`.
    pub(crate) fn choose(mut self, line: usize) -> Self {
        self.lines[line] = StartLine::new();
        self.chosen = line;
        self
    }
}

impl Deref for LineChoice {
    type Target = StartLine;

    #[inline(always)]
    fn deref(&self) -> &StartLine {
        &self.lines[self.chosen]
    }
}

/// The queen's side of a rehearsal on one line.
pub(crate) struct CalibratingQueen<'s> {
    start_line: &'s StartLine,
    base: BaseCount,
}

impl<'s> CalibratingQueen<'s> {
    pub(crate) fn new(start_line: &'s StartLine) -> Self {
        Self { start_line, base: BaseCount::first() }
    }

    /// Runs a region. None if it is given up, because `keep_polling`, which is asked after each look in vain, said no.
    #[expect(unsafe_code, reason = "publishes an order")]
    pub(crate) fn run_region(&mut self, mut keep_polling: impl FnMut() -> bool) -> Option<()> {
        // SAFETY: nobody else publishes on this line, and the follower has left the last region.
        unsafe {
            self.start_line
                .publish(self.start_line.load().next(2), StartOrder { body_fn: BodyFn::unset(), base: self.base })
        };
        let view = View { bees: 2, is_collected: false, base: self.base, barriers_passed: 0 };
        while !self.start_line.near_barrier.has_ended(&view) {
            if !keep_polling() {
                return None;
            }
        }
        self.base = self.start_line.near_barrier.finish_region(&view, RegionEnd::Clean);
        Some(())
    }
}

/// The bee's side of a rehearsal on one line.
pub(crate) struct CalibratingWorker<'s> {
    start_line: &'s StartLine,
    last_epoch: u64,
}

impl<'s> CalibratingWorker<'s> {
    pub(crate) fn new(start_line: &'s StartLine) -> Self {
        Self { start_line, last_epoch: 0 }
    }

    /// Has its part in a region. None as for the leader.
    #[expect(unsafe_code, reason = "reads the order")]
    pub(crate) fn run_region(&mut self, mut keep_polling: impl FnMut() -> bool) -> Option<()> {
        let mut word = self.start_line.load();
        while !word.includes(1, self.last_epoch) {
            if !keep_polling() {
                return None;
            }
            word = self.start_line.load();
        }
        self.last_epoch = word.epoch();
        // SAFETY: the word calls this bee, which leaves below.
        black_box(unsafe { self.start_line.order() });
        // Nobody sleeps in a rehearsal.
        let _ = self.start_line.near_barrier.exit();
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calibration_leaves_no_trace_in_the_chosen_line() {
        let choice = LineChoice::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut worker = CalibratingWorker::new(&choice.lines()[1]);
                (0..100).for_each(|_| worker.run_region(|| true).unwrap());
            });
            let mut queen = CalibratingQueen::new(&choice.lines()[1]);
            (0..100).for_each(|_| queen.run_region(|| true).unwrap());
        });
        assert_eq!(choice.lines()[1].load().epoch(), 100);
        assert_eq!(choice.choose(1).load().epoch(), 0);
    }

    #[test]
    fn a_region_without_a_worker_is_given_up() {
        let choice = LineChoice::new(1);
        let mut polls = 0;
        let ended = CalibratingQueen::new(&choice).run_region(|| {
            polls += 1;
            polls < 10
        });
        assert_eq!((ended, polls), (None, 10));
    }
}
