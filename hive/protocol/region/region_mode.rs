//! In which floating-point mode a region runs: in that of the thread that starts it, on every bee. A mode is how the
//! processor rounds and so on (`sys/float_mode.rs`); each thread has its own.
//!
//! A team has a mode, that of the thread that has made it, and a worker that runs nothing is in this mode. So a region
//! whose queen is in it as well needs nothing; she only compares. For any other region she writes down her mode, and
//! starts it with a `BodyFn` by which each worker changes to that mode, runs the body, and changes back.
//!
//! Some processors take as long to read their mode as for ten other instructions, and do little else meanwhile. So the
//! queen reads it once, before she takes the queen lock, where this costs least (`docs/start.md`). A worker does not
//! read it after a region: it relies on the body to leave the mode as it was, and looks only where it has waited
//! (`worker/main_loop.rs`).

use crate::protocol::Team;
use crate::protocol::region::body::{BodyFn, RegionBody};
use crate::protocol::region::led_groups::LedGroups;
use crate::protocol::region::queen_lock::QueenLockGuard;
use crate::sync::{FloatMode, Ordering};

/// The queen lock, held: the thread that has this is the queen. With it goes the mode that she was in before.
pub(crate) struct QueenGuard<'c> {
    pub(crate) led_groups: QueenLockGuard<'c, LedGroups>,
    pub(crate) mode: FloatMode,
}

impl QueenGuard<'_> {
    /// For a queen who has run tasks since she took the lock: one of them may start a region in a mode of its own.
    pub(crate) fn in_present_mode(&mut self) -> &mut Self {
        self.mode = FloatMode::current();
        self
    }
}

impl Team {
    /// The function by which the workers run bodies of type `P` in the mode of the queen, who is about to start a
    /// region.
    #[inline(always)]
    pub(crate) fn body_fn_in_mode_of<P: RegionBody>(&self, queen_guard: &QueenGuard<'_>) -> BodyFn {
        let mode = queen_guard.mode;
        if mode == self.fixed.float_mode { BodyFn::of::<P>() } else { self.body_fn_in::<P>(mode) }
    }

    #[cold]
    fn body_fn_in<P: RegionBody>(&self, mode: FloatMode) -> BodyFn {
        // Relaxed: the start word publishes it.
        self.region_mode.store(mode.bits(), Ordering::Relaxed);
        BodyFn::in_region_mode::<P>()
    }

    /// Puts the calling bee in the mode of the region that it is in, until the result is dropped.
    pub(crate) fn enter_region_mode(&self) -> impl Drop + use<> {
        // Relaxed: the calling bee has read the start word. A queen writes again only when it has left the region.
        FloatMode::from_bits(self.region_mode.load(Ordering::Relaxed)).enter()
    }

    /// Puts the calling worker back into the mode of the team, in which it begins each task, if a start handler, a
    /// region or a task has left another one behind. A pool's thread belongs to whoever has started it, and keeps its
    /// mode.
    #[inline]
    pub(crate) fn restore_float_mode(&self) {
        if !self.is_task_pool() {
            self.fixed.float_mode.ensure();
        }
    }

    /// The mode of the team: that of the thread that has made it.
    pub(crate) fn float_mode(&self) -> FloatMode {
        self.fixed.float_mode
    }
}
