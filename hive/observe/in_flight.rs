//! Whether any post of a task is in flight, that is, begun and not ended.
//!
//! Only hives whose sleeping bees look for work at intervals ([`Builder::poll`](crate::pool::builder::Builder::poll))
//! have this. Such a bee may find a task by itself, and wants to know whether the wake-up for it was lost. It was not
//! if the thread that posted the task is still about to wake somebody. So every step after which a bee may have to be
//! woken is in flight until that has been done, and `Team::is_wake_lost` (`protocol/tasks/idle.rs`) believes in a lost
//! wake-up only if none is in flight.

use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_utils::CachePadded;

use crate::on_drop::on_drop;

/// The steps begun, counted in the upper 32 bits, and the steps ended, in the lower 32 bits. Both counts wrap. If they
/// are equal, no step is in flight.
#[derive(Default)]
pub(crate) struct InFlight(CachePadded<AtomicU64>);

/// One step begun: 1 in the upper half.
const ONE_BEGUN: u64 = 1 << 32;

impl InFlight {
    /// Begins a step after which a bee may have to be woken, such as posting a task. The step is in flight as long as
    /// the returned guard lives.
    pub(crate) fn begin(&self) -> impl Drop + '_ {
        // SeqCst: in one total order with the loads in `holds_with_none_in_flight`. When the upper half wraps, the
        // carry is lost off the top of the word.
        self.0.fetch_add(ONE_BEGUN, Ordering::SeqCst);
        on_drop(|| {
            // Adds 1 to the lower half only: with a plain addition, it would carry into the upper half when it wraps.
            // SeqCst: in one total order with the loads in `holds_with_none_in_flight`.
            let ended = |now: u64| Some(now & !(ONE_BEGUN - 1) | u64::from((now as u32).wrapping_add(1)));
            let _ = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, ended);
        })
    }

    /// Whether `condition` holds while no step is in flight. None is from before `condition` is evaluated until after
    /// that.
    pub(crate) fn holds_with_none_in_flight(&self, condition: impl FnOnce() -> bool) -> bool {
        // SeqCst, both: in one total order with the writes in `begin` and in its guard's drop. Equal halves before mean
        // that every step begun has ended; the same word after means that none has begun since. (A step that has begun
        // and ended changes the word as well.)
        let before = self.0.load(Ordering::SeqCst);
        (before >> 32) as u32 == before as u32 && condition() && self.0.load(Ordering::SeqCst) == before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_condition_holds_while_a_post_is_in_flight() {
        let in_flight = InFlight::default();
        assert!(in_flight.holds_with_none_in_flight(|| true));
        assert!(!in_flight.holds_with_none_in_flight(|| false));
        let one = in_flight.begin();
        let other = in_flight.begin();
        drop(one);
        assert!(!in_flight.holds_with_none_in_flight(|| true));
        drop(other);
        assert!(in_flight.holds_with_none_in_flight(|| true));
        assert!(!in_flight.holds_with_none_in_flight(|| {
            drop(in_flight.begin());
            true
        }));
    }
}
