//! In which floating-point mode a region runs: in that of the thread that starts it, on every bee. A mode is how the
//! processor rounds and so on (`sys/float_mode.rs`); each thread has its own.
//!
//! A team has a mode, that of the thread that has made it, and a worker that runs nothing is in this mode. So a region
//! whose queen is in it as well needs nothing; she only compares. For any other region she writes down her mode, and
//! starts it with a `BodyFn` by which each worker first changes to that mode. The worker changes back after the region
//! (`worker/main_loop.rs`).

use crate::protocol::Team;
use crate::protocol::region::body::{BodyFn, RegionBody};
use crate::sync::{AtomicU32, FloatMode, Ordering};

/// The mode of the last region that was started in another mode than that of its team.
pub(crate) struct RegionMode(AtomicU32);

impl RegionMode {
    /// `mode`: that of the team.
    pub(crate) fn new(mode: FloatMode) -> Self {
        Self(AtomicU32::new(mode.bits()))
    }
}

impl Team {
    /// The function by which the workers run bodies of type `P` in the mode of the calling thread. That thread holds
    /// the queen lock, and is about to start a region.
    #[inline(always)]
    pub(crate) fn body_fn_in_own_mode<P: RegionBody>(&self) -> BodyFn {
        let mode = FloatMode::current();
        if mode == self.fixed.float_mode { BodyFn::of::<P>() } else { self.body_fn_in::<P>(mode) }
    }

    #[cold]
    fn body_fn_in<P: RegionBody>(&self, mode: FloatMode) -> BodyFn {
        // Relaxed: the start word publishes it.
        self.region_mode.0.store(mode.bits(), Ordering::Relaxed);
        BodyFn::in_region_mode::<P>()
    }

    /// Puts the calling bee in the mode of the region that it is in.
    pub(crate) fn adopt_region_mode(&self) {
        // Relaxed: the calling bee has read the start word. A queen writes again only when it has left the region.
        FloatMode::from_bits(self.region_mode.0.load(Ordering::Relaxed)).ensure();
    }

    /// The mode of the team: that of the thread that has made it.
    pub(crate) fn float_mode(&self) -> FloatMode {
        self.fixed.float_mode
    }
}
