//! The choice of the cache line that a group's start line is in.
//!
//! A processor assigns each cache line to one of its parts by the line's address, and this part keeps track of the
//! line. For one line the way from two cores to this part and back may be half as long again as for another. So there
//! may be several candidates, among which a calibration chooses before the team is made: two threads run empty regions
//! of two bees on each line, which consist only of what a region does to the start line.
//!
//! This file has the lines and the two sides of the calibration. `tuning/calibrate_line.rs` binds the threads, takes
//! the times and makes the choice. See "A good line" in `docs/start.md`.

use std::hint::black_box;
use std::ops::Deref;

use crate::protocol::region::barrier_word::{BaseCount, RegionEnd, View};
use crate::protocol::region::body::BodyFn;
use crate::protocol::region::start_line::{StartLine, StartOrder};

/// A start line, and the other lines that it was or will be chosen from. Dereferences to the chosen one.
pub(crate) struct LineChoice {
    lines: Box<[StartLine]>,
    /// The index of the chosen line.
    chosen: usize,
}

impl LineChoice {
    /// A choice among `lines` new lines, of which the first is chosen for now.
    ///
    /// # Panics
    /// If `lines` is 0.
    pub(crate) fn new(lines: usize) -> Self {
        assert!(lines > 0, "a signal needs a line");
        Self { lines: (0..lines).map(|_| StartLine::new()).collect(), chosen: 0 }
    }

    /// All lines, the chosen one among them.
    pub(crate) fn lines(&self) -> &[StartLine] {
        &self.lines
    }

    /// Chooses the line with index `line`, and makes it as new: the calibration has changed its word and its counts.
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

/// The queen's side of a calibration: runs a region of two bees on this line, with an empty body. `base`: the counts of
/// the line's barrier, which the last region has left there. Calls `keep_polling` after each poll that finds the region
/// not ended. If that returns false, gives up and returns `None`; no other region may be run on the line then.
#[expect(unsafe_code, reason = "publishes an order")]
pub(crate) fn lead_region(
    start_line: &StartLine,
    base: &mut BaseCount,
    mut keep_polling: impl FnMut() -> bool,
) -> Option<()> {
    let order = StartOrder { body_fn: BodyFn::unset(), base: *base };
    // SAFETY: this thread is the leader of the two: no other thread publishes on this line. The worker has exited from
    // the last region, because the loop below waited for that.
    unsafe { start_line.publish(start_line.load().next(2), order) };
    let view = View { bees: 2, is_collected: false, base: *base, barriers_passed: 0 };
    while !start_line.near_barrier.has_ended(&view) {
        if !keep_polling() {
            return None;
        }
    }
    *base = start_line.near_barrier.finish_region(&view, RegionEnd::Clean);
    Some(())
}

/// The worker's side of it: waits for the next region on this line and exits from it. `last_epoch`: the epoch of the
/// last region that this worker has run; 0 if none. Calls `keep_polling` after each poll that finds no new region. If
/// that returns false, gives up and returns `None`.
#[expect(unsafe_code, reason = "reads the order")]
pub(crate) fn follow_region(
    start_line: &StartLine,
    last_epoch: &mut u64,
    mut keep_polling: impl FnMut() -> bool,
) -> Option<()> {
    let mut word = start_line.load();
    while !word.includes(1, *last_epoch) {
        if !keep_polling() {
            return None;
        }
        word = start_line.load();
    }
    *last_epoch = word.epoch();
    // The order is read as in a region, although there is nothing to run.
    // SAFETY: the word just read includes this worker, bee 1, which exits below.
    black_box(unsafe { start_line.order() });
    // The queen polls and never blocks here, so there is no bee to wake.
    let _ = start_line.near_barrier.exit();
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calibration_leaves_no_trace_in_the_chosen_line() {
        let choice = LineChoice::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut last_epoch = 0;
                (0..100).for_each(|_| follow_region(&choice.lines()[1], &mut last_epoch, || true).unwrap());
            });
            let mut base = BaseCount::FIRST;
            (0..100).for_each(|_| lead_region(&choice.lines()[1], &mut base, || true).unwrap());
        });
        assert_eq!(choice.lines()[1].load().epoch(), 100);
        assert_eq!(choice.choose(1).load().epoch(), 0);
    }

    #[test]
    fn a_region_without_a_worker_is_given_up() {
        let choice = LineChoice::new(1);
        let (mut base, mut polls) = (BaseCount::FIRST, 0);
        let ended = lead_region(&choice, &mut base, || {
            polls += 1;
            polls < 10
        });
        assert_eq!((ended, polls), (None, 10));
    }
}
